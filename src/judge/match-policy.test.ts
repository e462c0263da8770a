import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { aPolicy } from '../../test/support/release-case.ts';
import type { Selector } from '../api/node-choice.ts';
import { choiceOf } from '../api/node-choice.ts';
import type { PolicyFacts } from '../api/release-view.ts';
import type { Match } from './match-policy.ts';
import { selects } from '../api/label-selector.ts';
import { matchPolicy } from './match-policy.ts';

const selector = (
  matchLabels: Record<string, string>,
  ...matchExpressions: Selector['matchExpressions'][number][]
): Selector => ({
  matchLabels,
  matchExpressions,
});
const policy = (name: string, chosen: Selector, change: Partial<PolicyFacts> = {}): PolicyFacts =>
  aPolicy({ name, selector: chosen, ...change });
const said = (match: Match<PolicyFacts>): string =>
  match.kind === 'none' ? 'none' : [match.policy.name, ...match.over].join(' over ');

describe('which policy applies', () => {
  const all = policy('all', selector({}));
  const compute = policy('compute', selector({ type: 'compute' }));
  const zone = policy('zone', selector({}, { key: 'zone', operator: 'In', values: ['a', 'b'] }));
  const exact = policy('exact', selector({ type: 'compute' }, { key: 'zone', operator: 'In', values: ['a', 'b'] }));
  const urgent = policy('urgent', selector({}), { priority: 1 });
  const modest = policy('modest', exact.selector, { priority: -1 });
  const young = policy('a-young-one', compute.selector, { createdAt: '2026-01-01T00:00:01Z' });
  const everybody = [all, compute, zone, exact, urgent, modest, young];

  const rows: [string, PolicyFacts[], Record<string, string>, string][] = [
    ['there is none', [], {}, 'none'],
    ['none selects the node', [compute, exact], { type: 'storage' }, 'none'],
    ['allNodes where nothing else selects it', [all, compute, exact], {}, 'all'],
    ['one label is more specific than allNodes', [all, compute, exact], { type: 'compute' }, 'compute'],
    ['a label and an expression more than a label', [exact, all, compute], { type: 'compute', zone: 'b' }, 'exact'],
    ['priority comes before what is specific', [exact, urgent], { type: 'compute', zone: 'a' }, 'urgent'],
    ['a negative priority gives way to the default', [modest, all], { type: 'compute', zone: 'a' }, 'all'],
    ['a negative priority is better than none', [modest], { type: 'compute', zone: 'a' }, 'modest'],
    ['the older of two that rank the same', [young, compute], { type: 'compute' }, 'compute over a-young-one'],
    ['of the same age, the first by name', [zone, compute], { type: 'compute', zone: 'a' }, 'compute over zone'],
    ['one of another rank is in no conflict', [compute, zone, all, urgent], { type: 'compute', zone: 'a' }, 'urgent'],
    [
      'every one that lost by its age',
      [young, zone, compute],
      { type: 'compute', zone: 'a' },
      'compute over zone over a-young-one',
    ],
  ];
  for (const [title, policies, labels, expected] of rows) {
    test(`[REM-8] ${title}`, () => assert.equal(said(matchPolicy(policies, labels)), expected));
  }

  test('[REM-8] the order of the policies does not matter, and whoever is selected by any has one', () => {
    const labels = fc.record({ type: fc.constantFrom('compute', 'storage'), zone: fc.constantFrom('a', 'b', 'c') });
    fc.assert(
      fc.property(fc.shuffledSubarray(everybody, { minLength: 1 }), labels, (some, node) => {
        const match = matchPolicy(some, node);
        assert.equal(said(match), said(matchPolicy(some.toReversed(), node)));
        assert.equal(
          match.kind === 'one',
          some.some((one) => selects(one.selector, node)),
        );
      }),
    );
  });
});

describe('what a stored policy chooses', () => {
  const chosen = (spec: object): string => {
    const choice = choiceOf(spec, { creationTimestamp: '2026-01-01T00:00:00Z' });
    return choice === undefined ? 'nothing' : JSON.stringify(choice.selector);
  };

  test('[REM-8] every node only where it says so in so many words', () => {
    const every = JSON.stringify(selector({}));
    assert.equal(chosen({ allNodes: true }), every);
    for (const spec of [
      {},
      { allNodes: false },
      { selector: {} },
      { selector: { matchLabels: {}, matchExpressions: [] } },
      { allNodes: true, selector: {} },
      { allNodes: true, selector: { matchLabels: { type: 'compute' } } },
      { nodeSelector: {} },
    ]) {
      assert.equal(chosen(spec), 'nothing', JSON.stringify(spec));
    }
    assert.equal(
      chosen({ allNodes: false, selector: { matchLabels: { a: 'b' } } }),
      JSON.stringify(selector({ a: 'b' })),
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
