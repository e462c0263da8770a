import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { hasFailedForGood } from './state.ts';
import type { Switched } from './switched.ts';
import { connected, cutsOf } from './switched.ts';

function method(name: string, plug: string, action: Method['action'] = 'off'): Method {
  return { name, action, driver: 'simulated-switch', parameters: { plug }, secrets: [] };
}

function cut(by: Method): Switched {
  const device = deviceHash(by);
  assert.ok(device);
  return { step: 'isolation', method: by.name, device, storage: ['csi.test'], sentAtMs: 1, confirmedAtMs: 2 };
}

test('[RET-2] what one device connects again says nothing of what another one has cut off', () => {
  const [one, other] = [method('fc-a-off', '1'), method('fc-b-off', '2')];
  const left = connected([cut(one), cut(other)], method('fc-a-on', '1', 'on'));
  assert.deepEqual(
    cutsOf(left).map((entry) => entry.method),
    ['fc-b-off'],
  );
  assert.deepEqual(connected(left, method('fc-b-on', '2', 'on')), []);
});

test('[SAF-17] a fence that has met swapped outlets does not begin anew, however often it may', () => {
  const failed = { phase: 'failed', restarts: 0 } as const;
  assert.equal(hasFailedForGood(failed, { restarts: 1 }), false);
  assert.equal(hasFailedForGood({ ...failed, swapped: ['node-2'] }, { restarts: 1 }), true);
  assert.equal(hasFailedForGood({ ...failed, isForGood: true }, { restarts: 1 }), true);
  assert.equal(hasFailedForGood({ ...failed, restarts: 1 }, { restarts: 1 }), true);
});
