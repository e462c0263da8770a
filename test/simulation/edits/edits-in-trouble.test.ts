/** The same while a node fails, each in a cluster of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { playAll, troubled } from './seeds.ts';

test(`[FEN-7, SEC-1] in ${troubled.length} stories in which a node fails nothing is switched off by what is wrong`, async () => {
  assert.deepEqual(await playAll(troubled, 1), []);
});
