/** Attach-detach, with its traps. */
import assert from 'node:assert/strict';
import * as resources from '../../../../src/world/controllers/resources.ts';
import { isReady } from '../../../../src/world/objects/meta.ts';
import type { Node } from '../../../../src/world/objects/nodes.ts';
import type { Pod } from '../../../../src/world/objects/pods.ts';
import { apiTime } from '../../../../src/world/objects/times.ts';
import { attachmentNameOf, attachNameOf } from '../../../../src/world/objects/volumes.ts';
import type { Behaviour, Scene } from '../scene.ts';
import { notEarlier, same } from '../scene.ts';
import { database } from '../workloads.ts';
import { attachlessDriver, driver } from '../world.ts';

const attachName = (scene: Scene, volume: string): string => attachNameOf(driver, `${scene.namespace}-${volume}`);
const nodesOf = (scene: Scene, volume: string): string[] =>
  scene
    .attachments(volume)
    .map(({ spec }) => spec.nodeName)
    .sort();
const volumesAttached = (scene: Scene, nodeName: string): string[] =>
  (scene.node(nodeName)?.status?.volumesAttached ?? []).map(({ name }) => name);

/** A Node with nothing behind it, which needs no scheduler: pods are put there by name. */
async function bareNode(scene: Scene, suffix: string, annotations: Record<string, string>): Promise<string> {
  const name = `${scene.namespace}-${suffix}`;
  const time = apiTime(scene.world.clock.now());
  const ready = { type: 'Ready', status: 'True', reason: 'Test', lastHeartbeatTime: time, lastTransitionTime: time };
  const labels = { 'topology.kubernetes.io/zone': scene.namespace };
  await scene.create<Node>(
    resources.nodes,
    { metadata: { name, labels, annotations }, status: { conditions: [ready] } },
    name,
  );
  return name;
}

async function podWithClaim(
  scene: Scene,
  name: string,
  claimName: string,
  spec: Partial<Pod['spec']> = {},
): Promise<Pod> {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName } }];
  return scene.createPod(name, { ...spec, volumes });
}

/** A dead node, its pod terminating for good. */
async function stuckDatabase(scene: Scene): Promise<{ pod: Pod; nodeName: string; volume: string }> {
  const stuck = await database(scene);
  scene.machine(stuck.nodeName).powerOff();
  await scene.terminating('db-0');
  return stuck;
}

export const attachBehaviours: Behaviour[] = [
  {
    name: 'an attachment has the name and shape that kubelets look for',
    async run(scene) {
      const { nodeName, volume } = await database(scene);
      const [attachment] = scene.attachments(volume);
      same(attachment?.metadata.name, attachmentNameOf(driver, volume, nodeName));
      same(attachment?.spec, { attacher: driver, nodeName, source: { persistentVolumeName: volume } });
      same(attachment?.status?.attached, true);
      const name = attachName(scene, 'db-0');
      const entry = scene.node(nodeName)?.status?.volumesAttached?.find((one) => one.name === name);
      same(entry, { name, devicePath: '' });
    },
  },
  {
    name: 'a volume is detached when the kubelet has let go of it',
    async run(scene) {
      const { nodeName, volume } = await database(scene);
      await scene.delete(resources.statefulSets, 'db', { propagationPolicy: 'Background' });
      await scene.until('the detach', () => scene.attachments(volume).length === 0);
      await scene.until('the pod to be gone', () => scene.pod('db-0') === undefined);
      await scene.until('the report', () => !volumesAttached(scene, nodeName).includes(attachName(scene, 'db-0')));
    },
  },
  {
    name: 'a deleted attachment comes back while its dead pod is terminating, and nothing is gained',
    nodes: 2,
    async run(scene) {
      const { pod, nodeName, volume } = await stuckDatabase(scene);
      const [old] = scene.attachments(volume);
      await scene.delete(resources.volumeAttachments, old?.metadata.name ?? '');
      await scene.until('the attachment to be gone', () => scene.attachments(volume).length === 0);
      await scene.until(
        'it to come back',
        () => scene.attachments(volume)[0]?.status?.attached === true,
        scene.times.attachSyncMs * 2 + 3000,
      );
      const [again] = scene.attachments(volume);
      same([again?.spec.nodeName, again?.metadata.uid === old?.metadata.uid], [nodeName, false]);
      await scene.stays(4000, () => {
        same(nodesOf(scene, volume), [nodeName]);
        same(
          scene.pods('db').map(({ metadata }) => metadata.uid),
          [pod.metadata.uid],
        );
      });
    },
  },
  {
    name: 'a dead pod called failed, and nothing in use: the volume is detached',
    nodes: 2,
    async run(scene) {
      const { pod, nodeName, volume } = await stuckDatabase(scene);
      await scene.patch(resources.pods, 'db-0', [{ op: 'replace', path: '/status/phase', value: 'Failed' }], 'status');
      await scene.stays(3000, () => same(nodesOf(scene, volume), [nodeName]));
      await scene.clearVolumesInUse(nodeName);
      await scene.until('the detach', () => scene.attachments(volume).length === 0, 5000);
      await scene.stays(scene.times.attachSyncMs + 1000, () => same(nodesOf(scene, volume), []));
      same(scene.pod('db-0')?.metadata.uid, pod.metadata.uid);
      same(volumesAttached(scene, nodeName), []);
    },
  },
  {
    name: 'a force-deleted pod leaves its volume with the dead node that calls it in use',
    nodes: 2,
    async run(scene) {
      const { pod, nodeName, volume } = await stuckDatabase(scene);
      await scene.forceDelete('db-0');
      await scene.until('the replacement to be bound', () => {
        const next = scene.pod('db-0');
        return next?.metadata.uid !== pod.metadata.uid && next?.spec.nodeName !== undefined;
      });
      await scene.stays(8000, () => {
        same(nodesOf(scene, volume), [nodeName]);
        same(volumesAttached(scene, nodeName), [attachName(scene, 'db-0')]);
        same(isReady(scene.pod('db-0')), false);
      });
    },
  },
  {
    name: 'a force-deleted pod, and nothing in use: its replacement runs within seconds',
    nodes: 2,
    async run(scene) {
      const { pod, nodeName, volume } = await stuckDatabase(scene);
      await scene.clearVolumesInUse(nodeName);
      await scene.forceDelete('db-0');
      const at = scene.world.clock.monotonic();
      const next = await scene.ready('db-0', pod);
      scene.atMost(scene.world.clock.monotonic() - at, 5000);
      same(nodesOf(scene, volume), [next.spec.nodeName]);
    },
  },
  {
    name: 'a node that is gone keeps what it last called in use',
    nodes: 2,
    async run(scene) {
      const { pod, nodeName, volume } = await database(scene);
      scene.machine(nodeName).powerOff();
      await scene.delete(resources.nodes, nodeName);
      await scene.until('the replacement to be bound', () => {
        const next = scene.pod('db-0');
        return next?.metadata.uid !== pod.metadata.uid && next?.spec.nodeName !== undefined;
      });
      await scene.stays(8000, () => same(nodesOf(scene, volume), [nodeName]));
      same(isReady(scene.pod('db-0')), false);
    },
  },
  {
    name: 'a deleted attachment of a live pod comes back too',
    nodes: 1,
    async run(scene) {
      const { nodeName, volume } = await database(scene);
      const [old] = scene.attachments(volume);
      await scene.delete(resources.volumeAttachments, old?.metadata.name ?? '');
      await scene.until(
        'another one',
        () => {
          const [next] = scene.attachments(volume);
          return next !== undefined && next.metadata.uid !== old?.metadata.uid && next.status?.attached === true;
        },
        scene.times.attachSyncMs * 2 + 3000,
      );
      same(nodesOf(scene, volume), [nodeName]);
    },
  },
  {
    name: 'a volume for one node is not attached to a second, one for many is',
    nodes: 2,
    async run(scene) {
      const [first = '', second = ''] = scene.nodes;
      await scene.createVolume('one', { claim: 'one' });
      await scene.createClaim('one');
      const many = { accessModes: ['ReadWriteMany'] };
      await scene.createVolume('many', { claim: 'many', spec: many });
      await scene.createClaim('many', many);
      const pinned = (name: string): Partial<Pod['spec']> => ({ nodeSelector: { 'kubernetes.io/hostname': name } });
      await podWithClaim(scene, 'one-a', 'one', pinned(first));
      await podWithClaim(scene, 'many-a', 'many', pinned(first));
      await Promise.all(['one-a', 'many-a'].map((name) => scene.ready(name)));
      await podWithClaim(scene, 'one-b', 'one', pinned(second));
      await podWithClaim(scene, 'many-b', 'many', pinned(second));
      await scene.ready('many-b');
      same(nodesOf(scene, `${scene.namespace}-many`), [first, second]);
      await scene.stays(3000, () => same(nodesOf(scene, `${scene.namespace}-one`), [first]));
      same(isReady(scene.pod('one-b')), false);
      await scene.delete(resources.pods, 'one-a');
      await scene.ready('one-b');
      same(nodesOf(scene, `${scene.namespace}-one`), [second]);
    },
  },
  {
    name: 'a node that does not leave its volumes to the controller gets no attachments',
    async run(scene) {
      const managed = await bareNode(scene, 'managed', {
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      });
      const own = await bareNode(scene, 'own', {});
      for (const name of ['a', 'b']) {
        await scene.createVolume(name, { claim: name });
        await scene.createClaim(name);
      }
      await scene.until('the claims to be bound', () =>
        ['a', 'b'].every((name) => scene.claim(name)?.status?.phase === 'Bound'),
      );
      await scene.until('the nodes', () => scene.node(managed) && scene.node(own));
      await podWithClaim(scene, 'on-managed', 'a', { nodeName: managed });
      await podWithClaim(scene, 'on-own', 'b', { nodeName: own });
      await scene.until('the attachment', () => nodesOf(scene, `${scene.namespace}-a`).length === 1);
      await scene.stays(2000, () => same(nodesOf(scene, `${scene.namespace}-b`), []));
    },
  },
  {
    name: 'a driver that needs no attaching gets no attachments',
    async run(scene) {
      await scene.createVolume('free', {
        claim: 'free',
        spec: { csi: { driver: attachlessDriver, volumeHandle: 'free' } },
      });
      await scene.createClaim('free');
      await podWithClaim(scene, 'uses', 'free');
      await scene.ready('uses');
      same(nodesOf(scene, `${scene.namespace}-free`), []);
    },
  },
  forgottenDetach('a detach that fails is forgotten: the volume is attached to a second node', 'errors'),
  forgottenDetach('so is one that hangs, when its time is up', 'hangs'),
  {
    name: 'a volume of a dead node is detached by force when its time is up',
    nodes: 2,
    slow: true,
    async run(scene) {
      const { forceDetachMs } = scene.times;
      const { pod, nodeName, volume } = await stuckDatabase(scene);
      const [attachment] = scene.attachments(volume);
      assert.ok(attachment);
      const deletedAtMs = scene.now();
      await scene.forceDelete('db-0');
      // Six minutes are more than the usual patience.
      await scene.stays(0.5 * forceDetachMs, () => same(nodesOf(scene, volume), [nodeName]));
      await scene.until('the detach', () => !nodesOf(scene, volume).includes(nodeName), 0.5 * forceDetachMs + 10_000);
      scene.deletedNotBefore(attachment, deletedAtMs + forceDetachMs);
      await scene.ready('db-0', pod);
    },
  },
];

/** Alone: the fault is that of a driver, which all behaviours share. */
function forgottenDetach(name: string, fault: 'errors' | 'hangs'): Behaviour {
  return {
    name,
    nodes: 2,
    alone: true,
    slow: fault === 'hangs',
    async run(scene) {
      const { attacher } = scene.world.fleet;
      const { pod, nodeName, volume } = await database(scene);
      await scene.patch(resources.nodes, nodeName, [{ op: 'add', path: '/spec/unschedulable', value: true }]);
      await scene.until('the taint', () => scene.taintsOf(nodeName).length === 1);
      attacher.setDetachFault(driver, fault);
      const startedAtMs = scene.now();
      try {
        // The scheduler may not have heard of the cordon yet.
        let last = pod;
        while (last.spec.nodeName === nodeName) {
          await scene.delete(resources.pods, 'db-0');
          last = await scene.ready('db-0', last);
        }
        same(nodesOf(scene, volume), [...scene.nodes].sort());
        const second = scene.attachments(volume).find(({ spec }) => spec.nodeName !== nodeName);
        const attachedAtMs = Date.parse(second?.metadata.creationTimestamp ?? '');
        if (fault === 'hangs') notEarlier('the second', attachedAtMs, startedAtMs + scene.times.attachTimeoutMs);
        same(
          scene.attachments(volume).some(({ status }) => status?.detachError !== undefined),
          fault === 'errors',
        );
      } finally {
        attacher.setDetachFault(driver, 'none');
      }
      await scene.until('the detach', () => !nodesOf(scene, volume).includes(nodeName));
    },
  };
}
