import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configs, full, limits, quiet } from '../../test/support/fence-steps.ts';
import type { FenceConfig } from '../api/fence-config.ts';
import { FENCE_PHASES as PHASES } from '../api/fence-names.ts';
import { transition } from './automaton.ts';
import type { FenceFacts, FenceState, Transition } from './state.ts';
import { beginFence } from './state.ts';

function next(state: FenceState, facts: Partial<FenceFacts>, config: FenceConfig = full): Transition {
  return transition(state, { facts: { ...quiet, ...facts }, config, limits });
}

function stateOf(moved: Transition): FenceState {
  assert.equal(moved.kind, 'state');
  return moved.kind === 'state' ? moved.state : assert.fail();
}

/** Follows a story of facts; `done` and `bad` are answers of whatever method runs. */
function play(story: readonly (Partial<FenceFacts> | 'done' | 'bad')[], config: FenceConfig = full): FenceState {
  let state = beginFence(0, 'b1');
  let nowMs = 0;
  for (const one of story) {
    const facts =
      one === 'done' || one === 'bad'
        ? { task: { outcome: one === 'done' ? ('succeeded' as const) : ('failed' as const), told: true } }
        : one;
    nowMs = Math.max(nowMs, facts.nowMs ?? 0);
    state = stateOf(next(state, { ...facts, nowMs }, config));
    // What follows at once from what is stored is not worth a line of the story.
    for (let moves = 0; ; moves += 1) {
      const more = stateOf(next(state, { ...without(facts), nowMs }, config));
      if (more === state) break;
      assert.ok(moves < 20, 'it goes round in circles');
      state = more;
    }
  }
  return state;
}

/** Each of its devices says off. */
function confirmedAll(state: FenceState, facts: Partial<FenceFacts>): FenceState {
  let now = state;
  for (let moves = 0; now.phase === 'poweringOff' && moves < 20; moves += 1) {
    const moved = next(now, facts);
    const asks = moved.kind === 'state' && moved.run !== undefined;
    now = stateOf(asks ? next(now, { ...facts, task: { outcome: 'succeeded', told: false } }) : moved);
  }
  return now;
}

/** What is off there was found so. */
function untoldOf({ switched }: FenceState): FenceState['switched'] {
  return switched.map((one) => {
    const { sentAtMs: _, ...found } = one;
    return found;
  });
}

function without(facts: Partial<FenceFacts>): Partial<FenceFacts> {
  const rest = { ...facts };
  delete rest.task;
  return rest;
}

describe('fence automaton', () => {
  test('[FEN-1, FEN-10] isolation, power off, release, power on, boot, recovery: in this order', () => {
    assert.equal(play([]).phase, 'waiting');
    assert.equal(play([{ nowMs: 10 }]).phase, 'isolating');
    assert.equal(play([{ nowMs: 10 }, 'done']).phase, 'isolated');
    assert.equal(play([{ nowMs: 10 }, 'done', { nowMs: 20 }]).phase, 'poweringOff');
    const begun = [{ nowMs: 10 }, 'done', { nowMs: 20 }] as const;
    assert.deepEqual([play([...begun, 'done']).phase, play([...begun, 'done']).method], ['poweringOff', 1]);
    assert.equal(play([...begun, 'done', 'done']).phase, 'off', 'both plugs');
    const off = [...begun, 'done', 'done'] as const;
    assert.equal(play([...off, { nowMs: 1000 }]).phase, 'off', 'on waits for the release, however long');
    assert.equal(play([...off, { isReleased: true }]).phase, 'poweringOn');
    assert.equal(play([...off, { isReleased: true }, 'done']).phase, 'booting');
    const booted = [...off, { isReleased: true }, 'done', { isBack: true, bootId: 'b2' }] as const;
    assert.equal(play(booted).phase, 'recovering');
    assert.equal(play([...booted, 'done']).phase, 'recovering', 'nothing switches b on: it was only asked');
    assert.equal(play([...booted, 'done', 'done']).phase, 'finished');
  });

  test('[RET-2] what was on all the time needs no boot under a Node object that was made anew', () => {
    const off = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'done', 'done', { isReleased: true }]);
    const task = { outcome: 'succeeded', told: false } as const;
    const moved = (isOfPredecessor: boolean): string => stateOf(next(off, { nowMs: 30, task, isOfPredecessor })).phase;
    assert.deepEqual([moved(true), moved(false)], ['recovering', 'poweringOn']);
  });

  test('[SAF-8] and what waits until its device has done what it was told says so, unless its last try says more', () => {
    const off = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'done', 'done', { isReleased: true }]);
    const waits = (change: Partial<FenceState>, isOfPredecessor: boolean): boolean => {
      const stays = next({ ...off, notBeforeMs: 100, ...change }, { nowMs: 30, isOfPredecessor });
      return stays.kind === 'state' && stays.recheckAtMs === 100 && stays.waitsFor !== undefined;
    };
    assert.deepEqual([waits({}, true), waits({}, false), waits({ message: 'it refuses' }, true)], [true, false, false]);
  });

  test('[EVD-5] nothing is switched on while the Node still says that it is out of service', () => {
    const off = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'done', 'done', { isReleased: true }]);
    const under = next(off, { nowMs: 30, isOutOfService: true });
    assert.deepEqual([stateOf(under).phase, 'run' in under], ['poweringOn', false]);
    assert.deepEqual(under, { kind: 'state', state: off });
    const refused = { message: 'denied', forMs: 0, isReliedOn: true };
    const kept = next(off, { nowMs: 30, isOutOfService: true, refused });
    const waitsFor = 'it goes on when its Node does not say any more that it is out of service: denied';
    assert.deepEqual(kept, { kind: 'state', state: off, waitsFor });
    const freed = next(off, { nowMs: 30, isOutOfService: false, refused });
    assert.deepEqual([stateOf(freed).phase, 'run' in freed], ['poweringOn', true]);
  });

  test('[FEN-4] cancelled before anything is begun; afterwards it goes to recovery', () => {
    assert.equal(next(beginFence(0, 'b1'), { isBack: true }).kind, 'cancelled');
    assert.equal(play([{ nowMs: 10 }, 'done', { isBack: true }]).phase, 'recovering');
    const unisolated = stateOf(next(beginFence(0, 'b1'), { nowMs: 10 }, configs['power alone']));
    assert.equal(next(unisolated, { isBack: true }, configs['power alone']).kind, 'cancelled');
  });

  test('[SAF-5] an isolation that is edited away while it stands is an error, not a fact', () => {
    const isolated = play([{ nowMs: 10 }, 'done']);
    assert.equal(isolated.phase, 'isolated');
    const other = full.isolation.map((level) => ({
      ...level,
      off: level.off.map((one) => ({ ...one, name: 'other' })),
    }));
    assert.equal(stateOf(next(isolated, { nowMs: 11 }, { ...full, isolation: other })).phase, 'failed');
  });

  test('[FEN-4] isolated without power management says what it waits for', () => {
    const config = { ...full, powerManagement: [] };
    const stood = next(play([{ nowMs: 10 }, 'done'], config), { nowMs: 1000 }, config);
    assert.match(
      (stood.kind === 'state' && stood.waitsFor) || '',
      /^no power_management .* waits for the node to come back$/u,
    );
    const wanted = next(
      play([{ nowMs: 10 }, 'done'], config),
      { nowMs: 1000, wantedStill: 'its trouble is over' },
      config,
    );
    assert.match((wanted.kind === 'state' && wanted.waitsFor) || '', /goes on until its trouble is over$/u);
  });

  test('[FEN-2, FEN-14] a step is tried again, then the next level, then it is an error; the whole begins anew so often as it may', () => {
    const begun = [{ nowMs: 10 }, 'done', { nowMs: 20 }] as const;
    const once = play([...begun, 'done', 'bad']);
    assert.deepEqual(
      [once.phase, once.level, once.method, once.retries],
      ['poweringOff', 0, 0, 1],
      'from the first plug on',
    );
    const second = play([...begun, 'bad', 'bad']);
    assert.deepEqual([second.phase, second.level, second.retries], ['poweringOff', 1, 0]);
    const error = stateOf(next(play([...begun, 'bad', 'bad', 'bad']), { nowMs: 20, task: { outcome: 'failed' } }));
    assert.deepEqual([error.phase, error.restarts], ['failed', 0]);
    const early = next(error, { nowMs: 9_999 });
    assert.deepEqual(early, { kind: 'state', state: error, recheckAtMs: 10_000 }, 'never in the same look');
    const again = stateOf(next(error, { nowMs: 10_000 }));
    assert.deepEqual([again.phase, again.restarts, again.retries, again.startedAtMs], ['waiting', 1, 0, 10_000]);
    const forGood = { ...error, restarts: 1 };
    assert.equal(stateOf(next(forGood, { nowMs: 1e9 })).phase, 'poweringOn', 'what it was told is undone');
    const uncut = { ...forGood, switched: [] };
    assert.deepEqual(stateOf(next(uncut, { nowMs: 1e9 })), uncut);
    assert.deepEqual(stateOf(next(uncut, { isBack: true })), uncut, 'back without a reboot proves nothing');
    assert.equal(stateOf(next(uncut, { isBack: true, bootId: 'b2' })).phase, 'recovering');
  });

  test('[EVD-2, FEN-5] what is found off waits for nothing; what is not any more, and was told nothing, has its time', () => {
    const found = stateOf(next(beginFence(0, 'b1'), { isFoundOff: true, isBraked: true }));
    assert.equal(found.phase, 'poweringOff');
    assert.equal(stateOf(next(found, { isFoundOff: true, nowMs: 1 })).phase, 'poweringOff');
    assert.equal(stateOf(next(found, { nowMs: 1 })).phase, 'waiting');
    assert.equal(stateOf(next(found, { nowMs: 20 })).phase, 'poweringOff', 'its time has come');
    const isolated = play([{ nowMs: 10 }, 'done']);
    assert.equal(stateOf(next(isolated, { isFoundOff: true, isBraked: true, nowMs: 11 })).phase, 'poweringOff');
  });

  test('[SAF-10, SAF-19] what is not said to be off any more is told at once, keeps nobody waiting, and has a way out', () => {
    const cut = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'done', 'done']);
    const asked = (forMs: number, isDisbelieved = false): Partial<FenceFacts> => ({
      nowMs: 20 + forMs,
      unconfirmed: { message: 'no route', isDisbelieved, forMs },
    });
    const said = stateOf(next(cut, asked(0)));
    const told = 'it was off, and its pods go when its device says so again: no route';
    assert.deepEqual([said.phase, said.message], ['off', told]);
    assert.deepEqual(next(said, asked(0, true)), { kind: 'state', state: said }, 'it may be over in a moment');
    assert.deepEqual(next(said, asked(120_000)), { kind: 'state', state: said, waitsFor: told });
    assert.equal(stateOf(next(said, asked(120_000, true))).phase, 'poweringOn', 'it will never be let go');
    const found = { ...said, switched: untoldOf(said) };
    assert.deepEqual(next(found, asked(120_000, true)), { kind: 'state', state: found, waitsFor: told }, 'not our cut');
    const given = stateOf(next(said, asked(600_000)));
    assert.deepEqual([given.phase, given.isForGood], ['off', true]);
    assert.deepEqual(next(given, asked(700_000)), { kind: 'state', state: given, waitsFor: told });
    const on = stateOf(next(given, { nowMs: 800_000, isReleased: true }));
    assert.deepEqual([on.phase, on.isForGood, on.message], ['poweringOn', undefined, undefined]);
  });

  test('[SAF-10, SAF-19] what the API server lets nothing go from is told at once, and switched on again; it is not cut for the same', () => {
    const cut = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'done', 'done']);
    const refused = (forMs: number, isReliedOn = false): Partial<FenceFacts> => ({
      nowMs: 20 + forMs,
      refused: { message: 'denied', isReliedOn, forMs },
    });
    const said = stateOf(next(cut, refused(60_000)));
    const told = 'it is off, and its pods cannot go: denied';
    assert.deepEqual([said.phase, said.message], ['off', told], 'before anything else');
    assert.deepEqual(next(said, refused(59_999)), { kind: 'state', state: said }, 'it may not be its last word');
    const waits = { kind: 'state', state: said, waitsFor: told };
    assert.deepEqual(next(said, refused(119_999, true)), { kind: 'state', state: said }, 'it has its turn so long');
    assert.deepEqual(next(said, refused(120_000, true)), waits, 'others were told that it is off');
    const found = { ...said, switched: untoldOf(said) };
    assert.deepEqual(next(found, refused(120_000)), { ...waits, state: found }, 'not our cut');
    const given = stateOf(next(said, refused(600_000, true)));
    assert.deepEqual([given.phase, given.isForGood], ['off', true], 'somebody has to look');
    const on = stateOf(next(said, refused(60_000)));
    assert.deepEqual([on.phase, on.message], ['poweringOn', told]);
    const often = { ...said, restarts: limits.restarts + 1 };
    assert.equal(stateOf(next(often, refused(60_000))).restarts, often.restarts, 'it never has more tries than before');
    const dark = stateOf(next({ ...on, phase: 'booting', switched: [] }, { nowMs: 1e6 }));
    assert.equal(dark.phase, 'failed');
    assert.deepEqual(stateOf(next(dark, { nowMs: 1e9 })), dark, 'once more the same would be refused');
    assert.equal(stateOf(next(said, { ...refused(0), isReleased: true })).phase, 'poweringOn', 'nothing is left to go');
  });

  test('[EVD-2, SAF-18] what has failed for good and is found off is let go, once, by a question; nothing is cut for it', () => {
    const state: FenceState = {
      ...beginFence(0, 'b1'),
      phase: 'failed',
      failedIn: 'power-management',
      isForGood: true,
    };
    const later = { nowMs: 1e6, isFoundOff: true, isWorthIt: true };
    const found = stateOf(next(state, later));
    assert.deepEqual([found.phase, found.isForGood, found.restarts], ['poweringOff', true, state.restarts]);
    const asks = next(found, later);
    assert.ok(asks.kind === 'state' && asks.isQuestion, 'it is only asked');
    assert.equal(stateOf(next(found, { ...later, isFoundOff: false })).phase, 'failed');
    const asked = next(found, { ...later, isFoundOff: false, task: { outcome: 'running' } });
    assert.notEqual(asked.kind === 'state' ? asked.state.phase : '', 'failed', 'its answer is waited for');
    const { isForGood: _, ...mayTry } = state;
    assert.equal(stateOf(next(mayTry, later)).phase, 'waiting', 'one that has tries left begins anew');
    const no = stateOf(next(found, { ...later, task: { outcome: 'failed', told: false } }));
    assert.deepEqual([no.phase, no.isForGood], ['failed', true], 'it has no more tries than before');
    for (const facts of [{ isWorthIt: false }, { isFoundOff: false }, { isPaused: true }]) {
      assert.equal(stateOf(next(state, { ...later, ...facts })).phase, 'failed');
    }
    const off = confirmedAll(found, later);
    assert.deepEqual([off.phase, off.restarts, off.isForGood], ['off', state.restarts + 1, undefined]);
    assert.equal(stateOf(next({ ...state, restarts: limits.restarts + 1 }, later)).phase, 'failed', 'not without end');
    assert.equal(
      stateOf(next({ ...state, swapped: ['node-2'] }, later)).phase,
      'failed',
      'it may be the power of another',
    );
    assert.equal(stateOf(next({ ...state, failedIn: 'recovery' }, later)).phase, 'failed');
  });

  test('what is switched off by a level is switched on by the same one', () => {
    const off = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'bad', 'bad', 'done']);
    assert.deepEqual([off.phase, off.level], ['off', 1]);
    const on = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'bad', 'bad', 'done', { isReleased: true }]);
    const moved = next(on, { nowMs: 20, isReleased: true });
    assert.equal(moved.kind === 'state' && moved.run?.name, 'pdu-on');
  });

  test('[SAF-19, SAF-12] what it has switched off it tries to switch on for as long as it takes, whatever holds cuts back', () => {
    const on = play([{ nowMs: 10 }, 'done', { nowMs: 20 }, 'done', 'done', { isReleased: true }]);
    const isKnown = ({ switched }: FenceState): boolean =>
      switched.some(
        ({ step, sentAtMs, confirmedAtMs }) => step !== 'isolation' && sentAtMs !== undefined && !confirmedAtMs,
      );
    assert.ok(isKnown(on), 'that it was off is void, and that we did it is not');
    let state = on;
    for (const [tries, nowMs] of [20, 10_020, 70_020, 130_020, 190_020].entries()) {
      for (const held of [{ isBraked: true }, { isPaused: true }, {}]) {
        const again = next(state, { nowMs, ...held });
        assert.equal(again.kind === 'state' && again.run?.name, 'a-on', `${tries} tries have failed`);
      }
      state = stateOf(
        next(state, { nowMs, isBraked: true, task: { outcome: 'failed', message: 'refused', told: true } }),
      );
      assert.deepEqual([state.phase, state.message, isKnown(state)], ['poweringOn', 'refused', true]);
      assert.equal(state.isForGood, tries < 2 ? undefined : true, 'a ladder goes on when all tries are used up');
    }
    state = stateOf(next(state, { nowMs: 250_020, task: { outcome: 'succeeded', told: true } }));
    state = stateOf(next(state, { nowMs: 250_020 }));
    assert.deepEqual([state.phase, state.isForGood, isKnown(state)], ['booting', undefined, false]);
    assert.equal(stateOf(next(on, { nowMs: 20, isBack: true, bootId: 'b2' })).phase, 'recovering', 'on by hand');
  });

  test('[SAF-19, SAF-12] one that begins anew remembers that it may have switched the machine off', () => {
    const config = configs['power alone'] ?? full;
    const again = play([{ nowMs: 20 }, 'bad', { nowMs: 20_000 }, 'bad'], config);
    assert.deepEqual([again.phase, again.restarts, again.told?.length, again.switched], ['waiting', 1, 1, []]);
    assert.equal(stateOf(next(again, { nowMs: 20_000, isPaused: true }, config)).phase, 'poweringOn');
    let off = stateOf(next({ ...again, phase: 'poweringOff' }, { nowMs: 21_000 }, config));
    off = stateOf(next(off, { nowMs: 21_000, task: { outcome: 'succeeded', told: false } }, config));
    off = stateOf(next(off, { nowMs: 21_000 }, config));
    assert.equal(off.phase, 'off', 'found off');
    const on = next(off, { nowMs: 21_000, isReleased: true, staysOff: 'it was found off' }, config);
    assert.equal(stateOf(on).phase, 'poweringOn');
    const isolated = { ...again, phase: 'isolated' as const };
    assert.equal(stateOf(next(isolated, { nowMs: 20_000, isPaused: true }, config)).phase, 'poweringOn');
  });

  test('[FEN-5] power without isolation where its time comes first', () => {
    const hasty = { ...limits, powerManagementAfterMs: 5 };
    const moved = transition(beginFence(0, 'b1'), { facts: { ...quiet, nowMs: 5 }, config: full, limits: hasty });
    assert.equal(stateOf(moved).phase, 'poweringOff');
  });

  test('[FEN-5] isolation at its time, however early the power would go, where there is no power to cut', () => {
    const config = configs['isolation alone'] ?? full;
    const hasty = { ...limits, powerManagementAfterMs: 0 };
    const at = (nowMs: number): FenceState =>
      stateOf(transition(beginFence(0, 'b1'), { facts: { ...quiet, nowMs }, config, limits: hasty }));
    assert.deepEqual([at(9).phase, at(10).phase], ['waiting', 'isolating']);
  });

  test('[FEN-13] stopped, nothing moves and nothing runs', () => {
    for (const phase of PHASES) {
      const state = { ...beginFence(0, 'b1'), phase };
      const moved = next(state, { nowMs: 1e9, isBack: true, bootId: 'b2', isReleased: true, isStopped: true });
      assert.deepEqual(moved, { kind: 'state', state });
    }
  });

  const twoLevels = configs['two levels'] ?? full;

  test('[FEN-14, SAF-19] what an earlier level was told is switched on as well, but nothing waits for that', () => {
    const off = play([{ nowMs: 20 }, 'bad', { nowMs: 20_000 }, 'bad', { nowMs: 20_000 }, 'done'], twoLevels);
    assert.deepEqual([off.phase, off.level], ['off', 1]);
    const on = play([{ nowMs: 20 }, 'bad', { nowMs: 20_000 }, 'bad', 'done', { isReleased: true }], twoLevels);
    const run = (state: FenceState, facts: Partial<FenceFacts> = {}): string | undefined => {
      const moved = next(state, { nowMs: 20_000, ...facts }, twoLevels);
      return moved.kind === 'state' ? moved.run?.name : undefined;
    };
    assert.deepEqual([on.phase, run(on)], ['poweringOn', 'pdu-on']);
    const task = (outcome: 'succeeded' | 'failed' | 'dropped'): Partial<FenceFacts> => ({
      nowMs: 20_000,
      task: { outcome, told: true },
    });
    const second = stateOf(next(on, task('succeeded'), twoLevels));
    assert.equal(run(second), 'a-on');
    assert.equal(stateOf(next(second, task('dropped'), twoLevels)).method, 1, 'tried again');
    for (const outcome of ['succeeded', 'failed'] as const) {
      const third = stateOf(next(second, task(outcome), twoLevels));
      assert.equal(stateOf(next(third, { nowMs: 20_000 }, twoLevels)).phase, 'booting');
    }
    const failed = stateOf(next(on, task('failed'), twoLevels));
    assert.equal(run(failed), 'a-on', 'whatever came of the one before');
    for (const outcome of ['succeeded', 'failed'] as const) {
      let again = stateOf(next(failed, task(outcome), twoLevels));
      again = stateOf(next(again, { nowMs: 20_000 }, twoLevels));
      assert.deepEqual(
        [again.phase, again.method, again.retries, again.missed],
        ['poweringOn', 0, 1, undefined],
        'its own level is tried again',
      );
    }
    const first = play([{ nowMs: 20 }, 'done', { isReleased: true }, 'done'], twoLevels);
    assert.equal(first.phase, 'booting', 'a level that was told nothing is told nothing');
  });

  test('[SAF-19, SAF-12] one that begins anew remembers what it has told, and gives all of it back', () => {
    const bad = ['bad', { nowMs: 20_000 }, 'bad'] as const;
    const again = play([{ nowMs: 20 }, ...bad, 'bad', { nowMs: 40_000 }, 'bad'], twoLevels);
    assert.deepEqual([again.phase, again.told?.length], ['waiting', 2]);
    const paused = stateOf(next(again, { nowMs: 40_000, isPaused: true }, twoLevels));
    assert.deepEqual([paused.phase, paused.level], ['poweringOn', 1], 'the one that was told last');
    const begun = stateOf(next(paused, { nowMs: 40_000, isPaused: true }, twoLevels));
    const told = next(begun, { nowMs: 40_000, isPaused: true }, twoLevels);
    assert.equal(told.kind === 'state' && told.run?.name, 'pdu-on');
  });
});
