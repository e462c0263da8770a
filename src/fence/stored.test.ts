import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import { FENCE_PHASES } from '../api/fence-names.ts';
import { NodeFenceSchema } from '../api/node-fence.ts';
import type { FenceState } from './state.ts';
import { levelsOf } from './place.ts';
import { stateOf, storedOf } from './stored.ts';
import type { Switched } from './switched.ts';

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

const entries: fc.Arbitrary<Switched> = fc
  .record({
    step: fc.constantFrom('isolation' as const, 'power-management' as const),
    method: fc.constantFrom('fc-off', 'a-off'),
    device: fc.option(fc.constant('d1'), { nil: undefined }),
    storage: fc.constantFrom<string[]>([], ['csi.example.com']),
    sentAtMs: fc.option(time, { nil: undefined }),
    confirmedAtMs: fc.option(time, { nil: undefined }),
  })
  .map(({ device, sentAtMs, confirmedAtMs, ...rest }) => ({
    ...rest,
    ...(device === undefined ? {} : { device }),
    ...(sentAtMs === undefined ? {} : { sentAtMs }),
    ...(confirmedAtMs === undefined ? {} : { confirmedAtMs }),
  }));

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
    switched: fc.array(entries, { maxLength: 3 }),
    notBeforeMs: fc.option(time, { nil: undefined }),
    message: fc.option(fc.string({ maxLength: 40 }), { nil: undefined }),
  })
  .map(({ notBeforeMs, message, ...rest }) => ({
    ...rest,
    ...(notBeforeMs === undefined ? {} : { notBeforeMs }),
    ...(message === undefined ? {} : { message }),
    ...(rest.phase === 'failed' ? { failedIn: 'isolation' as const } : {}),
  }));

const storing = { config, cleanResources: true };

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

  test('[FEN-3] a failure keeps the step that failed', () => {
    const after = storedOf({ ...anyState('failed'), failedIn: 'isolation' }, storing);
    assert.deepEqual([after.step, after.status], ['isolation', 'error']);
    assert.equal(storedOf(anyState('isolating'), storing).method, 'fc-off');
  });

  test('of a level that is done all methods are named: they are who answers for it', () => {
    const switched = ['a-off', 'b-off'].map((name) => ({
      step: 'power-management' as const,
      method: name,
      storage: [],
    }));
    const done = { ...anyState('off'), method: 2, switched };
    assert.equal(storedOf(done, storing).method, 'a-off b-off');
    assert.equal(storedOf({ ...done, phase: 'poweringOn', method: 1 }, storing).method, 'b-on');
  });

  test('where nothing names a method none is named', () => {
    for (const phase of ['off', 'isolated'] as const)
      assert.equal(storedOf(anyState(phase), storing).method, undefined);
    const onlyOff = { ...config, powerManagement: [{ off: [method('a-off', 'off')], on: [] }] };
    const booting = storedOf(anyState('booting'), { ...storing, config: onlyOff });
    assert.equal('method' in booting, false);
  });

  test('[FEN-1] what is isolated by nothing still waits, and what is isolated does not', () => {
    const cut = { step: 'isolation' as const, method: 'fc-off', storage: [] };
    assert.deepEqual(storedOf(anyState('isolated'), storing).status, 'new');
    assert.deepEqual(storedOf({ ...anyState('isolated'), switched: [cut] }, storing).status, 'running');
  });

  test('[FEN-3] what went wrong fits, however much a device says', () => {
    const message = 'x'.repeat(5000);
    assert.equal(storedOf({ ...anyState('failed'), message }, storing).message?.length, 1024);
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
    switched: [],
  };
}
