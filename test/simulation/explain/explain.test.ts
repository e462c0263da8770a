/**
 * What `fenceline explain` says in the nights for which it was made, word by word: each was read cold, and is read again
 * whenever it changes. `FENCELINE_GOLDEN=write node --test test/simulation/explain/explain.test.ts` writes the files.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { render } from '../../../src/cli/explain.ts';
import { explanationText } from '../../../src/report/explain-text.ts';
import type { Explanation } from '../../../src/report/explanation.ts';
import { parsedByFenceline, shellWords } from '../../support/typed.ts';
import { explained } from './run.ts';
import { situations } from './situations.ts';

const golden = join(import.meta.dirname, 'golden');

async function sameFromJson(explanation: Explanation, text: string): Promise<void> {
  const json = await render(explanation, 'json');
  const yaml = await render(explanation, 'yaml');
  assert.equal(explanationText(JSON.parse(json) as Explanation), text, 'from the JSON');
  assert.equal(explanationText(parse(yaml) as Explanation), text, 'from the YAML');
}

describe('explained as it was', () => {
  for (const situation of situations) {
    test(`[EXP-1] ${situation.name}`, async () => {
      const explanation = await explained(situation);
      const text = explanationText(explanation);
      const file = join(golden, `${situation.name}.txt`);
      if (process.env['FENCELINE_GOLDEN'] === 'write') writeFileSync(file, text);
      assert.equal(text, existsSync(file) ? readFileSync(file, 'utf8') : '');
      await sameFromJson(explanation, text);
      assert.ok(explanation.commands.length > 0, 'there is something to type');
      for (const { command } of explanation.commands) {
        assert.ok(text.includes(`\n  ${command}\n`), 'it stands on a line of its own');
        if (shellWords(command)[0] === 'fenceline') await parsedByFenceline(command);
      }
    });
  }

  test('every golden file has its situation', () => {
    const files = globSync('*.txt', { cwd: golden }).sort();
    assert.deepEqual(files, situations.map(({ name }) => `${name}.txt`).sort());
  });
});
