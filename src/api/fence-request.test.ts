import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTakenUp, requestOf } from './fence-request.ts';

const requested = { by: 'jane', at: '2026-01-01T00:10:00Z' };
const record = (phase?: string, startedAt = '2026-01-01T00:10:00Z'): Parameters<typeof requestOf>[0] => ({
  spec: { requested },
  status: phase === undefined ? {} : { fence: { phase, startedAt } },
});

test('a request stands until the fence that began after it has ended', () => {
  assert.equal(requestOf({ spec: {} }), undefined);
  assert.equal(requestOf(record()), requested);
  assert.equal(requestOf(record('finished', '2026-01-01T00:09:59Z')), requested, 'an earlier fence is no answer');
  assert.equal(requestOf(record('failed', '2026-01-01T00:09:59Z')), requested);
  assert.equal(requestOf(record('off')), requested);
  assert.equal(requestOf(record('finished')), undefined);
  assert.equal(requestOf(record('failed')), undefined);
  assert.equal(isTakenUp(record('waiting')), true);
  assert.equal(isTakenUp(record('waiting', '2026-01-01T00:09:59Z')), false);
  assert.equal(isTakenUp(record()), false);
});
