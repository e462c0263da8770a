/**
 * Every question of an ordered list, every comparison of grounds, every precondition of a write, left out one at a time by
 * machine. Each of these mutants is given away by a story, which is a run of the whole product and not the test of that very
 * line. `node test/mutants/find.ts` looks for one where there is none yet.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { allMutants } from './enumerate.ts';
import { failuresIn, givenAway } from './run.ts';
import { storyNamed } from './stories.ts';
import { killers } from './table.ts';

const mutants = allMutants();

describe('the table of mutants', () => {
  test('has every one of them, with what gives it away', () => {
    const without = mutants.map(({ id }) => id).filter((id) => !(id in killers));
    assert.deepEqual(without, [], 'node test/mutants/find.ts looks for a story; what survives is a missing test');
  });

  test('has none that is not there any more', () => {
    const ids = new Set(mutants.map(({ id }) => id));
    assert.deepEqual(
      Object.keys(killers).filter((id) => !ids.has(id)),
      [],
    );
  });
});

describe('mutants by machine', () => {
  const healthy = new Map<string, Promise<string[]>>();
  for (const [id, story] of Object.entries(killers)) {
    test(`${id}: ${story}`, async () => {
      const mutant = mutants.find((one) => one.id === id);
      assert.ok(mutant);
      const told = storyNamed(story);
      const asItIs = healthy.get(story) ?? failuresIn(told);
      healthy.set(story, asItIs);
      assert.deepEqual(await asItIs, [], 'the product does nothing wrong there');
      assert.notDeepEqual(await givenAway(mutant, told), [], 'it survives');
    });
  }
});
