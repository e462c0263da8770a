/** A custom resource with a bit of everything, for the cases about them. */
import assert from 'node:assert/strict';
import type { Api, Json } from './contract.ts';

export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const itemRules = [{ rule: 'self.v >= 0', message: 'v must not be negative' }];
const schema: Json = {
  type: 'object',
  required: ['spec'],
  'x-kubernetes-validations': [{ rule: "self.metadata.name != 'forbidden'", message: 'that name is taken' }],
  properties: {
    spec: {
      type: 'object',
      required: ['must'],
      'x-kubernetes-validations': [
        { rule: 'self.low <= self.high', message: 'low must not be above high', fieldPath: '.low' },
        {
          rule: '!has(self.pair) || size(self.pair) == 2',
          messageExpression: "size(self.pair) == 1 ? 'pair has one' : 'pair has many'",
          message: 'pair has two',
        },
      ],
      properties: {
        must: { type: 'string', minLength: 2, maxLength: 8, pattern: '^a' },
        low: { type: 'integer', default: 1, minimum: 0 },
        high: { type: 'integer', default: 5, maximum: 100 },
        mode: { type: 'string', enum: ['One', 'Two'], default: 'One' },
        pair: { type: 'array', maxItems: 3, items: { type: 'string', maxLength: 20 } },
        size: { 'x-kubernetes-int-or-string': true },
        fixed: {
          type: 'string',
          maxLength: 20,
          'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'fixed cannot change' }],
        },
        wait: {
          type: 'string',
          maxLength: 20,
          'x-kubernetes-validations': [{ rule: "duration(self) > duration('1s')", message: 'too short' }],
        },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        nested: { type: 'object', default: {}, properties: { deep: { type: 'boolean', default: true } } },
        tags: { type: 'object', additionalProperties: { type: 'string' } },
        parts: {
          type: 'array',
          maxItems: 5,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: {
            type: 'object',
            required: ['k'],
            'x-kubernetes-validations': itemRules,
            properties: { k: { type: 'string', maxLength: 20 }, v: { type: 'integer', default: 0 } },
          },
        },
      },
    },
    status: { type: 'object', properties: { seen: { type: 'integer' } } },
  },
};

export function groupOf(api: Api): string {
  return `g${api.id}.test.dev`;
}

export function things(api: Api, name = ''): string {
  return `/apis/${groupOf(api)}/v1/namespaces/${api.namespace}/things${name && `/${name}`}`;
}

/** Waits until the server serves it; the real one takes a moment. */
export async function define(api: Api): Promise<void> {
  const names = { kind: 'Thing', plural: 'things', shortNames: ['th'] };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    schema: { openAPIV3Schema: schema },
  };
  const spec = { group: groupOf(api), scope: 'Namespaced', names, versions: [version] };
  await api.ok('POST', definitions, { metadata: { name: `things.${groupOf(api)}` }, spec });
  for (let tries = 0; tries < 100; tries += 1) {
    const { status } = await api.call('GET', things(api));
    if (status === 200) return;
    await api.pass(100);
  }
  assert.fail('the custom resource is not served');
}

export function thing(spec: Json, metadata: Json = {}, api?: Api): Json {
  return {
    apiVersion: `${api === undefined ? '' : groupOf(api)}/v1`,
    kind: 'Thing',
    metadata: { name: 't', ...metadata },
    spec,
  };
}

export async function make(api: Api, spec: Json, metadata: Json = {}): Promise<Json> {
  await define(api);
  return api.ok('POST', things(api), thing(spec, metadata, api));
}

export async function refused(api: Api, spec: Json): Promise<Json> {
  await define(api);
  return api.refused(422, 'POST', things(api), thing(spec, {}, api));
}
