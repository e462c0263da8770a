import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { LeaseFacts, NodeFacts, NodeView } from '../api/view.ts';
import { defaultLimits, judgeNode } from './judge-node.ts';

function node(ready?: 'True' | 'False' | 'Unknown'): NodeFacts {
  const condition = { type: 'Ready', status: ready ?? 'True', reason: 'R', since: '2026-01-01T00:00:00Z' } as const;
  const facts = {
    name: 'a',
    uid: 'u',
    addresses: [],
    machine: [],
    machineId: 'm',
    bootId: 'b',
    zone: 'z',
    unschedulable: false,
    marks: [],
  };
  return { ...facts, conditions: ready === undefined ? [] : [condition] };
}

function lease(unchangedForMs: number, confirmed = false): LeaseFacts {
  return { renewTime: '2026-01-01T00:00:00.000000Z', unchangedForMs, confirmed };
}

function view(parts: Partial<NodeView>): NodeView {
  return { name: 'a', ageMs: 0, silentMs: 0, ...parts };
}

function verdict(parts: Partial<NodeView>): string {
  const { verdict, reason } = judgeNode(view(parts), defaultLimits);
  return `${verdict} ${reason}`;
}

describe('verdict on a node', () => {
  test('the table of verdicts', () => {
    const fresh = lease(3000);
    assert.equal(verdict({ node: node('True'), lease: fresh }), 'healthy ReadyAndRenewing');
    assert.equal(verdict({ node: node('True') }), 'healthy ReadyWithoutLease');
    assert.equal(verdict({ node: node('True'), lease: lease(12_000, true) }), 'suspect LeaseStale');
    const gone = { ...lease(12_000, true), isGone: true } as const;
    assert.equal(verdict({ node: node('True'), lease: gone }), 'suspect LeaseGone');
    assert.equal(
      verdict({ node: node('True'), lease: { ...gone, unchangedForMs: 3000 } }),
      'healthy ReadyWithoutLease',
    );
    assert.equal(verdict({ node: node() }), 'unknown NoReadyCondition');
    assert.equal(verdict({ node: node('True'), lease: fresh, silentMs: 15_001 }), 'unknown ApiSilent');
    assert.equal(verdict({ node: node('True'), lease: fresh, ageMs: 80_001 }), 'unknown ViewTooOld');
  });

  test('[EVD-4] a power that is known to be lost is suspicious at once, unless we are blind or know more', () => {
    const power = { says: 'off', message: 'bmc: it says off' } as const;
    const known = { node: node('True'), lease: lease(3000), power };
    assert.equal(verdict(known), 'suspect PoweredOff');
    assert.ok(
      judgeNode(view(known), defaultLimits).evidence.some(({ source, says }) => source === 'Power' && says === 'Dead'),
    );
    assert.equal(verdict({ ...known, lease: lease(12_000, true) }), 'suspect LeaseStale');
    assert.equal(verdict({ ...known, node: node('Unknown') }), 'down ReadyUnknown');
    assert.equal(verdict({ ...known, silentMs: 15_001 }), 'unknown ApiSilent');
  });

  test('[POD-3] a node is down when Ready is False or Unknown, or when there is no Node', () => {
    assert.equal(verdict({ node: node('False'), lease: lease(3000) }), 'down NotReady');
    assert.equal(verdict({ node: node('Unknown'), lease: lease(60_000) }), 'down ReadyUnknown');
    assert.equal(verdict({ lease: lease(3000) }), 'down NodeGone');
  });

  test('[EVD-2] a Lease that went stale makes a node suspect while Ready still reads True, once a live read confirms it', () => {
    const unconfirmed = judgeNode(view({ node: node('True'), lease: lease(12_000) }), defaultLimits);
    assert.equal(unconfirmed.wants, 'liveLease');
    assert.equal(unconfirmed.verdict, 'healthy');
    const confirmed = judgeNode(view({ node: node('True'), lease: lease(12_000, true) }), defaultLimits);
    assert.equal(confirmed.wants, undefined);
    assert.equal(confirmed.verdict, 'suspect');
    assert.match(
      confirmed.evidence.map(({ detail }) => detail).join('; '),
      /unchanged for 12.0 s, confirmed by a live read/,
    );
  });

  test('[EVD-2] a node that is down by the word of Kubernetes has its Lease read when that is overdue, and once', () => {
    const down = (seen: LeaseFacts): (string | number | undefined)[] => {
      const { wants, recheckInMs } = judgeNode(view({ node: node('False'), lease: seen }), defaultLimits);
      return [wants, recheckInMs];
    };
    assert.deepEqual(down(lease(3000)), [undefined, 9000]);
    assert.deepEqual(down(lease(12_000)), ['liveLease', 1000]);
    assert.deepEqual(down(lease(12_000, true)), [undefined, 60_000]);
    assert.deepEqual(down(lease(3000, true)), [undefined, 60_000]);
  });

  test('[SAF-14] a Lease of 80 s is renewed every 20: it is stale after 24, whatever the limit says', () => {
    const slow = (unchangedForMs: number): LeaseFacts => ({ ...lease(unchangedForMs, true), durationMs: 80_000 });
    assert.equal(verdict({ node: node('True'), lease: slow(23_999) }), 'healthy ReadyAndRenewing');
    assert.equal(verdict({ node: node('True'), lease: slow(24_000) }), 'suspect LeaseStale');
    assert.equal(judgeNode(view({ node: node('True'), lease: slow(3000) }), defaultLimits).recheckInMs, 21_000);
    const quick = { ...lease(7000, true), durationMs: 20_000 };
    assert.equal(verdict({ node: node('True'), lease: quick }), 'healthy ReadyAndRenewing', 'the limit is longer');
  });

  test('a healthy node is looked at again at the moment its Lease would be stale', () => {
    assert.equal(judgeNode(view({ node: node('True'), lease: lease(3000) }), defaultLimits).recheckInMs, 9000);
  });

  test('a blind observer never calls anybody suspect or down, whatever else is known', () => {
    const statuses = fc.constantFrom('True', 'False', 'Unknown', undefined);
    const blind = fc.oneof(
      fc.record({ silentMs: fc.integer({ min: 15_001 }), ageMs: fc.nat() }),
      fc.record({ silentMs: fc.nat({ max: 15_000 }), ageMs: fc.integer({ min: 80_001 }) }),
      fc.constant({ silentMs: Infinity, ageMs: Infinity }),
    );
    fc.assert(
      fc.property(statuses, fc.nat(), fc.boolean(), blind, (status, unchangedForMs, confirmed, age) => {
        const judged = judgeNode(
          view({ node: node(status), lease: lease(unchangedForMs, confirmed), ...age }),
          defaultLimits,
        );
        assert.equal(judged.verdict, 'unknown');
      }),
    );
  });

  test('no evidence says Dead: silence is not death', () => {
    for (const status of ['True', 'False', 'Unknown'] as const) {
      const judged = judgeNode(view({ node: node(status), lease: lease(1e9, true) }), defaultLimits);
      assert.ok(judged.evidence.every(({ says }) => says !== 'Dead'));
      assert.ok(judged.evidence.length > 0);
    }
  });
});
