import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeDrainDecision } from '../api/drain-view.ts';
import { drainStatusOf } from './drain-status.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');

function decided(change: Partial<NodeDrainDecision> = {}): NodeDrainDecision {
  return {
    node: 'node-1',
    policy: { kind: 'one', name: 'default', policy: 'block-if-contains-last-replica', enforcement: 'enforce' },
    cordoned: true,
    blocked: true,
    autoEvicting: false,
    reason: 'LastReplica',
    message: 'the last copy of volume v is on node-1',
    blocks: [],
    guarding: 'Guarding',
    guardingMessage: 'node-1 is looked after',
    ...change,
  };
}

const statusOf = (node: NodeDrainDecision, before = {}, atMs = nowMs): ReturnType<typeof drainStatusOf> =>
  drainStatusOf({ policy: { name: 'default', generation: 1 }, nodes: [node] }, before, atMs);

describe('the status of a DrainPolicy', () => {
  test('what a drain waits for, and since when', () => {
    const status = statusOf(decided());
    assert.equal(status.blocking, 1);
    const [first] = status.draining ?? [];
    assert.deepEqual([first?.blocked, first?.reason, first?.since], [true, 'LastReplica', '2026-01-01T00:00:00Z']);
    const later = statusOf(decided({ message: 'it is still there' }), status, nowMs + 60_000);
    assert.equal(later.draining?.[0]?.since, '2026-01-01T00:00:00Z');
    const over = statusOf(decided({ blocked: false, reason: 'Allowed' }), later, nowMs + 90_000);
    assert.deepEqual([over.blocking, over.draining?.[0]?.since], [0, '2026-01-01T00:01:30Z']);
  });

  test('who only observes holds nothing up, and says what is at risk', () => {
    const status = statusOf(decided({ guarding: 'Observing', guardingMessage: 'nothing holds a drain of node-1 up' }));
    assert.equal(status.blocking, 0);
    const [first] = status.draining ?? [];
    assert.deepEqual(
      [first?.blocked, first?.reason, first?.message],
      [false, 'LastReplica', 'nothing holds it up, although the last copy of volume v is on node-1'],
    );
    assert.equal(status.conditions?.[0]?.status, 'False');
  });
});
