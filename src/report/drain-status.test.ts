import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeDrainDecision } from '../api/drain-view.ts';
import { NOBODY } from '../api/node-choice.ts';
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

const saidBy = ({ conditions = [] }: ReturnType<typeof drainStatusOf>): string[] =>
  conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

describe('the status of a DrainPolicy', () => {
  test('Ready: it is carried out as written, or says what keeps it from that', () => {
    const of = (findings: Partial<Parameters<typeof drainStatusOf>[0]>): string | undefined => {
      const policy = { name: 'default', generation: 3 };
      const status = drainStatusOf({ policy, nodes: [decided()], ...findings }, {}, nowMs);
      assert.deepEqual(
        status.conditions?.map(({ observedGeneration }) => observedGeneration),
        [3, 3],
      );
      return saidBy(status)[0];
    };
    assert.equal(of({}), 'Ready True Guarding');
    assert.equal(of({ nodes: [] }), 'Ready True NoNodes');
    assert.equal(of({ nodes: [decided({ guarding: 'StorageEnforces' })] }), 'Ready True StorageEnforces');
    assert.equal(of({ nodes: [decided({ guarding: 'ForeignBudget' })] }), 'Ready False ForeignBudget');
    assert.equal(of({ notFound: 'no Longhorn' }), 'Ready False StorageNotFound');
    const older = { name: 'default', generation: 3, selector: NOBODY };
    assert.equal(of({ policy: older, nodes: [] }), 'Ready False NodesMissing');
  });

  test('[REM-8] who lost its nodes by its age alone names the winner', () => {
    const lost = decided({
      policy: { kind: 'one', name: 'old', policy: 'always-allow', enforcement: 'enforce', over: ['default'] },
    });
    const status = statusOf(lost);
    assert.deepEqual(saidBy(status), ['Ready False Conflict', 'Guarding False Conflict']);
    assert.match(status.conditions?.[0]?.message ?? '', /^old selects node-1 just as specifically, is older/);
    assert.equal(status.nodes, 0);
  });

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

  test('a policy that only observes holds nothing up, and says what is at risk', () => {
    const status = statusOf(decided({ guarding: 'Observing', guardingMessage: 'nothing holds up a drain of node-1' }));
    assert.equal(status.blocking, 0);
    const [first] = status.draining ?? [];
    assert.deepEqual(
      [first?.blocked, first?.reason, first?.message],
      [false, 'LastReplica', 'nothing holds it up, although the last copy of volume v is on node-1'],
    );
    assert.deepEqual(saidBy(status), ['Ready True Observing', 'Guarding False Observing']);
  });
});
