/** One move of the automaton at a time, in moments to which few fences come: what it does there, and what it must not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { full, level, limits, quiet } from '../../test/support/fence-steps.ts';
import type { FenceConfig } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { MAX_SILENT_BESIDE } from '../api/fence-names.ts';
import { transition } from './automaton.ts';
import type { FenceFacts, FenceLimits, FenceState, TaskNews, Transition } from './state.ts';
import { beginFence } from './state.ts';
import type { Switched, SwitchedStep } from './switched.ts';

type Moved = Extract<Transition, { kind: 'state' }>;

interface Moment {
  state?: Partial<FenceState>;
  facts?: Partial<FenceFacts>;
  config?: FenceConfig;
  limits?: Partial<FenceLimits>;
}

function next(phase: FenceState['phase'], moment: Moment = {}): Moved {
  const { state, facts, config = full } = moment;
  const moved = transition(
    { ...beginFence(0, 'b1'), phase, ...state },
    { facts: { ...quiet, ...facts }, config, limits: { ...limits, ...moment.limits } },
  );
  return moved.kind === 'state' ? moved : assert.fail('it was cancelled');
}

const phaseAfter = (...asked: Parameters<typeof next>): string => next(...asked).state.phase;
const runs = (...asked: Parameters<typeof next>): string | undefined => next(...asked).run?.name;

const methods = [full, { isolation: [level('net-off')], powerManagement: [], recovery: [] }].flatMap((one) =>
  [...one.isolation, ...one.powerManagement].flatMap(({ off }) => off),
);

function entry(name: string, times: Pick<Switched, 'sentAtMs' | 'confirmedAtMs'> = { sentAtMs: 10 }): Switched {
  const method = methods.find((one) => one.name === name) ?? assert.fail(name);
  const step: SwitchedStep = name === 'fc-off' || name === 'net-off' ? 'isolation' : 'power-management';
  return { step, method: name, device: deviceHash(method) ?? assert.fail(), storage: [], ...times };
}

const sent = { switched: [entry('a-off')] };
const cutOff = { switched: [entry('fc-off', { sentAtMs: 10, confirmedAtMs: 11 })] };
const bothOff = { switched: ['a-off', 'b-off'].map((name) => entry(name, { sentAtMs: 10, confirmedAtMs: 11 })) };
const dark = { kind: 'dark', names: ['node-2'] } as const;
const told = (outcome: TaskNews['outcome']): TaskNews => ({ outcome, told: true });
const untold = (outcome: TaskNews['outcome']): TaskNews => ({ outcome, told: false });

describe('before the power', () => {
  test('[SAF-12, STM-1] a pause and a brake hold a cut; what is found off only a pause holds', () => {
    for (const held of [{ isPaused: true }, { isBraked: true }]) {
      assert.equal(phaseAfter('isolated', { facts: { nowMs: 20, ...held } }), 'isolated');
    }
    const found = { nowMs: 20, isFoundOff: true };
    assert.equal(phaseAfter('isolated', { facts: { ...found, isBraked: true } }), 'poweringOff');
    assert.equal(phaseAfter('isolated', { facts: { ...found, isPaused: true } }), 'isolated');
    assert.equal(phaseAfter('isolating', { facts: { ...found, isPaused: true } }), 'isolating');
  });

  test('[STM-1] what is found off is not let go by a power management that there is not', () => {
    const config = { ...full, powerManagement: [] };
    assert.equal(phaseAfter('waiting', { facts: { nowMs: 20, isFoundOff: true, isBraked: true }, config }), 'waiting');
  });

  test('[STM-1] what is found off is not isolated any more, unless that was begun', () => {
    const facts = { nowMs: 20, isFoundOff: true };
    assert.equal(phaseAfter('isolating', { facts }), 'poweringOff');
    assert.equal(phaseAfter('isolating', { state: { switched: [entry('fc-off')] }, facts }), 'isolating');
    const cordons = { ...full, isolation: [level('cordon')] };
    assert.equal(phaseAfter('isolating', { config: cordons, facts: { ...facts, task: told('running') } }), 'isolating');
  });

  test('[SAF-5] what a try has come to is heard before a node is back', () => {
    const isolating = next('isolating', {
      state: { switched: [entry('fc-off')] },
      facts: { nowMs: 12, isBack: true, task: told('succeeded') },
    });
    assert.equal(isolating.state.switched[0]?.confirmedAtMs, 12);
    const off = next('poweringOff', { state: sent, facts: { nowMs: 12, isBack: true, task: untold('failed') } });
    assert.deepEqual(off.state.switched, [], 'nothing was sent: nothing has to be waited for');
    const paused = next('poweringOff', { state: sent, facts: { nowMs: 12, isPaused: true, task: told('succeeded') } });
    assert.equal(paused.state.switched[0]?.confirmedAtMs, 12);
  });

  test('[SAF-8] of an isolation that was confirmed nothing is still to come', () => {
    const config = { ...full, isolation: [level('fc-off', 'net-off')] };
    const back = { nowMs: 50, isBack: true };
    assert.equal(phaseAfter('isolating', { state: cutOff, facts: back, config }), 'recovering');
    assert.equal(phaseAfter('isolating', { state: { switched: [entry('fc-off')] }, facts: back }), 'isolating');
  });
});

describe('on the way off', () => {
  test('[FEN-16] another boot is the end of it', () => {
    assert.equal(phaseAfter('poweringOff', { state: sent, facts: { bootId: 'b2' } }), 'booting');
  });

  test('[FEN-5, STM-1] what was only found off waits like any other when nobody says so any more; what was told does not', () => {
    const early = { nowMs: 19 };
    assert.equal(phaseAfter('poweringOff', { facts: early }), 'waiting');
    assert.equal(phaseAfter('poweringOff', { facts: { ...early, isFoundOff: true } }), 'poweringOff');
    assert.equal(phaseAfter('poweringOff', { facts: { nowMs: 20 } }), 'poweringOff');
    assert.equal(runs('poweringOff', { state: sent, facts: early }), 'a-off');
    assert.equal(
      phaseAfter('poweringOff', { facts: { ...early, task: untold('running') } }),
      'poweringOff',
      'it is heard',
    );
  });

  test('[SAF-12] a pause waits for what was sent, to the millisecond, and for nothing else', () => {
    const paused = (nowMs: number): Moment => ({ state: sent, facts: { nowMs, isPaused: true } });
    assert.equal(next('poweringOff', paused(180_009)).recheckAtMs, 180_010);
    assert.equal(phaseAfter('poweringOff', paused(180_010)), 'poweringOn');
    assert.equal(phaseAfter('poweringOff', { facts: { nowMs: 1e9, isPaused: true } }), 'poweringOff');
  });

  test('[SAF-17] who fell silent with a cut in vain gets its power back, if it was told', () => {
    const after = (task?: TaskNews): Moved =>
      next('poweringOff', { state: sent, facts: { nowMs: 20, darkness: dark, ...(task && { task }) } });
    for (const outcome of ['failed', 'unknown'] as const) {
      const { state } = after(told(outcome));
      assert.deepEqual([state.phase, state.swapped], ['poweringOn', ['node-2']]);
      assert.equal(after({ outcome }).state.phase, 'poweringOn', 'nobody knows');
      assert.equal(after(untold(outcome)).state.phase, 'poweringOff');
    }
    assert.equal(after().run?.name, 'a-off', 'what it comes to is awaited');
    assert.equal(after(told('running')).run?.name, 'a-off');
    assert.deepEqual(after(told('succeeded')).state.switched[0]?.confirmedAtMs, 20, 'and believed first');
    const names = Array.from({ length: MAX_SILENT_BESIDE + 1 }, (_, index) => `node-${index}`);
    const many = next('off', { state: bothOff, facts: { darkness: { kind: 'dark', names } } });
    assert.equal(many.state.swapped?.length, MAX_SILENT_BESIDE, 'no more than a record has room for');
  });
});

describe('off', () => {
  test('[SAF-17] who fell silent with it gets its power back', () => {
    const { state } = next('off', { state: bothOff, facts: { darkness: dark, isReleased: true } });
    assert.deepEqual([state.phase, state.swapped], ['poweringOn', ['node-2']]);
  });

  test('[SAF-5] by what is not configured any more, in whatever level, is an error', () => {
    const edited = { ...full, powerManagement: [level('c-off', 'c-on')] };
    const lost = next('off', { state: bothOff, facts: { isReleased: true }, config: edited });
    assert.equal(lost.state.phase, 'failed');
    assert.match(lost.state.message ?? '', /^a-off was edited or removed/);
    const other = next('off', { state: { ...bothOff, level: 7 }, facts: { isReleased: true } });
    assert.deepEqual([other.state.phase, other.state.message], ['failed', 'its level is not configured any more']);
  });

  test('[FEN-11, SAF-12] a machine that its provider removes stays off, unless it is paused', () => {
    const removed = { machineRemoved: true };
    const released = { state: bothOff, facts: { isReleased: true } };
    assert.equal(phaseAfter('off', { ...released, limits: removed }), 'finished');
    assert.equal(phaseAfter('off', released), 'poweringOn');
    assert.equal(phaseAfter('off', { state: bothOff, facts: { isPaused: true }, limits: removed }), 'poweringOn');
  });

  test('[FEN-10] with nothing that switches it on, somebody has to', () => {
    const config = { ...full, powerManagement: [level('a-off', 'b-off')] };
    const waits = next('off', { state: bothOff, facts: { isReleased: true }, config });
    assert.match(waits.waitsFor ?? '', /^its machine is off, and nothing is configured/);
  });
});

describe('on the way on', () => {
  test('[SAF-19] only who is back in another boot was switched on by hand', () => {
    const by = (facts: Partial<FenceFacts>, state: Partial<FenceState> = {}): Moved =>
      next('poweringOn', { state: { ...sent, ...state }, facts });
    const [back, booted] = [{ isBack: true }, { bootId: 'b2' }];
    assert.equal(by({ ...back, ...booted }).state.phase, 'recovering');
    assert.equal(by(back).run?.name, 'a-on');
    assert.equal(by(booted).run?.name, 'a-on');
    assert.equal(
      by({ ...back, ...booted }, { swapped: ['node-2'] }).run?.name,
      'a-on',
      'another one waits for its power',
    );
  });

  test('[SAF-17] when all is on, a wrong outlet is an error, and a right one boots', () => {
    const done = { ...sent, method: 1 };
    assert.equal(phaseAfter('poweringOn', { state: done }), 'booting');
    const { state } = next('poweringOn', { state: { ...done, swapped: ['node-2'] } });
    assert.deepEqual([state.phase, state.switched], ['failed', []]);
    assert.match(state.message ?? '', /^node-2 fell silent when it was cut/);
  });

  test('[SAF-19] what nothing switches on any more is not said to be on', () => {
    const config = { ...full, powerManagement: [level('a-off', 'b-off')] };
    const waits = next('poweringOn', { state: sent, config });
    assert.equal(waits.state.phase, 'poweringOn');
    assert.match(waits.waitsFor ?? '', /^nothing is configured any more that would switch it on/);
  });

  test('[SAF-12] under a pause only what was told nothing has been on all the time', () => {
    const paused = (task: TaskNews): Moved => next('poweringOn', { state: sent, facts: { isPaused: true, task } });
    assert.equal(paused(untold('succeeded')).state.phase, 'waiting');
    for (const task of [told('succeeded'), untold('failed')]) assert.equal(paused(task).state.phase, 'poweringOn');
    assert.equal(paused(told('succeeded')).state.method, 1);
  });

  test('[SAF-18] a boot has its time, to the millisecond; what would free nothing is not cut again', () => {
    const boots = (nowMs: number, isWorthIt: boolean): FenceState =>
      next('booting', { facts: { nowMs, isWorthIt } }).state;
    assert.equal(boots(29, false).phase, 'booting');
    assert.deepEqual([boots(30, true).phase, boots(30, true).isForGood], ['failed', undefined]);
    assert.deepEqual([boots(30, false).phase, boots(30, false).isForGood], ['failed', true]);
  });
});

describe('back at the storage', () => {
  test('[SAF-4] another boot by itself is no proof, and what cuts off nothing needs none', () => {
    const doubt = { isBack: true, isHarmless: false };
    for (const facts of [doubt, { ...doubt, bootId: 'b2' }]) {
      assert.match(next('recovering', { state: cutOff, facts }).waitsFor ?? '', /^it stays cut off/);
    }
    assert.equal(runs('recovering', { state: cutOff, facts: { isBack: true } }), 'fc-on');
    assert.equal(runs('recovering', { facts: doubt }), 'fc-on');
    assert.equal(phaseAfter('recovering', { state: cutOff, facts: { isHarmless: false } }), 'isolated', 'gone again');
  });

  test('[FEN-14, RET-2] after an error it is connected again when it is back and harmless, or rebooted', () => {
    const error = { ...cutOff, restarts: 1, failedIn: 'power-management' } as const;
    const back = { isBack: true };
    assert.equal(phaseAfter('failed', { state: error, facts: back }), 'recovering');
    assert.equal(phaseAfter('failed', { state: error, facts: { ...back, isHarmless: false } }), 'failed');
    const rebooted = { isHarmless: false, bootId: 'b2' };
    assert.equal(phaseAfter('failed', { state: error, facts: { ...back, ...rebooted } }), 'recovering');
    assert.equal(phaseAfter('failed', { state: error, facts: rebooted }), 'failed', 'it is not back');
  });

  test('[RET-2] what could not be connected is asked after, not told, and not without end', () => {
    const error = { ...cutOff, restarts: 1, failedIn: 'recovery' } as const;
    const asked = (facts: Partial<FenceFacts>, state: Partial<FenceState> = {}): Moved =>
      next('failed', { state: { ...error, ...state }, facts: { isBack: true, ...facts } });
    assert.deepEqual([asked({}).run?.name, asked({}).run?.action, asked({}).isQuestion], ['fc-off', 'on', true]);
    const again = asked({ nowMs: 5, task: untold('failed') });
    assert.deepEqual([again.run, again.state.notBeforeMs], [undefined, 60_005]);
    assert.equal(asked({ nowMs: 60_004 }, { notBeforeMs: 60_005 }).run, undefined);
    assert.equal(asked({ nowMs: 60_004 }, { notBeforeMs: 60_005 }).recheckAtMs, 60_005);
    assert.equal(asked({ nowMs: 60_005 }, { notBeforeMs: 60_005 }).run?.name, 'fc-off');
    assert.equal(asked({ task: untold('succeeded') }).state.phase, 'finished');
    const two = { switched: [...cutOff.switched, entry('net-off', { confirmedAtMs: 11 })] };
    const config = { ...full, isolation: [level('fc-off', 'net-off')], recovery: [] };
    const one = next('failed', {
      state: { ...error, ...two },
      facts: { isBack: true, task: untold('succeeded') },
      config,
    });
    assert.deepEqual([one.state.phase, one.state.switched], ['failed', cutOff.switched]);
    const nothing = next('failed', {
      state: error,
      facts: { isBack: true, task: untold('succeeded') },
      config: { ...full, isolation: [], recovery: [] },
    });
    assert.deepEqual([nothing.run, nothing.state.switched], [undefined, cutOff.switched], 'nobody can be asked');
  });
});

describe('in error', () => {
  test('[SAF-12, SAF-19] a pause gives back the power that may be ours, and begins nothing', () => {
    const paused = { nowMs: 10_000, isPaused: true };
    assert.equal(phaseAfter('failed', { state: sent, facts: paused }), 'poweringOn');
    assert.equal(phaseAfter('failed', { state: { told: ['a'] }, facts: paused }), 'poweringOn');
    assert.equal(phaseAfter('failed', { state: cutOff, facts: paused }), 'failed');
    assert.equal(phaseAfter('failed', { facts: paused }), 'failed');
  });

  test('[STM-1, FEN-14] it begins anew unless it is braked, and remembers what it has told', () => {
    const error = { switched: [...cutOff.switched, ...sent.switched], notBeforeMs: 5 };
    assert.equal(phaseAfter('failed', { state: error, facts: { nowMs: 10_000, isBraked: true } }), 'failed');
    const { state } = next('failed', { state: error, facts: { nowMs: 10_000 } });
    assert.deepEqual([state.phase, state.restarts, state.startedAtMs], ['waiting', 1, 10_000]);
    const found = next('failed', { state: error, facts: { nowMs: 10_000, isFoundOff: true } });
    assert.deepEqual([found.state.phase, found.state.restarts], ['waiting', 1], 'found off, it has tries left');
    assert.deepEqual(state.told?.length, 1);
    const [kept, ...more] = state.switched;
    assert.deepEqual([kept?.method, kept?.sentAtMs, kept?.confirmedAtMs, more], ['fc-off', 10, undefined, []]);
  });
});

describe('the methods of a step', () => {
  test('[SAF-5] what was found off counts only if all of it was: one that is on begins anew, with nothing confirmed', () => {
    const first = { switched: [entry('a-off', { confirmedAtMs: 11 })], method: 1 };
    for (const outcome of ['failed', 'unknown'] as const) {
      const { state } = next('poweringOff', { state: first, facts: { task: untold(outcome) } });
      assert.deepEqual([state.phase, state.switched], ['waiting', []]);
    }
    const ours = next('poweringOff', {
      state: { ...bothOff, switched: [bothOff.switched[0]!], method: 1 },
      facts: { task: untold('failed') },
    });
    assert.deepEqual(ours.state.switched, [entry('a-off')], 'that a command may have been sent stays so');
  });
});
