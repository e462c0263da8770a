import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../objects/pods.ts';
import { behaviourOf } from './pod-behaviour.ts';

const exitOf = (metadata: object): unknown => behaviourOf({ metadata: { name: 'x', ...metadata } } as Pod).exit;

test('pods run until they are stopped, those of remedies end, and any may say how', () => {
  const remedy = { labels: { 'fenceline.dev/remedied-node-uid': 'u' } };
  const says = (seconds: string, code?: string): object => ({
    annotations: {
      'simulation.fenceline.dev/runs-for-seconds': seconds,
      ...(code === undefined ? {} : { 'simulation.fenceline.dev/exit-code': code }),
    },
  });
  assert.equal(exitOf({}), undefined);
  assert.equal(exitOf(says('soon')), undefined);
  assert.deepEqual(exitOf(remedy), { afterMs: 5000, code: 0 });
  assert.deepEqual(exitOf(says('2', '3')), { afterMs: 2000, code: 3 });
  assert.deepEqual(exitOf({ ...remedy, ...says('1') }), { afterMs: 1000, code: 0 });
});
