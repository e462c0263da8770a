/** Nodes with their taints, Leases and VolumeAttachments. */
import assert from 'node:assert/strict';
import type { Api, Json } from '../contract.ts';
import { group, has, types } from '../contract.ts';

const merge = { contentType: types.merge };
const attachments = '/apis/storage.k8s.io/v1/volumeattachments';

function attach(api: Api, more: Json = {}): Promise<Json> {
  const spec = { attacher: 'driver.test', nodeName: `n-${api.id}`, source: { persistentVolumeName: 'pv' } };
  return api.ok('POST', attachments, { metadata: { name: `va-${api.id}`, labels: { case: api.id } }, spec, ...more });
}

function lease(api: Api, name = ''): string {
  return api.inGroup('coordination.k8s.io/v1', 'leases', name);
}

async function taints(api: Api, list: Json): Promise<Json> {
  await api.newNode();
  return api.call('PATCH', api.node(), { spec: { taints: list } }, merge);
}

export const nodes = group([
  [
    'a new node is tainted until it was seen ready',
    'admission',
    async (api) => {
      const node = await api.newNode();
      assert.deepEqual(node.spec.taints, [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
    },
  ],
  [
    'a new node may bring its status',
    'nodeStatus',
    async (api) => {
      const status = {
        conditions: [{ type: 'Ready', status: 'True' }],
        capacity: { cpu: '4' },
        allocatable: { cpu: '3' },
      };
      const node = await api.newNode('n', { status });
      has(node, { status });
      assert.equal(node.status.nodeInfo.bootID, '');
      assert.equal(node.metadata.generation, undefined);
    },
  ],
  [
    'taints: an effect that is none is 422',
    'validation',
    async (api) => {
      const { status, body } = await taints(api, [{ key: 'a', effect: 'Never' }]);
      assert.equal(status, 422);
      has(body.details.causes[0], { reason: 'FieldValueNotSupported', field: 'metadata.taints[0].effect' });
      assert.match(body.message, /supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"/);
    },
  ],
  [
    'taints: none without an effect',
    'validation',
    async (api) => {
      const { status, body } = await taints(api, [{ key: 'a' }]);
      assert.equal(status, 422);
      assert.match(body.message, /metadata.taints\[0\].effect: Required value/);
    },
  ],
  [
    'taints: no two of one key and effect',
    'duplicateTaints',
    async (api) => {
      const { status, body } = await taints(api, [
        { key: 'a', effect: 'NoSchedule', value: '1' },
        { key: 'a', effect: 'NoSchedule', value: '2' },
      ]);
      assert.equal(status, 422);
      assert.match(
        body.message,
        /metadata.taints\[1\]: Duplicate value: .*taints must be unique by key and effect pair/,
      );
    },
  ],
  [
    'taints: two of one key with different effects',
    'taintKeys',
    async (api) => {
      const { status, body } = await taints(api, [
        { key: 'a', effect: 'NoSchedule' },
        { key: 'a', effect: 'NoExecute' },
      ]);
      assert.equal(status, 200);
      assert.equal(body.spec.taints.length, 2);
    },
  ],
  [
    'a node is cordoned by its spec',
    'fieldSelectors',
    async (api) => {
      await api.newNode();
      await api.ok('PATCH', api.node(), { spec: { unschedulable: true } }, merge);
      const selector = encodeURIComponent(`spec.unschedulable=true,metadata.name=n-${api.id}`);
      assert.equal((await api.ok('GET', `/api/v1/nodes?fieldSelector=${selector}`)).items.length, 1);
      const other = encodeURIComponent(`spec.unschedulable=false,metadata.name=n-${api.id}`);
      assert.equal((await api.ok('GET', `/api/v1/nodes?fieldSelector=${other}`)).items.length, 0);
    },
  ],
  [
    'labels of a node can be written through its status',
    'statusMetadata',
    async (api) => {
      await api.newNode();
      const node = await api.ok('PATCH', api.node('n', 'status'), { metadata: { labels: { l: 'm' } } }, merge);
      assert.equal(node.metadata.labels.l, 'm');
    },
  ],
  [
    'a lease has to last',
    'validation',
    async (api) => {
      const body = { metadata: { name: 'l' }, spec: { leaseDurationSeconds: 0 } };
      const status = await api.refused(422, 'POST', lease(api), body);
      assert.match(status.message, /spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0/);
    },
  ],
  [
    'PUT of a lease that is not there makes it',
    'createOnUpdate',
    async (api) => {
      const { status } = await api.call('PUT', lease(api, 'l'), {
        metadata: { name: 'l' },
        spec: { holderIdentity: 'me' },
      });
      assert.equal(status, 201);
      assert.equal((await api.ok('GET', lease(api, 'l'))).spec.holderIdentity, 'me');
    },
  ],
  [
    'PUT of a lease has to say which version it replaces',
    'unconditionalUpdates',
    async (api) => {
      await api.ok('POST', lease(api), { metadata: { name: 'l' }, spec: { holderIdentity: 'me' } });
      const status = await api.refused(422, 'PUT', lease(api, 'l'), { metadata: { name: 'l' } });
      assert.match(status.message, /metadata.resourceVersion: Invalid value: 0: must be specified for an update/);
    },
  ],
  [
    'of two who renew a lease one loses',
    'conflicts',
    async (api) => {
      const made = await api.ok('POST', lease(api), { metadata: { name: 'l' }, spec: { holderIdentity: 'me' } });
      await api.ok('PUT', lease(api, 'l'), { ...made, spec: { holderIdentity: 'you' } });
      await api.refused(409, 'PUT', lease(api, 'l'), { ...made, spec: { holderIdentity: 'he' } });
    },
  ],
  [
    'times of a lease are kept to the microsecond',
    'leaseTimes',
    async (api) => {
      const renewTime = '2026-01-02T03:04:05.678901Z';
      const made = await api.ok('POST', lease(api), { metadata: { name: 'l' }, spec: { renewTime } });
      assert.equal(made.spec.renewTime, renewTime);
      assert.equal(made.metadata.generation, undefined);
      const { status } = await api.call('POST', lease(api), { metadata: { name: 'm' }, spec: { renewTime: 'now' } });
      assert.equal(status, 400);
    },
  ],
  [
    'a new attachment is not attached, whatever it says',
    'attachmentStatus',
    async (api) => has((await attach(api, { status: { attached: true } })).status, { attached: false }),
  ],
  [
    'the status of an attachment is written through its subresource',
    'statusIsolation',
    async (api) => {
      await attach(api);
      const path = `${attachments}/va-${api.id}`;
      const same = await api.ok('PATCH', path, { status: { attached: true } }, merge);
      assert.equal(same.status.attached, false);
      const now = await api.ok('PATCH', `${path}/status`, { status: { attached: true } }, merge);
      assert.equal(now.status.attached, true);
    },
  ],
  [
    'the status of an attachment keeps its metadata',
    'statusMetadataKept',
    async (api) => {
      await attach(api);
      const body = { metadata: { labels: { l: 'm' } }, status: { attached: true } };
      const now = await api.ok('PATCH', `${attachments}/va-${api.id}/status`, body, merge);
      assert.equal(now.metadata.labels.l, undefined);
    },
  ],
  [
    'what an attachment is about cannot be changed',
    'immutability',
    async (api) => {
      await attach(api);
      await api.refused(422, 'PATCH', `${attachments}/va-${api.id}`, { spec: { nodeName: 'other' } }, merge);
    },
  ],
  [
    'an attachment with a finalizer waits for its attacher',
    'finalizers',
    async (api) => {
      await attach(api, { metadata: { name: `va-${api.id}`, finalizers: ['external-attacher/driver-test'] } });
      const path = `${attachments}/va-${api.id}`;
      await api.ok('DELETE', path);
      assert.ok((await api.ok('GET', path)).metadata.deletionTimestamp);
      await api.ok('PATCH', path, { metadata: { finalizers: null } }, merge);
      await api.refused(404, 'GET', path);
    },
  ],
]);
