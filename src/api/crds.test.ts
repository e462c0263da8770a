import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { customResourceDefinitions, structuralSchemaOf, type StructuralSchema } from './crds.ts';
import { KINDS, type Kind } from './kinds.ts';
import { REASON_GROUPS } from './reasons.ts';

function* nodes(schema: StructuralSchema, path: string): Generator<{ path: string; schema: StructuralSchema }> {
  yield { path, schema };
  if (schema.items !== undefined) yield* nodes(schema.items, `${path}[]`);
  if (schema.additionalProperties !== undefined) yield* nodes(schema.additionalProperties, `${path}[]`);
  for (const [name, value] of Object.entries(schema.properties ?? {})) yield* nodes(value, `${path}.${name}`);
}

const everyNode = KINDS.flatMap((kind) => [...nodes(structuralSchemaOf(kind), kind.kind)]);

function schemaFor(fields: z.ZodType): Kind {
  const [first] = KINDS;
  assert.ok(first);
  return { ...first, schema: z.object({ spec: z.object({ field: fields }) }) };
}

test('every field that a user meets says what it is for', () => {
  const silent = everyNode
    .filter(({ path, schema }) => /\.(spec|status)\b/.test(path) && !path.endsWith('[]') && !schema.description)
    .map(({ path }) => path);
  assert.deepEqual(silent, []);
});

test('every text and list of a spec has a limit, without which the API server takes its rules for too expensive', () => {
  const unlimited = everyNode.filter(
    ({ path, schema }) =>
      (path.includes('.spec') || path.includes('.status')) &&
      ((schema.type === 'array' && schema.maxItems === undefined) ||
        (schema.type === 'string' && !schema.enum && !schema.format && schema.maxLength === undefined)),
  );
  // The API server checks the pod template when the Job is made; the field stands here only to be refused.
  assert.deepEqual(
    unlimited.map(({ path }) => path),
    ['RemedyPolicy.spec.remedies[].podTemplate.spec.nodeName'],
  );
});

test('no schema has what the API server does not take in a structural one', () => {
  for (const { path, schema } of everyNode) {
    for (const key of ['anyOf', 'oneOf', 'allOf', '$ref', 'pattern', 'const', 'propertyNames']) {
      assert.ok(!(key in schema), `${path} has ${key}`);
    }
    assert.ok(schema.type !== undefined || schema['x-kubernetes-int-or-string'] === true, `${path} has no type`);
  }
});

test('every rule has a message that tells the user what to do', () => {
  for (const { path, schema } of everyNode) {
    for (const rule of schema['x-kubernetes-validations'] ?? []) {
      assert.match(rule.message, /\b(write|remove|add|name|make|must be|read)\b/, `${path}: ${rule.message}`);
    }
  }
});

test('what would be lost on the way into a CRD is an error instead', () => {
  assert.throws(() => structuralSchemaOf(schemaFor(z.string().regex(/a/))), /field: a pattern answers/);
  assert.throws(
    () => structuralSchemaOf(schemaFor(z.union([z.string(), z.boolean()]))),
    /field: a union is not structural/,
  );
  assert.throws(() => structuralSchemaOf(schemaFor(z.int().multipleOf(5))), /field: multipleOf has no place/);
});

test('empty actions keep their type, and open objects keep what they are given', () => {
  const spec = structuralSchemaOf(schemaFor(z.object({}))).properties?.['spec']?.properties?.['field'];
  assert.deepEqual(spec, { type: 'object' });
  const open = structuralSchemaOf(schemaFor(z.looseObject({}))).properties?.['spec']?.properties?.['field'];
  assert.deepEqual(open, { type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
});

test('a definition can be printed: names, scope, columns, a status of its own', () => {
  const crds = customResourceDefinitions();
  assert.deepEqual(
    crds.map((crd) => crd.metadata.name),
    ['remedypolicies', 'nodefences', 'drainpolicies', 'fencedevices'].map((plural) => `${plural}.fenceline.dev`),
  );
  for (const crd of crds) {
    assert.equal(crd.spec.scope, crd.spec.names.kind === 'FenceDevice' ? 'Namespaced' : 'Cluster');
    const [version, ...others] = crd.spec.versions;
    assert.deepEqual([version?.name, others], ['v1alpha1', []]);
    assert.deepEqual(version?.subresources, { status: {} });
    assert.equal(version?.additionalPrinterColumns.at(-1)?.name, 'Age');
  }
});

test('printing twice gives the same', () => {
  assert.deepEqual(customResourceDefinitions(), customResourceDefinitions());
});

test('reasons are words that Kubernetes takes for a reason, each once per condition', () => {
  const names = REASON_GROUPS.map((group) => `${group.kind} ${group.of}`);
  assert.equal(new Set(names).size, names.length);
  for (const group of REASON_GROUPS) {
    for (const [name, value] of Object.entries(group.reason)) assert.equal(value, name);
    assert.deepEqual(Object.keys(group.reason), Object.keys(group.explanation));
    for (const [name, explanation] of Object.entries(group.explanation)) {
      assert.match(name, /^[A-Z][A-Za-z]{0,127}$/);
      assert.match(explanation, /\.$/, `${group.of} ${name}`);
    }
  }
});

test('the events of drains have the reasons of the source', () => {
  const events = REASON_GROUPS.find((group) => group.kind === 'Event');
  assert.deepEqual(Object.keys(events?.reason ?? {}), ['EvictionAutomatic', 'EvictionCanceled']);
});
