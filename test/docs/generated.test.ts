/** What the chart holds as a copy is what it was copied from. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { chartFiles } from '../../build/chart.ts';

test("the chart's copies of roles, guard and CRDs are those of today", async () => {
  const files = await chartFiles();
  assert.deepEqual(globSync('chart/files/*').toSorted(), [...files.keys()].toSorted());
  const stale = [...files].filter(([path, text]) => readFileSync(path, 'utf8') !== text).map(([path]) => path);
  assert.deepEqual(stale, [], 'run npm run generate');
});
