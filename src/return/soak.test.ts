import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aFence, anIncident, nowMs } from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { DEFAULT_SOAK } from '../api/policy-facts.ts';
import { failuresOf, soakFor } from './soak.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const ago = (ms: number): string => `${new Date(nowMs - ms).toISOString().slice(0, 19)}Z`;
const troubled = (...agoMs: number[]): Pick<NodeFenceStatus, 'problems'> => ({
  problems: [{ condition: 'Ready', count: agoMs.length, times: agoMs.map(ago), pods: [] }],
});
const current = (flaps = 0): NodeFenceStatus['incident'] => anIncident({ startedAt: ago(minuteMs), flaps });
const failures = (status: Partial<NodeFenceStatus>): number => failuresOf(aFence(status).status, nowMs);

describe('how often a node has failed', () => {
  test('[RET-1] every incident within a day but the one it comes back from', () => {
    assert.equal(failures({ incident: current(), ...troubled(minuteMs) }), 0);
    assert.equal(failures({ incident: current(), ...troubled(3 * hourMs, 2 * hourMs, minuteMs) }), 2);
    assert.equal(failures(troubled(3 * hourMs, 2 * hourMs)), 2, 'before the incident is on record');
  });

  test('[RET-1] what happened a day ago is forgotten', () => {
    const incident = current();
    assert.equal(failures({ incident, ...troubled(24 * hourMs - 1000, minuteMs) }), 1);
    assert.equal(failures({ incident, ...troubled(24 * hourMs, minuteMs) }), 0);
  });

  test('[RET-1] whatever the condition was, and relapses too', () => {
    const other = { condition: 'DiskBroken', count: 1, times: [ago(hourMs)], pods: [] };
    const { problems } = troubled(2 * hourMs, minuteMs);
    assert.equal(failures({ incident: current(), problems: [...problems, other] }), 2);
    assert.equal(failures({ incident: current(3), problems }), 4);
  });

  test('nothing is known of it: it has not failed', () => assert.equal(failuresOf(undefined, nowMs), 0));
});

describe('the soak', () => {
  const soak = { soakMs: 10_000, backoff: 2, maxSoakMs: minuteMs };
  test('[RET-1] grows by the factor with each failure, up to its limit', () => {
    assert.deepEqual(
      [0, 1, 2, 3, 4].map((times) => soakFor(soak, times)),
      [10_000, 20_000, 40_000, minuteMs, minuteMs],
    );
  });

  test('[RET-1] the limit never shortens it', () =>
    assert.equal(soakFor({ ...soak, soakMs: 2 * minuteMs }, 5), 2 * minuteMs));

  test('[RET-1] a factor of 1 keeps it as it is', () => assert.equal(soakFor({ ...soak, backoff: 1 }, 800), 10_000));

  test('[RET-1] is a whole number of milliseconds, whatever the factor and however often', () => {
    assert.equal(soakFor({ soakMs: 1, backoff: 1.5, maxSoakMs: hourMs }, 1), 2);
    assert.equal(soakFor({ ...soak, soakMs: 0, backoff: 10 }, 800), 0);
    assert.equal(soakFor({ ...soak, backoff: 10 }, 800), minuteMs);
  });

  test('[RET-1] without a policy it is as of one that says nothing', () => {
    assert.deepEqual(
      [0, 1, 20].map((times) => soakFor(DEFAULT_SOAK, times)),
      [30_000, 60_000, hourMs],
    );
  });
});
