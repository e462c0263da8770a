import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCase, aFence, aNode, anIncident, inForce } from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import { holdOf } from './hold.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;

const begun: Fence = {
  step: 'power-management',
  status: 'running',
  phase: 'waiting',
  level: 0,
  index: 0,
  cleanResources: true,
  retries: 0,
  restarts: 0,
  startedAt: '2026-01-01T00:00:00Z',
  stepStartedAt: '2026-01-01T00:00:00Z',
  switched: [],
};

const held = (nodeCase: Partial<NodeCase>): string => {
  const hold = holdOf(aCase(nodeCase));
  return hold === undefined ? 'free' : `${hold.reason} holds ${hold.holds}`;
};

test('what keeps us from acting, and from how much', () => {
  assert.equal(held({}), 'free');
  assert.equal(held({ policy: { kind: 'none' } }), 'free');
  assert.equal(held({ fence: aFence({}, { stop: true }) }), 'Stopped holds everything');
  assert.equal(held({ policy: { kind: 'none' }, fence: aFence({}, { stop: true }) }), 'Stopped holds everything');
  assert.equal(held({ policy: inForce({ mode: 'Paused' }) }), 'Paused holds everything');
  assert.equal(held({ policy: inForce({ mode: 'DryRun' }) }), 'DryRun holds everything');
  assert.equal(held({ policy: inForce({ mode: 'Approve' }) }), 'AwaitingApproval holds releases');
});

test('[SEC-3] a policy that uses what is forbidden does nothing, in whatever mode; others go on', () => {
  const uses = [
    { what: 'AcceptedRisk', where: 'release.podDeletion' },
    { what: 'Jobs', where: 'remedy repair' },
  ] as const;
  const forbidden = ['AcceptedRisk', 'SafeDetach'] as const;
  for (const mode of ['Enforce', 'DryRun', 'Paused', 'Approve'] as const) {
    assert.equal(held({ policy: inForce({ mode, uses }), forbidden }), 'Forbidden holds everything', mode);
  }
  const told = holdOf(aCase({ policy: inForce({ uses }), forbidden }))?.message ?? '';
  assert.match(told, /does nothing: AcceptedRisk \(release\.podDeletion\)$/);
  assert.equal(held({ policy: inForce({ uses }), forbidden: ['SafeDetach'] }), 'free');
  assert.equal(held({ policy: inForce({ uses }) }), 'free');
  assert.equal(held({ forbidden }), 'free');
  const stop = aFence({}, { stop: true });
  assert.equal(held({ policy: inForce({ uses }), forbidden, fence: stop }), 'Stopped holds everything');
});

test('[ADM-5] a pause for all holds everything, until it ends', () => {
  const pause = { namespace: 'fenceline', written: { by: 'anna', until: '2026-01-01T01:00:00Z' } };
  assert.equal(held({ pause }), 'PausedForAll holds everything');
  assert.equal(held({ pause, policy: { kind: 'none' } }), 'PausedForAll holds everything');
  assert.equal(holdOf(aCase({ pause }))?.untilMs, Date.parse('2026-01-01T01:00:00Z'));
  assert.equal(held({ pause, fence: aFence({}, { stop: true }) }), 'Stopped holds everything');
  assert.equal(held({ pause: { ...pause, written: { until: '2026-01-01T00:01:00Z' } } }), 'free');
});

test('[SAF-12, SAF-10] who is held is told how its machine was left, whatever holds it', () => {
  const at = '2026-01-01T00:00:00Z';
  const saidBy = (held: Partial<NodeCase>, stop: boolean, phase: Fence['phase'], ...sent: boolean[]): string => {
    const switched = sent.map((isSent) => ({
      step: 'power-management' as const,
      method: 'ipmi-off',
      storage: [],
      ...(isSent ? { commandSentAt: at } : {}),
    }));
    const stored: Fence = { ...begun, phase, switched };
    const hold = holdOf(aCase({ ...held, fence: aFence({ fence: stored }, stop ? { stop } : {}) }));
    return /; (its machine .*)$/.exec(hold?.message ?? '')?.[1] ?? '';
  };
  const said = (phase: Fence['phase'], ...sent: boolean[]): string => saidBy({}, true, phase, ...sent);
  assert.equal(said('off'), 'its machine is off, and stays so');
  const between = 'its machine was told to go off, may be off, and is not switched on';
  assert.equal(said('poweringOff', false, true), between);
  assert.equal(said('poweringOff', false), '', 'nobody has told it anything');
  assert.equal(said('poweringOn'), between);
  assert.equal(said('isolated', true), '', 'it is cut off, and not off');
  for (const mode of ['Approve', 'Paused', 'DryRun'] as const) {
    const policy = inForce({ mode });
    assert.equal(saidBy({ policy }, false, 'off'), 'its machine is off');
    assert.equal(saidBy({ policy }, false, 'poweringOff', true), 'its machine was told to go off, and may be off');
    assert.equal(saidBy({ policy }, false, 'poweringOff', false), '');
    assert.equal(saidBy({ policy }, false, 'booting'), '');
  }
});

test('an approval counts for the incident that it was given for', () => {
  const policy = inForce({ mode: 'Approve' });
  const approval = { by: 'somebody', at: '2026-01-01T00:00:00Z', incident: 'node-1-1' };
  assert.equal(held({ policy, fence: aFence({ approval, incident: anIncident() }) }), 'free');
  assert.equal(
    held({ policy, fence: aFence({ approval, incident: anIncident({ id: 'node-1-2' }) }) }),
    'AwaitingApproval holds releases',
  );
});

test('[ADM-7] maintenance holds remedies, and never lets through what waits for approval', () => {
  const node = aNode({ maintenanceUntil: '2026-01-01T01:00:00Z' });
  assert.equal(held({ node }), 'Maintenance holds remedies');
  assert.equal(holdOf(aCase({ node }))?.untilMs, Date.parse('2026-01-01T01:00:00Z'));
  assert.equal(held({ node, policy: inForce({ mode: 'Paused' }) }), 'Paused holds everything');
  assert.equal(held({ node, fence: aFence({}, { stop: true }) }), 'Stopped holds everything');
  const policy = inForce({ mode: 'Approve' });
  assert.equal(held({ node, policy }), 'Maintenance holds everything');
  const approval = { by: 'somebody', at: '2026-01-01T00:00:00Z', incident: 'node-1-1' };
  assert.equal(
    held({ node, policy, fence: aFence({ approval, incident: anIncident() }) }),
    'Maintenance holds remedies',
  );
});

test('[SAF-9] more acts than an incident needs hold releases, but a person who stops, pauses or tries comes first', () => {
  const pods = ['a', 'b'];
  const spent = (acts: number): Partial<NodeCase> => ({
    fence: aFence({ incident: anIncident({ acts }), quarantine: { since: '2026-01-01T00:00:00Z', pods } }),
  });
  assert.equal(held(spent(219)), 'free');
  assert.equal(held(spent(220)), 'TooManyActs holds releases');
  assert.equal(held({ ...spent(220), policy: { kind: 'none' } }), 'TooManyActs holds releases');
  assert.equal(held({ ...spent(220), policy: inForce({ mode: 'Paused' }) }), 'Paused holds everything');
  assert.equal(held({ ...spent(220), policy: inForce({ mode: 'DryRun' }) }), 'DryRun holds everything');
});
