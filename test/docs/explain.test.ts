/** What a page shows as the answer of `explain` is what it answers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const page = readFileSync(new URL('../../docs/explain.md', import.meta.url), 'utf8');

test('[EXP-1] docs/explain.md shows one of the situations that are tested, word by word', () => {
  const [, name = '', block = ''] = /`golden\/(\S+)\.txt`[^\n]*\n(?:\S.*\n)*\n((?: {4}.*\n|\n)+)/.exec(page) ?? [];
  const golden = new URL(`../simulation/explain/golden/${name}.txt`, import.meta.url);
  assert.equal(`${block.replaceAll(/^ {4}/gm, '').trimEnd()}\n`, readFileSync(golden, 'utf8'));
});
