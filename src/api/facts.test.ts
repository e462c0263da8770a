import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsSlot } from './facts.ts';

const at = '2026-01-01T00:00:00Z';
const cutting = { phase: 'poweringOff', switched: [{ commandSentAt: at }] };

test('[SAF-10, STM-4] a slot is held from the first command until what may go has gone, and by nobody who can do no more', () => {
  const holds = (fence: object, more: object = {}, spec = {}): boolean =>
    holdsSlot('fence', { spec, status: { fence: { ...cutting, ...fence }, ...more } });
  assert.equal(holds({}), true);
  assert.equal(holds({ switched: [{}] }), false, 'nothing was told');
  assert.equal(holds({ releasedAt: at }), false, 'all has gone');
  assert.equal(holds({ waitsFor: 'a person' }), false, 'only a person can help');
  assert.equal(holds({ phase: 'booting' }), false, 'not through the boot');
  assert.equal(holds({}, { hold: { reason: 'Paused' } }), false, 'it is held');
  assert.equal(holds({}, {}, { stop: true }), false, 'it is stopped');
});

test('[STM-4] a Job or a drain has a slot of its own from when it begins until it ends', () => {
  const holds = (ladder: { phase: string; begunAt?: string }, more: object = {}): boolean =>
    holdsSlot('remedy', { status: { ladders: [ladder], ...more } });
  assert.equal(holds({ phase: 'running', begunAt: at }), true);
  assert.equal(holds({ phase: 'running' }), false);
  assert.equal(holds({ phase: 'exhausted', begunAt: at }), false);
  assert.equal(holds({ phase: 'running', begunAt: at }, { hold: { reason: 'StormLimit' } }), false);
});
