/** Objects: how they come to be, are read and replaced. */
import assert from 'node:assert/strict';
import type { Json } from '../contract.ts';
import { group, has, types } from '../contract.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export const objects = group([
  ['a new object has a UID', 'uids', async (api) => assert.match((await api.configMap()).metadata.uid, uuid)],
  [
    'two objects have different UIDs',
    'uids',
    async (api) => {
      const [a, b] = [await api.configMap('a'), await api.configMap('b')];
      assert.ok(a.metadata.uid && b.metadata.uid);
      assert.notEqual(a.metadata.uid, b.metadata.uid);
    },
  ],
  [
    'a new object has the time of its creation in whole seconds',
    'creationTimes',
    async (api) =>
      assert.match((await api.configMap()).metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
  ],
  [
    'POST answers 201 with the object as it was stored',
    'createdCode',
    async (api) => {
      const { status, body } = await api.call('POST', api.configMaps(), { metadata: { name: 'a' }, data: { x: '1' } });
      assert.equal(status, 201);
      has(body, {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { name: 'a', namespace: api.namespace },
        data: { x: '1' },
      });
    },
  ],
  [
    'GET answers what was stored',
    'typeMeta',
    async (api) => {
      const made = await api.configMap();
      assert.deepEqual(await api.ok('GET', api.configMaps('a')), made);
      has(made, { kind: 'ConfigMap', apiVersion: 'v1' });
    },
  ],
  [
    'an object that is not there is 404 NotFound with its name and resource',
    'errorDetails',
    async (api) => {
      const status = await api.refused(404, 'GET', api.configMaps('none'));
      has(status, {
        reason: 'NotFound',
        message: 'configmaps "none" not found',
        details: { name: 'none', kind: 'configmaps' },
      });
    },
  ],
  [
    'the resource of a group is named with it',
    'errorDetails',
    async (api) => {
      const status = await api.refused(404, 'GET', api.inGroup('apps/v1', 'deployments', 'none'));
      has(status, {
        message: 'deployments.apps "none" not found',
        details: { name: 'none', group: 'apps', kind: 'deployments' },
      });
    },
  ],
  [
    'a resource that is not there is 404 without a name',
    'unknownPaths',
    async (api) => {
      const { status } = await api.call('GET', '/apis/none.example/v1/things');
      assert.equal(status, 404);
    },
  ],
  [
    'the same name twice is 409 AlreadyExists',
    'alreadyExists',
    async (api) => {
      await api.configMap();
      const status = await api.refused(409, 'POST', api.configMaps(), { metadata: { name: 'a' } });
      has(status, {
        reason: 'AlreadyExists',
        message: 'configmaps "a" already exists',
        details: { name: 'a', kind: 'configmaps' },
      });
    },
  ],
  [
    'generateName makes a name with a suffix of five',
    'generateName',
    async (api) => {
      const made = await api.ok('POST', api.configMaps(), { metadata: { generateName: 'g-' } });
      assert.match(made.metadata.name, /^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      assert.equal(made.metadata.generateName, 'g-');
    },
  ],
  [
    'generateName makes another name each time',
    'generateName',
    async (api) => {
      const make = (): Promise<Json> => api.ok('POST', api.configMaps(), { metadata: { generateName: 'g-' } });
      const [a, b] = [await make(), await make()];
      assert.notEqual(a.metadata.name, b.metadata.name);
    },
  ],
  [
    'neither name nor generateName is 422',
    'requiredName',
    async (api) => {
      const status = await api.refused(422, 'POST', api.configMaps(), { metadata: {} });
      assert.equal(
        status.message,
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
      );
    },
  ],
  [
    'a name that is no subdomain is 422 with its cause',
    'nameFormat',
    async (api) => {
      const status = await api.refused(422, 'POST', api.configMaps(), { metadata: { name: 'A_' } });
      has(status, { reason: 'Invalid', details: { name: 'A_', kind: 'ConfigMap' } });
      has(status.details.causes[0], { reason: 'FieldValueInvalid', field: 'metadata.name' });
      assert.match(status.message, /a lowercase RFC 1123 subdomain must consist of/);
    },
  ],
  [
    'a label that is none is 422',
    'nameFormat',
    async (api) => {
      const body = { metadata: { name: 'a', labels: { 'a b': 'c' } } };
      const status = await api.refused(422, 'POST', api.configMaps(), body);
      assert.equal(status.details.causes[0].field, 'metadata.labels');
    },
  ],
  [
    'a label that is not a text is 400',
    'strictTypes',
    async (api) => {
      const status = await api.refused(400, 'POST', api.configMaps(), { metadata: { name: 'a', labels: { a: 1 } } });
      assert.equal(status.reason, 'BadRequest');
    },
  ],
  [
    'a namespace that is not there is 404',
    'namespaceLifecycle',
    async (api) => {
      const status = await api.refused(404, 'POST', '/api/v1/namespaces/none/configmaps', { metadata: { name: 'a' } });
      has(status, { message: 'namespaces "none" not found', details: { kind: 'namespaces', name: 'none' } });
    },
  ],
  [
    'another namespace in the body than in the path is 400',
    'typeChecks',
    async (api) => {
      const body = { metadata: { name: 'a', namespace: 'default' } };
      const status = await api.refused(400, 'POST', api.configMaps(), body);
      assert.equal(
        status.message,
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    },
  ],
  [
    'another kind than that of the path is 400',
    'typeChecks',
    async (api) => {
      const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } };
      await api.refused(400, 'POST', api.configMaps(), body);
    },
  ],
  [
    'another version than that of the path is 400',
    'typeChecks',
    async (api) => {
      const body = { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'a' } };
      await api.refused(400, 'POST', api.configMaps(), body);
    },
  ],
  [
    'a resourceVersion on a new object is refused',
    'versionOnCreate',
    async (api) => {
      const body = { metadata: { name: 'a', resourceVersion: '5' } };
      const status = await api.refused(500, 'POST', api.configMaps(), body);
      assert.equal(status.message, 'resourceVersion should not be set on objects to be created');
    },
  ],
  [
    'UID and time of a new object cannot be chosen',
    'uids',
    async (api) => {
      const body = { metadata: { name: 'a', uid: 'mine', creationTimestamp: '2001-01-01T00:00:00Z' } };
      const { metadata } = await api.ok('POST', api.configMaps(), body);
      assert.match(metadata.uid, uuid);
      assert.notEqual(metadata.creationTimestamp, '2001-01-01T00:00:00Z');
    },
  ],
  [
    'PUT replaces as a whole',
    'replacement',
    async (api) => {
      const made = await api.configMap('a', { x: '1' }, { labels: { a: 'b' } });
      const { resourceVersion } = made.metadata;
      const now = await api.ok('PUT', api.configMaps('a'), {
        metadata: { name: 'a', resourceVersion },
        data: { y: '2' },
      });
      assert.deepEqual(now.data, { y: '2' });
      assert.equal(now.metadata.labels, undefined);
    },
  ],
  [
    'every write of an object has a higher resourceVersion',
    'revisions',
    async (api) => {
      const a = await api.configMap();
      const b = await api.ok('PUT', api.configMaps('a'), { metadata: { name: 'a' }, data: { x: '2' } });
      assert.ok(Number(b.metadata.resourceVersion) > Number(a.metadata.resourceVersion));
    },
  ],
  [
    'one counter serves all resources',
    'revisions',
    async (api) => {
      const a = await api.configMap();
      const b = await api.ok('POST', `/api/v1/namespaces/${api.namespace}/secrets`, { metadata: { name: 's' } });
      assert.ok(Number(b.metadata.resourceVersion) > Number(a.metadata.resourceVersion));
    },
  ],
  [
    'PUT of an old resourceVersion is 409 Conflict',
    'conflicts',
    async (api) => {
      const { metadata } = await api.configMap();
      await api.ok('PUT', api.configMaps('a'), { metadata: { name: 'a' }, data: { x: '2' } });
      const status = await api.refused(409, 'PUT', api.configMaps('a'), { metadata, data: { x: '3' } });
      has(status, {
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
        details: { name: 'a', kind: 'configmaps' },
      });
    },
  ],
  [
    'PUT of another UID is 409',
    'uidConflicts',
    async (api) => {
      await api.configMap();
      const uid = '00000000-0000-4000-8000-000000000000';
      const status = await api.refused(409, 'PUT', api.configMaps('a'), { metadata: { name: 'a', uid } });
      assert.match(status.message, /Precondition failed: UID in precondition: 0.*, UID in object meta: /);
    },
  ],
  [
    'PUT of another name than that of the path is 400',
    'typeChecks',
    async (api) => {
      await api.configMap();
      const status = await api.refused(400, 'PUT', api.configMaps('a'), { metadata: { name: 'b' } });
      assert.equal(status.message, 'the name of the object (b) does not match the name on the URL (a)');
    },
  ],
  [
    'PUT of an object that is not there is 404',
    'createOnUpdateOnlySome',
    async (api) => {
      await api.refused(404, 'PUT', api.configMaps('a'), { metadata: { name: 'a' } });
    },
  ],
  [
    'PUT that changes nothing writes nothing',
    'noopWrites',
    async (api) => {
      const made = await api.configMap();
      const same = await api.ok('PUT', api.configMaps('a'), made);
      assert.equal(same.metadata.resourceVersion, made.metadata.resourceVersion);
    },
  ],
  [
    'PUT does not change the time of creation',
    'metadataGuards',
    async (api) => {
      const { metadata } = await api.configMap();
      const wanted = { ...metadata, creationTimestamp: '2001-01-01T00:00:00Z', labels: { a: 'b' } };
      const now = await api.ok('PUT', api.configMaps('a'), { metadata: wanted });
      assert.equal(now.metadata.creationTimestamp, metadata.creationTimestamp);
    },
  ],
  [
    'a deletionTimestamp cannot be written',
    'metadataGuards',
    async (api) => {
      await api.configMap();
      const patch = { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } };
      await api.refused(422, 'PATCH', api.configMaps('a'), patch, { contentType: types.merge });
    },
  ],
  [
    'dryRun answers as if, and does nothing',
    'dryRun',
    async (api) => {
      const made = await api.ok('POST', `${api.configMaps()}?dryRun=All`, { metadata: { name: 'a' } });
      assert.match(made.metadata.uid, uuid);
      await api.refused(404, 'GET', api.configMaps('a'));
    },
  ],
  [
    'an answer says the time of the server',
    'dateHeader',
    async (api) => {
      const { headers } = await api.call('GET', api.configMaps());
      assert.ok(!Number.isNaN(Date.parse(headers['date'] ?? '')));
    },
  ],
  [
    'a body that is no JSON object is 400',
    'decoding',
    async (api) => void (await api.refused(400, 'POST', api.configMaps(), 'nonsense')),
  ],
  [
    'an owner without a UID is 422',
    'nameFormat',
    async (api) => {
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid: '' }];
      await api.refused(422, 'POST', api.configMaps(), { metadata: { name: 'a', ownerReferences } });
    },
  ],
  [
    'owners are stored',
    'owners',
    async (api) => {
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'b', uid: 'u', controller: true }];
      const made = await api.ok('POST', api.configMaps(), { metadata: { name: 'a', ownerReferences } });
      has(made.metadata, { ownerReferences });
    },
  ],
  [
    'every write is in managedFields under the name of its client',
    'managedFields',
    async (api) => {
      const made = await api.configMap();
      has(made.metadata.managedFields, [
        {
          manager: 'contract',
          operation: 'Update',
          apiVersion: 'v1',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': { 'f:x': {} } },
        },
      ]);
    },
  ],
]);
