/** Server-side apply: who owns what. */
import assert from 'node:assert/strict';
import type { Api, Json } from '../contract.ts';
import { group, has, types } from '../contract.ts';

const options = { contentType: types.apply };

function body(data: Json, metadata: Json = {}): Json {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', ...metadata }, data };
}

function apply(api: Api, manager: string, data: Json, metadata: Json = {}): Promise<Json> {
  return api.ok('PATCH', `${api.configMaps('a')}?fieldManager=${manager}`, body(data, metadata), options);
}

function owner(object: Json, manager: string): Json {
  const found = object.metadata.managedFields?.find((entry: Json) => entry.manager === manager);
  assert.ok(found, `${manager} owns nothing`);
  return found;
}

export const applies = group([
  [
    'an apply of what is not there makes it',
    'applyCreates',
    async (api) => {
      const path = `${api.configMaps('a')}?fieldManager=one`;
      const { status, body: made } = await api.call('PATCH', path, body({ x: '1' }), options);
      assert.equal(status, 201);
      has(made, { data: { x: '1' } });
    },
  ],
  [
    'an apply owns the fields that it names',
    'managedFields',
    async (api) => {
      const made = await apply(api, 'one', { x: '1' }, { labels: { l: 'm' } });
      has(owner(made, 'one'), { operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1' });
      assert.deepEqual(owner(made, 'one').fieldsV1, {
        'f:data': { 'f:x': {} },
        'f:metadata': { 'f:labels': { 'f:l': {} } },
      });
    },
  ],
  [
    'an apply needs a manager',
    'applyManager',
    async (api) => {
      const status = await api.refused(422, 'PATCH', api.configMaps('a'), body({ x: '1' }), options);
      assert.match(status.message, /fieldManager: Required value: is required for apply patch/);
    },
  ],
  [
    'another manager’s field of another value is a conflict that names it',
    'applyConflicts',
    async (api) => {
      await apply(api, 'one', { x: '1' });
      const status = await api.refused(
        409,
        'PATCH',
        `${api.configMaps('a')}?fieldManager=two`,
        body({ x: '2' }),
        options,
      );
      has(status, {
        reason: 'Conflict',
        message: 'Apply failed with 1 conflict: conflict with "one": .data.x',
        details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.x' }] },
      });
    },
  ],
  [
    'a field that an update wrote is a conflict, too',
    'applyConflicts',
    async (api) => {
      await api.configMap('a', { x: '1', y: '1' });
      const status = await api.refused(
        409,
        'PATCH',
        `${api.configMaps('a')}?fieldManager=two`,
        body({ x: '2', y: '2' }),
        options,
      );
      assert.equal(
        status.message,
        'Apply failed with 2 conflicts: conflicts with "contract" using v1:\n- .data.x\n- .data.y',
      );
      assert.equal(status.details.causes.length, 2);
    },
  ],
  [
    'the same value is shared, and no conflict',
    'applyShares',
    async (api) => {
      await apply(api, 'one', { x: '1' });
      const now = await apply(api, 'two', { x: '1' });
      for (const manager of ['one', 'two']) has(owner(now, manager), { fieldsV1: { 'f:data': { 'f:x': {} } } });
    },
  ],
  [
    'by force a field changes hands',
    'applyForce',
    async (api) => {
      await apply(api, 'one', { x: '1', y: '1' });
      const path = `${api.configMaps('a')}?fieldManager=two&force=true`;
      const now = await api.ok('PATCH', path, body({ x: '2' }), options);
      assert.deepEqual(now.data, { x: '2', y: '1' });
      assert.deepEqual(owner(now, 'one').fieldsV1, { 'f:data': { 'f:y': {} } });
    },
  ],
  [
    'what is no longer applied goes',
    'applyRemoves',
    async (api) => {
      await apply(api, 'one', { x: '1', y: '1' });
      assert.deepEqual((await apply(api, 'one', { x: '1' })).data, { x: '1' });
    },
  ],
  [
    'what is no longer applied stays where somebody else applies it',
    'applyHolds',
    async (api) => {
      await apply(api, 'one', { x: '1', y: '1' });
      await apply(api, 'two', { y: '1' });
      assert.deepEqual((await apply(api, 'one', { x: '1' })).data, { x: '1', y: '1' });
    },
  ],
  [
    'what somebody else wrote stays',
    'applyMerges',
    async (api) => {
      await api.configMap('a', { other: '1' });
      assert.deepEqual((await apply(api, 'one', { x: '1' })).data, { other: '1', x: '1' });
    },
  ],
  [
    'an update takes a field from whoever applied it',
    'managedFields',
    async (api) => {
      await apply(api, 'one', { x: '1', y: '1' });
      const now = await api.ok(
        'PATCH',
        `${api.configMaps('a')}?fieldManager=upd`,
        { data: { x: '2' } },
        { contentType: types.merge },
      );
      assert.deepEqual(owner(now, 'one').fieldsV1, { 'f:data': { 'f:y': {} } });
      assert.deepEqual(owner(now, 'upd').fieldsV1, { 'f:data': { 'f:x': {} } });
    },
  ],
  [
    'conditions are owned one by one',
    'applyLists',
    async (api) => {
      await api.newNode('n', { status: { conditions: [{ type: 'Ready', status: 'True' }] } });
      const wanted = { apiVersion: 'v1', kind: 'Node', status: { conditions: [{ type: 'Mine', status: 'True' }] } };
      const now = await api.ok('PATCH', `${api.node('n', 'status')}?fieldManager=one`, wanted, options);
      assert.deepEqual(now.status.conditions.map((one: Json) => one.type).sort(), ['Mine', 'Ready']);
      has(owner(now, 'one'), {
        subresource: 'status',
        fieldsV1: { 'f:status': { 'f:conditions': { 'k:{"type":"Mine"}': { '.': {}, 'f:status': {} } } } },
      });
    },
  ],
  [
    'taints are owned as a whole',
    'applyAtomic',
    async (api) => {
      await api.newNode('n', { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } });
      const wanted = { apiVersion: 'v1', kind: 'Node', spec: { taints: [{ key: 'b', effect: 'NoSchedule' }] } };
      const status = await api.refused(409, 'PATCH', `${api.node()}?fieldManager=one`, wanted, options);
      assert.equal(status.details.causes[0].field, '.spec.taints');
    },
  ],
  [
    'an apply that changes nothing writes nothing',
    'noopWrites',
    async (api) => {
      const first = await apply(api, 'one', { x: '1' });
      const second = await apply(api, 'one', { x: '1' });
      assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
    },
  ],
  [
    'an apply has to say what it is',
    'applyType',
    async (api) => {
      const path = `${api.configMaps('a')}?fieldManager=one`;
      await api.refused(400, 'PATCH', path, { metadata: { name: 'a' }, data: {} }, options);
    },
  ],
]);
