/** docs/fencing.md, step by step: what has come of each. */
import assert from 'node:assert/strict';
import type { FenceDevice } from '../../../src/api/fence-device.ts';
import type { RunningSet } from '../../support/fleet-cluster.ts';
import { waitFor } from '../../support/wait.ts';
import type { Station } from '../reader.ts';
import { patient, type Scene } from './scene.ts';

const node = 'worker-1';
const minutes = 60_000;

export function fencingStations(scene: Scene): Station[] {
  return [...switchedOn(scene), ...fromOthers(scene), ...aroundAPolicy(scene), ...drilled(scene), ...held(scene)];
}

function switchedOn(scene: Scene): Station[] {
  const { reader } = scene;
  return [
    { at: 'simulate scenarios/fence/power-loss.yaml', look: (said) => assert.match(said, /no invariant was broken/) },
    {
      at: 'fenceline crds',
      look: () =>
        reader.type('kubectl wait --for=condition=Established --timeout=60s crd/remedypolicies.fenceline.dev'),
    },
    {
      at: 'deploy/role.yaml',
      look: async () => {
        const as = '--as system:serviceaccount:fenceline:fenceline';
        assert.match(await reader.type(`kubectl auth can-i patch nodes ${as}`), /^yes$/m);
      },
    },
    {
      at: 'kind: Secret',
      look: async () => {
        const maps = await scene.names('configmaps -n fenceline');
        assert.deepEqual(
          maps.filter((name) => name.startsWith('fence-')),
          ['fence-config-worker-1', 'fence-method-template-ipmi'],
        );
      },
    },
    {
      at: 'fenceline check -n fenceline',
      look: (said) => assert.match(said, /^worker-1 +<none> +yes +ipmi-off: on +<none>/m),
    },
    { at: 'label node worker-1', look: (said) => assert.match(said, /node\/worker-1 labeled/) },
    { at: 'mode: DryRun', look: (said) => assert.match(said, /remedypolicy.fenceline.dev\/workers created/) },
    {
      at: 'fenceline run',
      look: async () => {
        await scene.inForce('workers', 'DryRun', 1);
        const fenceable = async (): Promise<boolean> =>
          (await scene.condition('workers', 'Fenceable'))?.status === 'True';
        await waitFor('its node to be fenceable', fenceable, patient);
      },
    },
    { at: '"mode":"Enforce"', look: () => scene.inForce('workers', 'Enforce', 1) },
  ];
}

/** What was written for another operator is taken, and arms nothing. */
function fromOthers(scene: Scene): Station[] {
  const made = [
    { at: 'nodehealthcheck.yaml', policy: 'databases' },
    { at: 'machinehealthcheck.yaml', policy: 'blue' },
    { at: 'older-policy.yaml', policy: 'archive' },
    { at: 'node-remedy/v1alpha', policy: 'storage-optimized' },
  ];
  return made.map(({ at, policy }, index) => ({
    at,
    look: async (said) => {
      assert.match(said, new RegExp(`^remedypolicy.fenceline.dev/${policy} created$`, 'm'));
      // All of them at once: the operator takes a moment to say that it has looked.
      if (index === made.length - 1) for (const one of made) await scene.inForce(one.policy, 'DryRun', 0);
    },
  }));
}

function aroundAPolicy(scene: Scene): Station[] {
  const pause = 'fenceline.dev/pause.firmware';
  let web: RunningSet;
  return [
    {
      at: 'powerWatch',
      look: async () => {
        await scene.inForce('workers', 'Enforce', 1);
        const watched = async (): Promise<boolean> => (await deviceOf(scene)).status?.watch === 'TooCostly';
        await waitFor('its device to say that a program for each question costs too much', watched, patient);
      },
    },
    { at: `${pause}=`, look: async () => inTheFuture(await scene.annotation(node, pause), 30 * minutes) },
    { at: `${pause}-`, look: async () => assert.equal(await scene.annotation(node, pause), undefined) },
    {
      // Of an operator that was away: one that leads takes it from a node that lives.
      at: 'out-of-service=fenceline:NoSchedule-',
      before: async () => {
        scene.reader.operator('SIGSTOP');
        await scene.reader.type(`kubectl taint node ${node} node.kubernetes.io/out-of-service=fenceline:NoSchedule`);
      },
      look: async () => {
        assert.equal((await scene.cluster.node(node)).spec?.taints, undefined);
        scene.reader.operator('SIGCONT');
      },
    },
    { at: 'get remedypolicies -o wide', look: (said) => assert.match(said, /^workers +Enforce +1 /m) },
    {
      at: 'check --workloads',
      before: async () => {
        web = await scene.runningOn(node, 'web');
      },
      look: (said) => assert.ok(!said.includes(web.pod.metadata.name), said),
    },
    {
      at: 'fenceline drill',
      look: async (said) => {
        assert.match(said, /worker-1 drilled: the node is back/);
        await scene.cluster.movedFrom(web);
        assert.deepEqual(scene.reader.bmc(node).told(), ['off', 'on']);
        await scene.cluster.inService(node);
      },
    },
  ];
}

function drilled(scene: Scene): Station[] {
  let shop: RunningSet;
  const stopped = async (): Promise<boolean | undefined> => (await scene.fence(node)).spec.stop;
  return [
    { at: 'fenceline stop', look: async () => assert.equal(await stopped(), true) },
    { at: 'fenceline resume', look: async () => assert.equal(await stopped(), false) },
    { at: '"mode":"Approve"', look: () => scene.inForce('workers', 'Approve', 1) },
    {
      at: 'fenceline approve',
      before: async () => {
        shop = await scene.runningOn(node, 'shop');
        shop.machine.powerOff();
        const waits = async (): Promise<boolean> =>
          (await scene.fence(node)).status.hold?.reason === 'AwaitingApproval';
        await waitFor('somebody to be asked', waits, patient);
        await scene.isStillThere(shop);
      },
      look: async () => {
        await scene.cluster.movedFrom(shop);
        assert.equal(await scene.basisOf(shop), 'PowerOff');
        assert.equal((await scene.fence(node)).status.approval?.by, 'admin');
      },
    },
    { at: '"mode":"Enforce"', look: () => scene.inForce('workers', 'Enforce', 1) },
  ];
}

function held(scene: Scene): Station[] {
  const maintenance = 'fenceline.dev/maintenance-until';
  const pauses = async (): Promise<string[]> =>
    (await scene.names('configmaps -n fenceline')).filter((name) => name === 'fenceline-pause');
  return [
    {
      at: 'fenceline pause --for 2h',
      look: async () => {
        assert.deepEqual(await pauses(), ['fenceline-pause']);
        assert.match(await scene.reader.type('bin/fenceline status'), /^EVERYTHING IS PAUSED|^.*paused by admin/im);
      },
    },
    { at: 'pause --show', look: (said) => assert.match(said, /everything is paused by admin until \S+: new switches/) },
    { at: 'pause --end', look: async () => assert.deepEqual(await pauses(), []) },
    { at: `${maintenance}=`, look: async () => inTheFuture(await scene.annotation(node, maintenance), 120 * minutes) },
    { at: `${maintenance}-`, look: async () => assert.equal(await scene.annotation(node, maintenance), undefined) },
    {
      // The drill is not counted: somebody has asked for it.
      at: 'custom-columns',
      look: (said) => assert.match(said, /^worker-1 +Ready +1 +default\/shop-0 +1$/m),
    },
    {
      at: 'alarms',
      look: async () => {
        await scene.inForce('workers', 'Enforce', 1);
        const { spec } = await scene.get<{ spec: { alarms: object[] } }>('remedypolicy workers');
        assert.deepEqual(spec.alarms, [{ condition: 'Ready', count: 3, within: '24h' }]);
      },
    },
    {
      at: 'range .status.deeds',
      look: (said) => {
        const lines = said.split('\n').filter((line) => line.includes(' worker-1 '));
        const has = (what: RegExp): void =>
          assert.ok(
            lines.some((line) => what.test(line)),
            `${what} in:\n${said}`,
          );
        has(/ PowerOff Done: ipmi-off; by admin; why: .*; basis: Remedy; evidence: .*Lease: /);
        has(
          / DeletePod Done: default\/shop-0; by policy workers; .*; basis: PowerOff; evidence: .*PowerOff: ipmi-off$/,
        );
        has(/ Approved Done: \S+; by admin; /);
        has(/ PowerOn Done: ipmi-on; /);
        has(/ Requested Done: \S+; by admin; /);
      },
    },
  ];
}

function inTheFuture(time: string | undefined, withinMs: number): void {
  const aheadMs = Date.parse(time ?? '') - Date.now();
  assert.ok(aheadMs > withinMs / 2 && aheadMs <= withinMs, time);
}

async function deviceOf(scene: Scene): Promise<FenceDevice> {
  const { items } = await scene.get<{ items: FenceDevice[] }>('fencedevices -n fenceline');
  const [device] = items;
  assert.ok(device);
  return device;
}
