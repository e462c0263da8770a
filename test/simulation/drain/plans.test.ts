/** The scenarios of drains, with the operator. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { failuresOf, run, scenarioDirectory, scenarioOf } from '../run-file.ts';

const names = globSync(join(scenarioDirectory, 'drain', '*.yaml'))
  .map((file) => basename(file, '.yaml'))
  .sort();

describe('[DRN-10] drains', () => {
  for (const name of names) {
    test(name, async () => {
      const scenario = scenarioOf(`drain/${name}`);
      for (const seed of [scenario.seed, 77]) {
        const report = await run({ ...scenario, seed }, { freezes: true });
        assert.deepEqual(failuresOf(report), [], `with seed ${seed}`);
      }
    });
  }
});
