import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atRest, heldInVain, heldWhileCut } from './at-rest.ts';
import type { StoredFence } from './stored.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const entry: StoredFence['switched'][number] = { step: 'power-management', method: 'off', storage: [] };
const told: StoredFence = {
  step: 'power-management',
  status: 'running',
  phase: 'poweringOff',
  level: 0,
  index: 0,
  switched: [{ ...entry, commandSentAt: at(10) }],
  cleanResources: true,
  retries: 0,
  restarts: 0,
  startedAt: at(0),
  stepStartedAt: at(0),
};

test('[SAF-10] one that is held is at rest when what its device was told has had its time', () => {
  const look = (seconds: number, change: Partial<StoredFence> = {}, isRunning = false): unknown => {
    const { fence, recheckAtMs } = atRest({ ...told, ...change }, { nowMs: Date.parse(at(seconds)), isRunning });
    return fence.waitsFor ?? (recheckAtMs === undefined ? 'nothing' : new Date(recheckAtMs).toISOString());
  };
  assert.equal(look(99), at(100));
  assert.equal(look(100), heldInVain);
  assert.equal(look(100, {}, true), 'nothing', 'its try is not over, and whoever ends it looks again');
  assert.equal(look(100, { until: at(60) }), at(150), 'it was told again since');
  assert.equal(look(150, { until: at(60) }), heldInVain);
  assert.equal(look(100, { switched: [...told.switched, { ...entry, commandSentAt: at(40) }] }), at(130));
  const off = { phase: 'off' as const, switched: [{ ...entry, commandSentAt: at(10), confirmedAt: at(11) }] };
  assert.equal(look(99, off), at(100), 'it is off, and its pods could go at any moment');
  assert.equal(look(100, off), heldWhileCut);
  assert.equal(look(100, { switched: [...off.switched, ...told.switched] }), heldInVain, 'one of two');
  assert.equal(look(100, { switched: [...off.switched, entry] }), heldWhileCut, 'the other one was told nothing');
  assert.equal(look(500, { ...off, releasedAt: at(20) }), 'nothing', 'they have gone');
  assert.equal(look(500, { ...off, switched: [{ ...entry, confirmedAt: at(11) }] }), 'nothing', 'it was found off');
  assert.equal(look(500, { phase: 'booting' }), 'nothing');
  assert.equal(look(500, { waitsFor: 'somebody' }), 'somebody');
});
