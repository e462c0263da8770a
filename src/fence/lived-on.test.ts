import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { full, limits, quiet } from '../../test/support/fence-steps.ts';
import { transition } from './automaton.ts';
import type { FenceFacts, FenceState, Transition } from './state.ts';
import { beginFence, comeBack, hasFailedForGood } from './state.ts';
import { storedOf } from './stored.ts';

function next(state: FenceState, facts: Partial<FenceFacts>): Transition {
  return transition(state, { facts: { ...quiet, ...facts }, config: full, limits });
}

function stateOf(moved: Transition): FenceState {
  return moved.kind === 'state' ? moved.state : assert.fail('it was cancelled');
}

describe('[SAF-1] a machine that lived on in the boot in which it was confirmed off', () => {
  const never = 'it was never off';
  const booting: FenceState = { ...beginFence(0, 'b1'), phase: 'booting' };
  const known = { ...booting, neverOff: never };

  test('is not waited for to boot: its fence ends at once, for good, and says why', () => {
    const state = settled(booting, { neverOff: never, isBack: true });
    assert.deepEqual([state.phase, state.neverOff, state.message], ['failed', never, never]);
    assert.ok(hasFailedForGood(state, limits));
    assert.equal(settled(state, { isBack: true, isWorthIt: true, nowMs: 1e6 }).phase, 'failed', 'nor is it cut again');
  });

  test('is said also of one that had failed before, or was begun anew and is back', () => {
    const failed = settled({ ...booting, phase: 'failed', message: 'not in time' }, { neverOff: never });
    assert.deepEqual([failed.phase, failed.message], ['failed', never]);
    const anew = settled(beginFence(0, 'b1'), { neverOff: never, isBack: true });
    assert.deepEqual([anew.phase, anew.neverOff], ['failed', never]);
  });

  test('what was cut off from its storage is connected first, where it is back', () => {
    const cut = { step: 'isolation', method: 'a', device: 'd', storage: [], sentAtMs: 0, confirmedAtMs: 0 } as const;
    const back = stateOf(comeBack({ ...known, switched: [cut] }, { ...quiet, isBack: true }));
    assert.deepEqual([back.phase, back.neverOff], ['recovering', never]);
    assert.deepEqual(comeBack(booting, { ...quiet, isBack: true }), { kind: 'cancelled' });
  });

  test('however many pods it names, that fits into the record', () => {
    const config = { isolation: [], powerManagement: [], recovery: [] };
    const stored = storedOf({ ...known, neverOff: 'x'.repeat(2000) }, { config, cleanResources: true });
    assert.equal(stored.neverOff?.length, 1024);
  });

  test('is over with another boot, and with another cut that was confirmed', () => {
    assert.equal(settled({ ...known, phase: 'failed' }, { isBack: true, bootId: 'b2' }).neverOff, undefined);
    assert.equal(stateOf(next(known, { isBack: true, bootId: 'b2' })).phase, 'recovering');
    let cut: FenceState = { ...known, phase: 'poweringOff' };
    for (let moves = 0; cut.phase === 'poweringOff' && moves < 20; moves += 1) {
      const moved = next(cut, { isFoundOff: true });
      const asks = moved.kind === 'state' && moved.run !== undefined;
      const task = { outcome: 'succeeded', told: false } as const;
      cut = stateOf(asks ? next(cut, { isFoundOff: true, task }) : moved);
    }
    assert.deepEqual([cut.phase, cut.neverOff], ['off', undefined]);
  });

  test('[RET-1] one that was only found off, and is as it was, is not waited for either', () => {
    assert.deepEqual(next(booting, { isBack: true, isUnharmed: true }), { kind: 'cancelled' });
    assert.equal(stateOf(next(booting, { isUnharmed: true })).phase, 'booting', 'it has to be back');
  });

  function settled(from: FenceState, facts: Partial<FenceFacts>): FenceState {
    let state = from;
    for (let moves = 0; moves < 20; moves += 1) {
      const more = stateOf(next(state, facts));
      if (more === state) return state;
      state = more;
    }
    return assert.fail('it goes round in circles');
  }
});
