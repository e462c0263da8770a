/** Node lifecycle: who is silent, what is said of it, and how many at a time. */
import assert from 'node:assert/strict';
import { sleep } from '../../../../src/clock.ts';
import type { KubeObject } from '../../../../src/kube/client.ts';
import * as resources from '../../../../src/world/controllers/resources.ts';
import { conditionOf } from '../../../../src/world/objects/meta.ts';
import type { Lease, Node } from '../../../../src/world/objects/nodes.ts';
import { apiMicroTime, apiTime } from '../../../../src/world/objects/times.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { notEarlier, same, valueOf } from '../scene.ts';
import { statefulSet } from '../workloads.ts';

const unreachable = ['unreachable:NoExecute', 'unreachable:NoSchedule'];
const notReady = ['not-ready:NoExecute', 'not-ready:NoSchedule'];
const longAgo = Date.UTC(2020, 0, 1);

/** A Node that no kubelet stands behind. */
async function bareNode(scene: Scene): Promise<string> {
  const name = `${scene.namespace}-bare`;
  const time = apiTime(scene.world.clock.now());
  const ready = { type: 'Ready', status: 'True', reason: 'Test', lastHeartbeatTime: time, lastTransitionTime: time };
  const labels = { 'topology.kubernetes.io/zone': scene.namespace };
  await scene.create<Node>(resources.nodes, { metadata: { name, labels }, status: { conditions: [ready] } }, name);
  await scene.until('the node', () => scene.node(name));
  return name;
}

async function writeHeartbeat(scene: Scene, name: string, timeMs: number): Promise<void> {
  const value = apiTime(timeMs);
  await scene.patch(
    resources.nodes,
    name,
    [{ op: 'add', path: '/status/conditions/0/lastHeartbeatTime', value }],
    'status',
  );
}

/** Runs `beat` all the while, often enough, for longer than a silent node has. */
async function staysReady(scene: Scene, name: string, beat: (count: number) => Promise<void>): Promise<void> {
  const { graceMs, monitorMs } = scene.times;
  const until = scene.world.clock.monotonic() + graceMs + 3 * monitorMs;
  for (let count = 0; scene.world.clock.monotonic() < until; count += 1) {
    await beat(count);
    same(scene.readyOf(name), 'True');
    await sleep(scene.world.clock, graceMs / 8);
  }
}

/** When the node's NoExecute taint was put there, by who did it. */
function taintedAtMs(scene: Scene, name: string): number | undefined {
  const taint = scene
    .node(name)
    ?.spec?.taints?.find(({ key, effect }) => key === 'node.kubernetes.io/unreachable' && effect === 'NoExecute');
  return taint === undefined ? undefined : Date.parse(taint.timeAdded ?? '');
}

async function lastRenewalMs(scene: Scene, name: string): Promise<number> {
  const ref = { resource: resources.leases, namespace: 'kube-node-lease', name };
  return Date.parse(valueOf(await scene.world.client.get<Lease>(ref)).spec?.renewTime ?? '');
}

interface WrittenLease extends KubeObject {
  spec: object;
}

class BareLease {
  readonly #scene: Scene;
  readonly #ref: { resource: typeof resources.leases; namespace: string; name: string };

  constructor(scene: Scene, name: string) {
    this.#scene = scene;
    this.#ref = { resource: resources.leases, namespace: 'kube-node-lease', name };
  }

  async write(renewMs: number): Promise<void> {
    const { client } = this.#scene.world;
    const spec = { holderIdentity: this.#ref.name, leaseDurationSeconds: 40, renewTime: apiMicroTime(renewMs) };
    const known = await client.get<WrittenLease>(this.#ref);
    const metadata = { name: this.#ref.name, namespace: this.#ref.namespace };
    const written = known.ok
      ? await client.replace<WrittenLease>(this.#ref, { ...known.value, spec })
      : await client.create<WrittenLease>(resources.leases, { metadata, spec });
    assert.ok(written.ok);
  }
}

export const nodeBehaviours: Behaviour[] = [
  {
    name: 'a silent node is Unknown after the grace period, not before',
    nodes: 1,
    async run(scene) {
      const { graceMs, monitorMs } = scene.times;
      const [name = ''] = scene.nodes;
      await scene.until('a renewal', async () => (await lastRenewalMs(scene, name)) > 0);
      scene.machine(name).powerOff();
      await scene.until('Unknown', () => scene.readyOf(name) === 'Unknown', graceMs + 2 * monitorMs);
      const node = scene.node(name);
      const unknownAtMs = Date.parse(conditionOf(node, 'Ready')?.lastTransitionTime ?? '');
      notEarlier('Unknown', unknownAtMs, (await lastRenewalMs(scene, name)) + graceMs);
      for (const type of ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']) {
        const { status, reason, message } = conditionOf(node, type) ?? {};
        same([status, reason, message], ['Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.']);
      }
    },
  },
  {
    name: 'renewing the lease alone keeps a node Ready',
    async run(scene) {
      const name = await bareNode(scene);
      const lease = new BareLease(scene, name);
      await staysReady(scene, name, () => lease.write(scene.world.clock.now()));
      await scene.unknown(name);
    },
  },
  {
    name: 'posting the status alone keeps a node Ready, whatever time it claims',
    async run(scene) {
      const name = await bareNode(scene);
      await staysReady(scene, name, (count) => writeHeartbeat(scene, name, longAgo + count * 1000));
      await scene.unknown(name);
    },
  },
  {
    name: 'a heartbeat from the future that never changes helps nobody',
    async run(scene) {
      const name = await bareNode(scene);
      const future = scene.world.clock.now() + 3_600_000;
      await new BareLease(scene, name).write(future);
      await writeHeartbeat(scene, name, future);
      await scene.unknown(name);
    },
  },
  {
    name: 'a node that never posted a status is Unknown with a reason of its own',
    async run(scene) {
      const name = `${scene.namespace}-mute`;
      await scene.create<Node>(resources.nodes, { metadata: { name, labels: {} } }, name);
      await scene.until('Unknown', () => scene.readyOf(name) === 'Unknown', 90_000);
      same(conditionOf(scene.node(name), 'Ready')?.reason, 'NodeStatusNeverUpdated');
    },
  },
  {
    name: 'an unreachable node has both taints, and loses them on return',
    nodes: 2,
    async run(scene) {
      const [name = ''] = scene.nodes;
      await scene.taint(name, { key: 'example.com/mine', effect: 'NoSchedule' });
      scene.machine(name).partition();
      await scene.until('the taints', () => {
        same(scene.taintsOf(name), ['mine:NoSchedule', ...unreachable]);
        return true;
      });
      assert.ok(
        (scene.node(name)?.spec?.taints ?? []).every(({ key, timeAdded }) => key.startsWith('example') || timeAdded),
      );
      scene.machine(name).heal();
      await scene.until('the others to be gone', () => {
        same(scene.taintsOf(name), ['mine:NoSchedule']);
        return true;
      });
      same(scene.readyOf(name), 'True');
    },
  },
  {
    name: 'a node that calls itself not ready has those taints, and changes them when it falls silent',
    nodes: 2,
    async run(scene) {
      const [name = ''] = scene.nodes;
      scene.world.fleet.kubelet(name).report('Ready', 'False');
      await scene.until('not-ready', () => same(scene.taintsOf(name), notReady) === undefined);
      same(scene.readyOf(name), 'False');
      scene.machine(name).powerOff();
      await scene.unknown(name);
      await scene.until('unreachable', () => same(scene.taintsOf(name), unreachable) === undefined);
    },
  },
  {
    name: 'pressure forbids scheduling and evicts nobody',
    nodes: 1,
    async run(scene) {
      const [name = ''] = scene.nodes;
      await scene.createPod('stays');
      const pod = await scene.ready('stays');
      scene.world.fleet.kubelet(name).report('DiskPressure', 'True');
      await scene.until('the taint', () => same(scene.taintsOf(name), ['disk-pressure:NoSchedule']) === undefined);
      await scene.stays(2000, () => same(scene.pod('stays')?.metadata.deletionTimestamp, undefined));
      scene.world.fleet.kubelet(name).report('DiskPressure', undefined);
      await scene.until('no taint', () => same(scene.taintsOf(name), []) === undefined);
      same(scene.pod('stays')?.metadata.uid, pod.metadata.uid);
    },
  },
  {
    name: 'a cordon becomes a taint and goes with it',
    nodes: 1,
    async run(scene) {
      const [name = ''] = scene.nodes;
      await scene.patch(resources.nodes, name, [{ op: 'add', path: '/spec/unschedulable', value: true }]);
      await scene.until('the taint', () => same(scene.taintsOf(name), ['unschedulable:NoSchedule']) === undefined);
      await scene.patch(resources.nodes, name, [{ op: 'remove', path: '/spec/unschedulable' }]);
      await scene.until('no taint', () => same(scene.taintsOf(name), []) === undefined);
    },
  },
  {
    name: 'pods of an unreachable node are not ready, though still called running',
    nodes: 2,
    async run(scene) {
      await statefulSet(scene, 'db');
      const pod = await scene.ready('db-0');
      scene.machine(pod.spec.nodeName ?? '').partition();
      await scene.unknown(pod.spec.nodeName ?? '');
      await scene.until('not ready', () => conditionOf(scene.pod('db-0'), 'Ready')?.status === 'False', 1000);
      same(scene.pod('db-0')?.status?.phase, 'Running');
      same(scene.pod('db-0')?.status?.containerStatuses?.[0]?.ready, true);
    },
  },
  {
    name: 'one node of a zone at a time gets its NoExecute taint',
    nodes: 5,
    async run(scene) {
      const [first = '', second = ''] = scene.nodes;
      for (const name of [first, second]) scene.machine(name).powerOff();
      const times = await scene.until('both taints', () => {
        const [one, other] = [first, second].map((name) => taintedAtMs(scene, name));
        return one !== undefined && other !== undefined && [one, other];
      });
      const gapMs = Math.max(...times) - Math.min(...times);
      const { evictionGapMs } = scene.times;
      // In whole seconds, and whoever is second may have waited for its turn before the first had its taint.
      assert.ok(gapMs >= 0.6 * evictionGapMs, `${gapMs} ms apart`);
      scene.atMost(gapMs, evictionGapMs + 1000);
    },
  },
  {
    name: 'a zone of which most is down gets no NoExecute taint',
    nodes: 4,
    async run(scene) {
      const down = scene.nodes.slice(0, 3);
      await scene.createPod('stays', { nodeName: down[0] ?? '' });
      await scene.ready('stays');
      for (const name of down) scene.machine(name).partition();
      await scene.until('all Unknown', () => down.every((name) => scene.readyOf(name) === 'Unknown'));
      await scene.until('NoSchedule', () =>
        down.every((name) => scene.taintsOf(name).includes('unreachable:NoSchedule')),
      );
      // Some may have been first, before it was clear that it is most of the zone.
      await sleep(scene.world.clock, scene.times.evictionGapMs);
      const tainted = down.filter((name) => scene.taintsOf(name).includes('unreachable:NoExecute'));
      assert.ok(tainted.length < down.length, tainted.join());
      scene.atMost(tainted.length, 1);
      await scene.stays(2 * scene.times.evictionGapMs + 3000, () =>
        same(
          down.filter((name) => scene.taintsOf(name).includes('unreachable:NoExecute')),
          tainted,
        ),
      );
    },
  },
  {
    name: 'a zone that is down altogether is evicted, as long as others are up',
    nodes: 1,
    async run(scene) {
      const [name = ''] = scene.nodes;
      scene.machine(name).powerOff();
      await scene.until('the taint', () => same(scene.taintsOf(name), unreachable) === undefined);
    },
  },
  {
    name: 'nobody is evicted when every zone is down',
    nodes: 3,
    alone: true,
    async run(scene) {
      for (const nodeName of scene.nodes) await scene.createPod(`on-${nodeName}`, { nodeName });
      for (const nodeName of scene.nodes) await scene.ready(`on-${nodeName}`);
      const { machines } = scene.world.fleet;
      const up = machines.filter((machine) => machine.connected).map(({ name }) => name);
      for (const machine of machines) machine.partition();
      await scene.until('all Unknown', () => up.every((name) => scene.readyOf(name) !== 'True'));
      // Some may have been first, before it was clear that nobody is left; the others would follow when their turn comes.
      await sleep(scene.world.clock, scene.times.evictionGapMs);
      const isTainted = (name: string): boolean => scene.taintsOf(name).includes('unreachable:NoExecute');
      const spared = scene.nodes.filter((name) => !isTainted(name));
      assert.notEqual(spared.length, 0);
      const kept = spared.filter((name) => scene.pod(`on-${name}`)?.metadata.deletionTimestamp === undefined);
      await scene.stays(2 * scene.times.evictionGapMs + 3000, () => {
        for (const name of spared) same(scene.taintsOf(name), ['unreachable:NoSchedule']);
        for (const name of kept) same(scene.pod(`on-${name}`)?.metadata.deletionTimestamp, undefined);
      });
    },
  },
];
