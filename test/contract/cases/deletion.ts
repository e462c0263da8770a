/** How objects go: preconditions, grace, finalizers, propagation. */
import assert from 'node:assert/strict';
import type { Api, Json } from '../contract.ts';
import { group, has, types } from '../contract.ts';

const merge = { contentType: types.merge };

function seconds(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}

async function gone(api: Api, path: string): Promise<void> {
  await api.refused(404, 'GET', path);
}

export const deletion = group([
  [
    'a deleted object is gone',
    'deletion',
    async (api) => {
      await api.configMap();
      await api.ok('DELETE', api.configMaps('a'));
      await gone(api, api.configMaps('a'));
    },
  ],
  [
    'the answer to a deletion is a Status that names what went',
    'deletedStatus',
    async (api) => {
      const { metadata } = await api.configMap();
      const status = await api.ok('DELETE', api.configMaps('a'));
      has(status, { kind: 'Status', status: 'Success', details: { name: 'a', kind: 'configmaps', uid: metadata.uid } });
    },
  ],
  [
    'the answer to the deletion of a pod is the pod',
    'deletedObject',
    async (api) => {
      await api.newPod('p');
      has(await api.ok('DELETE', api.pods('p')), {
        kind: 'Pod',
        metadata: { name: 'p', deletionGracePeriodSeconds: 0 },
      });
    },
  ],
  [
    'what is not there cannot be deleted',
    'deletion',
    async (api) => {
      await api.configMap('a');
      await api.refused(404, 'DELETE', api.configMaps('b'));
      await api.ok('DELETE', api.configMaps('a'));
      await api.refused(404, 'DELETE', api.configMaps('a'));
    },
  ],
  [
    'another UID is 409, and the object stays',
    'preconditions',
    async (api) => {
      await api.configMap();
      const status = await api.refused(409, 'DELETE', api.configMaps('a'), { preconditions: { uid: 'other' } });
      assert.match(status.message, /the UID in the precondition \(other\) does not match the UID in record/);
      has(status, { reason: 'Conflict', details: { name: 'a', kind: 'ConfigMap' } });
      await api.ok('GET', api.configMaps('a'));
    },
  ],
  [
    'another resourceVersion is 409, and the object stays',
    'preconditions',
    async (api) => {
      await api.configMap();
      const status = await api.refused(409, 'DELETE', api.configMaps('a'), { preconditions: { resourceVersion: '1' } });
      assert.match(status.message, /the ResourceVersion in the precondition \(1\) does not match/);
      await api.ok('GET', api.configMaps('a'));
    },
  ],
  [
    'preconditions that hold let it through',
    'preconditionValues',
    async (api) => {
      const { metadata } = await api.configMap();
      const { uid, resourceVersion } = metadata;
      await api.ok('DELETE', api.configMaps('a'), { preconditions: { uid, resourceVersion } });
      await gone(api, api.configMaps('a'));
    },
  ],
  [
    'a newcomer of the same name survives the deletion of its predecessor',
    'preconditions',
    async (api) => {
      const { metadata } = await api.configMap();
      await api.ok('DELETE', api.configMaps('a'));
      await api.configMap();
      await api.refused(409, 'DELETE', api.configMaps('a'), { preconditions: { uid: metadata.uid } });
      await api.ok('GET', api.configMaps('a'));
    },
  ],
  [
    'a pod of no node goes at once',
    'unscheduledPods',
    async (api) => {
      await api.newPod('p');
      await api.ok('DELETE', api.pods('p'));
      await gone(api, api.pods('p'));
    },
  ],
  [
    'a bound pod has its time of grace',
    'gracefulDeletion',
    async (api) => {
      await api.scheduledPod('p');
      const before = await api.ok('DELETE', api.pods('p'));
      assert.equal(before.metadata.deletionGracePeriodSeconds, 30);
      const pod = await api.ok('GET', api.pods('p'));
      assert.ok(pod.metadata.deletionTimestamp);
      const ahead = seconds(pod.metadata.creationTimestamp, pod.metadata.deletionTimestamp);
      assert.ok(ahead >= 30 && ahead <= 32, String(ahead));
    },
  ],
  [
    'the time of grace comes from the pod',
    'gracefulDeletion',
    async (api) => {
      await api.scheduledPod('p', { spec: { terminationGracePeriodSeconds: 7 } });
      assert.equal((await api.ok('DELETE', api.pods('p'))).metadata.deletionGracePeriodSeconds, 7);
    },
  ],
  [
    'the time of grace can be said in the body',
    'gracefulDeletion',
    async (api) => {
      await api.scheduledPod('p');
      const pod = await api.ok('DELETE', api.pods('p'), { gracePeriodSeconds: 12 });
      assert.equal(pod.metadata.deletionGracePeriodSeconds, 12);
    },
  ],
  [
    'the time of grace can be said in the query',
    'gracefulDeletion',
    async (api) => {
      await api.scheduledPod('p');
      const pod = await api.ok('DELETE', `${api.pods('p')}?gracePeriodSeconds=11`);
      assert.equal(pod.metadata.deletionGracePeriodSeconds, 11);
    },
  ],
  [
    'no time of grace: gone at once',
    'graceZero',
    async (api) => {
      await api.scheduledPod('p');
      await api.ok('DELETE', api.pods('p'), { gracePeriodSeconds: 0 });
      await gone(api, api.pods('p'));
    },
  ],
  [
    'a second deletion can shorten the grace',
    'graceShortening',
    async (api) => {
      await api.scheduledPod('p');
      const first = await api.ok('DELETE', api.pods('p'));
      const second = await api.ok('DELETE', api.pods('p'), { gracePeriodSeconds: 5 });
      assert.equal(second.metadata.deletionGracePeriodSeconds, 5);
      assert.equal(seconds(second.metadata.deletionTimestamp, first.metadata.deletionTimestamp), 25);
    },
  ],
  [
    'a second deletion cannot lengthen the grace',
    'graceOnlyShortens',
    async (api) => {
      await api.scheduledPod('p');
      const first = await api.ok('DELETE', api.pods('p'), { gracePeriodSeconds: 5 });
      const second = await api.ok('DELETE', api.pods('p'), { gracePeriodSeconds: 60 });
      assert.equal(second.metadata.deletionGracePeriodSeconds, 5);
      assert.equal(second.metadata.deletionTimestamp, first.metadata.deletionTimestamp);
    },
  ],
  [
    'a second deletion without a word changes nothing',
    'graceOnlyShortens',
    async (api) => {
      await api.scheduledPod('p');
      const first = await api.ok('DELETE', api.pods('p'), { gracePeriodSeconds: 5 });
      const second = await api.ok('DELETE', api.pods('p'));
      assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    },
  ],
  [
    'a second deletion without grace completes it',
    'graceShortening',
    async (api) => {
      await api.scheduledPod('p');
      await api.ok('DELETE', api.pods('p'));
      await api.ok('DELETE', api.pods('p'), { gracePeriodSeconds: 0 });
      await gone(api, api.pods('p'));
    },
  ],
  [
    'a pod that has ended goes at once',
    'terminalPods',
    async (api) => {
      await api.scheduledPod('p');
      await api.ok('PATCH', api.pods('p', 'status'), { status: { phase: 'Failed' } }, merge);
      await api.ok('DELETE', api.pods('p'));
      await gone(api, api.pods('p'));
    },
  ],
  [
    'a graceful deletion counts as a new generation',
    'generation',
    async (api) => {
      await api.scheduledPod('p');
      assert.equal((await api.ok('DELETE', api.pods('p'))).metadata.generation, 2);
    },
  ],
  [
    'a finalizer holds a deleted object',
    'deletionFinalizers',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/hold'] });
      const held = await api.ok('DELETE', api.configMaps('a'));
      has(held, { kind: 'ConfigMap', metadata: { name: 'a', deletionGracePeriodSeconds: 0 } });
      assert.ok((await api.ok('GET', api.configMaps('a'))).metadata.deletionTimestamp);
      await api.ok('PATCH', api.configMaps('a'), { metadata: { finalizers: null } }, merge);
    },
  ],
  [
    'an object goes with its last finalizer',
    'finalizers',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/a', 'test.dev/b'] });
      await api.ok('DELETE', api.configMaps('a'));
      await api.ok('PATCH', api.configMaps('a'), { metadata: { finalizers: ['test.dev/b'] } }, merge);
      await api.ok('GET', api.configMaps('a'));
      await api.ok('PATCH', api.configMaps('a'), { metadata: { finalizers: [] } }, merge);
      await gone(api, api.configMaps('a'));
    },
  ],
  [
    'no finalizer can be added to a deleted object',
    'metadataGuards',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/a'] });
      await api.ok('DELETE', api.configMaps('a'));
      const body = { metadata: { finalizers: ['test.dev/a', 'test.dev/b'] } };
      const status = await api.refused(422, 'PATCH', api.configMaps('a'), body, merge);
      assert.match(status.message, /no new finalizers can be added if the object is being deleted/);
      await api.ok('PATCH', api.configMaps('a'), { metadata: { finalizers: null } }, merge);
    },
  ],
  [
    'a deletion cannot be undone',
    'metadataGuards',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/a'] });
      const held = await api.ok('DELETE', api.configMaps('a'));
      const now = await api.ok(
        'PATCH',
        api.configMaps('a'),
        { metadata: { deletionTimestamp: null, labels: { a: 'b' } } },
        merge,
      );
      assert.equal(now.metadata.deletionTimestamp, held.metadata.deletionTimestamp);
      await api.ok('PATCH', api.configMaps('a'), { metadata: { finalizers: null } }, merge);
    },
  ],
  [
    'a finalizer holds a pod after its grace has gone',
    'deletionFinalizers',
    async (api) => {
      await api.scheduledPod('p', { metadata: { finalizers: ['test.dev/a'] } });
      await api.ok('DELETE', api.pods('p'), { gracePeriodSeconds: 0 });
      const pod = await api.ok('GET', api.pods('p'));
      assert.equal(pod.metadata.deletionGracePeriodSeconds, 0);
      await api.ok('PATCH', api.pods('p'), { metadata: { finalizers: null } }, merge);
      await gone(api, api.pods('p'));
    },
  ],
  [
    'a pod without finalizers still has its grace',
    'graceHolds',
    async (api) => {
      await api.scheduledPod('p', { metadata: { finalizers: ['test.dev/a'] } });
      await api.ok('DELETE', api.pods('p'));
      await api.ok('PATCH', api.pods('p'), { metadata: { finalizers: null } }, merge);
      has(await api.ok('GET', api.pods('p')), { metadata: { deletionGracePeriodSeconds: 30 } });
    },
  ],
  [
    'a deletion in the foreground waits for the garbage collector',
    'propagation',
    async (api) => {
      await api.configMap();
      const held = await api.ok('DELETE', api.configMaps('a'), { propagationPolicy: 'Foreground' });
      assert.deepEqual(held.metadata.finalizers, ['foregroundDeletion']);
      await api.ok('PATCH', api.configMaps('a'), { metadata: { finalizers: null } }, merge);
    },
  ],
  [
    'an orphaning deletion waits for the garbage collector',
    'propagation',
    async (api) => {
      await api.configMap();
      const held = await api.ok('DELETE', `${api.configMaps('a')}?propagationPolicy=Orphan`);
      assert.deepEqual(held.metadata.finalizers, ['orphan']);
      await api.ok('PATCH', api.configMaps('a'), { metadata: { finalizers: null } }, merge);
    },
  ],
  [
    'a deletion in the background takes the collector’s finalizers away',
    'propagation',
    async (api) => {
      await api.configMap();
      await api.ok('DELETE', api.configMaps('a'), { propagationPolicy: 'Foreground' });
      await api.ok('DELETE', api.configMaps('a'), { propagationPolicy: 'Background' });
      await gone(api, api.configMaps('a'));
    },
  ],
  [
    'dryRun deletes nothing',
    'dryRun',
    async (api) => {
      await api.configMap();
      await api.ok('DELETE', `${api.configMaps('a')}?dryRun=All`);
      await api.ok('GET', api.configMaps('a'));
    },
  ],
  [
    'a deleted namespace terminates, and takes nothing new',
    'namespaceLifecycle',
    async (api) => {
      const path = `/api/v1/namespaces/t-${api.id}`;
      await api.ok('POST', '/api/v1/namespaces', { metadata: { name: `t-${api.id}` } });
      const namespace = await api.ok('DELETE', path);
      has(namespace, { status: { phase: 'Terminating' }, spec: { finalizers: ['kubernetes'] } });
      const status = await api.refused(403, 'POST', `${path}/configmaps`, { metadata: { name: 'a' } });
      has(status, { reason: 'Forbidden', details: { causes: [{ reason: 'NamespaceTerminating' }] } });
    },
  ],
  [
    'a namespace goes when its finalizer has been taken away',
    'finalizers',
    async (api) => {
      const path = `/api/v1/namespaces/t-${api.id}`;
      await api.ok('POST', '/api/v1/namespaces', { metadata: { name: `t-${api.id}` } });
      const namespace: Json = await api.ok('DELETE', path);
      await api.ok('PUT', `${path}/finalize`, { ...namespace, spec: { finalizers: [] } });
      await gone(api, path);
    },
  ],
]);
