/** A fence that has begun, and whose time has not come, while a storm goes on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FenceConfig } from '../api/fence-config.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { FenceCase } from './decide-fence.ts';
import { decideFence } from './decide-fence.ts';
import type { StoredFence } from './stored.ts';

const method = { driver: 'built-in', parameters: {}, secrets: [] } as const;
const config: FenceConfig = {
  isolation: [],
  powerManagement: [
    { off: [{ ...method, name: 'pdu-off', action: 'off' }], on: [{ ...method, name: 'pdu-on', action: 'on' }] },
  ],
  recovery: [],
};
const nowMs = Date.parse('2026-01-01T00:00:00Z');
const patient: FenceCase = {
  nowMs,
  status: undefined,
  isWanted: true,
  isCalledFor: true,
  cleanResources: true,
  bootId: 'boot-1',
  config: { ok: true, config },
  limits: { isolateAfterMs: 30_000, powerManagementAfterMs: 30_000, bootTimeoutMs: 60_000, retries: 1, restarts: 0 },
  isBack: false,
  isHarmless: true,
  isReleased: false,
  isWorthIt: true,
  isFoundOff: false,
  isAliveSince: false,
  isStopped: false,
  isPaused: false,
};
const brake = { reason: 'StormLimit', message: '2 of 3 nodes' };

const holdWith = (change: Partial<FenceCase>): string | undefined =>
  decideFence({ ...patient, brake, ...change }).hold?.reason;
const stored = (fence: StoredFence): Partial<FenceCase> => ({ status: { ...EMPTY_STATUS, fence } });

test('[STM-1] in a storm it is held from its beginning, and by nothing else before its time has come', () => {
  assert.equal(holdWith({}), 'StormLimit');
  assert.equal(holdWith({ brake: { ...brake, reason: 'ZoneStormLimit' } }), 'ZoneStormLimit');
  assert.equal(holdWith({ brake: { ...brake, reason: 'ConcurrencyLimit' } }), undefined);
  assert.equal(holdWith({ brake: undefined as never }), undefined);
  assert.equal(holdWith({ isFoundOff: true }), undefined, 'nothing is cut');
});

test('[STM-1] not until it is known to be one: of everybody whom nobody has judged yet that is known in a moment', () => {
  assert.equal(holdWith({ brake: { ...brake, recheckAtMs: nowMs + 1000 } }), undefined);
});

test('[STM-1] one that had begun before is held as well, unless an earlier try may have cut something', () => {
  const { fence } = decideFence(patient);
  assert.ok(fence);
  assert.equal(holdWith(stored(fence)), 'StormLimit');
  for (const left of [{ lost: ['a'] }, { told: ['a'] }]) {
    assert.equal(holdWith(stored({ ...fence, ...left } as unknown as StoredFence)), undefined);
  }
});
