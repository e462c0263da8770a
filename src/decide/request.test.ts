import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untimely } from './request.ts';

const at = '2026-01-01T00:10:00Z';

test('[SAF-6] it has ten minutes, may be a minute ahead, and is no older than its record', () => {
  const on = (wanted: string, now: string, created = '2026-01-01T00:00:00Z'): string | undefined =>
    untimely(
      { metadata: { creationTimestamp: created }, spec: { requested: { by: 'jane', at: wanted } } },
      Date.parse(now),
    )?.reason;
  assert.equal(on(at, '2026-01-01T00:20:00Z'), undefined);
  assert.equal(on(at, '2026-01-01T00:20:01Z'), 'TooOld');
  assert.equal(on(at, '2026-01-01T00:09:00Z'), undefined);
  assert.equal(on(at, '2026-01-01T00:08:59Z'), 'InTheFuture');
  assert.equal(on(at, '2026-01-01T00:11:30Z', '2026-01-01T00:11:00Z'), undefined);
  assert.equal(on(at, '2026-01-01T00:11:30Z', '2026-01-01T00:11:01Z'), 'Restored');
  assert.equal(untimely({ spec: {} }, 0), undefined);
});
