import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeErrorKind } from '../kube/errors.ts';
import { Refusals } from './refusals.ts';

const error = (kind: KubeErrorKind) => ({ kind, message: `it is ${kind}`, mayHaveHappened: false });

test('[SAF-10] what is answered no to is known for as long as that is the answer to every try', () => {
  let nowMs = 0;
  const refusals = new Refusals({ monotonic: () => nowMs });
  const triedAt = (ms: number, kind?: KubeErrorKind): object | undefined => {
    nowMs = ms;
    refusals.note('node-1', kind && error(kind));
    return refusals.of('node-1');
  };
  assert.deepEqual(triedAt(0, 'forbidden'), { message: 'it is forbidden', forMs: 0 });
  assert.deepEqual(triedAt(60_000, 'invalid'), { message: 'it is invalid', forMs: 60_000 });
  nowMs = 100_000;
  assert.deepEqual(refusals.of('node-1'), { message: 'it is invalid', forMs: 60_000 }, 'nobody has tried since');
  assert.deepEqual(triedAt(120_001, 'forbidden'), { message: 'it is forbidden', forMs: 0 }, 'nor for long');
  assert.equal(triedAt(120_002), undefined);
  for (const kind of ['unreachable', 'serverError', 'timeout', 'tooManyRequests'] as const) {
    triedAt(130_000, 'unauthorized');
    assert.equal(triedAt(130_001, kind), undefined, `${kind} is no answer`);
  }
  assert.equal(refusals.of('node-2'), undefined);
});
