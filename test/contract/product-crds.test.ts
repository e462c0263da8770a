/**
 * Our own custom resources on the embedded server: it has to take what the real one takes, fill in the same, and refuse
 * the same mistakes in the same words. The table of mistakes is the one that the real server is asked about.
 */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { parse as parseYaml } from 'yaml';
import { API_VERSION } from '../../src/api/common.ts';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import { EXAMPLES } from '../../src/api/examples.ts';
import { KINDS } from '../../src/api/kinds.ts';
import { parseObject } from '../../src/api/parse.ts';
import { badObject, BASES, goodTwin, titleOf, type AnyObject } from '../control-plane/bad-objects-base.ts';
import { BAD_OBJECTS } from '../control-plane/bad-objects.ts';
import type { Json, Reply } from './contract.ts';
import { types } from './contract.ts';
import { embeddedDriver } from './embedded-driver.ts';

const driver = embeddedDriver();

function kindOf({ kind }: { kind: string }): (typeof KINDS)[number] {
  const found = KINDS.find((one) => one.kind === kind);
  assert.ok(found, kind);
  return found;
}

function collection(object: { kind: string; metadata?: { namespace?: string } }): string {
  const { plural, namespaced } = kindOf(object);
  return `/apis/${API_VERSION}/${namespaced === true ? `namespaces/${object.metadata?.namespace ?? 'fenceline'}/` : ''}${plural}`;
}

function write(object: AnyObject, query: string): Promise<Reply> {
  if (object.status === undefined) return driver.call('POST', `${collection(object)}?${query}`, object, {});
  const path = `${collection(object)}/${object.metadata.name}/status?${query}`;
  return driver.call('PATCH', path, { status: object.status }, { contentType: types.merge });
}

before(async () => {
  for (const crd of customResourceDefinitions()) {
    const { status, body } = await driver.call(
      'POST',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      crd,
      {},
    );
    assert.equal(status, 201, body.message);
  }
  const { status: _status, ...troubled } = BASES.fenceStatus;
  assert.equal((await write(troubled, '')).status, 201);
  assert.equal((await write(BASES.fenceStatus, '')).status, 200);
});

for (const { title, yaml } of EXAMPLES) {
  test(`filled in as the parser does: ${title}`, async () => {
    const object = parseYaml(yaml) as AnyObject;
    const { status, body } = await write(object, 'dryRun=All&fieldValidation=Strict');
    assert.equal(status, 201, body.message);
    const parsed = parseObject(kindOf(object).schema, object);
    assert.ok(parsed.ok);
    assert.deepEqual(body.spec, (parsed.value as { spec: unknown }).spec);
  });
}

for (const bad of BAD_OBJECTS) {
  test(`refused: ${titleOf(bad)}`, async () => {
    const { status, body } = await write(badObject(bad), 'dryRun=All');
    assert.equal(status, 422, body.message);
    const causes: Json[] = body.details.causes;
    const blaming = causes.filter(({ field, message }) => field.startsWith(bad.blames) && message.includes(bad.hint));
    assert.notDeepEqual(blaming, [], `nothing blames ${bad.blames}: ${body.message}`);
    const twin = await write(goodTwin(bad), 'dryRun=All');
    assert.ok(twin.status < 300, `the good twin was refused: ${twin.body.message}`);
  });
}

test('the epoch of a NodeFence never goes back', async () => {
  const { status, body } = await write({ ...BASES.fenceStatus, status: { epoch: 2 } }, 'dryRun=All');
  assert.equal(status, 422);
  assert.match(body.message, /status\.epoch: .*the epoch never goes back/);
});

test('an unknown field is refused under strict validation', async () => {
  const object = { ...BASES.drain, spec: { allNodes: true, enforcment: 'Observe' } } as AnyObject;
  const { status, body } = await write(object, 'dryRun=All&fieldValidation=Strict');
  assert.equal(status, 400);
  assert.match(body.message, /unknown field "spec.enforcment"/);
});

test('every kind is shown with its columns', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  for (const kind of KINDS) {
    const { body } = await driver.call('GET', collection(kind), undefined, { accept });
    const names = body.columnDefinitions.map((column: Json) => column.name);
    assert.deepEqual(names, ['Name', ...kind.columns.map((column) => column.name)]);
  }
});
