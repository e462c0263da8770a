/** Whether a node lives is read in one way, and what it has said since voids what was said of it before. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresOf, run, scenariosOf, seedsOf } from '../run-file.ts';

describe('a Lease says itself how long its silence means nothing', () => {
  for (const scenario of scenariosOf('holes/lease-durations')) {
    test(`[SAF-14] ${scenario.name}: left alone while it is renewed, fenced when it is not, back in service afterwards`, async () => {
      for (const seed of seedsOf(scenario)) {
        assert.deepEqual(failuresOf(await run({ ...scenario, seed })), [], `with seed ${seed}`);
      }
    });
  }
});
