/** Custom resources: what their schema fills in, drops and refuses. */
import assert from 'node:assert/strict';
import type { Json } from '../contract.ts';
import { group, has, names, types } from '../contract.ts';
import { define, definitions, groupOf, make, refused, thing, things } from '../things.ts';

const merge = { contentType: types.merge };

export const customResources = group([
  [
    'a definition brings its resource',
    'crdServing',
    async (api) => {
      const made = await make(api, { must: 'ab' });
      has(made, { kind: 'Thing', metadata: { name: 't', generation: 1 } });
      assert.deepEqual(names(await api.ok('GET', things(api))), ['t']);
    },
  ],
  [
    'a definition is filled in and established',
    'crdServing',
    async (api) => {
      await define(api);
      const definition = await api.ok('GET', `${definitions}/things.${groupOf(api)}`);
      has(definition, {
        spec: { names: { singular: 'thing', listKind: 'ThingList' }, conversion: { strategy: 'None' } },
      });
      assert.ok(definition.status.conditions.some((one: Json) => one.type === 'Established' && one.status === 'True'));
      assert.deepEqual(definition.status.storedVersions, ['v1']);
    },
  ],
  [
    'a list of custom resources has items that say their kind',
    'customItems',
    async (api) => {
      await make(api, { must: 'ab' });
      has(await api.ok('GET', things(api)), {
        kind: 'ThingList',
        items: [{ kind: 'Thing', apiVersion: `${groupOf(api)}/v1` }],
      });
    },
  ],
  [
    'defaults are filled in, nested ones too',
    'crdDefaults',
    async (api) => {
      const made = await make(api, { must: 'ab', parts: [{ k: 'x' }] });
      has(made.spec, { low: 1, high: 5, mode: 'One', nested: { deep: true }, parts: [{ k: 'x', v: 0 }] });
    },
  ],
  [
    'null is nothing, with a default or without, where the schema does not allow it',
    'crdDefaults',
    async (api) => {
      const nulls = { low: null, size: null, tags: { a: null, b: 'b' }, parts: [{ k: 'x', v: null }] };
      const made = await make(api, { must: 'ab', ...nulls, free: { any: null } });
      const { low, size, tags, parts, free } = made.spec;
      assert.deepEqual([low, size, tags, parts, free], [1, undefined, { b: 'b' }, [{ k: 'x', v: 0 }], { any: null }]);
    },
  ],
  [
    'null is missing where something is required, and of the wrong type in a list',
    'crdSchema',
    async (api) => {
      assert.match((await refused(api, { must: null })).message, /spec.must: Required value/);
      await api.refused(422, 'POST', things(api), thing({ must: 'ab', pair: ['a', null] }, {}, api));
    },
  ],
  [
    'unknown fields are dropped, unless the schema keeps them',
    'crdPruning',
    async (api) => {
      // Those among them that mean something to some languages.
      const odd = JSON.parse('{"__proto__": "y", "constructor": "x"}');
      const made = await make(api, { must: 'ab', other: 1, ...odd, free: { any: { thing: 1 } }, tags: odd });
      assert.equal(made.spec.other, undefined);
      assert.equal(Object.hasOwn(made.spec, 'constructor'), false);
      has(made.spec, { free: { any: { thing: 1 } } });
      assert.equal(JSON.stringify(made.spec.tags), '{"__proto__":"y","constructor":"x"}');
      const emptied = await api.ok('PUT', things(api, 't'), { ...made, spec: { ...made.spec, tags: {} } });
      assert.equal(JSON.stringify(emptied.spec.tags), '{}');
    },
  ],
  [
    'unknown fields are refused where the client wants it',
    'crdStrict',
    async (api) => {
      await define(api);
      const path = `${things(api)}?fieldValidation=Strict`;
      const status = await api.refused(400, 'POST', path, thing({ must: 'ab', other: 1 }, {}, api));
      assert.match(status.message, /strict decoding error: unknown field "spec.other"/);
    },
  ],
  [
    'schema: what is required',
    'crdSchema',
    async (api) => {
      const status = await refused(api, {});
      assert.match(status.message, /^Thing\.g.* "t" is invalid: \[?spec.must: Required value/);
      has(status.details.causes[0], { reason: 'FieldValueRequired', field: 'spec.must' });
    },
  ],
  [
    'schema: type',
    'crdSchema',
    async (api) => {
      const status = await refused(api, { must: 'ab', low: 'x' });
      assert.match(
        status.message,
        /spec.low: Invalid value: "string": spec.low in body must be of type integer: "string"/,
      );
    },
  ],
  [
    'schema: pattern',
    'crdSchema',
    async (api) => {
      const status = await refused(api, { must: 'bb' });
      assert.match(status.message, /spec.must: Invalid value: "bb": spec.must in body should match '\^a'/);
    },
  ],
  [
    'schema: length',
    'crdSchema',
    async (api) => {
      const status = await refused(api, { must: 'a' });
      assert.match(status.message, /spec.must in body should be at least 2 chars long/);
      const long = await api.refused(422, 'POST', things(api), thing({ must: 'aaaaaaaaaaaa' }, {}, api));
      assert.match(long.message, /spec.must: Too long: may not be more than 8 bytes/);
    },
  ],
  [
    'schema: minimum and maximum',
    'crdSchema',
    async (api) => {
      const status = await refused(api, { must: 'ab', low: -1, high: 101 });
      assert.match(status.message, /spec.low in body should be greater than or equal to 0/);
      assert.match(status.message, /spec.high in body should be less than or equal to 100/);
    },
  ],
  [
    'schema: enum',
    'crdSchema',
    async (api) => {
      const status = await refused(api, { must: 'ab', mode: 'Three' });
      assert.match(status.message, /spec.mode: Unsupported value: "Three": supported values: "One", "Two"/);
    },
  ],
  [
    'schema: number of items, and items of a list told apart by key',
    'crdSchema',
    async (api) => {
      const status = await refused(api, { must: 'ab', pair: ['a', 'b', 'c', 'd'] });
      assert.match(status.message, /spec.pair: Too many: 4: must have at most 3 items/);
      const twice = await api.refused(
        422,
        'POST',
        things(api),
        thing({ must: 'ab', parts: [{ k: 'x' }, { k: 'x' }] }, {}, api),
      );
      assert.match(twice.message, /spec.parts\[1\]: Duplicate value: \{"k":"x"\}/);
    },
  ],
  [
    'schema: number or text',
    'crdSchema',
    async (api) => {
      const made = await make(api, { must: 'ab', size: '40%' });
      assert.equal(made.spec.size, '40%');
      await api.ok('PATCH', things(api, 't'), { spec: { size: 4 } }, merge);
      await api.refused(422, 'PATCH', things(api, 't'), { spec: { size: true } }, merge);
    },
  ],
  [
    'the status is written through its subresource only',
    'statusIsolation',
    async (api) => {
      await define(api);
      const made = await api.ok('POST', things(api), { ...thing({ must: 'ab' }, {}, api), status: { seen: 1 } });
      assert.equal(made.status, undefined);
      const now = await api.ok(
        'PATCH',
        `${things(api, 't')}/status`,
        { status: { seen: 2 }, spec: { must: 'zz' } },
        merge,
      );
      has(now, { status: { seen: 2 }, spec: { must: 'ab' }, metadata: { generation: 1 } });
    },
  ],
  [
    'the status keeps labels and annotations',
    'statusMetadataKept',
    async (api) => {
      await make(api, { must: 'ab' });
      const body = { metadata: { labels: { a: 'b' } }, status: { seen: 2 } };
      const now = await api.ok('PATCH', `${things(api, 't')}/status`, body, merge);
      assert.equal(now.metadata.labels, undefined);
      assert.equal(now.status.seen, 2);
    },
  ],
  [
    'a change of the spec is a new generation',
    'generation',
    async (api) => {
      await make(api, { must: 'ab' });
      assert.equal((await api.ok('PATCH', things(api, 't'), { spec: { must: 'ac' } }, merge)).metadata.generation, 2);
      assert.equal(
        (await api.ok('PATCH', things(api, 't'), { metadata: { labels: { a: 'b' } } }, merge)).metadata.generation,
        2,
      );
    },
  ],
  [
    'strategic merge patches are not for custom resources',
    'customStrategic',
    async (api) => {
      await make(api, { must: 'ab' });
      const status = await api.refused(415, 'PATCH', things(api, 't'), { spec: {} }, { contentType: types.strategic });
      assert.equal(status.reason, 'UnsupportedMediaType');
    },
  ],
  [
    'an update has to say which version it replaces',
    'unconditionalUpdates',
    async (api) => {
      await make(api, { must: 'ab' });
      await api.refused(422, 'PUT', things(api, 't'), thing({ must: 'ac' }, {}, api));
    },
  ],
  [
    'with its definition a resource is gone',
    'crdServing',
    async (api) => {
      await make(api, { must: 'ab' });
      await api.ok('DELETE', `${definitions}/things.${groupOf(api)}`);
      for (let tries = 0; tries < 100; tries += 1) {
        const { status } = await api.call('GET', things(api));
        if (status === 404) return;
        await api.pass(100);
      }
      assert.fail('the custom resource is still served');
    },
  ],
  [
    'a definition has to be named after its resource',
    'validation',
    async (api) => {
      const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } };
      const spec = {
        group: groupOf(api),
        scope: 'Namespaced',
        names: { kind: 'Thing', plural: 'things' },
        versions: [version],
      };
      const status = await api.refused(422, 'POST', definitions, { metadata: { name: `x.${groupOf(api)}` }, spec });
      assert.match(status.message, /metadata.name: Invalid value: .*must be spec.names.plural\+"."\+spec.group/);
    },
  ],
]);
