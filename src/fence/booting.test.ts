import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configs, limits, quiet } from '../../test/support/fence-steps.ts';
import type { FenceConfig } from '../api/fence-config.ts';
import { transition } from './automaton.ts';
import type { FenceFacts, FenceLimits, FenceState, Transition } from './state.ts';
import { beginFence, enter, fail } from './state.ts';
import { commandTakesMs } from './switched.ts';

const alone = configs['power alone']!;
const patient = { ...limits, bootTimeoutMs: 600_000 };

interface Change extends Partial<FenceFacts> {
  config?: FenceConfig;
  limits?: FenceLimits;
}

function moved(state: FenceState, { config = alone, limits: some = patient, ...facts }: Change): Transition {
  return transition(state, { facts: { ...quiet, ...facts }, config, limits: some });
}

function next(state: FenceState, change: Change): FenceState {
  const found = moved(state, change);
  return found.kind === 'state' ? found.state : assert.fail(found.kind);
}

function of(found: Transition): FenceState {
  return found.kind === 'state' ? found.state : assert.fail(found.kind);
}

function waitsFor(found: Transition): string | undefined {
  return found.kind === 'state' ? found.waitsFor : assert.fail(found.kind);
}

/** Told at 1000, and not confirmed. */
function told(): FenceState {
  const begun = of(enter(beginFence(0, 'b1'), 'poweringOff', quiet));
  const sent = next(begun, { nowMs: 1000 });
  assert.equal(sent.switched[0]?.sentAtMs, 1000);
  return sent;
}

function off(): FenceState {
  return next(next(told(), { nowMs: 2000, task: { outcome: 'succeeded', told: true } }), { nowMs: 2000 });
}

/** On again since 3000, by us. */
function booting(): FenceState {
  let state = next(off(), { nowMs: 2500, isReleased: true });
  assert.equal(state.phase, 'poweringOn');
  state = next(state, { nowMs: 2500 });
  state = next(state, { nowMs: 3000, task: { outcome: 'succeeded', told: true } });
  state = next(state, { nowMs: 3000 });
  assert.deepEqual([state.phase, state.switched], ['booting', []]);
  return state;
}

const rebooted = { isBack: true, bootId: 'b2' };

describe('a command that may strike late', () => {
  test('[SAF-8] S25: is waited for in the next boot as well, for as long as it may take', () => {
    const back = next(told(), { nowMs: 60_000, ...rebooted });
    assert.deepEqual([back.phase, back.switched.length], ['booting', 1]);
    const early = moved(back, { nowMs: 60_000, ...rebooted });
    assert.match(waitsFor(early) ?? '', /^the node is back, and its device may still do what it was told: /);
    assert.equal(of(early), back);
    assert.equal(next(back, { nowMs: 1000 + commandTakesMs - 1, ...rebooted }), back);
    const over = next(back, { nowMs: 1000 + commandTakesMs, ...rebooted });
    assert.deepEqual([over.phase, over.switched], ['recovering', []]);
    const on = next(over, { nowMs: 1000 + commandTakesMs, ...rebooted });
    assert.deepEqual([on.phase, on.told], ['recovering', undefined], 'its only device is on');
    const { phase, wasCut } = next(on, { nowMs: 1000 + commandTakesMs, ...rebooted });
    assert.deepEqual([phase, wasCut], ['finished', undefined], 'and nobody has to remember it then');
  });

  test('[FEN-10] one that was confirmed keeps nobody waiting', () => {
    const back = next(booting(), { nowMs: 60_000, ...rebooted });
    assert.equal(back.phase, 'recovering');
    const over = next(back, { nowMs: 60_000, ...rebooted });
    assert.deepEqual([over.phase, over.wasCut?.untilMs], ['finished', 2000 + commandTakesMs], 'and is remembered');
  });

  test('[SAF-19] what it strikes in the next boot is switched on, whatever others have planned', () => {
    const back = next(told(), { nowMs: 60_000, ...rebooted });
    const struck = next(back, { nowMs: 90_000, bootId: 'b2', isFoundOff: true, staysOff: 'it is cordoned' });
    assert.deepEqual([struck.phase, struck.offAgain], ['poweringOn', 1]);
  });

  test('[SAF-19] what it strikes after the fence is over is its cut, unless the node was heard of after its time', () => {
    const { wasCut } = booting();
    const found = { step: 'power-management', method: 'ipmi-off', storage: [], confirmedAtMs: 5000 } as const;
    const { device } = off().switched[0]!;
    const state: FenceState = {
      ...of(enter(beginFence(0, 'b2'), 'off', quiet)),
      switched: [{ ...found, device: device! }],
    };
    const planned = { nowMs: 6000, bootId: 'b2', isReleased: true, staysOff: 'it is cordoned', heardMs: 4000 };
    assert.match(waitsFor(moved(state, planned)) ?? '', /^its machine was found off, and stays so: /);
    assert.equal(next({ ...state, wasCut }, planned).phase, 'poweringOn');
    const later = { ...planned, heardMs: 2000 + commandTakesMs };
    assert.match(waitsFor(moved({ ...state, wasCut }, later)) ?? '', /^its machine was found off, and stays so: /);
  });
});

describe('a machine that boots', () => {
  test('[RET-1] is not taken for back because it is as it was, or because its boot was seen, before it is', () => {
    const state = booting();
    assert.equal(next(state, { nowMs: 4000, isUnharmed: true }), state);
    assert.equal(moved(state, { nowMs: 4000, isUnharmed: true, isBack: true }).kind, 'cancelled');
    const open = next(told(), { nowMs: 60_000, bootId: 'b2' });
    assert.deepEqual([open.phase, open.switched.length], ['booting', 1]);
    const lost = next(open, { nowMs: 61_000, bootId: 'b2', isLostAgain: true });
    assert.equal(lost.phase, 'recovering', 'that it was back is over: nobody waits for a command that may strike');
  });
});

describe('a machine that is off again before its node is back', () => {
  test('[SAF-19] is switched on so often as it may, and then that is said', () => {
    let state = booting();
    for (const times of [1, 2, 3]) {
      state = next(state, { nowMs: 10_000, isFoundOff: true, isWorthIt: false });
      assert.deepEqual([state.phase, state.offAgain], ['poweringOn', times]);
      state = of(enter(state, 'booting', quiet));
    }
    const given = next(state, { nowMs: 20_000, isFoundOff: true, isWorthIt: false });
    assert.deepEqual([given.phase, given.isForGood], ['failed', true]);
    assert.equal(given.message, 'it is off, and does not stay on: somebody has to look');
    assert.equal(next(given, { nowMs: 30_000, isFoundOff: true, isWorthIt: false }), given);
    const other = { ...given, message: 'not Ready' };
    assert.equal(next(other, { nowMs: 30_000, isFoundOff: true, isWorthIt: false }).message, given.message);
    const anew = { ...state, message: given.message };
    assert.equal(next(anew, { nowMs: 20_000, isFoundOff: true }).phase, 'failed', 'once more, after a pause');
  });

  test('[SAF-19] also where its fence has failed by then, with nothing left to free', () => {
    const failed = next(booting(), { nowMs: 700_000, isWorthIt: false });
    assert.deepEqual([failed.phase, failed.isForGood], ['failed', true]);
    assert.equal(next(failed, { nowMs: 700_000, isWorthIt: false }), failed, 'on, as far as anybody says');
    assert.equal(next(failed, { nowMs: 710_000, isWorthIt: false, isFoundOff: true }).phase, 'poweringOn');
    assert.equal(
      next(failed, { nowMs: 710_000, isWorthIt: true, isFoundOff: true }).phase,
      'poweringOff',
      'let go first',
    );
    const braked = { ...failed, isForGood: undefined, restarts: 0 };
    assert.equal(next(braked, { nowMs: 710_000, isBraked: true, isFoundOff: true }).phase, 'poweringOn');
  });

  test('[SAF-19, SAF-17] but not one that was found off and is left to somebody, that is removed, or whose outlet is another’s', () => {
    const { wasCut: _, ...found } = booting();
    const isOff = { nowMs: 10_000, isFoundOff: true };
    assert.equal(next(found, isOff).phase, 'poweringOn');
    assert.equal(next(found, { ...isOff, staysOff: 'it is cordoned' }), found);
    assert.equal(next(booting(), { ...isOff, limits: { ...patient, machineRemoved: true } }).phase, 'booting');
    const swapped = { ...booting(), swapped: ['node-2'] };
    assert.equal(next(swapped, isOff), swapped);
    const failed = of(fail({ ...found, isForGood: true }, quiet, 'not Ready'));
    assert.equal(next(failed, { ...isOff, isWorthIt: false }), failed, 'nobody has cut it');
  });

  test('[SAF-12] one that is on after all boots, also while all is paused', () => {
    const again = next(booting(), { nowMs: 10_000, isFoundOff: true });
    const on = next(again, { nowMs: 11_000, isPaused: true, task: { outcome: 'succeeded', told: false } });
    assert.equal(next(on, { nowMs: 11_000, isPaused: true }).phase, 'booting');
  });
});

describe('a machine that was on since we had cut it, and is off', () => {
  const isOff = { nowMs: 500_000, isFoundOff: true, isWorthIt: false, staysOff: 'somebody has plans with it' };
  const failed = of(fail({ ...booting(), isForGood: true }, quiet, 'not Ready'));
  const untilMs = failed.wasCut?.untilMs ?? assert.fail();

  test('[SAF-19] is not switched on under the hands of whoever has said that it is theirs', () => {
    for (const state of [booting(), failed]) {
      assert.equal(next(state, { ...isOff, isTheirs: true }), state, state.phase);
      assert.equal(next(state, isOff).phase, 'poweringOn', 'a cordon says nothing of what our own command strikes');
    }
    const { sentAtMs: _, ...found } = off().switched[0] ?? assert.fail();
    const confirmed: FenceState = { ...off(), switched: [found], wasCut: failed.wasCut! };
    const released = { ...isOff, isReleased: true, isTheirs: true };
    assert.match(waitsFor(moved(confirmed, released)) ?? '', /^its machine was found off, and stays so: somebody has/);
  });

  test('[SAF-19] nor under a cordon, where it was on until no command of ours could strike it any more', () => {
    assert.equal(next(failed, { ...isOff, foundOffMs: untilMs + 60_000 }).phase, 'poweringOn');
    assert.equal(next(failed, { ...isOff, foundOffMs: untilMs + 60_001 }), failed);
    const { staysOff: _, ...free } = isOff;
    assert.equal(next(failed, { ...free, foundOffMs: untilMs + 60_001 }).phase, 'poweringOn', 'nobody has plans');
    const told = { ...failed, told: ['d'] };
    const late = { ...isOff, isTheirs: true, foundOffMs: untilMs + 60_001 };
    assert.equal(next(told, late).phase, 'poweringOn', 'it was never seen on');
  });
});

describe('a machine that somebody has switched on', () => {
  test('[SAF-18] has the time of a boot, whoever had cut it, and is cut again only after that', () => {
    const on = next(off(), { nowMs: 5000, onAgain: 'it says on' });
    assert.deepEqual([on.phase, on.message, on.wasCut?.untilMs], ['booting', 'it says on', 2000 + commandTakesMs]);
    assert.equal(next(on, { nowMs: 604_999 }), on);
    assert.equal(next(on, { nowMs: 60_000, ...rebooted }).phase, 'recovering');
    const late = next(on, { nowMs: 605_000 });
    assert.equal(late.phase, 'failed');
    assert.equal(next(late, { nowMs: 620_000 }).phase, 'waiting');
  });
});

describe('a fence that has failed for good after it has told', () => {
  const good = { ...limits, restarts: 0 };
  const failedAt = (nowMs: number, change: Partial<FenceState> = {}): FenceState =>
    of(fail({ ...told(), ...change }, { ...quiet, nowMs }, 'no proof'));
  const due = { nowMs: 5000 + commandTakesMs, limits: good };

  test('[SAF-19] switches on what it was, once, when its command has had its time', () => {
    const failed = failedAt(5000);
    const early = moved(failed, { ...due, nowMs: 4999 + commandTakesMs });
    assert.deepEqual([of(early), early.kind === 'state' && early.recheckAtMs], [failed, due.nowMs]);
    const on = next(failed, due);
    assert.deepEqual([on.phase, on.offAgain, on.isForGood, on.message], ['poweringOn', 1, true, 'no proof']);
    assert.equal(next({ ...failed, offAgain: 1 }, due).phase, 'failed', 'not without end');
    assert.notEqual(next(failed, { ...due, limits: patient }).phase, 'poweringOn', 'it begins anew');
    assert.equal(next(failed, { ...due, limits: patient, isBraked: true }).phase, 'failed', 'as soon as it may');
    assert.equal(next({ ...failed, switched: [] }, due).phase, 'failed', 'nothing was told');
    const wasCut = { devices: ['d'], untilMs: 2 * due.nowMs };
    assert.equal(next({ ...failed, switched: [], wasCut }, due).phase, 'failed', 'it was seen on since');
    assert.equal(next(failed, { ...due, limits: { ...good, machineRemoved: true } }).phase, 'failed');
    assert.equal(next({ ...failed, swapped: ['node-2'] }, due).phase, 'failed', 'they were switched on');
  });

  test('[SAF-19] and has failed still where it was on all the time', () => {
    const on = next(failedAt(5000), due);
    const was = next(on, { ...due, task: { outcome: 'succeeded', told: false } });
    assert.deepEqual([was.phase, was.message, was.isForGood], ['failed', 'no proof', true]);
    assert.equal(next(was, { ...due, nowMs: 2 * due.nowMs }).phase, 'failed');
    assert.equal(next(on, { ...due, task: { outcome: 'succeeded', told: true } }).phase, 'poweringOn', 'it boots now');
    for (const later of [
      { ...on, isForGood: undefined },
      { ...on, notBeforeMs: 1 },
    ]) {
      const found = next(later, { ...due, task: { outcome: 'succeeded', told: false } });
      assert.notEqual(found.phase, 'failed', 'somebody has switched it on meanwhile');
    }
  });

  test('[SAF-19] what is not written any more is named', () => {
    const other = { ...told().switched[0]!, device: 'as it was' };
    const on = next(failedAt(5000, { switched: [other] }), due);
    assert.match(on.message ?? '', /^no proof; \S+ was told off as it was written before, and may be off still, /);
    const both = next(failedAt(5000, { switched: [...told().switched, { ...other, method: 'x-off' }] }), due);
    assert.match(both.message ?? '', /^no proof; x-off was told off as it was written before/);
    const before = next(failedAt(5000, { switched: [], told: ['as it was'] }), due);
    assert.match(before.message ?? '', /; a device was told off as it was written before/);
  });
});
