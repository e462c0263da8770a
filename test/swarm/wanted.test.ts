import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wantedOf } from './wanted.ts';

test('what the swarm cannot run is refused, with what to write', () => {
  const usual = { from: '1', seeds: '100', size: 'small' };
  assert.deepEqual(wantedOf(usual), { from: 1, seeds: 100, size: 'small' });
  assert.equal(wantedOf({ ...usual, seeds: 'abc' }), 'SEEDS=abc: write a whole number of at least 1');
  assert.equal(wantedOf({ ...usual, from: '0' }), 'FROM=0: write a whole number of at least 1');
  assert.equal(wantedOf({ ...usual, size: 'huge' }), 'SIZE=huge: write one of small, large, aimed, calm');
});
