import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import { transition } from './automaton.ts';
import type { FenceFacts, FenceState, TaskNews } from './state.ts';
import { beginFence } from './state.ts';

const facts: FenceFacts = {
  nowMs: 21,
  isBack: false,
  isHarmless: true,
  bootId: 'b1',
  isReleased: false,
  isWorthIt: true,
  isFoundOff: false,
  isAliveSince: false,
  isBraked: false,
  isStopped: false,
  isPaused: false,
};
const limits = { isolateAfterMs: 0, powerManagementAfterMs: 0, bootTimeoutMs: 30, retries: 1, restarts: 1 };

function by(name: string): FenceConfig {
  const off: Method = { name, action: 'off', driver: 'agent:fence_test', parameters: { plug: name }, secrets: [] };
  return { isolation: [], powerManagement: [{ off: [off], on: [] }], recovery: [] };
}

function next(state: FenceState, config: FenceConfig, task?: TaskNews): FenceState {
  const moved = transition(state, { facts: { ...facts, ...(task && { task }) }, config, limits });
  return moved.kind === 'state' ? moved.state : assert.fail();
}

test('[SAF-5] what a device says counts for its own method, also where an edit has put another one in its place', () => {
  const told = next({ ...beginFence(0, 'b1'), phase: 'poweringOff' }, by('ipmi-off'));
  const edited = by('pdu-off');
  assert.deepEqual(next(told, edited, { outcome: 'running' }), told);
  const heard = next(told, edited, { outcome: 'succeeded', told: true });
  assert.deepEqual([heard.switched, heard.notBeforeMs], [told.switched, 21], 'another try, with another key');
  const sent = next(heard, edited).switched.map(({ method, confirmedAtMs }) => [method, confirmedAtMs]);
  assert.deepEqual(sent, [
    ['ipmi-off', undefined],
    ['pdu-off', undefined],
  ]);
});
