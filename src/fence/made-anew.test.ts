/** A fence that was begun for a Node object that is gone: what it has cut is undone for the next one of its name, or said. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { full, limits, quiet } from '../../test/support/fence-steps.ts';
import type { FenceConfig } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { transition } from './automaton.ts';
import type { FenceFacts, FenceState, Moved } from './state.ts';
import { beginFence } from './state.ts';

const none: FenceConfig = { isolation: [], powerManagement: [], recovery: [] };
const [port] = full.isolation.flatMap(({ off }) => off.map((method) => deviceHash(method) ?? ''));
const entry = { step: 'isolation', method: 'fc-off', device: port ?? '', storage: [], sentAtMs: 0 } as const;
const cut: FenceState = { ...beginFence(0, 'b1'), switched: [entry] };
const recovering: FenceState = { ...cut, phase: 'recovering' };
const failed: FenceState = { ...cut, phase: 'failed', failedIn: 'recovery', restarts: limits.restarts, message: 'no' };
const nowMs = 1_000_000;

function next(state: FenceState, facts: Partial<FenceFacts>, config = none): Moved {
  const moved = transition(state, { facts: { ...quiet, nowMs, ...facts }, config, limits });
  return moved.kind === 'state' ? moved : assert.fail();
}

describe('[RET-2, SAF-5] what nothing that is configured connects again', () => {
  const says = /^fc-off cuts the node off from its storage, and nothing that is configured connects it again/;

  test('is a failure that is said, and not before a Node object that was made anew is back', () => {
    const back = next(recovering, { isBack: true, isOfPredecessor: true }).state;
    assert.deepEqual([back.phase, back.failedIn], ['failed', 'recovery']);
    assert.match(back.message ?? '', says);
    const early = next(recovering, { isOfPredecessor: true });
    assert.equal(early.state, recovering, 'it is being fenced, and in quarantine for that');
    assert.match(early.waitsFor ?? '', says);
    assert.equal(next(recovering, { bootId: 'b2' }).state.phase, 'failed', 'its own');
  });

  test('is not tried without end for it, and nothing is cut anew', () => {
    for (const isBack of [false, true]) {
      const at = next(failed, { isBack, isOfPredecessor: true });
      assert.deepEqual([at.state, at.run], [failed, undefined]);
    }
    const left = { ...failed, restarts: 0 };
    const used = next(left, { isOfPredecessor: true }).state;
    assert.deepEqual(used, failed, 'nobody waits for it to begin anew');
    assert.equal(next(left, {}).state.phase, 'waiting', 'its own');
  });

  test('is tried for it where that was given up with the Node object before, or has failed before that', () => {
    const taken = (state: FenceState): string => next(state, { isOfPredecessor: true }, full).state.phase;
    assert.deepEqual(
      [taken({ ...failed, isForGood: true }), taken({ ...failed, failedIn: 'power-management' }), taken(failed)],
      ['recovering', 'recovering', 'failed'],
    );
  });
});
