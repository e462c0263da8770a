/** Several devices feed a machine: each that was told is told on again, and asked after by itself. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { level, limits, quiet } from '../../test/support/fence-steps.ts';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { transition } from './automaton.ts';
import { placed, underWay } from './place.ts';
import type { FenceFacts, FenceState, Moved, TaskNews } from './state.ts';
import { beginFence } from './state.ts';
import type { Switched } from './switched.ts';
import { asTold, leftOff, powerBack, seenOn, stillOff, undoing } from './switched.ts';

const feeds: FenceConfig = {
  isolation: [level('fc-off')],
  powerManagement: [level('a-off', 'b-off', 'a-on', 'b-on')],
  recovery: [],
};
const alone: FenceConfig = { isolation: [], powerManagement: [level('a-off', 'a-on')], recovery: [] };
const backed: FenceConfig = { ...feeds, powerManagement: [...feeds.powerManagement, level('pdu-off', 'pdu-on')] };

function methodOf(name: string): Method {
  const { off, on } = level(name);
  return [...off, ...on][0] ?? assert.fail(name);
}

const hashOf = (name: string): string => deviceHash(methodOf(name)) ?? assert.fail(name);
const [a, b, pdu] = ['a-off', 'b-off', 'pdu-off'].map(hashOf) as [string, string, string];

function entry(name: string, times: Pick<Switched, 'sentAtMs' | 'confirmedAtMs'> = { sentAtMs: 1 }): Switched {
  const step = name === 'fc-off' ? 'isolation' : 'power-management';
  return { step, method: name, device: hashOf(name), storage: [], ...times };
}

function next(state: Partial<FenceState>, facts: Partial<FenceFacts> = {}, config = feeds): Moved {
  const moved = transition({ ...beginFence(0, 'b1'), ...state }, { facts: { ...quiet, ...facts }, config, limits });
  return moved.kind === 'state' ? moved : assert.fail('it was cancelled');
}

const done = (outcome: TaskNews['outcome'], wasTold = true): { task: TaskNews } => ({
  task: { outcome, told: wasTold, message: outcome },
});
const back = { isBack: true, nowMs: 1_000_000 };
const cut = [entry('fc-off', { sentAtMs: 1, confirmedAtMs: 2 })];

describe('what of its power is left off', () => {
  test('[SAF-19] each device that was told, and none that was not', () => {
    const names = (state: Partial<FenceState>, config = feeds): string[] =>
      powerBack({ switched: [], ...state }, config).map(({ method }) => `${method.name} ${method.action}`);
    assert.deepEqual(names({ told: [a] }), ['a-on on']);
    assert.deepEqual(names({ told: [b], switched: [entry('a-off')] }), ['a-on on', 'b-on on']);
    assert.deepEqual(names({ switched: [entry('a-off', { confirmedAtMs: 1 })] }), [], 'found off');
    const half = { ...feeds, powerManagement: [level('a-off', 'b-off', 'a-on')] };
    assert.deepEqual(names({ told: [a, b] }, half), ['a-on on', 'b-off on']);
    const asks = powerBack({ switched: [], told: [a, b] }, half).map(({ isQuestion }) => isQuestion);
    assert.deepEqual(asks, [false, true], 'nothing is configured that switches it on');
    const twice = { ...feeds, powerManagement: [level('a-off', 'a-on'), level('a-off', 'a-on')] };
    assert.deepEqual(names({ told: [a] }, twice), ['a-on on'], 'once');
    const reset = { ...level('a-off'), on: [{ ...methodOf('a-off'), name: 'a-again' }] };
    assert.deepEqual(names({ told: [a] }, { ...feeds, powerManagement: [reset] }), ['a-off on'], 'an off is no on');
    const all = undoing({ switched: cut, told: [a] }, feeds, 0).map(({ method }) => method.name);
    assert.deepEqual(all, ['a-on', 'fc-off'], 'its power first');
  });

  test('[SAF-19] another boot proves the power of the only device of a level, and of one of several nothing', () => {
    const left = (told: string[], config: FenceConfig, isRebooted: boolean): readonly string[] | undefined =>
      leftOff({ switched: [] as Switched[], told }, config, isRebooted).told;
    assert.deepEqual(left([a], alone, true), undefined);
    assert.deepEqual(left([a], alone, false), [a]);
    assert.deepEqual(left([a], feeds, true), [a]);
    assert.deepEqual(left([a, pdu], backed, true), [a]);
    const same = { switched: [entry('a-off')] };
    assert.equal(leftOff(same, feeds, true), same, 'as it was');
  });

  test('[SAF-19] of what was edited since, everything that is configured has to be on', () => {
    const left = (config: FenceConfig, isRebooted = false): readonly string[] | undefined =>
      leftOff({ switched: [] as Switched[], told: ['gone'] }, config, isRebooted).told;
    assert.deepEqual(left(feeds), [a, b]);
    assert.deepEqual(left(alone), [a]);
    assert.deepEqual(left(alone, true), undefined);
    assert.deepEqual(left({ ...feeds, powerManagement: [] }), undefined, 'nobody can be asked');
  });

  test('[SAF-19] one that has said on is none of them any more, and one that has failed to go on is', () => {
    const both: Pick<FenceState, 'switched' | 'told' | 'wasCut'> = { switched: [entry('a-off'), ...cut], told: [b] };
    const { wasCut, ...half } = seenOn(both, methodOf('a-on'));
    assert.deepEqual(half, { switched: cut, told: [b] });
    assert.deepEqual(wasCut?.devices, [b, a], 'what they were told may strike late');
    assert.deepEqual(seenOn({ switched: cut, told: [b] }, methodOf('b-on')), { switched: cut });
    assert.equal(seenOn(both, methodOf('pdu-on')), both);
    assert.deepEqual(stillOff(both, ['b-on'], feeds).told, [b]);
    assert.deepEqual(stillOff(both, [], feeds).told, undefined);
    const mixed = { ...feeds, powerManagement: [level('a-off', 'b-off', 'pdu-on')] };
    assert.deepEqual(asTold(stillOff(both, ['pdu-on'], mixed)).told, [b, a], 'by which of them nobody knows');
    const oneWay = { ...feeds, powerManagement: [level('a-off', 'b-off', 'a-on')] };
    assert.deepEqual(stillOff(both, [], oneWay).told, [b], 'nothing switches it on');
    assert.deepEqual(asTold(stillOff(both, [], mixed)).told, [b, a], 'they are asked by themselves');
    assert.deepEqual(stillOff(both, [], alone).told, [b], 'written otherwise by now');
    const beside = { ...feeds, powerManagement: [level('a-off', 'b-off', 'a-on', 'pdu-on')] };
    assert.deepEqual(asTold(stillOff(both, ['pdu-on'], beside)).told, [b, a], 'nor what the one that failed feeds');
    const one = { switched: [entry('a-off')] };
    const byOther = { ...feeds, powerManagement: [level('a-off', 'pdu-on')] };
    assert.deepEqual(stillOff(one, [], byOther).switched, [], 'the only one, by whatever it is switched on');
    assert.equal(stillOff(one, ['pdu-on'], byOther), one);
    assert.deepEqual(asTold(both), { switched: cut, told: [b, a], wasCut });
    const none = { switched: cut };
    assert.equal(asTold(none), none);
  });
});

describe('a node that is back', () => {
  test('[SAF-19, RET-2] is over when each feed that was told is on, whichever phase it comes from', () => {
    for (const phase of ['waiting', 'isolated'] as const) {
      assert.equal(next({ phase, told: [a] }, back).state.phase, 'recovering');
    }
    const begun = next({ phase: 'recovering', told: [a] }, back);
    assert.deepEqual([begun.run?.name, begun.isQuestion], ['a-on', undefined]);
    const on = next({ phase: 'recovering', told: [a] }, { ...back, ...done('succeeded') }).state;
    assert.deepEqual([on.phase, on.told], ['recovering', undefined]);
    assert.equal(next(on, back).state.phase, 'finished');
    assert.equal(next({ phase: 'recovering', told: [a] }, { ...back, isOutOfService: true }).run, undefined);
  });

  test('[SAF-19] whatever came of one, the next is told; what failed is tried again, and said in the end', () => {
    const first = next({ phase: 'recovering', told: [a, b] }, { ...back, ...done('failed') }).state;
    assert.deepEqual([first.phase, first.method, first.missed, first.message], ['recovering', 1, ['a-on'], 'failed']);
    assert.equal(next(first, back).run?.name, 'b-on');
    const second = next(first, { ...back, ...done('succeeded') }).state;
    assert.deepEqual([second.told, second.method], [[a], 1]);
    const again = next(second, back).state;
    assert.deepEqual([again.method, again.retries, again.missed], [0, 1, undefined]);
    assert.equal(next(again, { ...back, nowMs: back.nowMs + 10_000 }).run?.name, 'a-on');
    const end = next(again, { ...back, ...done('unknown') }).state;
    assert.deepEqual([end.phase, end.failedIn, end.told, end.missed], ['failed', 'recovery', [a], undefined]);
  });

  test('[RET-2] what can only be asked after is not asked again because something else was told', () => {
    const config = { ...feeds, recovery: [level('fc-on', 'net-on')], powerManagement: [] };
    const found = { phase: 'recovering', switched: [entry('fc-off', { confirmedAtMs: 2 })], method: 2 } as const;
    assert.equal(next({ ...found, missed: ['fc-on'] }, back, config).state.phase, 'failed');
    assert.equal(next({ ...found, missed: ['net-on'] }, back, config).state.retries, 1);
  });

  test('[SAF-19, SAF-4] that it stays cut off from its storage does not keep its power off', () => {
    const unsafe = { ...back, isHarmless: false };
    const state = { phase: 'recovering', switched: cut, told: [a] } as const;
    assert.equal(next(state, unsafe).run?.name, 'a-on');
    const failed = next(state, { ...unsafe, ...done('failed') }).state;
    assert.deepEqual([failed.phase, failed.notBeforeMs, failed.missed], ['recovering', 1_060_000, undefined]);
    const halfway = next({ ...state, method: 1, missed: ['a-on'] }, unsafe).state;
    assert.deepEqual([halfway.method, halfway.notBeforeMs], [0, 1_060_000]);
    const on = next(state, { ...unsafe, ...done('succeeded') }).state;
    assert.match(next(on, unsafe).waitsFor ?? '', /^it stays cut off from its storage/);
  });

  test('[SAF-19] after a fence that failed: told on every minute, unless that is about to begin anew', () => {
    const failed = { phase: 'failed', restarts: 1, told: [a, b], message: 'refused' } as const;
    assert.equal(next(failed, back).run?.name, 'a-on');
    assert.equal(next(failed, { ...back, isBack: false }).run, undefined);
    assert.equal(next({ ...failed, told: undefined }, back).run, undefined);
    const begins = { ...failed, restarts: 0 };
    assert.equal(next(begins, back).state.phase, 'waiting');
    assert.equal(next(begins, { ...back, isCalledFor: false }).run?.name, 'a-on');
    assert.equal(next({ ...begins, told: undefined }, { ...back, isCalledFor: false }).state.phase, 'waiting');
    const one = next(failed, { ...back, ...done('failed') }).state;
    assert.deepEqual([one.missed, next(one, back).run?.name], [['a-on'], 'b-on']);
    const two = next(one, { ...back, ...done('failed') }).state;
    assert.deepEqual([two.missed, two.notBeforeMs], [undefined, 1_060_000]);
    assert.equal(next(two, back).recheckAtMs, 1_060_000);
    const on = next(failed, { ...back, ...done('succeeded') }).state;
    assert.deepEqual([on.phase, on.told, on.message], ['failed', [b], 'refused']);
    const rest = next(on, { ...back, ...done('succeeded') }).state;
    assert.deepEqual([rest.phase, rest.told], ['failed', undefined], 'what it has failed with stands');
    const last = next({ ...failed, told: [a], failedIn: 'recovery' }, { ...back, ...done('succeeded') }).state;
    assert.equal(last.phase, 'finished');
    const half = next({ ...failed, failedIn: 'recovery' }, { ...back, ...done('succeeded') }).state;
    assert.deepEqual([half.phase, half.told], ['failed', [b]], 'not before all of them are on');
    const unsafe = { ...failed, told: [a], switched: cut, failedIn: 'recovery', missed: ['a-on'] } as const;
    assert.equal(next(unsafe, { ...back, isHarmless: false }).run, undefined, 'its storage is not asked after');
    assert.equal(next(unsafe, back).run?.name, 'fc-off');
    assert.equal(next({ ...failed, told: ['gone'] }, back).state.told?.length, 2);
    const booted = next({ ...failed, told: [a] }, { ...back, bootId: 'b2' }, alone).state;
    assert.equal(booted.told, undefined, 'it has power by its only device');
    assert.equal(next({ ...failed, told: ['gone'] }, { ...back, isBack: false }).state.told?.length, 1);
  });

  test('[SAF-19] is not waited for where it has run on: after a while it is asked, and not before', () => {
    const booting = { phase: 'booting', told: [a], phaseStartedAtMs: 0 } as const;
    const facts = { isBack: true, nowMs: 90_000 };
    assert.equal(next(booting, facts).state.phase, 'recovering');
    assert.notEqual(next(booting, { ...facts, nowMs: 29 }).state.phase, 'recovering');
    assert.notEqual(next(booting, { ...facts, isBack: false }).state.phase, 'recovering');
    assert.notEqual(next({ ...booting, told: undefined }, facts).state.phase, 'recovering');
  });
});

describe('a machine that is switched on', () => {
  const on = { phase: 'poweringOn', switched: [entry('a-off'), entry('b-off')] } as const;

  test('[SAF-19, FEN-14] by each of its devices, whatever came of the one before', () => {
    const first = next(on, done('failed')).state;
    assert.deepEqual([first.method, first.missed], [1, ['a-on']]);
    const round = next(first, done('succeeded')).state;
    assert.equal(next(round).state.phase, 'poweringOn', 'it may boot by the other one');
    assert.deepEqual([next(round).state.retries, next(round).state.method], [1, 0]);
    const booted = next(first, { isBack: true, bootId: 'b2' }).state;
    assert.deepEqual([booted.phase, powerBack(booted, feeds).length], ['recovering', 2]);
  });

  test('[SAF-19] one of another level that does not go on is asked again when it has booted', () => {
    const told = { ...on, level: 1, switched: [entry('pdu-off'), entry('a-off')], method: 2, missed: ['pdu-on'] };
    const own = next({ ...told, method: 3 }, {}, backed).state;
    assert.deepEqual([own.phase, own.retries], ['poweringOn', 1], 'its own level is told again');
    const beside = next({ ...told, method: 3, missed: ['a-on'] }, {}, backed).state;
    assert.deepEqual([beside.phase, beside.told], ['booting', [a]]);
    const swapped = next({ ...told, method: 3, missed: ['a-on'], swapped: ['node-2'] }, {}, backed).state;
    assert.deepEqual([swapped.phase, swapped.told], ['failed', [a]]);
  });

  test('[SAF-12] where not all of it was ever off it may have run on, and is asked once more', () => {
    const half = next({ ...on, switched: [], told: [a], method: 2 }).state;
    assert.deepEqual([half.phase, half.told], ['booting', [a]]);
    assert.equal(next({ ...on, method: 2 }).state.told, undefined, 'all of it is on');
    const paused = next({ ...on, switched: [], told: [a] }, { isPaused: true, ...done('succeeded', false) }).state;
    assert.deepEqual([paused.phase, paused.method], ['poweringOn', 1], 'one of two was on');
    const only = next({ ...on, switched: [], told: [a] }, { isPaused: true, ...done('succeeded', false) }, alone).state;
    assert.equal(only.phase, 'waiting');
    for (const phase of ['poweringOff', 'off'] as const) {
      const rebooted = next({ ...on, phase }, { bootId: 'b2' }).state;
      assert.deepEqual([rebooted.phase, rebooted.told], ['booting', [a, b]]);
      assert.equal(
        rebooted.switched.length,
        phase === 'off' ? 0 : 2,
        'what nobody has confirmed may strike this boot as well',
      );
    }
    const held = next({ ...on, phase: 'poweringOff' }, { isPaused: true, nowMs: 1_000_000 }).state;
    assert.deepEqual([held.phase, held.told, held.switched], ['poweringOn', [a, b], []]);
    const error = next({ ...on, phase: 'failed', restarts: 1 }, { isPaused: true }).state;
    assert.deepEqual([error.phase, error.told], ['poweringOn', [a, b]]);
  });

  test('[SAF-19] for a Node object made again: what was off is known to have been, what was only told is not', () => {
    const again = { isOfPredecessor: true, nowMs: 1_000_000 };
    assert.deepEqual(next({ ...on, phase: 'off' }, again).state.switched.length, 2);
    assert.deepEqual(next({ ...on, phase: 'poweringOff' }, again).state.told, [a, b]);
    const over = next({ ...on, switched: [], told: [a, b], method: 2 }, again).state;
    assert.deepEqual([over.phase, over.told], ['booting', undefined], 'nobody is there to be asked for');
  });
});

test('[FEN-14] a level that was edited is found by what it has told, and one that failed waits for its turn', () => {
  const twice = { ...feeds, powerManagement: [level('pdu-off', 'pdu-on'), level('a-off', 'b-off', 'a-on', 'b-on')] };
  const at = (phase: FenceState['phase'], told: string[]): number =>
    placed({ ...beginFence(0, 'b1'), phase, told }, twice, { levelId: 'gone' }).level;
  assert.equal(at('poweringOn', [b]), 1);
  assert.equal(at('poweringOff', [b]), 0);
  const failed = { ...beginFence(0, 'b1'), phase: 'failed' as const, told: [a, b] };
  assert.equal(underWay(failed, feeds)?.name, 'a-on');
  assert.equal(underWay({ ...failed, missed: ['a-on'] }, feeds)?.name, 'b-on');
  assert.equal(underWay({ ...failed, phase: 'recovering', method: 1 }, feeds)?.name, 'b-on');
});
