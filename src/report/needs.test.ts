import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { Known } from './explanation.ts';
import { needsOf } from './needs.ts';

const known: Known = {
  node: 'node-1',
  atMs: Date.parse('2026-01-01T00:00:00Z'),
  judgement: { verdict: 'healthy', reason: 'ReadyAndRenewing', evidence: [], recheckInMs: 1000 },
  devices: [],
  operator: { leads: 'yes', holder: 'one' },
  leftAlone: [],
  meaningless: [],
  unread: [],
  namespace: 'fenceline',
};
const incident = {
  id: 'i',
  startedAt: '2026-01-01T00:00:00Z',
  trouble: 'lease',
  nodeUid: 'u',
  flaps: 0,
  late: [],
  acts: 0,
};
const held = (reason: string): Known => ({
  ...known,
  record: {
    spec: { node: 'node-1', stop: false },
    status: { ...EMPTY_STATUS, incident, hold: { reason, message: 'why', since: '2026-01-01T00:00:00Z' } },
  },
});

test('[EXP-1] what needs a person: what nothing ends by itself, with what to type; what passes by itself does not', () => {
  assert.deepEqual(needsOf(known), []);
  assert.deepEqual(needsOf(held('LookingAround')), []);
  assert.deepEqual(needsOf(held('StormLimit')), [], 'a storm passes');
  const [need] = needsOf(held('AwaitingApproval'));
  assert.deepEqual([need?.reason, need?.isUrgent], ['AwaitingApproval', true]);
  assert.match(need?.command?.command ?? '', /^fenceline approve node-1/);
});

test('[EXP-1] a device by which it could not be fenced is for the day; a stop of a node that is well too', () => {
  const devices = [{ name: 'd', status: { fenceable: false, reason: 'DeviceSilent', message: 'no answer' } }];
  const [silent] = needsOf({ ...known, devices });
  assert.deepEqual([silent?.reason, silent?.isUrgent], ['DeviceSilent', undefined]);
  assert.deepEqual(needsOf({ ...held('LookingAround'), devices }), [], 'a check of a machine that was just failing');
  const record = { spec: { node: 'node-1', stop: true }, status: EMPTY_STATUS };
  assert.deepEqual(
    needsOf({ ...known, record }).map(({ reason, isUrgent }) => [reason, isUrgent]),
    [['Stopped', undefined]],
  );
});

test('[EXP-1] what is held is asked of a person once, in however many ways it waits', () => {
  const at = '2026-01-01T00:00:00Z';
  const request = { by: 'jane', at, answeredAt: at, reason: 'Stopped', message: 'why' };
  const { record } = held('Stopped');
  assert.ok(record);
  const waiting = { ...known, record: { ...record, status: { ...record.status, request } } };
  assert.deepEqual(
    needsOf(waiting).map(({ reason, message }) => [reason, message]),
    [['Stopped', 'why']],
  );
});
