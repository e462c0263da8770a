import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { quantity, scaled } from './quantities.ts';
import { matchesLabels, matchesNodeTerms } from './selectors.ts';

describe('label selectors', () => {
  test('nothing selects nothing, an empty one everything', () => {
    assert.equal(matchesLabels(undefined, { a: '1' }), false);
    assert.equal(matchesLabels({}, undefined), true);
  });

  test('all requirements have to be met', () => {
    const labels = { app: 'db', tier: 'back' };
    const holds = (operator: string, key: string, ...values: string[]): boolean =>
      matchesLabels({ matchLabels: { app: 'db' }, matchExpressions: [{ key, operator, values }] }, labels);
    assert.deepEqual(
      [holds('In', 'tier', 'front', 'back'), holds('In', 'tier', 'front'), holds('In', 'zone', 'a')],
      [true, false, false],
    );
    assert.deepEqual([holds('NotIn', 'tier', 'back'), holds('NotIn', 'zone', 'a')], [false, true]);
    assert.deepEqual([holds('Exists', 'tier'), holds('Exists', 'zone')], [true, false]);
    assert.deepEqual([holds('DoesNotExist', 'tier'), holds('DoesNotExist', 'zone')], [false, true]);
    assert.equal(matchesLabels({ matchLabels: { app: 'web' } }, labels), false);
  });
});

test('one term of a node affinity is enough, an empty one is none', () => {
  const node = { metadata: { name: 'n1', labels: { size: '7' } } };
  const named = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] };
  const large = { matchExpressions: [{ key: 'size', operator: 'Gt', values: ['8'] }] };
  assert.equal(matchesNodeTerms([large], node), false);
  assert.equal(matchesNodeTerms([large, named], node), true);
  assert.equal(matchesNodeTerms([{}], node), false);
});

test('quantities', () => {
  const values = ['250m', '2', '1Ki', '64Gi', '1.5', '2k', '1e3', undefined].map((text) => quantity(text));
  assert.deepEqual(values, [0.25, 2, 1024, 64 * 2 ** 30, 1.5, 2000, 1000, 0]);
});

test('shares are rounded as asked for', () => {
  assert.deepEqual([scaled('50%', 5, 'up'), scaled('50%', 5, 'down'), scaled(3, 5, 'up')], [3, 2, 3]);
});
