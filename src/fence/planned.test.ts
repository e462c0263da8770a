import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { level, limits, quiet } from '../../test/support/fence-steps.ts';
import type { FenceConfig } from '../api/fence-config.ts';
import { transition } from './automaton.ts';
import { planOf, takenOut } from './planned.ts';
import type { FenceFacts, FenceState } from './state.ts';
import { beginFence } from './state.ts';
import { withEntry } from './switched.ts';

const both: FenceConfig = {
  isolation: [level('fc-off', 'net-off')],
  powerManagement: [level('ipmi-off'), level('cordon', 'a-off', 'b-off', 'a-on', 'b-on')],
  recovery: [],
};
const half: FenceConfig = { ...both, isolation: [level('fc-off')], powerManagement: [level('a-off', 'a-on')] };
const planned = planOf(both);

describe('what a fence was to switch off when it began', () => {
  test('[SAF-5] all devices of each level that has several', () => {
    const names = planned.map(({ step, off }) => [step, ...off.map(({ method }) => method)]);
    assert.deepEqual(names, [
      ['isolation', 'fc-off', 'net-off'],
      ['power-management', 'a-off', 'b-off'],
    ]);
    assert.deepEqual(planOf(half), []);
  });

  test('[SAF-5] one that was taken out is named; added or renamed ones, and another level, are none', () => {
    const lost = (...names: string[]): string | undefined =>
      takenOut(planned, 'power-management', level(...names))?.replace(/ was edited.*/, '');
    assert.equal(lost('a-off'), 'b-off');
    assert.equal(lost('b-off', 'c-off'), 'a-off');
    assert.equal(lost('b-off', 'a-off'), undefined);
    assert.equal(lost('a-off', 'b-off', 'c-off'), undefined);
    assert.equal(lost('c-off'), undefined);
    assert.equal(lost('net-off'), undefined, 'of another step');
    assert.equal(takenOut(undefined, 'power-management', level('a-off')), undefined);
    assert.equal(takenOut(planned, 'power-management', undefined), undefined);
  });

  function next(state: Partial<FenceState>, facts: Partial<FenceFacts> = {}, config = half): FenceState {
    const before = { ...beginFence(0, 'b1'), planned, ...state };
    const moved = transition(before, { facts: { ...quiet, nowMs: 1000, ...facts }, config, limits });
    return moved.kind === 'state' ? moved.state : assert.fail(moved.kind);
  }

  test('[SAF-5, FEN-14] the rest of its level cuts nobody off, and is no fact', () => {
    const off = (step: 'isolation' | 'power-management'): FenceState['switched'] => {
      const method = (step === 'isolation' ? half.isolation : half.powerManagement)[0]!.off[0]!;
      return withEntry([], { step, method }, { sentAtMs: 1, confirmedAtMs: 2 });
    };
    for (const [phase, step] of [
      ['isolating', 'isolation'],
      ['isolated', 'isolation'],
      ['poweringOff', 'power-management'],
      ['off', 'power-management'],
    ] as const) {
      const failed = next({ phase, switched: off(step) });
      assert.equal(failed.phase, 'failed', phase);
      assert.match(failed.message ?? '', /^(net|b)-off was edited or taken out after its fence had begun, /);
      assert.notEqual(next({ phase, switched: off(step), planned: undefined }).phase, 'failed', phase);
    }
  });

  test('[SAF-5] nor when it begins anew, unless the machine has booted since', () => {
    const failed = { phase: 'failed', message: 'taken out' } as const;
    assert.equal(next(failed, { nowMs: 1e6 }).planned, planned);
    assert.equal(next(failed, { nowMs: 1e6, bootId: 'b2' }).planned, undefined);
  });

  test('[FEN-14, FEN-11] what a level of ports that has failed has closed is opened again, and no proof', () => {
    const config = { ...both, isolation: [level('fc-off', 'net-off'), level('cordon')] };
    const [method] = config.isolation[0]!.off;
    const closed = withEntry([], { step: 'isolation', method: method! }, { sentAtMs: 1, confirmedAtMs: 2 });
    const other = config.isolation[0]!.off[1]!;
    const switched = withEntry(closed, { step: 'isolation', method: other }, { sentAtMs: 3 });
    const state = { phase: 'isolating', switched, method: 1, retries: limits.retries } as const;
    const task = { outcome: 'failed', message: 'net-off: refused' } as const;
    const given = next(state, { task }, config);
    assert.equal(given.level, 1);
    const told = given.switched.map((one) => [one.method, one.sentAtMs, one.confirmedAtMs]);
    assert.deepEqual(told, [
      ['fc-off', 1, undefined],
      ['net-off', 3, undefined],
    ]);
  });
});
