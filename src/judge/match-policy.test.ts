import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { aPolicy } from '../../test/support/release-case.ts';
import type { PolicyFacts, PolicyMatch, Selector } from '../api/release-view.ts';
import { matchPolicy, selects } from './match-policy.ts';

const selector = (
  matchLabels: Record<string, string>,
  ...matchExpressions: Selector['matchExpressions'][number][]
): Selector => ({
  matchLabels,
  matchExpressions,
});
const policy = (name: string, chosen: Selector): PolicyFacts => aPolicy({ name, selector: chosen });
const said = (match: PolicyMatch): string =>
  match.kind === 'one' ? match.policy.name : match.kind === 'tie' ? match.names.join('+') : 'none';

describe('which policy is in force', () => {
  const all = policy('all', selector({}));
  const compute = policy('compute', selector({ type: 'compute' }));
  const exact = policy('exact', selector({ type: 'compute' }, { key: 'zone', operator: 'In', values: ['a', 'b'] }));

  test('[POD-1] the most specific of those that select the node', () => {
    assert.equal(said(matchPolicy([], {})), 'none');
    assert.equal(said(matchPolicy([all, compute, exact], {})), 'all');
    assert.equal(said(matchPolicy([all, compute, exact], { type: 'compute' })), 'compute');
    assert.equal(said(matchPolicy([exact, all, compute], { type: 'compute', zone: 'b' })), 'exact');
    assert.equal(said(matchPolicy([compute], { type: 'storage' })), 'none');
  });

  test('[POD-11] of two that are as specific neither, and both are named', () => {
    const other = policy('another', selector({ zone: 'a' }));
    assert.equal(said(matchPolicy([compute, other, all], { type: 'compute', zone: 'a' })), 'another+compute');
  });

  test('the order of the policies does not matter', () => {
    const policies = [all, compute, exact, policy('zone', selector({ zone: 'a' }))];
    const labels = fc.record({ type: fc.constantFrom('compute', 'storage'), zone: fc.constantFrom('a', 'b', 'c') });
    fc.assert(
      fc.property(fc.shuffledSubarray(policies, { minLength: policies.length }), labels, (shuffled, node) => {
        assert.equal(said(matchPolicy(shuffled, node)), said(matchPolicy(policies, node)));
      }),
    );
  });
});

describe('selectors', () => {
  const rows: [string, string[], Record<string, string>, boolean][] = [
    ['In', ['a'], { k: 'a' }, true],
    ['In', ['a'], { k: 'b' }, false],
    ['In', ['a'], {}, false],
    ['NotIn', ['a'], { k: 'a' }, false],
    ['NotIn', ['a'], { k: 'b' }, true],
    ['NotIn', ['a'], {}, true],
    ['Exists', [], { k: '' }, true],
    ['Exists', [], {}, false],
    ['DoesNotExist', [], {}, true],
    ['DoesNotExist', [], { k: '' }, false],
    ['Gt', ['1'], { k: '2' }, false],
  ];
  for (const [operator, values, labels, expected] of rows) {
    test(`${operator} ${values.join()} of ${JSON.stringify(labels)}: ${expected}`, () => {
      assert.equal(selects(selector({}, { key: 'k', operator, values }), labels), expected);
    });
  }

  test('what every object inherits is no label', () => {
    assert.equal(selects(selector({}, { key: 'constructor', operator: 'Exists', values: [] }), {}), false);
  });
});
