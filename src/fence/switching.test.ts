import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { configs, full, level, limits, quiet } from '../../test/support/fence-steps.ts';
import type { FenceConfig } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { transition } from './automaton.ts';
import type { FenceFacts, FenceState, TaskNews, Transition } from './state.ts';
import { beginFence } from './state.ts';
import type { Switched } from './switched.ts';
import { retryAfterMs } from './switching.ts';

type Moved = Extract<Transition, { kind: 'state' }>;

const alone: FenceConfig = { isolation: [], powerManagement: [level('ipmi-off', 'ipmi-on')], recovery: [] };

function next(state: Partial<FenceState>, config: FenceConfig, facts: Partial<FenceFacts> = {}): Moved {
  const moved = transition(
    { ...beginFence(0, 'b1'), phase: 'poweringOff', ...state },
    { facts: { ...quiet, nowMs: 21, ...facts }, config, limits },
  );
  return moved.kind === 'state' ? moved : assert.fail();
}

function entry(name: string, times: Pick<Switched, 'sentAtMs' | 'silentBeside' | 'confirmedAtMs'>): Switched {
  const method = [...full.isolation, ...full.powerManagement, ...alone.powerManagement]
    .flatMap(({ off }) => off)
    .find((one) => one.name === name);
  const device = (method && deviceHash(method)) ?? assert.fail(name);
  const step = name === 'fc-off' ? 'isolation' : 'power-management';
  return { step, method: name, device, storage: [], ...times };
}

const untold = (outcome: TaskNews['outcome']): TaskNews => ({ outcome, told: false });
const told = (outcome: TaskNews['outcome']): TaskNews => ({ outcome, told: true });
const sent = { switched: [entry('ipmi-off', { sentAtMs: 10 })] };

test('[SAF-5] what a device says counts for its own method, also where an edit has put another one in its place', () => {
  const first = next({}, alone).state;
  const edited = { ...alone, powerManagement: [level('pdu-off')] };
  assert.deepEqual(next(first, edited, { task: { outcome: 'running' } }).state, first);
  const heard = next(first, edited, { task: told('succeeded') }).state;
  assert.deepEqual([heard.switched, heard.notBeforeMs], [first.switched, 21], 'another try, with another key');
  const both = next(heard, edited).state.switched.map(({ method, confirmedAtMs }) => [method, confirmedAtMs]);
  assert.deepEqual(both, [
    ['ipmi-off', undefined],
    ['pdu-off', undefined],
  ]);
});

describe('a method that switches off', () => {
  test('[FEN-7] that is not there any more is an error', () => {
    const gone = next({}, { ...alone, powerManagement: [level('ipmi-on')] }).state;
    assert.equal(gone.phase, 'failed');
    assert.match(gone.message ?? '', /^no method of power-management is configured any more/);
  });

  test('[STM-1, SAF-12] is not put on record under a brake or a pause, and goes on where it was', () => {
    for (const held of [{ isBraked: true }, { isPaused: true }]) {
      assert.deepEqual(next({}, alone, held).state.switched, []);
    }
    assert.equal(next(sent, alone, { isBraked: true }).run?.name, 'ipmi-off');
    assert.equal(next({}, alone).state.switched[0]?.sentAtMs, 21);
  });

  test('[SAF-8, STM-1] is not told again when nobody calls for it any more, or what holds cuts back holds this one', () => {
    const later = { ...sent, retries: 1 };
    const [fresh, stale] = [{ nowMs: 10 + retryAfterMs - 1 }, { nowMs: 10 + retryAfterMs }];
    for (const held of [{ isBraked: true }, { isCalledFor: false }]) {
      assert.equal(next(later, alone, { ...held, ...fresh }).run?.name, 'ipmi-off', 'it was put on record just now');
      assert.equal(next(later, alone, { ...held, ...stale }).run, undefined);
      assert.equal(next(later, alone, { ...held, ...stale, task: { outcome: 'running' } }).run?.name, 'ipmi-off');
      const asked = next(later, alone, { ...held, ...stale, isFoundOff: true });
      assert.deepEqual([asked.run?.name, asked.isQuestion], ['ipmi-off', true]);
    }
    assert.match(next(later, alone, { isCalledFor: false, ...stale }).waitsFor ?? '', /^what it was told for is over/);
    assert.equal(next(later, alone, { isBraked: true, ...stale }).waitsFor, undefined, 'its trouble goes on');
    const unsettled = next(later, alone, { isCalledFor: false, isUnsettled: true, ...stale });
    assert.deepEqual(
      [unsettled.run, unsettled.waitsFor],
      [undefined, undefined],
      'nobody knows yet: it keeps its slot',
    );
    assert.deepEqual(next(later, alone, stale).run?.name, 'ipmi-off');
  });

  test('[SAF-8] that an earlier try has told stays told, also where a later one was told nothing', () => {
    const again = { ...sent, retries: 1, notBeforeMs: 20 };
    const sentAt = (state: object): unknown =>
      next(state, alone, { task: untold('failed') }).state.switched.map(({ sentAtMs }) => sentAtMs);
    assert.deepEqual(sentAt(again), [10]);
    assert.deepEqual(sentAt({ ...again, notBeforeMs: 10 }), []);
    assert.deepEqual(sentAt(sent), []);
  });

  test('[STM-1] of the first level of power is only asked where it is found off, and no other is', () => {
    const found = { isFoundOff: true };
    assert.equal(next({}, alone, found).isQuestion, true);
    assert.equal(next({}, alone, { ...found, isPaused: true }).run, undefined);
    const second = next({ level: 1 }, full, found);
    assert.deepEqual([second.isQuestion, second.state.switched[0]?.method], [undefined, 'pdu-off']);
    const config = { ...full, powerManagement: [] };
    const isolated = next({ phase: 'isolating' }, config, found);
    assert.deepEqual([isolated.isQuestion, isolated.state.switched[0]?.method], [undefined, 'fc-off']);
  });

  test('[SAF-17] of power remembers who was silent before; one of storage strikes nobody else', () => {
    const silent = { silentBeside: ['node-2'] };
    assert.deepEqual(next({}, alone, silent).state.switched[0]?.silentBeside, ['node-2']);
    assert.equal('silentBeside' in (next({ phase: 'isolating' }, full, silent).state.switched[0] ?? {}), false);
    assert.equal('silentBeside' in (next({}, alone).state.switched[0] ?? {}), false, 'nobody has looked');
    const known = { switched: [entry('ipmi-off', { sentAtMs: 10, ...silent })] };
    const failed = next(known, alone, { task: told('failed') }).state;
    assert.deepEqual(failed.switched, known.switched, 'the first look is the one that counts');
  });

  test('[FEN-2] waits before it is tried again, and not for what runs', () => {
    const later = { ...sent, notBeforeMs: 30 };
    assert.deepEqual([next(later, alone).run, next(later, alone).recheckAtMs], [undefined, 30]);
    assert.equal(next(later, alone, { task: told('running') }).run?.name, 'ipmi-off');
    assert.equal(next(later, alone, { nowMs: 30 }).run?.name, 'ipmi-off');
  });

  test('[SAF-5] that was dropped has not failed, and what was not sent is not on record', () => {
    const dropped = next(sent, alone, { task: untold('dropped') }).state;
    assert.deepEqual([dropped.switched, dropped.retries, dropped.phase], [[], 0, 'poweringOff']);
    const failed = next(sent, alone, { task: untold('failed') }).state;
    assert.deepEqual([failed.switched, failed.retries], [[], 1]);
  });

  test('[SAF-10] that may not be read what it rests on says so, and has failed when that is the last word', () => {
    const task = { ...untold('dropped'), message: 'may not be read' };
    const dropped = (forMs?: number): (string | number | undefined)[] => {
      const refusedGrounds = forMs === undefined ? undefined : { message: 'denied', forMs };
      // What else is refused is not what this one rests on.
      const refused = { message: 'its quarantine', forMs: 1e6, isReliedOn: false };
      const { message, retries, notBeforeMs, switched } = next(sent, alone, { task, refused, refusedGrounds }).state;
      assert.deepEqual(switched, [], 'nothing was sent');
      return [message, retries, notBeforeMs];
    };
    assert.deepEqual(dropped(), [undefined, 0, undefined], 'what it rested on is not so any more');
    assert.deepEqual(dropped(59_999), [task.message, 0, undefined]);
    assert.deepEqual(dropped(60_000), [task.message, 1, 21 + retryAfterMs]);
    const last = { ...sent, retries: limits.retries };
    const failed = next(last, alone, { task, refusedGrounds: { message: 'denied', forMs: 60_000 } }).state;
    assert.deepEqual([failed.phase, failed.message], ['failed', task.message]);
  });

  test('[SAF-5] by a cordon confirms itself without a command', () => {
    const config = configs['a cordon as well'] ?? assert.fail();
    const cordoned = next({}, config, { task: told('succeeded') }).state.switched;
    assert.deepEqual(cordoned, [{ step: 'power-management', method: 'cordon', storage: [], confirmedAtMs: 21 }]);
  });
});

describe('a method that switches on', () => {
  const cut = { phase: 'recovering', switched: [entry('fc-off', { sentAtMs: 10, confirmedAtMs: 11 })] } as const;
  const found = { phase: 'recovering', switched: [entry('fc-off', { confirmedAtMs: 11 })] } as const;

  test('[FEN-2] waits before it is tried again, and not for what runs', () => {
    const later = { phase: 'poweringOn', ...sent, notBeforeMs: 30 } as const;
    assert.deepEqual([next(later, alone).run, next(later, alone).recheckAtMs], [undefined, 30]);
    assert.equal(next(later, alone, { nowMs: 30 }).run?.name, 'ipmi-on');
    assert.equal(next(later, alone, { task: told('running') }).run?.name, 'ipmi-on');
  });

  test('[SAF-10] that was dropped says why, has not failed, and does not ask its device without end', () => {
    const on = { phase: 'poweringOn', ...sent } as const;
    const { state, run } = next(on, alone, { task: { ...untold('dropped'), message: 'denied' } });
    assert.deepEqual([state.message, state.retries, state.notBeforeMs], ['denied', 0, 21 + retryAfterMs]);
    assert.equal(run, undefined);
    assert.equal(next(state, alone, { nowMs: 21 + retryAfterMs }).run?.name, 'ipmi-on');
    assert.equal(next(on, alone, { task: untold('dropped') }).state.message, 'ipmi-on was not told');
  });

  test('[RET-2] tells what we have cut, and only asks after what was so before', () => {
    assert.equal(next(cut, full).isQuestion, undefined);
    assert.equal(next(found, full).isQuestion, true);
    const on = next({ phase: 'poweringOn', ...sent }, alone);
    assert.deepEqual([on.run?.name, on.isQuestion], ['ipmi-on', undefined]);
    const asked = next(found, full, { task: untold('failed') }).state;
    assert.equal(asked.phase, 'failed', 'to ask again would not change it');
    assert.match(asked.message ?? '', /^fc-off .* it was so before this fence/);
    assert.equal(next(cut, full, { task: told('failed') }).state.retries, 1);
  });

  test('[RET-2] connects what it names; the next one follows', () => {
    const done = { task: told('succeeded') };
    const byOther = next(cut, full, done).state;
    assert.deepEqual([byOther.switched, byOther.method], [[], 1]);
    const own = next(cut, { ...full, recovery: [] }, done).state;
    assert.deepEqual([own.switched, own.method], [[], 0], 'it has left the list that this counts in');
    const power = { switched: [...cut.switched, entry('ipmi-off', { confirmedAtMs: 11 })] };
    assert.equal(next({ ...cut, ...power }, { ...full, recovery: [] }, done).state.method, 0, 'whatever else there is');
    const shared = [{ ...entry('ipmi-off', { sentAtMs: 10, confirmedAtMs: 11 }), step: 'isolation' as const }];
    const on = next({ phase: 'poweringOn', switched: shared }, alone, done).state;
    assert.deepEqual([on.switched, on.method], [shared, 1], 'power connects nothing, though it is by the same device');
    const [switchOfStorage] = level('fc-off', 'fc-on').on;
    const namesake = { ...switchOfStorage!, name: 'ipmi-off' };
    const config = { ...full, recovery: [{ off: [], on: [namesake] }] };
    assert.equal(next({ ...cut, ...power }, config, done).state.method, 1, 'a name of another step is not its own');
  });
});
