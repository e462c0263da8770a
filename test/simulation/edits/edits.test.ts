/** Random edits of what people write. `EDITS_FROM=17 EDITS=1 node --test` of this file, or of its neighbour, makes those of one seed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type * as runner from '../../../src/scenario/runner.ts';
import type { Sabotage } from '../mutant.ts';
import { mutant } from '../mutant.ts';
import type { Story } from './generate.ts';
import { generate } from './generate.ts';
import { play } from './play.ts';
import { calm, playAll, stories } from './seeds.ts';

describe('edits while nothing is wrong with any node', () => {
  test('a seed is always the same story', () => {
    const some = stories.slice(0, 200);
    assert.deepEqual(
      some,
      some.map(({ seed }) => generate(seed)),
    );
  });

  test(`[FEN-7, SEC-1] in ${calm.length} stories what is wrong is refused or told, nobody acts, and all comes to rest`, async () => {
    assert.deepEqual(await playAll(calm, 40), []);
  });
});

describe('a product that', () => {
  const object = 'ConfigMap fence-config-node-1';
  const half = 'node_name=node-1\npower_management=off on\nno property';
  const wrong: Story = {
    seed: 1,
    edits: [{ object, path: ['data', 'config.properties'], value: half, isWrong: true }],
  };
  const findingsOf = async (story: Story, ...sabotages: Sabotage[]): Promise<string> => {
    const { runScenario } = await mutant(...sabotages).load<typeof runner>('src/scenario/runner.ts');
    return (await play([story], runScenario)).map(({ what }) => what).join('\n');
  };
  const takesHalf: Sabotage = {
    file: 'src/fence/config.ts',
    line: 'return problems.length > 0 ? { ok: false, problems } : { ok: true, config };',
    instead: 'return { ok: true, config };',
  };

  test('takes of a configuration what it can read is found out by what it says', async () => {
    assert.match(await findingsOf(wrong, takesHalf), /it is wrong, and the policy of its node says that all is well/);
  });

  test('and by what it switches off', async () => {
    const story: Story = { ...wrong, trouble: { node: 'node-1', event: 'partition', atMs: 3000 } };
    assert.match(await findingsOf(story, takesHalf), /node\/node-1 asked for off/);
  });

  test('takes its own words for news is found out by its writes', async () => {
    const again = {
      file: 'src/report/policy-conditions.ts',
      line: 'known?.status === finding.status ? known.lastTransitionTime : clockTime(at.nowMs);',
      instead: 'clockTime(at.nowMs);',
    };
    const hears = {
      file: 'src/operator/policy-status.ts',
      line: 'if (written.ok) return;',
      instead: 'if (written.ok) return this.touch();',
    };
    assert.match(await findingsOf(wrong, again, hears), /it does not come to rest|writes after one edit/);
  });

  test('ends by what somebody has written is found out', async () => {
    const ends = {
      file: 'src/fence/config.ts',
      line: 'const reader = new ConfigReader(node, source, sources);',
      instead:
        "const reader = new ConfigReader(node, source, sources); if (source.data['unknown'] === 'x=y') throw new Error('odd');",
    };
    const edits = [{ object, path: ['data', 'unknown'], value: 'x=y', isWrong: true }];
    assert.match(await findingsOf({ seed: 1, edits }, ends), /operator-1 .*odd/);
  });
});
