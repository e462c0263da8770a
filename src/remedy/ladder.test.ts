import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LadderThreshold } from '../api/release-view.ts';
import type { LadderDecision, LadderFacts, LadderState } from './ladder.ts';
import { afterFlaps, climb, flapWindowMs, isTroubled, nextDueMs, thresholdMet } from './ladder.ts';
import { climbAll } from './ladders.ts';

const ready: LadderThreshold = {
  key: 'Ready=NotTrue',
  condition: { type: 'Ready', status: 'NotTrue', forMs: 5000 },
  remedies: [
    { name: 'repair', periodMs: 180_000, cleanResources: false },
    { name: 'fence', periodMs: 0, cleanResources: true },
  ],
  recovery: ['uncordon', 'tell'],
};
const lease: LadderThreshold = {
  key: 'lease',
  lease: { staleForMs: 12_000 },
  remedies: [{ name: 'fence', periodMs: 0, cleanResources: true }],
  recovery: [],
};

const sick = { type: 'Ready', status: 'Unknown' as const, forMs: 5000 };
const well = { type: 'Ready', status: 'True' as const, forMs: 0 };

function look(
  state: LadderState | undefined,
  facts: Partial<LadderFacts>,
  thresholds = [ready, lease],
): LadderDecision {
  const { outcome = 'running', ...seen } = { nowMs: 0, conditions: [sick], ...facts };
  const decided = climbAll(state === undefined ? [] : [state], thresholds, seen, {
    outcomeOf: () => outcome,
    kindOf: () => undefined,
    isFenced: false,
    isFoundOff: false,
  });
  const { on, ladders, recheckAtMs } = decided;
  const [ladder] = on === undefined ? ladders : [on];
  return {
    ...(ladder === undefined ? {} : { ladder }),
    ...(on === undefined ? {} : { remedy: on.remedy }),
    ...(recheckAtMs === undefined ? {} : { recheckAtMs }),
  };
}

function brief({ ladder, remedy }: LadderDecision): string {
  return ladder === undefined ? 'none' : `${ladder.threshold} ${ladder.position} ${ladder.phase} ${remedy ?? '-'}`;
}

describe('ladder', () => {
  test('[REM-1] a threshold is met by its status for its time, by our own clock', () => {
    assert.equal(brief(look(undefined, {})), 'Ready=NotTrue 0 running repair');
    assert.equal(brief(look(undefined, { conditions: [{ ...sick, forMs: 4999 }] })), 'none');
    assert.equal(brief(look(undefined, { conditions: [well] })), 'none');
    assert.equal(brief(look(undefined, { conditions: [well], leaseSilentMs: 12_000 })), 'lease 0 running fence');
    assert.equal(brief(look(undefined, { conditions: [well], leaseSilentMs: 11_999 })), 'none');
  });

  test('[REM-4] remedy, its period, the next remedy, the end of the ladder', () => {
    const first = look(undefined, {}).ladder;
    assert.equal(brief(look(first, { nowMs: 10_000 })), 'Ready=NotTrue 0 running repair');
    const waiting = look(first, { nowMs: 10_000, outcome: 'succeeded' });
    assert.deepEqual([brief(waiting), waiting.recheckAtMs], ['Ready=NotTrue 0 waiting -', 190_000]);
    assert.equal(brief(look(waiting.ladder, { nowMs: 189_999 })), 'Ready=NotTrue 0 waiting -');
    const second = look(waiting.ladder, { nowMs: 190_000 });
    assert.equal(brief(second), 'Ready=NotTrue 1 running fence');
    const failed = look(first, { nowMs: 10_000, outcome: 'failed' });
    assert.deepEqual([brief(failed), failed.recheckAtMs], ['Ready=NotTrue 0 waiting -', 190_000]);
    const exhausted = look(second.ladder, { nowMs: 200_000, outcome: 'failed' });
    assert.equal(brief(exhausted), 'Ready=NotTrue 1 exhausted -');
    assert.equal(brief(look(exhausted.ladder, { nowMs: 1e9 })), 'Ready=NotTrue 1 exhausted -');
  });

  test('[REM-4] recovery when the trouble clears, one remedy after the other', () => {
    const first = look(undefined, {}).ladder;
    assert.equal(brief(look(first, { conditions: [well] })), 'Ready=NotTrue 0 running repair', 'what runs is let end');
    const cancelled = look(first, { conditions: [well], outcome: 'revocable' });
    assert.equal(brief(cancelled), 'Ready=NotTrue 0 recovering uncordon', 'what was not begun does not begin');
    assert.equal(brief(look(first, { outcome: 'revocable' })), 'Ready=NotTrue 0 running repair');
    const recovering = look(first, { conditions: [well], outcome: 'succeeded' });
    assert.equal(brief(recovering), 'Ready=NotTrue 0 recovering uncordon');
    const next = look(recovering.ladder, { conditions: [well], outcome: 'succeeded' });
    assert.equal(brief(next), 'Ready=NotTrue 1 recovering tell');
    assert.equal(brief(look(next.ladder, { conditions: [well], outcome: 'failed' })), 'none');
    const exhausted: LadderState = { ...first, phase: 'exhausted' } as LadderState;
    assert.equal(brief(look(exhausted, { conditions: [well] })), 'Ready=NotTrue 0 recovering uncordon');
  });

  test('a ladder that the policy no longer has is over; an edit elsewhere does not move the node to another rung', () => {
    const first = look(undefined, {}).ladder;
    assert.equal(brief(look(first, {}, [lease])), 'none');
    assert.equal(brief(look(first, {}, [lease, ready])), 'Ready=NotTrue 0 running repair');
  });
});

describe('one ladder', () => {
  const at = (change: Partial<LadderState>): LadderState => ({
    threshold: ready.key,
    position: 0,
    remedy: 'repair',
    phase: 'running',
    startedAt: '2026-01-01T00:00:00.000Z',
    ...change,
  });
  const facts: LadderFacts = { nowMs: Date.parse('2026-01-01T00:01:00Z'), conditions: [sick], outcome: 'running' };
  const now = '2026-01-01T00:01:00.000Z';
  const unmet = [{ ...sick, forMs: 0 }];

  test('[REM-4] whose rung is no more begins anew where trouble goes on; one without a rung never does', () => {
    const fresh = { ladder: at({ startedAt: now }), remedy: 'repair' };
    assert.deepEqual(climb(at({ remedy: 'edited away' }), ready, facts), fresh);
    assert.deepEqual(climb(at({ remedy: 'edited away' }), ready, { ...facts, conditions: [well] }), {});
    assert.deepEqual(climb(undefined, { ...ready, remedies: [] }, facts), {});
  });

  test('[EVD-2] goes on to the fence that finds a machine off from where nothing is under way, and only upwards', () => {
    const found = { ladder: at({ position: 1, remedy: 'fence', startedAt: now, isFoundOff: true }), remedy: 'fence' };
    const until = '2026-01-01T00:03:00.000Z';
    assert.deepEqual(climb(at({ phase: 'waiting', until }), ready, { ...facts, offRung: 1 }), found);
    assert.deepEqual(climb(at({}), ready, { ...facts, outcome: 'revocable', offRung: 1 }), found);
    assert.deepEqual(climb(at({}), ready, { ...facts, offRung: 1 }), { ladder: at({}), remedy: 'repair' });
    const exhausted = at({ phase: 'exhausted' });
    const over = climb(exhausted, ready, { ...facts, outcome: 'revocable', offRung: 1 });
    assert.deepEqual(over, { ladder: exhausted }, 'all of it was tried');
    const there = at({ position: 1, remedy: 'fence', isFoundOff: true });
    for (const offRung of [0, 1]) {
      const stays = climb(there, ready, { ...facts, outcome: 'revocable', offRung });
      assert.deepEqual(stays, { ladder: there, remedy: 'fence' });
    }
  });

  test('[EVD-2, REM-4] that was found off, and nobody says so any more, has its time', () => {
    const found = at({ position: 1, remedy: 'fence', isFoundOff: true });
    const said = { ...facts, outcome: 'revocable', conditions: unmet } as const;
    assert.deepEqual(climb(found, ready, said), {});
    assert.deepEqual(climb(found, ready, { ...said, outcome: 'running' }), { ladder: found, remedy: 'fence' });
    const { isFoundOff: _, ...called } = found;
    assert.deepEqual(climb(called, ready, said), { ladder: called, remedy: 'fence' });
  });

  test('[REM-4] of recovery waits for each remedy', () => {
    const first = at({ phase: 'recovering', remedy: 'uncordon' });
    for (const outcome of ['running', 'revocable'] as const) {
      const stays = climb(first, ready, { ...facts, conditions: [well], outcome });
      assert.deepEqual(stays, { ladder: first, remedy: 'uncordon' }, outcome);
    }
  });
});

describe('thresholds', () => {
  test('[REM-1] the first one that is due, if nothing changes', () => {
    const unknown = { ...sick, forMs: 2000 };
    assert.equal(nextDueMs([ready, lease], { conditions: [unknown], leaseSilentMs: 11_000 }), 1000);
    assert.equal(nextDueMs([ready, lease], { conditions: [unknown] }), 3000);
    assert.equal(
      nextDueMs([ready, lease], { conditions: [sick], leaseSilentMs: 4000 }),
      8000,
      'met already is not due',
    );
    assert.equal(nextDueMs([ready], { conditions: [well] }), undefined);
    assert.equal(nextDueMs([ready, lease], { conditions: [] }), undefined);
    assert.equal(nextDueMs([lease], { conditions: [], leaseSilentMs: 12_000 }), undefined);
  });

  test('[REM-6] trouble that comes back again and again has to last longer each time, up to eight times as long', () => {
    const times = [0, 1, 2, 3, 9].map((flaps) =>
      afterFlaps([ready, lease], flaps).map((one) => one.condition?.forMs ?? one.lease?.staleForMs),
    );
    assert.deepEqual(times, [
      [5000, 12_000],
      [10_000, 24_000],
      [20_000, 48_000],
      [40_000, 96_000],
      [40_000, 96_000],
    ]);
    assert.equal(flapWindowMs([lease, ready]), 180_000);
    assert.equal(flapWindowMs([]), 0);
  });

  test('S26: a Lease that no live read has confirmed, and a condition that nobody reports, meet nothing', () => {
    assert.equal(thresholdMet(lease, { conditions: [] }), false);
    assert.equal(thresholdMet(ready, { conditions: [] }), false);
    assert.equal(thresholdMet({ key: 'none', remedies: [], recovery: [] }, { conditions: [sick] }), false);
    assert.equal(thresholdMet(lease, { conditions: [], leaseSilentMs: 12_000 }), true);
    assert.equal(thresholdMet(lease, { conditions: [], leaseSilentMs: 11_999 }), false);
    const slow = { conditions: [], leaseDurationMs: 80_000 };
    assert.equal(thresholdMet(lease, { ...slow, leaseSilentMs: 23_999 }), false, 'it renews every 20 s');
    assert.equal(thresholdMet(lease, { ...slow, leaseSilentMs: 24_000 }), true);
    assert.equal(nextDueMs([lease], { ...slow, leaseSilentMs: 20_000 }), 4000);
    assert.equal(thresholdMet(ready, { conditions: [{ ...sick, forMs: 4999 }] }), false);
    assert.equal(isTroubled(ready, { conditions: [{ ...sick, forMs: 0 }] }), true);
    assert.equal(isTroubled(ready, { conditions: [well] }), false);
  });
});
