import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeOutcome, Outcome } from '../scenario/from-cluster/outcome.ts';
import { rehearsalSentence } from './rehearsal-sentence.ts';

function outcome(...nodes: (Partial<NodeOutcome> & { node: string })[]): Outcome {
  return {
    nodes: nodes.map((one) => ({ struck: true, releases: [], holds: [], ...one })),
    pods: [],
    violations: [],
    exemptions: [],
    virtualMs: 1_200_000,
    wallMs: 1,
  };
}

const released = (node: string, at: number): Partial<NodeOutcome> & { node: string } => ({
  node,
  releases: [{ basis: 'PowerOff', at, pods: 1 }],
});

function said(inForce: Outcome, proposed?: Outcome, struck: string[] = ['node-3'], unwell: string[] = []): string {
  const rehearsals = [
    { policies: 'in force', outcome: inForce },
    ...(proposed === undefined ? [] : [{ policies: 'proposed', outcome: proposed }]),
  ];
  return rehearsalSentence(rehearsals, { struck: new Set(struck), unwell: new Set(unwell) });
}

describe('[EXP-2] what a rehearsal came to, in one sentence', () => {
  const fast = outcome(released('node-3', 14_000));
  const slow = outcome(released('node-3', 313_000));

  test('a node is released sooner, or as before', () => {
    assert.equal(
      said(slow, fast),
      'proposed: node-3 is released after 14 s instead of 5 min 13 s; nobody else is touched',
    );
    assert.equal(said(fast, fast), 'proposed as in force: node-3 is released after 14 s; nobody else is touched');
    assert.equal(said(fast), 'in force: node-3 is released after 14 s; nobody else is touched');
  });

  test('it is not released at all, and what has held it', () => {
    const held = outcome({ node: 'node-3', holds: [{ reason: 'StormLimit', message: 'too many', at: 12_000 }] });
    assert.equal(
      said(fast, held),
      'proposed: node-3 is not released within 20 min (held: StormLimit); in force: node-3 is released after 14 s; nobody else is touched',
    );
    assert.equal(
      said(held, held),
      'proposed as in force: node-3 is not released within 20 min (held: StormLimit); nobody else is touched',
    );
  });

  test('what is done to it when nothing ran there', () => {
    assert.match(
      said(outcome({ node: 'node-3', foundOffAt: 12_000, fencedAt: 9000 })),
      /node-3 is found off after 12 s/,
    );
    assert.match(said(outcome({ node: 'node-3', confirmedAt: 31_000 })), /node-3 is confirmed off after 31 s/);
    assert.match(said(outcome({ node: 'node-3', fencedAt: 30_000 })), /node-3 is fenced after 30 s/);
  });

  test('several nodes are counted, with the first and the last', () => {
    const all = outcome(released('a', 14_000), released('b', 20_000));
    const later = outcome(released('a', 14_000), released('b', 80_000));
    const one = outcome(released('a', 14_000), { node: 'b' });
    const none = outcome({ node: 'a' }, { node: 'b' });
    const both = ['a', 'b'];
    assert.equal(
      said(later, all, both),
      'proposed: both nodes are released after 14 s to 20 s instead of 14 s to 1 min 20 s; nobody else is touched',
    );
    assert.match(
      said(none, one, both),
      /^proposed: 1 of 2 nodes is released after 14 s; in force: none of the 2 nodes is /,
    );
    assert.match(said(all, all, [...both, 'c']), /2 of 3 nodes are released/);
  });

  test('whoever is touched as well is named, and not who was unwell before', () => {
    const other = { node: 'node-5', struck: false, fencedAt: 40_000 };
    const hit = outcome(released('node-3', 14_000), other);
    assert.match(said(fast, hit), /; node-5 would be fenced although nothing is wrong with it$/);
    assert.match(said(fast, hit, ['node-3'], ['node-5']), /; nobody else is touched$/);
    const seen = outcome(released('node-3', 14_000), { node: 'node-5', struck: false, suspectedAt: 3000 });
    assert.match(said(seen), /; node-5 would be suspected, too$/);
    const many = outcome(...['a', 'b', 'c', 'd', 'e'].map((node) => ({ node, struck: false, fencedAt: 1 })));
    assert.match(said(many, undefined, []), /a, b, c and 2 more would be fenced/);
  });
});
