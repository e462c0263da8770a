import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseScenarios } from './parse.ts';
import { runScenario } from './runner.ts';

const directory = join(import.meta.dirname, '..', '..', 'scenarios');

/** Machines, controllers and operators read the very objects that the server holds: one that changed them would rewrite history. */
describe('what the API server holds', () => {
  for (const name of [
    'kubernetes-alone',
    'partition-and-heal',
    'reboot',
    'fence/power-loss',
    'holes/back-by-themselves',
  ]) {
    test(`nobody changes it: ${name}`, async () => {
      const file = join(directory, `${name}.yaml`);
      for (const scenario of parseScenarios(file, readFileSync(file, 'utf8'))) {
        const free = await runScenario(scenario, () => 0);
        const frozen = await runScenario(scenario, () => 0, { freezes: true });
        assert.deepEqual(frozen, free);
        assert.equal(frozen.ok, true);
      }
    });
  }
});
