import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits, quiet } from '../../test/support/fence-steps.ts';
import type { Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import type { FenceState } from './state.ts';
import { beginFence, hasFailedForGood, isRebooted, isSettled } from './state.ts';
import type { Switched } from './switched.ts';
import {
  carried,
  commandTakesMs,
  connected,
  cutsOf,
  edited,
  entryFor,
  levelTold,
  onOf,
  openUntilMs,
  sentAtMs,
  unconfirmed,
  undoOf,
  wasFound,
} from './switched.ts';

function method(name: string, plug: string, action: Method['action'] = 'off'): Method {
  return { name, action, driver: 'simulated-switch', parameters: { plug }, secrets: [] };
}

function cut(by: Method): Switched {
  const device = deviceHash(by);
  assert.ok(device);
  return { step: 'isolation', method: by.name, device, storage: ['csi.test'], sentAtMs: 1, confirmedAtMs: 2 };
}

test('[RET-2] what one device connects again says nothing of what another one has cut off', () => {
  const [one, other] = [method('fc-a-off', '1'), method('fc-b-off', '2')];
  const left = connected([cut(one), cut(other)], method('fc-a-on', '1', 'on'));
  assert.deepEqual(
    cutsOf(left).map((entry) => entry.method),
    ['fc-b-off'],
  );
  assert.deepEqual(connected(left, method('fc-b-on', '2', 'on')), []);
});

const [fc, power] = [method('fc-off', '1'), method('ipmi-off', '2')];
const off = (by: Method): Switched => ({ ...cut(by), step: 'power-management' });

test('[SAF-5] an entry is that of its step, its method and its device', () => {
  const known = cut(fc);
  assert.equal(entryFor([known], 'isolation', fc), known);
  assert.equal(entryFor([known], 'power-management', fc), undefined);
  assert.equal(entryFor([known], 'isolation', method('fc-off', '9')), undefined, 'of the same name, somewhere else');
  assert.equal(entryFor([known], 'isolation', method('other', '1')), undefined);
});

test('[SAF-8] the first command counts, of this step', () => {
  const all = [{ ...off(power), sentAtMs: 30 }, { ...off(power), sentAtMs: 20 }, cut(fc)];
  assert.equal(sentAtMs(all, 'power-management'), 20);
  assert.equal(sentAtMs([cut(fc)], 'power-management'), undefined);
  const { sentAtMs: _, ...found } = off(power);
  assert.equal(sentAtMs([found], 'power-management'), undefined);
});

test('[SAF-5] what has to be confirmed anew is what was told in this step; what was only found is forgotten', () => {
  const { sentAtMs: _, ...found } = off(power);
  const { confirmedAtMs: __, ...told } = off(power);
  assert.deepEqual(unconfirmed([cut(fc), off(power), found], 'power-management'), [cut(fc), told]);
});

test('[SAF-5] what was confirmed by a method that was edited rests on nothing; what was not was no fact', () => {
  const levels = (...methods: Method[]): { off: Method[]; on: Method[] }[] => [{ off: methods, on: [] }];
  const lost = (entry: Switched, ...methods: Method[]): boolean =>
    edited([entry], 'power-management', levels(...methods)) !== undefined;
  assert.equal(lost(off(power), power), false);
  assert.equal(lost(off(power), method('ipmi-off', '9')), true);
  assert.equal(lost(off(power), method('other', '2')), true);
  const { confirmedAtMs: _, ...told } = off(power);
  assert.equal(lost(told, method('other', '9')), false);
  assert.equal(lost(cut(fc), power), false, 'of another step');
});

test('[RET-2] what cuts a node off is undone by the very method that did, wherever it is configured', () => {
  const undo = (...known: Method[]): string[] =>
    undoOf([cut(fc)], { isolation: [{ off: known, on: [] }], powerManagement: [], recovery: [] }, 0).map(
      ({ method: { name, action, parameters } }) => `${name} ${action} ${parameters['plug']}`,
    );
  assert.deepEqual(undo(fc), ['fc-off on 1']);
  assert.deepEqual(undo(method('fc-off', '9')), [], 'of the same name, somewhere else');
  assert.deepEqual(undo(method('other', '1')), []);
  assert.deepEqual(undo(method('other', '1'), method('fc-off', '9'), fc), ['fc-off on 1']);
});

test('[RET-2] what is connected again is storage; a cordon cuts off nothing, and what was told was not found', () => {
  const both = [off(fc), cut(fc)];
  assert.deepEqual(connected(both, fc), [off(fc)], 'its power is another matter');
  const { device: _, ...cordon } = cut(fc);
  assert.deepEqual(cutsOf([cordon, cut(fc)]), [cut(fc)]);
  const { sentAtMs: __, ...found } = cut(fc);
  const { confirmedAtMs: ___, ...unknown } = found;
  assert.deepEqual([cut(fc), found, unknown].map(wasFound), [false, true, false]);
});

test('[FEN-16] another boot is one that is known to be another', () => {
  const state = beginFence(0, 'b1');
  const rebooted = ['b1', 'b2', ''].map((bootId) => isRebooted(state, { ...quiet, bootId }));
  assert.deepEqual(rebooted, [false, true, false]);
});

test('[REM-5] a fence is settled when it is over, one way or the other', () => {
  const settled = (change: Partial<FenceState>): boolean => isSettled({ ...beginFence(0, 'b1'), ...change }, limits);
  assert.ok(settled({ phase: 'finished' }));
  assert.ok(settled({ phase: 'failed', restarts: 1 }));
  assert.equal(settled({ phase: 'failed' }), false);
  assert.equal(settled({ phase: 'off', restarts: 1 }), false, 'the last try is one');
});

test('[SAF-17] a fence that has met swapped outlets does not begin anew, however often it may', () => {
  const failed = { phase: 'failed', restarts: 0 } as const;
  assert.equal(hasFailedForGood(failed, { restarts: 1 }), false);
  assert.equal(hasFailedForGood({ ...failed, swapped: ['node-2'] }, { restarts: 1 }), true);
  assert.equal(hasFailedForGood({ ...failed, isForGood: true }, { restarts: 1 }), true);
  assert.equal(hasFailedForGood({ ...failed, restarts: 1 }, { restarts: 1 }), true);
});

test('[FEN-14, SAF-19] a machine goes on by its own level, then by each other one of which a device was told', () => {
  const [a, b, c] = [method('a-off', 'a'), method('b-off', 'b'), method('c-off', 'c')];
  const on = (name: string): Method => method(`${name}-on`, name, 'on');
  const cordon: Method = { ...method('cordon', 'x', 'cordon'), driver: 'built-in' };
  const config = {
    isolation: [],
    powerManagement: [
      { off: [cordon, a], on: [on('a')] },
      { off: [b], on: [on('b')] },
      { off: [c], on: [on('c')] },
    ],
    recovery: [],
  };
  const sent = (by: Method, sentMs?: number): Switched =>
    ({
      ...cut(by),
      step: 'power-management',
      ...(sentMs === undefined ? { sentAtMs: undefined } : { sentAtMs: sentMs }),
    }) as Switched;
  const names = (state: Parameters<typeof onOf>[0]): string[] => onOf(state, config).map(({ name }) => name);
  assert.deepEqual(names({ level: 1, switched: [sent(b, 1)] }), ['b-on']);
  assert.deepEqual(names({ level: 1, switched: [sent(a, 1), sent(b, 1)] }), ['b-on', 'a-on']);
  assert.deepEqual(names({ level: 1, switched: [sent(a), sent(b, 1)] }), ['b-on'], 'found off, and told nothing');
  const { told = [], switched } = carried({ switched: [sent(a, 1), sent(c, 1)] });
  assert.deepEqual([told, switched], [[deviceHash(a), deviceHash(c)], []]);
  assert.deepEqual(names({ level: 1, switched, told }), ['b-on', 'a-on', 'c-on']);
  assert.equal(levelTold({ switched, told }, config), 2);
  assert.equal(levelTold({ switched: [] }, config), 0);
  assert.deepEqual(carried({ switched: [sent(a)] }), { switched: [] });
});

test('[SAF-8] of several commands the last one that nobody has confirmed may strike for the longest', () => {
  const entry = { step: 'power-management', method: 'ipmi-off', storage: [] } as const;
  assert.equal(openUntilMs([]), undefined);
  assert.equal(openUntilMs([entry, { ...entry, sentAtMs: 9, confirmedAtMs: 10 }]), undefined);
  const sent = [{ ...entry, sentAtMs: 2 }, { ...entry, sentAtMs: 5 }, { ...entry, sentAtMs: 3 }, entry];
  assert.equal(openUntilMs(sent), 5 + commandTakesMs);
});
