import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import { FENCE_PHASES, NodeFenceSchema } from '../api/node-fence.ts';
import type { FenceState } from './automaton.ts';
import { levelsOf, stateOf, storedOf } from './stored.ts';

const method = (name: string, action: Method['action']): Method => ({
  name,
  action,
  driver: 'built-in',
  parameters: {},
  secrets: [],
});
const config: FenceConfig = {
  isolation: [{ off: [method('fc-off', 'off')], on: [] }],
  powerManagement: [
    { off: [method('a-off', 'off'), method('b-off', 'off')], on: [method('a-on', 'on'), method('b-on', 'on')] },
  ],
  recovery: [{ off: [], on: [method('fc-on', 'on')] }],
};
const startMs = Date.parse('2026-01-01T00:00:00Z');
const time = fc.integer({ min: 0, max: 10 ** 9 }).map((ms) => startMs + ms);

const states: fc.Arbitrary<FenceState> = fc
  .record({
    phase: fc.constantFrom(...FENCE_PHASES),
    level: fc.nat(3),
    method: fc.nat(3),
    retries: fc.nat(9),
    restarts: fc.nat(9),
    startedAtMs: time,
    phaseStartedAtMs: time,
    bootId: fc.constantFrom('', 'boot-1', 'boot-2'),
    begun: fc.boolean(),
    notBeforeMs: fc.option(time, { nil: undefined }),
    message: fc.option(fc.string({ maxLength: 40 }), { nil: undefined }),
  })
  .map(({ notBeforeMs, message, ...rest }) => ({
    ...rest,
    ...(notBeforeMs === undefined ? {} : { notBeforeMs }),
    ...(message === undefined ? {} : { message }),
  }));

const storing = { before: undefined, config, cleanResources: true, nowMs: startMs };

describe('a fence as it is stored', () => {
  test('[FEN-3] is read back as it was, from what the API takes', () => {
    fc.assert(
      fc.property(states, (state) => {
        const fence = storedOf(state, storing);
        const object = {
          apiVersion: 'fenceline.dev/v1alpha1',
          kind: 'NodeFence',
          metadata: { name: 'node-fence-node-1' },
          spec: { node: 'node-1' },
          status: { fence },
        };
        const parsed = NodeFenceSchema.parse(object).status.fence;
        assert.ok(parsed);
        assert.deepEqual(stateOf(parsed), state);
      }),
    );
  });

  test('[FEN-3] begun is remembered since the first time, and a failure keeps the step that failed', () => {
    const before = storedOf(anyState('isolating'), storing);
    const after = storedOf(anyState('failed'), { ...storing, before, nowMs: startMs + 5000 });
    assert.equal(after.irrevocableSince, before.irrevocableSince);
    assert.deepEqual([after.step, after.status], ['isolation', 'error']);
    assert.equal(before.method, 'fc-off');
  });

  test('of a level that is done all methods are named: they are who answers for it', () => {
    const done = { ...stateOf(storedOf(anyState('off'), storing)), phase: 'off' as const, method: 2 };
    assert.equal(storedOf(done, storing).method, 'a-off b-off');
    assert.equal(storedOf({ ...done, phase: 'poweringOn', method: 1 }, storing).method, 'b-on');
  });

  test('every phase has its levels', () => {
    assert.equal(levelsOf('isolating', config), config.isolation);
    assert.equal(levelsOf('off', config), config.powerManagement);
    assert.equal(levelsOf('recovering', config), config.recovery);
  });
});

function anyState(phase: FenceState['phase']): FenceState {
  return {
    phase,
    level: 0,
    method: 0,
    retries: 0,
    restarts: 0,
    startedAtMs: startMs,
    phaseStartedAtMs: startMs,
    bootId: 'boot-1',
    begun: true,
  };
}
