/** The three patches of old: JSON patch, merge patch, strategic merge patch. */
import assert from 'node:assert/strict';
import type { Api, CallOptions, Json } from '../contract.ts';
import { group, has, types } from '../contract.ts';

const json: CallOptions = { contentType: types.json };
const merge: CallOptions = { contentType: types.merge };
const strategic: CallOptions = { contentType: types.strategic };

const refusedMessage = 'the server rejected our request due to an error in our request';

function patch(api: Api, body: Json, options = json): Promise<Json> {
  return api.ok('PATCH', api.configMaps('a'), body, options);
}

async function refusedPatch(api: Api, operations: Json): Promise<void> {
  const status = await api.refused(422, 'PATCH', api.configMaps('a'), operations, json);
  has(status, { reason: 'Invalid', message: refusedMessage });
}

function nodePatch(api: Api, body: Json, options = strategic, subresource = ''): Promise<Json> {
  return api.ok('PATCH', api.node('n', subresource), body, options);
}

const conditionTypes = (node: Json): string[] => node.status.conditions.map((one: Json) => one.type);

export const patches = group([
  [
    'JSON patch: add, replace and remove',
    'jsonPatch',
    async (api) => {
      await api.configMap('a', { x: '1', y: '1' });
      const operations = [
        { op: 'add', path: '/data/z', value: '3' },
        { op: 'replace', path: '/data/x', value: '2' },
        { op: 'remove', path: '/data/y' },
      ];
      assert.deepEqual((await patch(api, operations)).data, { x: '2', z: '3' });
    },
  ],
  [
    'JSON patch: a test that holds lets the rest through',
    'jsonPatchValues',
    async (api) => {
      const { metadata } = await api.configMap('a');
      const now = await patch(api, [
        { op: 'test', path: '/metadata/uid', value: metadata.uid },
        { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
        { op: 'replace', path: '/data/x', value: '2' },
      ]);
      assert.equal(now.data.x, '2');
      await refusedPatch(api, [{ op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion }]);
    },
  ],
  [
    'JSON patch: a test of another value refuses everything',
    'jsonPatchTest',
    async (api) => {
      await api.configMap('a');
      await refusedPatch(api, [
        { op: 'replace', path: '/data/x', value: '2' },
        { op: 'test', path: '/metadata/uid', value: 'other' },
      ]);
      assert.equal((await api.ok('GET', api.configMaps('a'))).data.x, '1');
    },
  ],
  [
    'JSON patch: a test of what is not there is refused',
    'jsonPatchTest',
    async (api) => {
      await api.configMap('a');
      await refusedPatch(api, [{ op: 'test', path: '/data/none', value: '1' }]);
      await refusedPatch(api, [{ op: 'test', path: '/none/none', value: '1' }]);
    },
  ],
  [
    'JSON patch: removing what is not there is refused',
    'jsonPatchPaths',
    async (api) => {
      await api.configMap('a');
      await refusedPatch(api, [{ op: 'remove', path: '/data/none' }]);
    },
  ],
  [
    'JSON patch: adding below what is not there is refused',
    'jsonPatchPaths',
    async (api) => {
      await api.configMap('a');
      await refusedPatch(api, [{ op: 'add', path: '/binaryData/x', value: 'YQ==' }]);
    },
  ],
  [
    'JSON patch: replacing what is not there adds it',
    'jsonPatch',
    async (api) => {
      await api.configMap('a');
      assert.deepEqual((await patch(api, [{ op: 'replace', path: '/data/new', value: 'n' }])).data, {
        x: '1',
        new: 'n',
      });
    },
  ],
  [
    'JSON patch: into a list by index, at its end, and out of it',
    'jsonPatch',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/a', 'test.dev/c'] });
      const added = await patch(api, [
        { op: 'add', path: '/metadata/finalizers/1', value: 'test.dev/b' },
        { op: 'add', path: '/metadata/finalizers/-', value: 'test.dev/d' },
      ]);
      assert.deepEqual(added.metadata.finalizers, ['test.dev/a', 'test.dev/b', 'test.dev/c', 'test.dev/d']);
      const removed = await patch(api, [{ op: 'remove', path: '/metadata/finalizers/0' }]);
      assert.deepEqual(removed.metadata.finalizers, ['test.dev/b', 'test.dev/c', 'test.dev/d']);
      await patch(api, [{ op: 'remove', path: '/metadata/finalizers' }]);
    },
  ],
  [
    'JSON patch: an index beyond the list is refused',
    'jsonPatchPaths',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/a'] });
      await refusedPatch(api, [{ op: 'remove', path: '/metadata/finalizers/5' }]);
      await refusedPatch(api, [{ op: 'add', path: '/metadata/finalizers/5', value: 'test.dev/b' }]);
      await patch(api, [{ op: 'remove', path: '/metadata/finalizers' }]);
    },
  ],
  [
    'JSON patch: slashes and tildes in keys are escaped',
    'jsonPatch',
    async (api) => {
      await api.configMap('a', {}, { annotations: { 'a/b': '1' } });
      const now = await patch(api, [{ op: 'replace', path: '/metadata/annotations/a~1b', value: '2' }]);
      assert.equal(now.metadata.annotations['a/b'], '2');
    },
  ],
  [
    'JSON patch: move and copy',
    'jsonPatch',
    async (api) => {
      await api.configMap('a', { x: '1', y: '2' });
      const operations = [
        { op: 'move', from: '/data/x', path: '/data/moved' },
        { op: 'copy', from: '/data/y', path: '/data/copied' },
      ];
      assert.deepEqual((await patch(api, operations)).data, { moved: '1', y: '2', copied: '2' });
    },
  ],
  [
    'JSON patch: on an object that is not there is 404',
    'notFoundPatch',
    async (api) => void (await api.refused(404, 'PATCH', api.configMaps('none'), [], json)),
  ],
  [
    'merge patch: sets, keeps and removes',
    'mergePatchNulls',
    async (api) => {
      await api.configMap('a', { x: '1', y: '1' });
      assert.deepEqual((await patch(api, { data: { x: null, z: '3' } }, merge)).data, { y: '1', z: '3' });
    },
  ],
  [
    'merge patch: lists are replaced',
    'mergePatch',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/a', 'test.dev/b'] });
      const now = await patch(api, { metadata: { finalizers: ['test.dev/c'] } }, merge);
      assert.deepEqual(now.metadata.finalizers, ['test.dev/c']);
      await patch(api, { metadata: { finalizers: null } }, merge);
    },
  ],
  [
    'merge patch: a resourceVersion in it is a precondition',
    'conflicts',
    async (api) => {
      const { metadata } = await api.configMap('a');
      const { resourceVersion } = metadata;
      await patch(api, { metadata: { resourceVersion }, data: { x: '2' } }, merge);
      const body = { metadata: { resourceVersion }, data: { x: '3' } };
      const status = await api.refused(409, 'PATCH', api.configMaps('a'), body, merge);
      assert.equal(status.reason, 'Conflict');
    },
  ],
  [
    'merge patch: another UID is refused',
    'metadataGuards',
    async (api) => {
      await api.configMap('a');
      const { status } = await api.call('PATCH', api.configMaps('a'), { metadata: { uid: 'other' } }, merge);
      assert.ok(status === 409 || status === 422, String(status));
    },
  ],
  [
    'merge patch: one that changes nothing writes nothing',
    'noopWrites',
    async (api) => {
      const made = await api.configMap('a');
      const same = await patch(api, { data: { x: '1' } }, merge);
      assert.equal(same.metadata.resourceVersion, made.metadata.resourceVersion);
    },
  ],
  [
    'a patch of unknown type is 415',
    'mediaTypes',
    async (api) => {
      await api.configMap('a');
      const status = await api.refused(415, 'PATCH', api.configMaps('a'), {}, { contentType: 'application/json' });
      assert.equal(status.reason, 'UnsupportedMediaType');
    },
  ],
  [
    'strategic: conditions are merged by type',
    'strategicLists',
    async (api) => {
      const conditions = [
        { type: 'Ready', status: 'True', reason: 'A' },
        { type: 'DiskPressure', status: 'False' },
      ];
      await api.newNode('n', { status: { conditions } });
      const node = await nodePatch(
        api,
        { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
        strategic,
        'status',
      );
      assert.deepEqual(conditionTypes(node), ['Ready', 'DiskPressure']);
      has(node.status.conditions[0], { status: 'False', reason: 'A' });
    },
  ],
  [
    'strategic: a new condition is added',
    'strategicLists',
    async (api) => {
      await api.newNode('n', { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
      const body = { status: { conditions: [{ type: 'Custom', status: 'True' }] } };
      const node = await nodePatch(api, body, strategic, 'status');
      assert.deepEqual(conditionTypes(node).sort(), ['Custom', 'Ready']);
    },
  ],
  [
    'strategic: an item is removed by its directive',
    'patchDirectives',
    async (api) => {
      const conditions = [
        { type: 'Ready', status: 'True' },
        { type: 'Custom', status: 'True' },
      ];
      await api.newNode('n', { status: { conditions } });
      const body = { status: { conditions: [{ $patch: 'delete', type: 'Custom' }] } };
      assert.deepEqual(conditionTypes(await nodePatch(api, body, strategic, 'status')), ['Ready']);
    },
  ],
  [
    'strategic: taints are replaced as a whole',
    'strategicAtomic',
    async (api) => {
      await api.newNode('n', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } });
      const node = await nodePatch(api, { spec: { taints: [{ key: 'b', effect: 'NoExecute' }] } });
      assert.deepEqual(node.spec.taints, [{ key: 'b', effect: 'NoExecute' }]);
    },
  ],
  [
    'strategic: addresses are merged by type',
    'strategicLists',
    async (api) => {
      await api.newNode('n', { status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] } });
      const body = { status: { addresses: [{ type: 'Hostname', address: 'h' }] } };
      const node = await nodePatch(api, body, strategic, 'status');
      assert.deepEqual(node.status.addresses.map((one: Json) => one.type).sort(), ['Hostname', 'InternalIP']);
    },
  ],
  [
    'strategic: volumesAttached is replaced as a whole',
    'strategicAtomic',
    async (api) => {
      await api.newNode('n', { status: { volumesAttached: [{ name: 'a', devicePath: '' }] } });
      const body = { status: { volumesAttached: [{ name: 'b', devicePath: '' }] } };
      const node = await nodePatch(api, body, strategic, 'status');
      assert.deepEqual(
        node.status.volumesAttached.map((one: Json) => one.name),
        ['b'],
      );
    },
  ],
  [
    'strategic: finalizers are added to',
    'strategicLists',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/a'] });
      const now = await patch(api, { metadata: { finalizers: ['test.dev/b'] } }, strategic);
      assert.deepEqual(now.metadata.finalizers.sort(), ['test.dev/a', 'test.dev/b']);
      await patch(api, { metadata: { finalizers: null } }, merge);
    },
  ],
  [
    'strategic: finalizers are taken from by their directive',
    'patchDirectives',
    async (api) => {
      await api.configMap('a', {}, { finalizers: ['test.dev/a', 'test.dev/b'] });
      const now = await patch(api, { metadata: { '$deleteFromPrimitiveList/finalizers': ['test.dev/a'] } }, strategic);
      assert.deepEqual(now.metadata.finalizers, ['test.dev/b']);
      await patch(api, { metadata: { finalizers: null } }, merge);
    },
  ],
  [
    'strategic: null removes a member',
    'strategicNulls',
    async (api) => {
      await api.configMap('a', { x: '1', y: '2' });
      assert.deepEqual((await patch(api, { data: { x: null } }, strategic)).data, { y: '2' });
    },
  ],
  [
    'strategic: containers are merged by name, also in a template',
    'strategicLists',
    async (api) => {
      const template = {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [{ name: 'c', image: 'example/c:1' }] },
      };
      const spec = { selector: { matchLabels: { a: 'b' } }, template };
      const path = api.inGroup('apps/v1', 'deployments');
      await api.ok('POST', path, { metadata: { name: 'd' }, spec });
      const change = {
        spec: { template: { spec: { containers: [{ name: 'c', env: [{ name: 'E', value: '1' }] }] } } },
      };
      const now = await api.ok('PATCH', `${path}/d`, change, strategic);
      has(now.spec.template.spec.containers, [{ name: 'c', image: 'example/c:1', env: [{ name: 'E', value: '1' }] }]);
    },
  ],
  [
    'strategic: the order of a list can be said',
    'setElementOrder',
    async (api) => {
      const containers = ['a', 'b'].map((name) => ({ name, image: `example/${name}:1` }));
      const spec = {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers } },
      };
      const path = api.inGroup('apps/v1', 'deployments');
      await api.ok('POST', path, { metadata: { name: 'd' }, spec });
      const wanted = {
        '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
        containers: [{ name: 'a', image: 'example/a:2' }],
      };
      const now = await api.ok('PATCH', `${path}/d`, { spec: { template: { spec: wanted } } }, strategic);
      assert.deepEqual(
        now.spec.template.spec.containers.map((one: Json) => one.name),
        ['b', 'a'],
      );
    },
  ],
  [
    'strategic: keys to retain drop the others',
    'patchDirectives',
    async (api) => {
      const template = {
        metadata: { labels: { a: 'b' } },
        spec: { containers: [{ name: 'c', image: 'example/c:1' }] },
      };
      const path = api.inGroup('apps/v1', 'deployments');
      await api.ok('POST', path, {
        metadata: { name: 'd' },
        spec: { selector: { matchLabels: { a: 'b' } }, template },
      });
      const strategy = { $retainKeys: ['type'], type: 'Recreate' };
      const now = await api.ok('PATCH', `${path}/d`, { spec: { strategy } }, strategic);
      assert.deepEqual(now.spec.strategy, { type: 'Recreate' });
    },
  ],
  [
    'strategic: tolerations of a template are replaced as a whole',
    'strategicAtomic',
    async (api) => {
      const tolerations = [{ key: 'a', operator: 'Exists' }];
      const template = {
        metadata: { labels: { a: 'b' } },
        spec: { tolerations, containers: [{ name: 'c', image: 'example/c:1' }] },
      };
      const path = api.inGroup('apps/v1', 'deployments');
      await api.ok('POST', path, {
        metadata: { name: 'd' },
        spec: { selector: { matchLabels: { a: 'b' } }, template },
      });
      const change = { spec: { template: { spec: { tolerations: [{ key: 'b', operator: 'Exists' }] } } } };
      const now = await api.ok('PATCH', `${path}/d`, change, strategic);
      assert.deepEqual(now.spec.template.spec.tolerations, [{ key: 'b', operator: 'Exists' }]);
    },
  ],
]);
