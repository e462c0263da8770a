import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FenceConfig, Level, Method } from '../api/fence-config.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { TaskOutcome } from '../api/task.ts';
import type { FenceDecision } from './decide-fence.ts';
import { decideFence } from './decide-fence.ts';
import { tryKey } from './place.ts';
import { stateOf } from './stored.ts';

function method(name: string): Method {
  const action = name.endsWith('-on') ? 'on' : name === 'cordon' ? 'cordon' : 'off';
  return { name, action, driver: 'agent:fence_test', parameters: { plug: name.replace(/-.*/, '') }, secrets: [] };
}

function level(...names: string[]): Level {
  const methods = names.map(method);
  return { off: methods.filter(({ action }) => action !== 'on'), on: methods.filter(({ action }) => action === 'on') };
}

const bmc = level('bmc-off', 'bmc-on');
const pdu = level('pdu-off');
const fc = level('fc-off');
const nowMs = Date.parse('2026-01-01T00:00:00Z');

interface Edited {
  isolation?: Level[];
  power?: Level[];
  /** What came of the method that runs. */
  answer?: TaskOutcome | 'dropped';
  isReleased?: boolean;
}

/** A fence, decided once for each state of its configuration; what runs answers in the next look. */
function play(...looks: Edited[]): FenceDecision {
  let decided: FenceDecision = { isCancelled: false };
  let running: string | undefined;
  for (const { isolation = [], power = [], answer = 'running', isReleased = false } of looks) {
    const config: FenceConfig = { isolation, powerManagement: power, recovery: [] };
    const { fence: before } = decided;
    decided = decideFence({
      nowMs,
      status: before && { ...EMPTY_STATUS, fence: before },
      isWanted: true,
      isCalledFor: true,
      cleanResources: true,
      bootId: 'boot-1',
      config: { ok: true, config },
      limits: { isolateAfterMs: 0, powerManagementAfterMs: 0, bootTimeoutMs: 60_000, retries: 0, restarts: 0 },
      ...(running === undefined ? {} : { task: { key: running, outcome: answer, told: true } }),
      isBack: false,
      isHarmless: true,
      isReleased,
      isWorthIt: true,
      isFoundOff: false,
      isAliveSince: false,
      isStopped: false,
      isPaused: false,
    });
    const { fence, run } = decided;
    // What is under way stays so until it has answered.
    if (running !== undefined && answer === 'running') continue;
    running = fence && run && tryKey(stateOf(fence), run);
  }
  return decided;
}

function told({ fence, run }: FenceDecision): unknown[] {
  const switched = (fence?.switched ?? []).map(
    ({ method: name, confirmedAt }) => `${name}${confirmedAt ? ' is off' : ''}`,
  );
  return [fence?.phase, fence?.level, switched.join(), run?.name];
}

describe('a fence whose configuration is edited', () => {
  test('[FEN-14] goes on with the level that it has begun, wherever an edit has put it', () => {
    const inFront = [pdu, bmc];
    assert.deepEqual(told(play({ power: [bmc] }, { power: inFront })), ['poweringOff', 1, 'bmc-off', 'bmc-off']);
    const off = play({ power: [bmc] }, { power: inFront, answer: 'succeeded' });
    assert.deepEqual(told(off), ['off', 1, 'bmc-off is off', undefined], 'what it says counts');
    const found = [{ power: [bmc] }, { power: [bmc], answer: 'succeeded' as const }];
    assert.deepEqual(told(play(...found, { power: inFront })), ['off', 1, 'bmc-off is off', undefined]);
    const on = play(...found, { power: inFront, isReleased: true });
    assert.deepEqual(told(on), ['poweringOn', 1, 'bmc-off', 'bmc-on']);
    const behind = play(...found, { power: inFront, isReleased: true }, { power: [bmc] });
    assert.deepEqual(told(behind), ['poweringOn', 0, 'bmc-off', 'bmc-on']);
    const isolating = play({ isolation: [fc] }, { isolation: [pdu, fc] });
    assert.deepEqual(told(isolating), ['isolating', 1, 'fc-off', 'fc-off']);
  });

  test('[FEN-14] tries the next level after one that has failed, although its devices have been told', () => {
    const second = [{ power: [bmc, pdu] }, { power: [bmc, pdu], answer: 'failed' as const }];
    assert.deepEqual(told(play(...second)), ['poweringOff', 1, 'bmc-off,pdu-off', 'pdu-off']);
    assert.deepEqual(told(play(...second, { power: [pdu, bmc] })), ['poweringOff', 0, 'bmc-off,pdu-off', 'pdu-off']);
  });

  test('[FEN-14] knows a level that was edited itself by what it has told', () => {
    const more = level('bmc-off', 'second-off', 'bmc-on');
    const edited = play({ power: [bmc] }, { power: [pdu, more], answer: 'succeeded' });
    assert.deepEqual(told(edited), ['poweringOff', 1, 'bmc-off is off,second-off', 'second-off']);
    const wider = [pdu, level('fc-off', 'net-off')];
    const isolating = play({ isolation: [fc] }, { isolation: wider });
    assert.deepEqual(told(isolating), ['isolating', 1, 'fc-off', 'fc-off']);
    const isolated = play({ isolation: [fc] }, { isolation: [fc], answer: 'succeeded' }, { isolation: wider });
    assert.equal(isolated.fence?.level, 1);
  });

  test('[FEN-14] has what was put in front of what it has done as well', () => {
    const looks = [
      { power: [level('bmc-off', 'pdu-off')] },
      { power: [level('bmc-off', 'pdu-off')], answer: 'succeeded' as const },
    ];
    assert.equal(play(...looks).fence?.index, 1);
    const edited = play(...looks, { power: [level('new-off', 'bmc-off', 'pdu-off')] });
    assert.deepEqual([edited.run?.name, edited.fence?.index], ['new-off', 0]);
  });

  test('[SAF-5] takes no answer for that of another method that stands in its place', () => {
    const cordoned = play({ isolation: [fc] }, { isolation: [level('cordon', 'fc-off')], answer: 'succeeded' });
    assert.deepEqual(told(cordoned), ['isolating', 0, 'fc-off', 'cordon']);
    const swapped = play({ power: [bmc] }, { power: [pdu], answer: 'succeeded' });
    assert.deepEqual(told(swapped), ['poweringOff', 0, 'bmc-off,pdu-off', 'pdu-off']);
    const on = [{ power: [bmc] }, { power: [bmc], answer: 'succeeded' as const }, { power: [bmc], isReleased: true }];
    const other = play(...on, { power: [level('bmc-off', 'other-on')], answer: 'succeeded' });
    assert.deepEqual(told(other), ['poweringOn', 0, 'bmc-off', 'other-on'], 'it is not on yet');
  });

  test('[SAF-5] what switches on is edited meanwhile: it begins with the first, and none is left out', () => {
    const both = level('bmc-off', 'bmc-on', 'second-on');
    const off = [{ power: [both] }, { power: [both], answer: 'succeeded' as const }];
    const on = [...off, { power: [both], isReleased: true }, { power: [both], answer: 'succeeded' as const }];
    assert.deepEqual([play(...on).run?.name, play(...on).fence?.index], ['second-on', 1]);
    assert.equal(play(...on, { power: [both] }).run?.name, 'second-on', 'as it was: it goes on');
    const shorter = play(...on, { power: [level('bmc-off', 'second-on')] });
    assert.deepEqual([shorter.fence?.phase, shorter.run?.name, shorter.fence?.index], ['poweringOn', 'second-on', 0]);
    const other = play(...on, { power: [level('bmc-off', 'third-on', 'second-on')] });
    assert.equal(other.run?.name, 'third-on');
  });
});
