import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommanderError } from 'commander';
import { parseAllDocuments } from 'yaml';
import { customResourceDefinitions } from '../api/crds.ts';
import { renderReference } from '../api/reference.ts';
import { crdsCommand } from './crds.ts';

async function run(...args: string[]): Promise<string> {
  let output = '';
  const command = crdsCommand((text) => (output += text))
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  await command.parseAsync(args, { from: 'user' });
  return output;
}

test('crds prints a YAML document per kind, without anchors, that reads back as the CRDs', async () => {
  const output = await run();
  const documents = parseAllDocuments(output);
  assert.deepEqual(
    documents.map((it) => it.toJS() as unknown),
    JSON.parse(JSON.stringify(customResourceDefinitions())),
  );
  assert.doesNotMatch(output, /[:-] [&*]a\d/);
});

test('crds -o json prints one list', async () => {
  const list = JSON.parse(await run('-o', 'json')) as { kind: string; items: unknown[] };
  assert.equal(list.kind, 'List');
  assert.deepEqual(list.items, JSON.parse(JSON.stringify(customResourceDefinitions())));
});

test('crds -o markdown prints the reference page', async () => {
  assert.equal(await run('--output', 'markdown'), renderReference());
});

test('crds refuses a format that it does not know, and says which it does', async () => {
  await assert.rejects(run('-o', 'toml'), (error) => {
    assert.ok(error instanceof CommanderError);
    assert.match(error.message, /Allowed choices are yaml, json, markdown/);
    return true;
  });
});
