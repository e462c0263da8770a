/** Runs scenario files of scenarios/holes, each under the title that says what it shows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresOf, run, scenariosOf, seedsOf } from '../run-file.ts';

export function runHoles(what: string, rows: Record<string, string>): void {
  describe(what, () => {
    for (const [name, title] of Object.entries(rows)) {
      test(title, async () => {
        for (const scenario of scenariosOf(`holes/${name}`)) {
          for (const seed of seedsOf(scenario)) {
            assert.deepEqual(failuresOf(await run({ ...scenario, seed })), [], `${scenario.name} with seed ${seed}`);
          }
        }
      });
    }
  });
}
