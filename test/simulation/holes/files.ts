/** Runs scenario files of a folder of scenarios/, each under the title that says what it shows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Scenario } from '../../../src/scenario/format.ts';
import { failuresOf, run, scenariosOf, seedsOf } from '../run-file.ts';

export function runHoles(what: string, rows: Record<string, string>): void {
  runFiles('holes', what, rows);
}

/** `cut`: what of a scenario is run here, where the whole takes too long. */
export function runFiles(
  folder: string,
  what: string,
  rows: Record<string, string>,
  cut: (scenario: Scenario) => Scenario = (scenario) => scenario,
): void {
  describe(what, () => {
    for (const [name, title] of Object.entries(rows)) {
      test(title, async () => {
        for (const scenario of scenariosOf(`${folder}/${name}`).map(cut)) {
          for (const seed of seedsOf(scenario)) {
            assert.deepEqual(failuresOf(await run({ ...scenario, seed })), [], `${scenario.name} with seed ${seed}`);
          }
        }
      });
    }
  });
}
