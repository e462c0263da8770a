import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { full, limits, quiet } from '../../test/support/fence-steps.ts';
import { transition } from './automaton.ts';
import type { FenceFacts, FenceState, Moved } from './state.ts';
import { beginFence } from './state.ts';
import { givenUpAfterMs } from './uncut.ts';

const isolated: FenceState = { ...beginFence(0, 'b1'), phase: 'isolated' };
const alone = { ...full, powerManagement: [] };
const silent = (forMs: number): Partial<FenceFacts> => ({
  unconfirmed: { message: 'no route', isDisbelieved: false, forMs },
});

function next(state: FenceState, facts: Partial<FenceFacts>, config = full): Moved {
  const moved = transition(state, { facts: { ...quiet, ...facts }, config, limits });
  return moved.kind === 'state' ? moved : assert.fail('it was cancelled');
}

describe('a way to the storage that does not say any more that it is closed', () => {
  test('[FEN-11, SAF-5] is said at once, and is as it was when it says so again or nothing is left to go', () => {
    const { state } = next(isolated, silent(0));
    assert.deepEqual([state.phase, state.isUnconfirmed, state.isForGood], ['isolated', true, undefined]);
    assert.match(state.message ?? '', /its pods go when its device says so again: no route$/);
    assert.equal(next(state, silent(1000)).state, state, 'once');
    assert.deepEqual(next(state, {}).state, isolated);
    assert.deepEqual(next(state, { ...silent(1000), isReleased: true }).state, isolated);
  });

  test('[FEN-3, STM-4] is a failure in the end, and nobody else waits for it where nothing else is configured', () => {
    const { state } = next(isolated, silent(0), alone);
    assert.equal(next(state, silent(1), alone).waitsFor, state.message);
    const failed = next(state, silent(givenUpAfterMs), alone).state;
    assert.equal(failed.isForGood, true);
    assert.equal(next(failed, silent(givenUpAfterMs + 1), alone).state, failed);
    assert.deepEqual(next(failed, {}, alone).state, isolated);
  });

  test('[FEN-1] keeps nobody from cutting the power when that is due', () => {
    const { state } = next(isolated, silent(givenUpAfterMs));
    const { state: off } = next(state, { ...silent(givenUpAfterMs), nowMs: 20 });
    assert.deepEqual([off.phase, off.isUnconfirmed, off.isForGood], ['poweringOff', undefined, undefined]);
  });
});
