/** What was told is taken out of the configuration, in whole or in part, and the node is back all the same. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { level, limits, quiet } from '../../test/support/fence-steps.ts';
import { hasCut, isUnderFence } from '../api/facts.ts';
import type { FenceConfig } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { transition } from './automaton.ts';
import { BACK_TOO_SOON } from './booting.ts';
import { decideFence } from './decide-fence.ts';
import type { FenceFacts, FenceState, Moved } from './state.ts';
import { beginFence } from './state.ts';
import { stateOf, storedOf } from './stored.ts';
import type { Switched } from './switched.ts';
import { carried, commandTakesMs, leftOff, lostOf } from './switched.ts';
import { withoutNode } from './without-node.ts';

const none: FenceConfig = { isolation: [], powerManagement: [], recovery: [] };
const feeds: FenceConfig = { ...none, powerManagement: [level('a-off', 'b-off', 'a-on', 'b-on')] };
const other: FenceConfig = { ...none, powerManagement: [level('c-off', 'd-off', 'c-on', 'd-on')] };

function hashOf(name: string): string {
  return deviceHash(level(name).off[0] ?? assert.fail(name)) ?? assert.fail(name);
}

const [a, b, c, d] = ['a-off', 'b-off', 'c-off', 'd-off'].map(hashOf) as [string, string, string, string];
const feedA = { method: 'a-off', device: a };
const feedB = { method: 'b-off', device: b };
const planned = [{ step: 'power-management' as const, off: [feedA, feedB] }];
const sent = { step: 'power-management' as const, storage: [], sentAtMs: 1000 };
const back = { isBack: true, nowMs: 1_000_000 };

function next(state: Partial<FenceState>, facts: Partial<FenceFacts> = {}, config = none): Moved {
  const moved = transition({ ...beginFence(0, 'b1'), ...state }, { facts: { ...quiet, ...facts }, config, limits });
  return moved.kind === 'state' ? moved : assert.fail('it was cancelled');
}

describe('a machine that nothing is configured any more to switch on', () => {
  const on = { phase: 'poweringOn', switched: [{ ...sent, method: 'x-off', device: 'gone' }] } as const;

  test('[RET-2, SAF-19] waits for somebody, and for nobody when its node is back', () => {
    assert.match(next(on, { nowMs: 1_000_000 }).waitsFor ?? '', /^nothing is configured any more/);
    const over = next(on, back).state;
    assert.deepEqual([over.phase, over.told, over.switched], ['recovering', ['gone'], []]);
    const swapped = next({ ...on, swapped: ['node-2'] }, back);
    assert.deepEqual([swapped.state.phase, swapped.waitsFor?.slice(0, 7)], ['poweringOn', 'nothing'], 'another waits');
  });

  test('[FEN-2, SAF-19] not before what it was told has had its time, now or before', () => {
    const untilMs = 1000 + commandTakesMs;
    const early = next(on, { ...back, nowMs: untilMs - 1 });
    assert.deepEqual([early.state.phase, early.recheckAtMs, early.waitsFor], ['poweringOn', untilMs, BACK_TOO_SOON]);
    assert.equal(next(on, { ...back, nowMs: untilMs }).state.phase, 'recovering');
    const later = next({ ...on, notBeforeMs: 1_000_001 }, back);
    assert.deepEqual([later.state.phase, later.recheckAtMs], ['poweringOn', 1_000_001]);
    const found = next({ phase: 'poweringOn' }, { ...back, nowMs: 1 });
    assert.equal(found.state.phase, 'recovering', 'nothing was told');
  });
});

describe('one of several feeds that is not configured any more', () => {
  const told: Pick<FenceState, 'switched' | 'told' | 'planned' | 'lost'> = { switched: [], told: [a], planned };
  const said = /^a-off was told off as it was written before, .* nothing that is configured switches it on: /;

  test('[SAF-19, RET-2] is not forgotten when its node is back', () => {
    const { told: left, lost } = leftOff(told, none, false);
    assert.deepEqual([left, lost], [undefined, [feedA]]);
    assert.deepEqual(leftOff(told, none, true).lost, [feedA], 'nor when it was booted: it has another one');
    const one = leftOff({ ...told, planned: [] }, none, true);
    assert.equal(one.lost, undefined, 'its only one: it is on');
    const isolation = [{ step: 'isolation' as const, off: [feedA, feedB] }];
    assert.equal(leftOff({ ...told, planned: isolation }, none, true).lost, undefined);
    assert.deepEqual(leftOff(told, feeds, false), told, 'all of it is written');
    const edited = leftOff(told, other, false);
    assert.deepEqual([edited.told, edited.lost], [[c, d], [feedA]], 'and what is written has to be on');
    assert.equal(leftOff(edited, other, false), edited, 'once');
    const twice = leftOff({ ...told, lost: [feedA] }, none, false);
    assert.deepEqual(twice.lost, [feedA]);
  });

  test('[SAF-19] is told as soon as it is written again', () => {
    const lost = [feedA, { method: 'x-off', device: 'gone' }];
    const found = leftOff({ switched: [] as Switched[], planned, told: undefined, lost }, feeds, false);
    assert.deepEqual([found.told, found.lost], [[a], lost.slice(1)]);
    const failed = { phase: 'failed', failedIn: 'recovery', restarts: 1, lost: [feedA] } as const;
    const again = next(failed, back, feeds).state;
    assert.deepEqual([again.told, again.lost], [[a], undefined]);
    const done = { task: { outcome: 'succeeded', told: true } } as const;
    assert.equal(next(again, { ...back, ...done }, feeds).state.phase, 'finished');
    const half = next({ ...again, lost: lost.slice(1) }, { ...back, ...done }, feeds).state;
    assert.deepEqual([half.phase, half.told], ['failed', undefined], 'not before all of them are');
  });

  test('[SAF-19, EXP-3] is what its fence has failed with, in service, until somebody has looked', () => {
    const end = next({ phase: 'recovering', lost: [feedA] }, back).state;
    assert.deepEqual([end.phase, end.failedIn, end.lost], ['failed', 'recovery', [feedA]]);
    assert.match(end.message ?? '', said);
    for (const isCalledFor of [true, false]) {
      assert.equal(next({ ...end, restarts: 1 }, { ...back, isCalledFor }).state.phase, 'failed');
    }
    assert.equal(next(end, { ...back, isCalledFor: false }).state.phase, 'failed', 'it does not begin anew');
    assert.equal(next({ phase: 'waiting', lost: [feedA] }, back).state.phase, 'recovering');
    assert.deepEqual(carried({ switched: [], lost: [feedA] }).lost, [feedA], 'also by another fence');
    assert.equal(next({ phase: 'recovering', planned }, back).state.phase, 'finished', 'none was told');
  });

  test('[SAF-19] is named, and kept in the record', () => {
    assert.match(lostOf({ switched: [], lost: [feedA] }, none) ?? '', said);
    assert.match(lostOf({ switched: [], told: [a, b], planned }, none) ?? '', /^a-off, b-off was told off/);
    assert.equal(lostOf({ switched: [], told: [a, b], planned }, feeds), undefined);
    const state = { ...beginFence(0, 'b1'), lost: [feedA] };
    const stored = storedOf(state, { config: none, cleanResources: true });
    assert.deepEqual(stateOf(stored).lost, [feedA]);
    assert.ok(isUnderFence(stored), 'it is not cancelled');
    assert.ok(hasCut(stored));
    const gone = withoutNode({ ...stored, phase: 'recovering' }, { now: stored.startedAt, isRemoved: false });
    assert.match(gone.message ?? '', /; a-off was told off, and may be off still: switch it on by hand$/);
  });
});

describe('where the configuration cannot be read', () => {
  const problems = [{ file: 'fence-config-x', key: 'selector', reason: 'is wrong' }];
  const decided = (fence: Partial<FenceState>, bootId: string): ReturnType<typeof decideFence> => {
    const state = { ...beginFence(0, 'b1'), ...fence };
    const { task: _, mayBeTold: __, isBraked: ___, dumpUntilMs: ____, ...facts } = { ...quiet, ...back };
    const status = { fence: storedOf(state, { config: feeds, cleanResources: true }) };
    const config = { ok: false as const, problems };
    return decideFence({ ...facts, status, bootId, config, limits, isWanted: false, cleanResources: true } as never);
  };

  test('[SAF-19, FEN-7] a machine that was booted may run by one of its feeds: the other is not forgotten', () => {
    const { fence } = decided({ phase: 'booting', told: [a], planned }, 'b2');
    assert.deepEqual([fence?.phase, fence?.lost, fence?.bootId], ['failed', [feedA], 'b2']);
    assert.match(fence?.message ?? '', /^a-off was told off/);
    assert.equal(decided({ phase: 'booting', told: [a] }, 'b2').fence?.phase, 'finished');
    const kept = decided({ phase: 'failed', lost: [feedA] }, 'b1').fence;
    assert.match(kept?.message ?? '', /^fence-config-x selector: is wrong; a-off was told off/);
    const cut = decided({ phase: 'failed', told: [a] }, 'b1').fence;
    assert.equal(cut?.message, 'fence-config-x selector: is wrong', 'nor what was told');
    const cordon = { step: 'isolation' as const, method: 'cordon', storage: [], sentAtMs: 1 };
    assert.ok(!decided({ phase: 'failed', switched: [cordon] }, 'b1').isCancelled, 'nor a cordon');
    assert.ok(!decided({ phase: 'booting' }, 'b1').isCancelled, 'nor what is under way');
    assert.ok(decided({ phase: 'failed' }, 'b1').isCancelled);
  });

  test('[SAF-19, ADM-5] what nobody wants any more is not cut because a feed of it is lost', () => {
    const state = { ...beginFence(0, 'b1'), lost: [feedA] };
    const status = { fence: storedOf(state, { config: feeds, cleanResources: true }) };
    const { task: _, mayBeTold: __, isBraked: ___, dumpUntilMs: ____, ...facts } = { ...quiet, nowMs: 1_000_000 };
    const config = { ok: true as const, config: feeds };
    const given = { ...facts, status, config, limits, cleanResources: true };
    assert.equal(decideFence({ ...given, isWanted: false } as never).fence?.phase, 'waiting');
    assert.equal(decideFence({ ...given, isWanted: true } as never).fence?.phase, 'poweringOff');
  });
});
