import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anIncident } from '../../test/support/release-case.ts';
import type { Asked } from './fence-request.ts';
import { isTakenUp, requestOf } from './fence-request.ts';

const at = '2026-01-01T00:10:00Z';
const requested = { by: 'jane', at };
const answered = (reason: string, phase?: string): Asked => ({
  spec: { requested },
  status: {
    request: { ...requested, answeredAt: at, reason },
    incident: anIncident(),
    fence: phase === undefined ? undefined : { phase },
  },
});

test('[SAF-6] a request stands until the fence that it was taken up with has ended, or its incident', () => {
  assert.equal(requestOf({ spec: {} }), undefined);
  assert.equal(requestOf({ spec: { requested } }), requested);
  assert.equal(requestOf({ spec: { requested }, status: { fence: { phase: 'failed' } } }), requested, 'an earlier one');
  assert.equal(requestOf(answered('TakenUp')), requested);
  assert.equal(requestOf(answered('TakenUp', 'off')), requested);
  assert.equal(requestOf(answered('TakenUp', 'finished')), undefined);
  assert.equal(requestOf(answered('TakenUp', 'failed')), undefined);
  assert.equal(
    requestOf({ ...answered('TakenUp'), status: { ...answered('TakenUp').status, incident: undefined } }),
    undefined,
  );
  assert.equal(requestOf(answered('ModeDoesNotAct')), undefined);
  const another = { by: 'jane', at: '2026-01-01T00:10:01Z' };
  assert.equal(requestOf({ ...answered('ModeDoesNotAct'), spec: { requested: another } }), another);
  assert.equal(isTakenUp(answered('TakenUp')), true);
  assert.equal(isTakenUp({ ...answered('TakenUp'), spec: { requested: another } }), false);
});
