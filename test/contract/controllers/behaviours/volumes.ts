/** The binding of claims and volumes. */
import assert from 'node:assert/strict';
import * as resources from '../../../../src/world/controllers/resources.ts';
import { conditionOf } from '../../../../src/world/objects/meta.ts';
import type { StorageClass } from '../../../../src/world/objects/volumes.ts';
import type { Behaviour } from '../scene.ts';
import { same } from '../scene.ts';

const phases = ['Bound', 'Bound'];

export const volumeBehaviours: Behaviour[] = [
  {
    name: 'a volume that names a claim is bound to it, and to no other',
    async run(scene) {
      await scene.createVolume('mine', { claim: 'mine', spec: { capacity: { storage: '5Gi' } } });
      await scene.createClaim('other');
      await scene.createClaim('mine');
      await scene.until('both sides', () => {
        same([scene.volume('mine')?.status?.phase, scene.claim('mine')?.status?.phase], phases);
        return true;
      });
      same(scene.claim('mine')?.spec?.volumeName, `${scene.namespace}-mine`);
      same(scene.volume('mine')?.spec.claimRef?.uid, scene.claim('mine')?.metadata.uid);
      same(scene.claim('mine')?.status?.['capacity'], { storage: '5Gi' });
      same(scene.claim('mine')?.metadata.annotations?.['pv.kubernetes.io/bind-completed'], 'yes');
      same(scene.claim('other')?.status?.phase, 'Pending');
    },
  },
  {
    name: 'of several volumes the smallest that fits is taken',
    async run(scene) {
      const sized = (storage: string): object => ({ capacity: { storage } });
      await scene.createVolume('large', { spec: sized('10Gi') });
      await scene.createVolume('small', { spec: sized('1Gi') });
      await scene.createVolume('right', { spec: sized('5Gi') });
      await scene.createVolume('elsewhere', { spec: { ...sized('4Gi'), storageClassName: 'another' } });
      await scene.createVolume('readers', { spec: { ...sized('4Gi'), accessModes: ['ReadOnlyMany'] } });
      await scene.until('the volumes', () =>
        ['large', 'right', 'readers'].every((name) => scene.volume(name)?.status?.phase === 'Available'),
      );
      await scene.createClaim('wants', { resources: { requests: { storage: '3Gi' } } });
      await scene.until('the claim', () => scene.claim('wants')?.status?.phase === 'Bound');
      same(scene.claim('wants')?.spec?.volumeName, `${scene.namespace}-right`);
    },
  },
  {
    name: 'a claim waits for a volume, and its pod for the claim',
    async run(scene) {
      await scene.createClaim('late');
      await scene.createPod('waits', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'late' } }] });
      const scheduled = (): ReturnType<typeof conditionOf> => conditionOf(scene.pod('waits'), 'PodScheduled');
      await scene.until('the refusal', () => scheduled()?.status === 'False');
      same(scheduled()?.reason, 'Unschedulable');
      assert.match(scheduled()?.message ?? '', /unbound immediate PersistentVolumeClaims/);
      await scene.createVolume('late');
      await scene.ready('waits');
    },
  },
  {
    name: 'a volume is released when its claim is gone, and a claim in use stays',
    async run(scene) {
      await scene.createVolume('held');
      await scene.createClaim('held');
      await scene.createPod('uses', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'held' } }] });
      await scene.ready('uses');
      await scene.delete(resources.persistentVolumeClaims, 'held');
      await scene.stays(2000, () =>
        assert.ok(scene.claim('held')?.metadata.deletionTimestamp === undefined || scene.claim('held')),
      );
      assert.ok(scene.claim('held')?.metadata.deletionTimestamp);
      await scene.delete(resources.pods, 'uses');
      await scene.until('the claim to be gone', () => scene.claim('held') === undefined);
      await scene.until('the volume', () => scene.volume('held')?.status?.phase === 'Released');
      await scene.createClaim('held');
      await scene.stays(2000, () => same(scene.volume('held')?.status?.phase, 'Released'));
      same(scene.claim('held')?.status?.phase, 'Pending');
    },
  },
  {
    name: 'a claim whose class waits is bound where its pod goes',
    nodes: 2,
    async run(scene) {
      const [, second = ''] = scene.nodes;
      await scene.create<StorageClass>(
        resources.storageClasses,
        { provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' },
        scene.namespace,
      );
      const named = { key: 'kubernetes.io/hostname', operator: 'In', values: [second] };
      const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [named] }] } };
      await scene.createVolume('local', { spec: { nodeAffinity } });
      await scene.createClaim('local');
      await scene.stays(2000, () => assert.notEqual(scene.claim('local')?.status?.phase, 'Bound'));
      await scene.createPod('uses', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'local' } }] });
      const pod = await scene.ready('uses');
      same(pod.spec.nodeName, second);
      same(scene.claim('local')?.spec?.volumeName, `${scene.namespace}-local`);
    },
  },
];
