/** What is generated is what it is generated from. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { chartFiles } from '../../build/chart.ts';
import { generatedPages } from '../../build/pages.ts';

function staleOf(files: ReadonlyMap<string, string>): string[] {
  return [...files].filter(([path, text]) => readFileSync(path, 'utf8') !== text).map(([path]) => path);
}

test("the chart's copies of roles, guard and CRDs are those of today", async () => {
  const files = await chartFiles();
  assert.deepEqual(globSync('chart/files/*').toSorted(), [...files.keys()].toSorted());
  assert.deepEqual(staleOf(files), [], 'run npm run generate');
});

test('[ADM-3] the pages of schemas and of metrics are those of today', () => {
  assert.deepEqual(staleOf(generatedPages()), [], 'run npm run generate');
});
