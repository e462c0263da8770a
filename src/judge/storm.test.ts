import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { aCount } from '../../test/support/release-case.ts';
import { shareOf } from '../api/share.ts';
import type { LadderThreshold, TroubleCount } from '../api/release-view.ts';
import type { Judgement, Verdict } from '../api/view.ts';
import type { Brake, CountedNode, StormLimits } from './storm.ts';
import {
  cooldownBrake,
  countTrouble,
  harshThresholds,
  isStorm,
  lifeOf,
  lookAround,
  quorumBrake,
  othersInTrouble,
  ownBrake,
  skipFor,
  slotBrake,
  stormBrake,
} from './storm.ts';

const judged = (verdict: Verdict): Judgement => ({ verdict, reason: 'NotReady', evidence: [], recheckInMs: 0 });

type Zone = (index: number) => string;

function cluster(total: number, silent: readonly number[], zoneOf: Zone = () => ''): CountedNode[] {
  return Array.from({ length: total }, (_, index) => ({
    name: `node-${index}`,
    zone: zoneOf(index),
    life: silent.includes(index) ? 'silent' : 'well',
    conditions: [],
  }));
}

const limits = { maxUnresponsive: '40%', maxConcurrent: 1, cooldownMs: 300_000 };
const none = new Set<string>();

interface Others {
  nodes: readonly CountedNode[];
  fencing?: ReadonlySet<string>;
  remedying?: ReadonlySet<string>;
}

function countOn(node: string, { nodes, fencing = none, remedying = none }: Others): TroubleCount {
  return countTrouble(node, nodes, { fenced: fencing, fencing, remedying }, [deadlock, disk]);
}

function brakeOn(node: string, asked: StormLimits, others: Others): Brake | undefined {
  const count = countOn(node, others);
  return stormBrake(asked, count) ?? slotBrake(asked, count, 'fence');
}

const deadlock: LadderThreshold = {
  key: 'KernelDeadlock=True',
  condition: { type: 'KernelDeadlock', status: 'True', forMs: 60_000 },
  remedies: [{ name: 'fence', periodMs: 0, cleanResources: true }],
  recovery: [],
};
const disk: LadderThreshold = {
  ...deadlock,
  key: 'DiskPressure=NotTrue',
  condition: { type: 'DiskPressure', status: 'NotTrue', forMs: 0 },
};

describe('storm brake', () => {
  test('[STM-1] nothing is fenced while more than the set share does not respond; fenced nodes count', () => {
    assert.equal(brakeOn('node-0', limits, { nodes: cluster(3, [0]) }), undefined);
    assert.equal(brakeOn('node-0', limits, { nodes: cluster(3, [0, 1]) })?.reason, 'StormLimit');
    const recovering = { nodes: cluster(3, [0]), fencing: new Set(['node-1']) };
    const brake = brakeOn('node-0', { ...limits, maxConcurrent: 2 }, recovering);
    assert.deepEqual(brake, { reason: 'StormLimit', message: '2 of 3 nodes are in trouble, and at most 40% may be' });
    assert.equal(
      brakeOn('node-0', { ...limits, maxUnresponsive: 0 }, { nodes: cluster(9, [0]) })?.reason,
      'StormLimit',
    );
  });

  test('[STM-2] nothing is fenced, however few, while nobody outside of the zone of the operator is heard of', () => {
    const count = { ...countOn('node-0', { nodes: cluster(9, [0, 1]) }), standpoint: { zone: 'a' } };
    assert.deepEqual(stormBrake(limits, count), {
      reason: 'OwnZoneAlone',
      message: 'nobody outside of zone a is heard of, and the operator runs there: it may be that zone that is cut off',
    });
    assert.equal(isStorm(limits, count), true, 'so that its cooldown follows');
    assert.equal(isStorm(limits, { ...count, unjudged: 1 }), false, 'of one of them nobody knows yet');
    assert.equal(stormBrake(limits, { ...count, standpoint: {} }), undefined);
  });

  test('[STM-1] a zone of three or more nodes has the same limit of its own', () => {
    const zoneOf = (index: number): string => (index < 3 ? 'a' : 'b');
    const zone = brakeOn('node-0', limits, { nodes: cluster(12, [0, 1], zoneOf) });
    assert.deepEqual(zone, {
      reason: 'ZoneStormLimit',
      message: '2 of 3 nodes of zone a are in trouble, and at most 40% may be',
    });
    const pairs = (index: number): string => `z${Math.floor(index / 2)}`;
    assert.equal(brakeOn('node-0', limits, { nodes: cluster(12, [0, 1], pairs) }), undefined);
  });

  test('[STM-1] a condition counts when it has lasted, against its own threshold; silence counts against all', () => {
    const having = (count: number, forMs: number, zoneOf?: Zone): CountedNode[] =>
      cluster(10, [9], zoneOf).map((one, index) => ({
        ...one,
        conditions: index < count ? [{ type: 'KernelDeadlock', status: 'True', forMs }] : [],
      }));
    const reasonFor = (nodes: CountedNode[], threshold?: string): string | undefined =>
      stormBrake(limits, countOn('node-0', { nodes }), threshold)?.reason;
    assert.equal(reasonFor(having(4, 60_000), deadlock.key), 'StormLimit', 'four with it, and the silent one');
    assert.equal(reasonFor(having(3, 60_000), deadlock.key), undefined);
    assert.equal(reasonFor(having(4, 50_000), deadlock.key), undefined, 'for less than a minute');
    assert.equal(reasonFor(having(10, 60_000), disk.key), undefined, 'another threshold');
    assert.equal(reasonFor(having(10, 60_000)), undefined, 'none');
    const silent = cluster(10, [0, 1, 2, 3, 4]);
    assert.deepEqual([reasonFor(silent, deadlock.key), reasonFor(silent, disk.key)], ['StormLimit', 'StormLimit']);
    const zoned = having(2, 60_000, (index) => (index < 3 ? 'a' : ''));
    const oddly = having(2, 60_000, (index) => (index < 3 ? 'constructor' : ''));
    assert.equal(reasonFor(oddly, deadlock.key), 'ZoneStormLimit', 'whatever it is called');
    assert.equal(reasonFor(zoned, deadlock.key), 'ZoneStormLimit');
    assert.equal(reasonFor(zoned, disk.key), undefined);
  });

  test('[STM-1] S26: of nodes that nobody has judged it is not known: they brake, and are no storm', () => {
    const nodes = cluster(10, [0]).map((one, index): CountedNode => (index < 5 ? one : { ...one, life: 'unjudged' }));
    const count = countOn('node-0', { nodes });
    assert.match(
      stormBrake(limits, count)?.message ?? '',
      /^6 of 10 .* \(of 5 it is not known yet\), and at most 40% may be$/,
    );
    assert.equal(isStorm(limits, count), false);
    assert.equal(isStorm(limits, countOn('node-0', { nodes: cluster(10, [0, 1, 2, 3, 4]) })), true);
    assert.deepEqual(
      [lifeOf(undefined), lifeOf(judged('unknown')), lifeOf(judged('down')), lifeOf(judged('healthy'))],
      ['unjudged', 'unjudged', 'silent', 'well'],
    );
  });

  test('[STM-1, SAF-14] nor of one whose renewal is overdue by its own Lease, until somebody has looked', () => {
    const of = (verdict: Verdict, unchangedForMs: number, durationMs?: number): string =>
      lifeOf(judged(verdict), { unchangedForMs, ...(durationMs === undefined ? {} : { durationMs }) });
    assert.deepEqual([of('healthy', 11_999), of('healthy', 12_000)], ['well', 'unjudged']);
    assert.deepEqual([of('healthy', 5999, 20_000), of('healthy', 6000, 20_000)], ['well', 'unjudged']);
    assert.equal(of('suspect', 12_000), 'silent');
    // After the API server was away nobody could have heard of it.
    assert.equal(lifeOf(judged('healthy'), { unchangedForMs: 90_000, hearableForMs: 1000 }), 'unjudged');
  });

  test('[STM-1] what can be taken back is no reason to count a condition', () => {
    const thresholds = ['a', 'b'].map((name) => ({
      ...deadlock,
      key: name,
      remedies: [{ name, periodMs: 0, cleanResources: false }],
    }));
    const keys = (kinds: Record<string, string>): string[] =>
      harshThresholds({ thresholds, kinds }).map(({ key }) => key);
    assert.deepEqual(keys({ a: 'cordon', b: 'drain' }), ['b']);
    assert.deepEqual(keys({ a: 'podTemplate', b: 'uncordon' }), ['a']);
    assert.deepEqual(keys({ a: 'fence', b: 'deleteMachine' }), ['a', 'b']);
  });

  test('[STM-6] after a storm nothing harsh for a while', () => {
    const endedMs = Date.parse('2026-01-01T00:00:00Z');
    const ended = {
      ...countOn('node-0', { nodes: cluster(9, [0]) }),
      stormEndedMs: endedMs,
      stormOf: ['node-3', 'node-4'],
    };
    assert.deepEqual(cooldownBrake(limits, ended, endedMs + 299_999), {
      reason: 'Cooldown',
      message:
        'a storm of node-3, node-4 ended at 2026-01-01T00:00:00Z; nothing harsh is begun before 2026-01-01T00:05:00Z',
      recheckAtMs: endedMs + 300_000,
      untilMs: endedMs + 300_000,
    });
    assert.equal(cooldownBrake(limits, ended, endedMs + 300_000), undefined);
    assert.equal(cooldownBrake({ ...limits, cooldownMs: 0 }, ended, endedMs), undefined);
    assert.equal(cooldownBrake(limits, countOn('node-0', { nodes: cluster(9, [0]) }), endedMs), undefined);
  });

  test('[SAF-7] whom it waits for, and until when', () => {
    const nowMs = Date.parse('2026-01-01T00:00:00Z');
    const around = { unheard: 5, names: ['a', 'b', 'c'], settledAtMs: nowMs + 12_000 };
    assert.equal(lookAround({ ...around, unheard: 0, names: [] }, nowMs), undefined);
    assert.equal(lookAround(undefined, nowMs)?.reason, 'LookingAround');
    assert.deepEqual(lookAround(around, nowMs), {
      reason: 'LookingAround',
      message:
        'whether other nodes are silent too is being seen: the next renewal of a, b, c and 2 more is waited for, until 2026-01-01T00:00:12Z at the latest',
      recheckAtMs: nowMs + 1000,
      untilMs: nowMs + 12_000,
    });
    assert.match(
      lookAround({ ...around, unheard: 1, names: ['a'] }, nowMs)?.message ?? '',
      /: the next renewal of a is waited for, /,
    );
  });

  test('[STM-3] a node with a condition of skipWhen is left alone, one that does not report it is not', () => {
    const unreachable = { type: 'StorageUnreachable', status: 'True' };
    const notReachable = { type: 'StorageReachable', status: 'NotTrue' };
    const skips = (type: string, status: string): boolean =>
      skipFor(
        'node-0',
        [unreachable, notReachable],
        [
          { type: 'Ready', status: 'Unknown' },
          { type, status },
        ],
      ) !== undefined;
    assert.equal(skips('StorageUnreachable', 'True'), true);
    assert.equal(skips('StorageUnreachable', 'Unknown'), false);
    assert.equal(skips('StorageReachable', 'False'), true);
    assert.equal(skips('StorageReachable', 'Unknown'), true);
    assert.equal(skips('StorageReachable', 'True'), false);
    assert.equal(skips('Other', 'True'), false);
    assert.match(
      skipFor('node-0', [unreachable], [unreachable])?.message ?? '',
      /StorageUnreachable of node-0 is True/,
    );
  });

  test('[STM-4] at most so many at a time; the node itself does not stand in its own way', () => {
    const nodes = cluster(10, [0, 1]);
    assert.equal(brakeOn('node-0', limits, { nodes, fencing: new Set(['node-1']) })?.reason, 'ConcurrencyLimit');
    assert.equal(brakeOn('node-1', limits, { nodes, fencing: new Set(['node-1']) }), undefined);
    const apart = countOn('node-0', { nodes, remedying: new Set(['node-1', 'node-2', 'node-3', 'node-4']) });
    assert.equal(slotBrake(limits, apart, 'fence'), undefined, 'a Job elsewhere is no fence');
    assert.deepEqual(slotBrake(limits, apart, 'remedy'), {
      reason: 'ConcurrencyLimit',
      message: 'node-1, node-2, node-3 and 1 more are under a remedy, and maxConcurrent is 1',
    });
  });

  test('S21: whatever is asked, what is let through is within all limits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.integer({ min: 0, max: 11 })),
        fc.array(fc.integer({ min: 0, max: 11 })),
        fc.integer({ min: 0, max: 100 }),
        (total, silent, fenced, percent) => {
          const nodes = cluster(total, silent);
          const fencing = new Set(fenced.filter((index) => index < total).map((index) => `node-${index}`));
          const asked = { maxUnresponsive: `${percent}%`, maxConcurrent: 2, cooldownMs: 0 };
          if (brakeOn('node-0', asked, { nodes, fencing }) !== undefined) return;
          const down = new Set([
            ...fencing,
            'node-0',
            ...nodes.filter(({ life }) => life !== 'well').map(({ name }) => name),
          ]);
          assert.ok(down.size <= shareOf(asked.maxUnresponsive, total));
          assert.ok(new Set([...fencing, 'node-0']).size <= 2);
        },
      ),
    );
  });
});

describe('[STM-1] what is counted', () => {
  const well = (name: string, change: Partial<CountedNode> = {}): CountedNode => ({
    name,
    zone: '',
    life: 'well',
    conditions: [],
    ...change,
  });
  const counted = (nodes: CountedNode[], more: Partial<Parameters<typeof countTrouble>[2]> = {}): TroubleCount =>
    countTrouble('node-0', nodes, { fenced: none, fencing: none, remedying: none, ...more }, [deadlock, byLease]);
  const byLease: LadderThreshold = { key: 'Lease', lease: { staleForMs: 12_000 }, remedies: [], recovery: [] };

  test('a condition, by its type and status, that has lasted as long as the threshold says, or arrives just now', () => {
    const met = (type: string, status: string, forMs: number): unknown =>
      counted([well('node-0'), well('node-1', { conditions: [{ type, status, forMs }] })]).byThreshold;
    const one = { [deadlock.key]: { troubled: 1, zones: {} } };
    assert.deepEqual(met('KernelDeadlock', 'True', 58_000), one);
    assert.deepEqual(met('KernelDeadlock', 'True', 57_999), {});
    assert.deepEqual(met('KernelDeadlock', 'False', 60_000), {});
    assert.deepEqual(met('Another', 'True', 60_000), {});
  });

  test('[STM-1] in a storm who was there when it began: who joins says nothing, and who is deleted is not back', () => {
    const storm = { sinceMs: Date.parse('2026-01-01T00:00:00Z'), nodes: 5, zones: { a: 4 } };
    const inZone = { zone: 'a' };
    const silent = { ...inZone, life: 'silent' } as const;
    const joined = { ...inZone, hasJoined: true };
    const there = [well('node-0', silent), well('node-1', silent), well('node-2', inZone), well('node-3')];
    const figures = (...more: CountedNode[]): unknown => {
      const { nodes, troubled, zones, isAsItBegan } = counted([...there, ...more], { storm });
      return [troubled, nodes, zones.map((zone) => [zone.troubled, zone.nodes]), isAsItBegan];
    };
    assert.deepEqual(figures(well('node-4', inZone)), [2, 5, [[2, 4]], undefined]);
    assert.deepEqual(figures(), [3, 5, [[3, 4]], true], 'one is deleted');
    assert.deepEqual(figures(well('node-5', joined)), [3, 5, [[3, 4]], true], 'another has joined for it');
    const five = well('node-4', inZone);
    assert.deepEqual(figures(five, well('node-5', joined)), [2, 5, [[2, 4]], true]);
    assert.deepEqual(figures(five, well('node-5', inZone)), [2, 6, [[2, 5]], undefined], 'of more than are on record');
    assert.deepEqual(figures(five, well('node-5', { ...joined, life: 'silent' })), [3, 6, [[3, 5]], undefined]);
    const conditions = [{ type: 'KernelDeadlock', status: 'True', forMs: 60_000 }];
    assert.deepEqual(figures(five, well('node-5', { ...joined, conditions })), [2, 6, [[2, 5]], undefined]);
    const [other, ...rest] = [well('node-0'), well('node-1', joined)];
    assert.deepEqual(counted([other, ...rest]).nodes, 1);
  });

  test('[STM-1] and it says so, where the figures are not those of now', () => {
    const storm = { sinceMs: Date.parse('2026-01-01T00:00:00Z'), nodes: 5, zones: {} };
    const zones = [{ zone: 'a', nodes: 3, troubled: 2 }];
    const told = (change: object): string | undefined =>
      stormBrake(limits, aCount({ nodes: 5, troubled: 3, ...change }))?.message;
    const began =
      / in trouble \(of those that were there when the storm began, at 2026-01-01T00:00:00Z; .*\), and at most 40% /;
    assert.match(told({ storm, isAsItBegan: true }) ?? '', began);
    assert.match(told({ storm, isAsItBegan: true, troubled: 2, zones }) ?? '', began);
    assert.equal(told({ storm }), '3 of 5 nodes are in trouble, and at most 40% may be');
    assert.equal(told({ isAsItBegan: true }), '3 of 5 nodes are in trouble, and at most 40% may be');
  });

  test('others that nobody has judged, and others that have a slot', () => {
    const nodes = [well('node-0', { life: 'unjudged' }), well('node-1', { life: 'unjudged' })];
    const slots = new Set(['node-0', 'node-1']);
    const { unjudged, fencing, remedying } = counted(nodes, { fencing: slots, remedying: slots });
    assert.deepEqual([unjudged, fencing, remedying], [1, ['node-1'], ['node-1']]);
  });

  test('[STM-8] the control plane, where the node is of it: who is in trouble, and who else is being fenced', () => {
    const plane = (name: string, change: Partial<CountedNode> = {}): CountedNode =>
      well(name, { isControlPlane: true, ...change });
    const nodes = [plane('node-0'), plane('node-1'), plane('node-2'), well('node-3', { life: 'silent' })];
    const fenced = new Set(['node-0', 'node-2', 'node-3']);
    const of = 'the control plane';
    assert.deepEqual(counted(nodes, { fenced }).quorums, [{ of, nodes: 3, troubled: 2, busy: ['node-2'] }]);
    const [, ...others] = nodes;
    assert.equal(counted([well('node-0'), ...others]).quorums, undefined);
    const both = [plane('node-0', { isEtcd: true }), ...others, well('node-4', { isEtcd: true })];
    assert.deepEqual(
      counted(both, { fenced: new Set(['node-4']) }).quorums?.map(({ of: group, busy }) => [group, busy]),
      [
        [of, []],
        ['etcd', ['node-4']],
      ],
    );
  });

  test('[STM-8] of which a majority has to be left, and one is cut at a time', () => {
    const group = (nodes: number, troubled: number, busy: string[] = [], of = 'the control plane') =>
      ({ of, nodes, troubled, busy }) as const;
    const brake = (...quorums: ReturnType<typeof group>[]): string | undefined =>
      quorumBrake({ ...counted([]), quorums })?.message;
    assert.equal(brake(group(3, 1)), undefined);
    assert.match(brake(group(3, 2)) ?? '', /1 of 3 nodes would be left, and 2 are needed/);
    assert.match(brake(group(5, 2, ['node-2'])) ?? '', /node-2, of it too, is being fenced/);
    assert.match(brake(group(5, 1), group(3, 2, [], 'etcd')) ?? '', /^it is of etcd, of which 1 of 3/);
    assert.equal(quorumBrake(counted([])), undefined);
  });

  test('[STM-1] a ladder with something on it that cannot be taken back, wherever that stands', () => {
    const of = (...names: string[]): LadderThreshold => ({
      ...deadlock,
      remedies: names.map((name) => ({ name, periodMs: 0, cleanResources: false })),
    });
    const [mixed, mild] = [of('cordon', 'fence'), of('cordon')];
    const kinds = { cordon: 'cordon', fence: 'fence' };
    assert.deepEqual(harshThresholds({ thresholds: [mixed, mild], kinds }), [mixed]);
  });
});

describe('the node that we run on', () => {
  const untilMs = 600_000;

  test('[STM-8] comes last, and somebody else has to do it', () => {
    assert.equal(ownBrake(undefined, 3, untilMs), undefined);
    const said = (handOver: 'possible' | 'inVain' | 'tooSoon' | 'impossible', others = 0): string | undefined =>
      ownBrake({ handOver }, others, untilMs)?.message;
    assert.match(said('possible', 1) ?? '', /another node that is in trouble comes first$/);
    assert.match(said('possible', 2) ?? '', /2 nodes that are in trouble come first$/);
    assert.match(said('possible') ?? '', /the lead is handed over first$/);
    assert.match(said('inVain') ?? '', /no other instance has taken the lead$/);
    assert.match(said('tooSoon') ?? '', /handed over within the last ten minutes/);
    assert.match(said('impossible') ?? '', /no election/);
    assert.equal(ownBrake({ handOver: 'possible' }, 1, untilMs)?.recheckAtMs, untilMs);
  });

  test('[STM-8] others are those who are silent, and those who report the same', () => {
    const count = aCount({ troubled: 3, byThreshold: { deadlock: { troubled: 2, zones: {} } } });
    assert.equal(othersInTrouble(count, undefined), 2);
    assert.equal(othersInTrouble(count, 'deadlock'), 4);
    assert.equal(othersInTrouble(count, 'constructor'), 2);
  });
});
