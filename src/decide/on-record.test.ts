/** What is on record before anything is done, and what of it a person has to look at. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { acting, aStored, entryOf, fenced } from '../../test/support/fenced-case.ts';
import { aCase, aFence, anIncident, aRemedy, failover, safeDriver, inForce } from '../../test/support/release-case.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { NodeDecision } from './decide-node.ts';
import { decideNode } from './decide-node.ts';
import { decideRequest } from './request.ts';

const nobody: NodeCase['policy'] = { kind: 'none' };
const alarmOf = ({ record }: NodeDecision): string | undefined =>
  record?.status?.conditions.find(({ type, status }) => type === 'Alarm' && status === 'True')?.reason;

describe('where no policy selects the node', () => {
  const gated = { policy: nobody, gates: failover };

  test('[NGS-6] S1: what goes by its driver is on record first', () => {
    const decision = decideNode(aCase({ ...gated, drivers: safeDriver }));
    assert.ok(decision.steps.length > 0);
    assert.equal(decision.record?.status?.releases[0]?.basis, 'StorageSafeDetach');
  });

  test('[NGS-2] why a pod is stuck is on record; where none is, nothing is written', () => {
    const stuck = decideNode(aCase(gated));
    assert.deepEqual([stuck.steps, stuck.record?.status?.stuck.length], [[], 1]);
    assert.equal(decideNode(aCase({ ...gated, pods: [] })).record, undefined);
  });

  test('[SAF-11] a person who says that nobody need select it is heard', () => {
    const asked = (more: object): string | undefined => {
      const requested = { by: 'jane', at: '2026-01-01T00:09:30Z', ...more };
      return decideRequest(aCase({ policy: nobody, fence: aFence({}, { requested }) })).refusal?.reason;
    };
    assert.deepEqual([asked({}), asked({ withoutPolicy: true })], ['NoPolicy', undefined]);
  });

  test('[SEC-3] but not where the operator was told to forbid that, nor under a policy that uses what is forbidden', () => {
    const requested = { by: 'jane', at: '2026-01-01T00:09:30Z', withoutPolicy: true };
    const asked = (change: Partial<NodeCase>): string | undefined =>
      decideRequest(aCase({ fence: aFence({}, { requested }), ...change })).refusal?.reason;
    assert.equal(asked({ policy: nobody, forbidden: ['RequestsWithoutPolicy'] }), 'Forbidden');
    assert.equal(asked({ policy: nobody, forbidden: ['Jobs'] }), undefined);
    assert.equal(asked({ forbidden: ['RequestsWithoutPolicy'] }), undefined);
    const uses = [{ what: 'Jobs', where: 'remedy repair' }] as const;
    assert.equal(asked({ policy: inForce({ uses }), forbidden: ['Jobs'] }), 'Forbidden');
    assert.equal(asked({ policy: inForce({ uses }), forbidden: ['SafeDetach'] }), undefined);
  });
});

describe('[FEN-2, SAF-1] a person is told', () => {
  const cut = { switched: [entryOf('power-management')] };

  test('of a machine that was never off', () => {
    const never = aStored('booting', { ...cut, neverOff: 'it lived on' });
    assert.equal(alarmOf(decideNode(fenced(never, { policy: acting() }))), 'NeverOff');
    assert.notEqual(alarmOf(decideNode(fenced(aStored('booting', cut), { policy: acting() }))), 'NeverOff');
  });

  test('[SAF-9] of acts without an end, which are not gone on with', () => {
    const acts = (count: number): NodeDecision =>
      decideNode(aCase({ fence: aFence({ incident: anIncident({ acts: count }) }) }));
    assert.equal(alarmOf(acts(100_000)), 'TooManyActs');
    assert.deepEqual(acts(100_000).steps, []);
    assert.equal(alarmOf(acts(0)), undefined);
  });
});

test('[FEN-5] whether a machine that boots, or whose fence has failed, is off since is asked now and then', () => {
  const policy = acting({ remedy: aRemedy({ fence: { ...aRemedy().fence, bootTimeoutMs: 3_600_000 } }) });
  const wants = (phase: 'booting' | 'failed'): [string | undefined, boolean] => {
    const { record, wants: wanted } = decideNode(fenced(aStored(phase), { policy }));
    return [record?.status?.fence?.phase, wanted.includes('deviceLater')];
  };
  assert.deepEqual(wants('booting'), ['booting', true]);
  assert.deepEqual(wants('failed'), ['failed', true]);
});

describe('during a roll-out', () => {
  test('what a newer operator has on record stays there, also when the trouble is over', () => {
    const newer = { ofTheFuture: { since: '2026-01-01T00:00:00Z' } };
    const kept = (change: Partial<NodeCase>): unknown => {
      const fence = aFence({ incident: anIncident(), holder: 'newer', ...newer });
      return (decideNode(aCase({ ...change, fence })).record?.status as typeof newer | undefined)?.ofTheFuture;
    };
    assert.deepEqual(kept({}), newer.ofTheFuture);
    assert.deepEqual(kept({ policy: nobody }), newer.ofTheFuture);
  });
});
