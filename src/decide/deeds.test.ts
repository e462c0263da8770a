import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, anIncident, inForce } from '../../test/support/release-case.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { MAX_DEEDS } from '../api/fence-names.ts';
import { hash } from '../api/hash.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { ReleaseDecision } from './decide-release.ts';
import { decideNode } from './decide-node.ts';
import type { PlannedRun, RemedyDecision } from './decide-remedy.ts';
import { deedsAfter } from './deeds.ts';

type Entry = NonNullable<NodeFenceStatus['deeds']>[number];

const now = '2026-01-01T00:10:00Z';
const incident = anIncident();
const none: ReleaseDecision = {
  fates: [],
  stuck: [],
  refusals: [],
  records: [],
  steps: [],
  back: {} as ReleaseDecision['back'],
  hold: undefined,
  assertion: undefined,
  trouble: { text: 'Ready=Unknown' },
  recheckAtMs: Infinity,
};

interface Given {
  before?: Entry[];
  change?: Partial<NodeCase>;
  run?: PlannedRun;
  remedy?: Partial<RemedyDecision>;
  status?: Partial<NodeFenceStatus>;
}

function after({ before = [], change = {}, run, remedy = {}, status = {} }: Given): Entry[] {
  const fence = aFence({ incident, deeds: before, ...change.fence?.status }, change.fence?.spec ?? {});
  return deedsAfter(
    {
      nodeCase: aCase({ ...change, fence }),
      decision: none,
      remedy: { ladders: [], jobs: [], ...(run === undefined ? {} : { run }), ...remedy },
    },
    { ...EMPTY_STATUS, incident, epoch: 3, ...status },
    now,
  );
}

const drain = { do: 'drain', key: 'ladder 1' } as const;
const brief = ({ deed, on, by, result, times }: Entry): object => ({
  deed,
  result,
  ...(on === undefined ? {} : { on }),
  ...(by === undefined ? {} : { by }),
  ...(times === undefined ? {} : { times }),
});

describe('[ADM-1] what was done about a node', () => {
  test('is on record with the decision, with who, why and on what basis', () => {
    const [entry, ...rest] = after({ run: drain });
    assert.deepEqual(rest, []);
    assert.deepEqual(entry, {
      at: now,
      epoch: 3,
      incident: incident.id,
      deed: 'Drain',
      result: 'Begun',
      by: 'policy release',
      why: 'Ready=Unknown',
      basis: 'Remedy',
      try: hash('ladder 1'),
    });
  });

  test('is one entry however often it is looked at, and another try of it the same one', () => {
    const begun = after({ run: drain });
    assert.deepEqual(after({ run: drain, before: begun }), begun);
    const failed = after({ before: begun, change: { task: { key: 'ladder 1', outcome: 'failed', message: 'no' } } });
    assert.deepEqual(failed.map(brief), [{ deed: 'Drain', result: 'Failed', by: 'policy release' }]);
    assert.deepEqual([failed[0]?.message, failed[0]?.endedAt], ['no', now]);
    const still = { task: { key: 'ladder 1', outcome: 'failed' as const, message: 'no' } };
    assert.deepEqual(after({ run: drain, before: failed, change: still }), failed, 'it is not begun again');
    const again = after({ run: { ...drain, key: 'ladder 2' }, before: failed });
    assert.deepEqual(again.map(brief), [{ deed: 'Drain', result: 'Begun', by: 'policy release', times: 2 }]);
    assert.equal(again[0]?.message, undefined);
  });

  for (const [outcome, result] of [
    ['running', 'Begun'],
    ['succeeded', 'Done'],
    ['unknown', 'Unknown'],
    ['dropped', 'Dropped'],
  ] as const) {
    test(`that takes its time and is ${outcome} is ${result}; what is said of another try says nothing`, () => {
      const before = after({ run: drain });
      const of = (key: string): string | undefined => after({ before, change: { task: { key, outcome } } })[0]?.result;
      assert.deepEqual([of('ladder 1'), of('ladder 2')], [result, 'Begun']);
    });
  }

  test('of another incident is another entry', () => {
    const before = after({ run: drain }).map((entry) => ({ ...entry, incident: 'earlier' }));
    assert.equal(after({ run: drain, before }).length, 2);
  });

  test('is no more than fits: the oldest go', () => {
    const before = Array.from({ length: MAX_DEEDS }, (_, at): Entry => ({
      at: now,
      deed: 'RunJob',
      on: `job-${at}`,
      count: 1,
      result: 'Done',
      incident: 'earlier',
      epoch: 1,
    }));
    const deeds = after({ run: drain, before });
    assert.equal(deeds.length, MAX_DEEDS);
    assert.deepEqual([deeds[0]?.on, deeds.at(-1)?.deed], ['job-1', 'Drain']);
  });

  test('at once is told with the next decision: done, failed once, done again', () => {
    const before: Entry[] = [{ at: now, deed: 'Quarantine', result: 'Begun', incident: incident.id, epoch: 1 }];
    const told = (entries: Entry[], result: 'Done' | 'Failed' | 'again'): Entry[] =>
      after({ before: entries, change: { outcomes: [{ deed: 'Quarantine', on: [], result }] } });
    const done = told(before, 'Done');
    assert.deepEqual(done.map(brief), [{ deed: 'Quarantine', result: 'Done' }]);
    assert.deepEqual(told(before, 'again').map(brief), [{ deed: 'Quarantine', result: 'Done' }]);
    assert.deepEqual(told(done, 'again'), done, 'nothing was done');
    assert.deepEqual(told(done, 'Done').map(brief), [{ deed: 'Quarantine', result: 'Done', times: 2 }]);
    const failed = told(before, 'Failed');
    assert.deepEqual(failed.map(brief), [{ deed: 'Quarantine', result: 'Failed' }]);
    assert.deepEqual(told(failed, 'Failed'), failed, 'no news');
    assert.deepEqual(told(failed, 'Done').map(brief), [{ deed: 'Quarantine', result: 'Done' }]);
  });

  test('has what people did, in the name that they gave', () => {
    const request = {
      by: 'jane',
      at: now,
      reason: 'TakenUp',
      message: '',
    } as unknown as RemedyDecision['request'] & {};
    const approval = { by: 'joe', at: now, incident: incident.id };
    const hold = { reason: 'Stopped', message: 'spec.stop of the NodeFence is true', since: now };
    const spec = { stop: true, stoppedBy: 'anna' };
    const fence = aFence({}, spec);
    const deeds = after({ remedy: { request }, status: { approval, hold }, change: { fence } });
    assert.deepEqual(deeds.map(brief), [
      { deed: 'Requested', on: now, by: 'jane', result: 'Done' },
      { deed: 'Approved', on: now, by: 'joe', result: 'Done' },
      { deed: 'HeldBack', on: `Stopped since ${now}`, by: 'anna', result: 'Done' },
    ]);
    const spent = aFence(request === undefined ? {} : { request });
    assert.deepEqual(after({ remedy: { request }, change: { fence: spent } }), [], 'asked for in an earlier incident');
    const held = aFence({ hold });
    assert.deepEqual(after({ change: { fence: held } }).map(brief), [
      { deed: 'LetGoOn', on: `Stopped since ${now}`, result: 'Done' },
    ]);
    const pause = { namespace: 'fenceline', written: { by: 'kim' } };
    const paused = { reason: 'PausedForAll', message: 'everything is paused by kim', since: now };
    assert.deepEqual(after({ change: { pause }, status: { hold: paused } }).map(brief), [
      { deed: 'HeldBack', on: `PausedForAll since ${now}`, by: 'kim', result: 'Done' },
    ]);
  });

  test('has pods by name, and by whom their risk was accepted', () => {
    const { record } = decideNode(aCase({ policy: inForce({ podDeletion: 'delete-statefulset-pod' }) }));
    const deeds = record?.status?.deeds ?? [];
    assert.deepEqual(
      deeds.map(({ deed, basis }) => `${deed} ${basis}`),
      ['Quarantine undefined', 'FreeVolumes AcceptedRisk', 'DeletePod AcceptedRisk'],
    );
    assert.match(deeds.at(-1)?.by ?? '', /^policy release/);
  });
});
