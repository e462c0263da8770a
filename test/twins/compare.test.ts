import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compare, describeDivergence } from './compare.ts';
import type { Entry } from './history.ts';

const entries = (...states: [number, string][]): Entry[] => states.map(([step, state]) => ({ step, state }));
const history = (...tracks: [string, Entry[]][]): Map<string, Entry[]> => new Map(tracks);

describe('the comparison of histories', () => {
  test('finds nothing between equal ones', () => {
    const one = history(['pod a', entries([0, 'Running'], [2, 'gone'])]);
    assert.deepEqual(compare(one, structuredClone(one)), []);
  });

  test('names the thing, the state before and both states', () => {
    const one = history(['pod a', entries([0, 'Running'], [1, 'gone'])]);
    const other = history(['pod a', entries([0, 'Running'], [1, 'Failed'], [1, 'gone'])]);
    const [difference, ...more] = compare(one, other);
    assert.ok(difference);
    assert.deepEqual(more, []);
    const said = describeDivergence(difference, ['embedded', 'real']);
    assert.equal(said, 'pod a, state 2 after "Running": embedded: gone [step 1]; real: Failed [step 1]');
  });

  test('sees what is missing at the end, and what is there on one side only', () => {
    const one = history(['pod a', entries([0, 'Running'], [1, 'gone'])], ['pod b', entries([0, 'Pending'])]);
    const other = history(['pod a', entries([0, 'Running'])]);
    assert.deepEqual(
      compare(one, other).map(({ id, expected, actual }) => [id, expected, actual]),
      [
        ['pod b', 'Pending [step 0]', undefined],
        ['pod a', 'gone [step 1]', undefined],
      ],
    );
  });

  test('the same states between other steps are not the same', () => {
    const one = history(['pod a', entries([0, 'Running'], [1, 'gone'])]);
    const other = history(['pod a', entries([0, 'Running'], [2, 'gone'])]);
    assert.equal(compare(one, other).length, 1);
  });
});
