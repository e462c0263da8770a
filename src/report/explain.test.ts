import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aStored, entryOf } from '../../test/support/fenced-case.ts';
import { aPolicy, anIncident, aRemedy } from '../../test/support/release-case.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import { ALARM, FENCED } from '../api/reasons.ts';
import { explain } from './explain.ts';
import type { Known, LeftAlone } from './explanation.ts';

const at = '2026-01-01T00:10:00Z';
const threshold = { key: 'lease', lease: { staleForMs: 12_000 }, remedies: [{ name: 'fence' }], recovery: [] };
const down: Known = {
  node: 'node-1',
  atMs: Date.parse(at),
  judgement: { verdict: 'down', reason: 'LeaseStale', evidence: [], recheckInMs: 1000 },
  policy: aPolicy({ remedy: aRemedy({ kinds: { fence: 'fence' }, thresholds: [threshold] as never }) }),
  devices: [],
  operator: { leads: 'yes', holder: 'one' },
  leftAlone: [],
  meaningless: [],
  unread: [],
  namespace: 'fenceline',
};

function inTrouble(status: Partial<NodeFenceStatus> = {}, spec: Partial<NodeFence['spec']> = {}): Known {
  const record = {
    spec: { node: 'node-1', stop: false, ...spec },
    status: { ...EMPTY_STATUS, incident: anIncident(), ...status },
  };
  return { ...down, record };
}

const cut = { what: 'its power is cut', at: '2026-01-01T00:20:00Z' };
const waiting = aStored('waiting');
const held = (reason: string): Pick<NodeFenceStatus, 'hold'> => ({ hold: { reason, message: 'why', since: at } });
const requested = { by: 'jane', at: '2026-01-01T00:09:00Z' };
const typed = (known: Known): string[] => explain(known).commands.map(({ command }) => command);
const said = (type: string, reason: string): NodeFenceStatus['conditions'] => [
  { type, status: 'True', reason, message: 'why', lastTransitionTime: at },
];

describe('[EXP-1] a stop', () => {
  const stop = (fence: ReturnType<typeof aStored>): string =>
    explain(inTrouble({ fence })).commands.find(({ command }) => command.startsWith('fenceline stop'))?.to ?? '';

  test('does not take back a cut that was sent, and says so', () => {
    const sent = [entryOf('power-management', { commandSentAt: at })];
    assert.match(
      stop(aStored('poweringOff', { switched: sent })),
      /^stop everything further, .* not taken back by that/,
    );
    assert.match(stop(aStored('poweringOff', { switched: [] })), /^stop everything about it/);
    assert.match(stop(aStored('booting', { switched: sent })), /^stop everything about it/);
  });
});

describe('[EXP-1] what comes next', () => {
  test('is no cut of one that is back by then, unless somebody has asked for it', () => {
    assert.equal(
      explain(inTrouble({ fence: waiting, next: cut })).next?.what,
      `${cut.what}, unless it is back by then`,
    );
    assert.equal(explain(inTrouble({ fence: waiting, next: cut }, { requested })).next?.what, cut.what);
    const begins = 'fence begins, if its Lease is still not renewed';
    assert.equal(explain(inTrouble({ next: { what: begins } })).next?.what, begins);
  });

  test('is that a device is asked whose it is, if it answers for another machine and was told nothing yet', () => {
    const next = { what: 'its device is told' };
    const device = (reason: string): Known['devices'] => [
      { name: 'd', status: { wrong: { reason, message: 'why', since: at } } as never },
    ];
    const whose =
      /^its device is asked again which machine it answers for; while that is another one it is told nothing/;
    const fence = aStored('poweringOff', { switched: [] });
    const other = { ...inTrouble({ next, fence }), devices: device('AnotherMachine') };
    assert.match(explain(other).next?.what ?? '', whose);
    const sent = aStored('poweringOff', { switched: [entryOf('power-management', { commandSentAt: at })] });
    for (const known of [
      { ...other, devices: device('OffWhileAlive') },
      { ...inTrouble({ next, fence: waiting }), devices: other.devices },
      { ...inTrouble({ next, fence: sent }), devices: other.devices },
    ]) {
      assert.equal(explain(known).next?.what, next.what);
    }
  });

  test('is what a node in a storm has long met, by the record of another one', () => {
    const hold = { reason: 'StormLimit', message: 'too many', since: at };
    const known = { ...down, storm: { node: 'node-2', hold } };
    assert.equal(explain(known).next?.what, 'fence begins, if its Lease is still not renewed');
    assert.equal(explain(down).next?.what, 'fence begins, if its Lease is not renewed for 12s');
    assert.ok(typed(known).includes('fenceline explain node-2'));
    assert.ok(typed(known).includes('fenceline stop node-1'));
    assert.match(explain(known).summary, /too many are in trouble \(too many, by the record of node-2\)$/);
  });
});

describe('[EXP-1] what can be typed', () => {
  test('looks first, and cuts last', () => {
    const known = inTrouble({ fence: waiting, next: cut, conditions: said(FENCED.of, 'WaitingToIsolate') });
    assert.equal(typed(known).at(-1), 'fenceline fence node-1');
    assert.equal(typed(known).filter((one) => one.startsWith('fenceline fence ')).length, 1);
    assert.ok(!typed({ ...known, judgement: { ...down.judgement, verdict: 'healthy' } }).some(isFence));
    const evidence = [{ source: 'Kdump', says: 'Dead', detail: 'x', observedAt: at }] as never;
    const crashed = inTrouble({ ...known.record?.status, evidence });
    const lost = /; a crash dump that is still being written is lost$/;
    assert.match(explain(crashed).commands.at(-1)?.to ?? '', lost);
    assert.doesNotMatch(explain(known).commands.at(-1)?.to ?? '', lost);
  });

  test('is told once, by the purpose that names what to change', () => {
    const stuck = [{ namespace: 'a', name: 'b', reason: 'BudgetExhausted', message: 'y' }] as never;
    const fence = aStored('off', { waitsFor: 'a person' });
    const { commands } = explain(inTrouble({ fence, stuck, conditions: said(FENCED.of, 'PoweredOff') }));
    const lines = commands.map(({ command }) => command);
    assert.deepEqual(lines, [...new Set(lines)]);
    const at0 = lines.indexOf('kubectl get poddisruptionbudgets -n a');
    const edit = commands.findIndex(({ command }) => command.startsWith('kubectl edit'));
    assert.ok(at0 >= 0 && at0 < edit, 'which budget it is comes before changing the policy');
    assert.match(commands[edit]?.to ?? '', /ReleaseAfterFence/);
  });

  test('names the machine that may be the one that is off before anything is said of the device', () => {
    const fence = aStored('failed', { swapped: ['node-2'] });
    const wrong = { reason: 'OutletsSwapped', message: 'why', since: at };
    const known = { ...inTrouble({ fence, conditions: said(FENCED.of, 'OutletsSwapped') }) };
    const devices = [{ name: 'd', status: { wrong } as never }];
    const lines = typed({ ...known, devices });
    assert.equal(lines[0], 'fenceline explain node-2');
    assert.deepEqual(lines, [...new Set(lines)]);
    const neverOff = [{ name: 'd', status: { wrong: { ...wrong, reason: 'NeverOff' } } as never }];
    const released = inTrouble({ conditions: said(ALARM.of, 'NeverOff') });
    assert.equal(typed({ ...released, devices: neverOff })[0], 'kubectl get nodefence node-fence-node-1 -o yaml');
  });

  test('puts off the end of what has one', () => {
    const prolongs = (...leftAlone: LeftAlone[]): string | undefined =>
      typed({ ...inTrouble(held('Maintenance')), leftAlone }).find((one) => one.includes('--overwrite'));
    const until = (hour: number): LeftAlone => ({
      reason: 'Maintenance',
      message: 'x',
      untilMs: Date.UTC(2026, 0, 1, hour),
    });
    const annotation = 'kubectl annotate --overwrite node node-1 fenceline.dev/maintenance-until=';
    assert.equal(prolongs(until(3)), `${annotation}2026-01-01T05:00:00Z`);
    assert.equal(prolongs(until(3), until(4)), `${annotation}2026-01-01T06:00:00Z`);
    assert.equal(prolongs(until(3), { reason: 'NamedPause', message: 'no time' }), undefined);
    assert.equal(prolongs(), undefined);
  });

  test('asks nobody who led last where none was ever seen', () => {
    const leases = (operator: Known['operator']): boolean =>
      typed({ ...down, operator }).some((one) => one.includes(' get leases '));
    assert.equal(leases({ leads: 'nobody' }), false);
    assert.equal(leases({ leads: 'no', holder: 'one', since: at }), true);
    assert.deepEqual(explain({ ...down, operator: { leads: 'nobody' } }).changes, [
      'an operator leads: it begins with what it sees then',
    ]);
  });
});

describe('[EXP-1] what is said of a machine that was just switched off', () => {
  const lease = { source: 'Lease', says: 'Alive', detail: 'renewed' } as const;
  const judgement = { ...down.judgement, evidence: [lease] as never };
  const off = { name: 'd', status: { power: 'off', since: at } } as never as Known['devices'][number];
  const fence = aStored('off', { switched: [entryOf('power-management')] });
  const heard = (known: Known): string | undefined =>
    explain({ ...known, judgement }).verdict.evidence.find(({ source }) => source === 'Lease')?.detail;

  test('is that its Lease looks alive for a while', () => {
    assert.match(heard({ ...inTrouble({ fence }), devices: [off] }) ?? '', /^renewed; but its device says off, /);
    assert.equal(heard(inTrouble({ fence })), 'renewed');
    assert.equal(heard({ ...inTrouble({ fence: waiting }), devices: [off] }), 'renewed');
    const wrong = {
      ...off,
      status: { ...off.status, wrong: { reason: 'NeverOff', message: 'x', since: at } },
    } as never;
    assert.equal(heard({ ...inTrouble({ fence }), devices: [wrong] }), 'renewed');
  });

  test('is who has asked for that', () => {
    const request = { ...requested, reason: 'TakenUp', answeredAt: at } as never;
    const incident = { ...anIncident(), trouble: 'being fenced' };
    assert.match(
      explain(inTrouble({ fence, incident, request }, { requested })).summary,
      /\(a fence was asked for by jane at 2026-01-01T00:09:00Z\)/,
    );
    assert.match(explain(inTrouble({ fence, incident })).summary, /\(being fenced\)/);
    const silent = { ...anIncident(), trouble: 'Ready=Unknown' };
    assert.match(explain(inTrouble({ fence, incident: silent, request }, { requested })).summary, /\(Ready=Unknown\)/);
  });
});

describe('[EXP-1] the headline', () => {
  test('says when power is cut, and not that a fence is about to begin', () => {
    const conditions = said(FENCED.of, 'WaitingToIsolate');
    const soon = explain(inTrouble({ fence: waiting, next: cut, conditions })).summary;
    assert.match(soon, /; at 2026-01-01T00:20:00Z its power is cut, unless it is back by then$/);
    const later = explain(inTrouble({ fence: waiting, next: { what: cut.what }, conditions })).summary;
    assert.match(later, /; its fence is about to begin: it has time to come back first$/);
    const again = aStored('isolated', { retries: 1 });
    const tried = explain(inTrouble({ fence: again, next: cut, conditions })).summary;
    assert.match(tried, /; its fence is about to cut its power: it has time to come back first \(why\)$/);
    const unable = [{ name: 'd', status: { fenceable: false, reason: 'DeviceSilent', message: 'no answer' } as never }];
    const doubtful = explain({ ...inTrouble({ fence: waiting, next: cut, conditions }), devices: unable }).summary;
    assert.match(doubtful, /unless it is back by then; but by d it could not be fenced when it was last asked$/);
  });
});

function isFence(command: string): boolean {
  return command.startsWith('fenceline fence ');
}
