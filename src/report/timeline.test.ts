import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { releasedIn, timelineOf } from './timeline-of.ts';
import type { Chronicle } from './timeline.ts';
import { spellsOf } from './timeline.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString().replace('.000', '');
const entry = (seconds: number, reason: string, message?: string): NodeFenceStatus['history'][number] => ({
  at: at(seconds),
  reason,
  epoch: 1,
  ...(message === undefined ? {} : { message }),
});

/** A node that lost its power, as its record has it when the incident is over. */
const history = [
  entry(42, 'WaitingToIsolate'),
  entry(42, 'Incident', 'lease'),
  entry(43, 'PoweringOff'),
  entry(43, 'PoweredOff', 'it was found off, and its device still says so (node-4)'),
  entry(43, 'Releasing', '2 pods on the basis PowerOff (node-4)'),
  entry(45, 'Complete', '2 pods on the basis PowerOff (node-4)'),
  entry(45, 'PoweringOn', 'it is being switched on again (node-4)'),
  entry(46, 'Booting', 'it was switched on, and has to boot (node-4)'),
  entry(61, 'Recovered'),
  entry(61, 'Returning', 'clean'),
  entry(71, 'Returning', 'soaked'),
  entry(81, 'BackInService', 'the incident node-4-20260101000042 is over'),
];
const release: NodeFenceStatus['releases'][number] = {
  basis: 'PowerOff',
  nodeUid: 'u',
  epoch: 1,
  recordedAt: at(43),
  podsStay: false,
  podsGoneAt: at(44),
  endedAt: at(45),
  pods: [{ namespace: 'default', name: 'database-0', uid: 'p' }],
  attachments: [],
  volumes: [],
  freed: [],
};
const open: NodeFenceStatus = {
  ...EMPTY_STATUS,
  history: history.slice(0, 8),
  releases: [release],
  incident: {
    id: 'node-4-20260101000042',
    startedAt: at(42),
    trouble: 'lease',
    nodeUid: 'u',
    flaps: 0,
    late: [],
    acts: 0,
    silence: { since: at(31), renewTime: '' },
  },
  next: { what: 'it is Ready in a new boot' },
};
const over: NodeFenceStatus = { ...EMPTY_STATUS, history, releases: [release] };

function chronicle(status: NodeFenceStatus, more: Partial<Chronicle> = {}): Chronicle {
  const workloads = [{ pod: 'default/database-0', goneAt: at(44), runs: { node: 'node-1', since: at(45) } }];
  return { node: 'node-4', status, nowMs: Date.parse(at(50)), devices: [], workloads, holds: [], ...more };
}

describe('[EXP-1] an incident as a picture of time', () => {
  test('incidents are found in the history, the latest first, by the name that they had', () => {
    const earlier = history.map((one) => ({ ...one, at: one.at.replace('2026-01-01', '2025-12-31') }));
    const spells = spellsOf('node-4', { history: [...earlier, ...history] });
    assert.deepEqual(
      spells.map(({ id, startedAt, endedAt, entries }) => [id, startedAt, endedAt, entries.length]),
      [
        ['node-4-20260101000042', at(42), at(81), 12],
        ['node-4-20251231000042', '2025-12-31T00:00:42Z', '2025-12-31T00:01:21Z', 12],
      ],
    );
  });

  test('one whose beginning has gone from the history is found by what is open', () => {
    const [spell] = spellsOf('node-4', { ...open, history: history.slice(5, 8) });
    assert.deepEqual([spell?.id, spell?.startedAt, spell?.endedAt], ['node-4-20260101000042', at(42), undefined]);
  });

  test('where the time went, from the last sign of life until the workload ran again', () => {
    const told = timelineOf(chronicle(open))?.total;
    assert.deepEqual(told, {
      ms: 14_000,
      isOver: true,
      parts: [
        { what: 'waiting to be sure that it is silent', ms: 11_000 },
        { what: 'making sure that its power is off', ms: 1000 },
        { what: 'letting go what ran there', ms: 1000 },
        { what: 'Kubernetes starting it elsewhere', ms: 1000 },
      ],
    });
  });

  test('while it does not run, the time goes on, with what is being waited for', () => {
    const told = timelineOf(
      chronicle({ ...open, releases: [] }, { workloads: [{ pod: 'default/database-0' }] }),
    )?.total;
    assert.deepEqual([told?.ms, told?.isOver], [19_000, false]);
    assert.deepEqual(
      told?.parts.map(({ what }) => what),
      ['waiting to be sure that it is silent', 'until something made it safe'],
    );
  });

  test('lanes: silent, confirmed off, off and boots, the workload elsewhere; what goes on is open', () => {
    const { marks = [], next } = timelineOf(chronicle(open)) ?? {};
    const of = (lane: string): unknown[] =>
      marks
        .filter((mark) => mark.lane === lane)
        .map(({ label, from, to, open: isOpen }) => [label, from, to ?? isOpen]);
    assert.deepEqual(of('heard'), [['silent', at(31), true]]);
    assert.deepEqual(of('asked'), [['confirmed off', at(43), undefined]]);
    assert.deepEqual(of('held'), [['time to come back', at(42), at(43)]]);
    assert.deepEqual(of('workloads'), [
      ['database-0', at(31), at(45)],
      ['on node-1', at(45), true],
    ]);
    assert.deepEqual(of('machine'), [
      ['is it off?', at(43), at(43)],
      ['off', at(43), at(45)],
      ['switched on', at(45), at(46)],
      ['boots', at(46), true],
    ]);
    assert.deepEqual(next, { what: 'it is Ready in a new boot' });
  });

  test('it is heard again when it is, and not when something comes of that', () => {
    const heard = (status: NodeFenceStatus, more: Partial<Chronicle> = {}): unknown[] =>
      (timelineOf(chronicle(status, { silentSince: at(31), ...more }))?.marks ?? [])
        .filter(({ lane }) => lane === 'heard')
        .map(({ label, from, to, open: isOpen }) => [label, from, to ?? isOpen]);
    const { incident } = open;
    assert.deepEqual(heard({ ...open, ...(incident && { incident: { ...incident, clearedAt: at(48) } }) }), [
      ['silent for 17s', at(31), at(48)],
      ['heard again', at(48), true],
    ]);
    assert.deepEqual(heard(over, { clearedAt: at(48) }), [
      ['silent for 17s', at(31), at(48)],
      ['heard again', at(48), at(81)],
    ]);
    assert.deepEqual(heard(over)[0], ['silent for 30s', at(31), at(61)], 'as far as the history says');
  });

  test('a hold is shown from when to when; one that goes on is open', () => {
    const hold = { reason: 'StormLimit', message: '4 of 6', since: at(43) };
    const seen = { reason: 'LookingAround', message: 'whether others', since: at(42), endedAt: at(43) };
    const { marks = [] } = timelineOf(chronicle({ ...open, hold }, { holds: [seen] })) ?? {};
    assert.deepEqual(
      marks
        .filter(({ source }) => source === 'NodeFence status.hold')
        .map(({ label, to, open: isOpen }) => [label, to ?? isOpen]),
      [
        ['looking around', at(43)],
        ['storm limit', true],
      ],
    );
  });

  test('one that is over has nothing open and nothing next, and stays readable by its name', () => {
    const told = timelineOf(chronicle(over), 'node-4-20260101000042');
    assert.deepEqual([told?.endedAt, told?.next], [at(81), undefined]);
    assert.deepEqual(
      told?.marks.filter((mark) => mark.open === true),
      [],
    );
    assert.equal(timelineOf(chronicle(over), 'node-4-19990101000000'), undefined);
  });

  test('the pods that were let go in it, and in no other', () => {
    const [spell = assert.fail()] = spellsOf('node-4', over);
    assert.deepEqual(releasedIn(over, spell), [{ pod: 'default/database-0', goneAt: at(44) }]);
    assert.deepEqual(releasedIn(over, { startedAt: at(50) }), []);
  });
});
