/** Every FenceDevice that the documents show is accepted, and says how the nodes are fenced that it is about. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { FenceDeviceSchema } from '../../src/api/fence-device.ts';
import { parseObject } from '../../src/api/parse.ts';
import { configOf } from '../../src/fence/config.ts';
import { projectDevice } from '../../src/observe/project-device.ts';

const docs = join(import.meta.dirname, '..', '..', 'docs');

interface Shown {
  kind?: string;
  metadata: { name: string };
  spec: { values?: { node: string }[]; node?: string };
}

function shown(): { page: string; objects: Shown[] }[] {
  return globSync('*.md', { cwd: docs }).flatMap((page) => {
    const text = readFileSync(join(docs, page), 'utf8');
    const blocks = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block = '']) => block);
    return blocks.map((block) => ({ page, objects: parseAllDocuments(block).map((one) => one.toJS() as Shown) }));
  });
}

test('[FEN-15] the FenceDevices of the documents are read as they are meant', () => {
  const blocks = shown().filter(({ objects }) => objects.some(({ kind }) => kind === 'FenceDevice'));
  assert.ok(blocks.length >= 3);
  for (const { page, objects } of blocks) {
    for (const object of objects)
      assert.ok(parseObject(FenceDeviceSchema, object).ok, `${page} ${object.metadata.name}`);
    const devices = objects.flatMap((object) => projectDevice(object) ?? []);
    const nodes = new Set(objects.flatMap(({ spec }) => spec.node ?? (spec.values ?? []).map(({ node }) => node)));
    assert.ok(nodes.size > 0);
    for (const name of nodes) {
      const read = configOf({ name, labels: { pool: 'workers' } }, { maps: [], devices });
      assert.ok(read.ok, `${page}: ${JSON.stringify(read)}`);
      const { powerManagement, isolation } = read.config;
      assert.equal(powerManagement.length + isolation.length, devices.length, 'a level each');
    }
  }
});
