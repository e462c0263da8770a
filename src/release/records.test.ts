/** What is kept of releases, and in how many records. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aFence, anAttachment, aPod, aRecord, aVolume } from '../../test/support/release-case.ts';
import { MAX_RELEASED_PODS, MAX_RELEASES } from '../api/fence-names.ts';
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { ReleasePlan } from './plan.ts';
import { planRelease } from './plan.ts';
import { releaseNode } from './release-node.ts';

const plan = (nodeCase: NodeCase): ReleasePlan => planRelease(nodeCase, releaseNode(nodeCase), 4);

describe('records of releases', () => {
  test('[SAF-4] what is over in this boot is kept in as few records as it takes, and that of other boots goes first', () => {
    const own = (at: number, change: Partial<ReleaseRecord> = {}): ReleaseRecord => {
      const name = `old-${at}`;
      const pods = [{ namespace: 'default', name, uid: name }];
      const lists = { pods, volumes: [name], freed: [name], attachments: [name] };
      return aRecord({ ...lists, recordedAt: `recorded ${at}`, endedAt: `ended ${at}`, ...change });
    };
    const many = (count: number, change: Partial<ReleaseRecord> = {}): ReleaseRecord[] =>
      Array.from({ length: count }, (_, at) => own(at, change));
    const kept = (...releases: ReleaseRecord[]): ReleaseRecord[] =>
      plan(aCase({ fence: aFence({ releases }) })).records;
    const records = kept(...many(MAX_RELEASES));
    assert.equal(records.length, MAX_RELEASES, 'with the one that is new');
    assert.equal(new Set(records.flatMap(({ freed }) => freed)).size, MAX_RELEASES + 1, 'all is known still');
    const [first] = records;
    assert.deepEqual(
      [first?.recordedAt, first?.joinedAt, first?.endedAt, first?.pods.length],
      ['recorded 0', 'recorded 1', 'ended 1', 2],
    );
    assert.deepEqual(
      [first?.volumes, first?.attachments],
      [
        ['old-0', 'old-1'],
        ['old-0', 'old-1'],
      ],
    );
    assert.equal(kept(...many(MAX_RELEASES - 1)).length, MAX_RELEASES, 'where there is room they stay as they are');
    const past = kept(own(99, { bootId: 'boot-0' }), ...many(MAX_RELEASES - 1));
    assert.ok(past.every(({ bootId }) => bootId !== 'boot-0'));
    assert.ok(past.every(({ pods }) => pods.length === 1));
    const mixed = kept(own(97, { by: 'a' }), own(98, { basis: 'PowerOff', way: 'power' }), ...many(MAX_RELEASES));
    assert.equal(mixed.length, MAX_RELEASES);
    assert.deepEqual(
      mixed.slice(0, 2).map(({ pods }) => pods.length),
      [1, 1],
      'only what rests on the same',
    );
    const full = (at: number): Partial<ReleaseRecord> => ({
      freed: Array.from({ length: MAX_RELEASED_PODS }, (_, index) => `${at} ${index}`),
    });
    const large = kept(own(0, full(0)), own(1, full(1)), ...many(MAX_RELEASES - 2));
    assert.deepEqual(
      large.slice(0, 2).map(({ freed }) => freed.length),
      [MAX_RELEASED_PODS, MAX_RELEASED_PODS],
    );
    const two = (...budgets: string[]): string[] =>
      kept(own(0, { budgets }), own(1, { budgets: ['default/two'] }), ...many(MAX_RELEASES - 2))[0]?.budgets ?? [];
    assert.deepEqual(two('default/one'), ['default/one', 'default/two']);
    assert.equal(
      two(...Array.from({ length: MAX_RELEASED_PODS }, (_, at) => `default/${at}`)).length,
      MAX_RELEASED_PODS,
    );
  });

  test('[STM-5] so many budgets that are overruled are on record as there is room for', () => {
    const budgets = Array.from({ length: MAX_RELEASED_PODS + 1 }, (_, at) => ({
      namespace: 'default',
      name: `budget-${at}`,
      selector: { matchLabels: { app: 'web' }, matchExpressions: [] },
    }));
    const { deletionAtMs: _, ...pod } = aPod();
    const { records } = planRelease(aCase({ budgets }), [{ pod, goes: true, way: 'power', frees: [] }], 4);
    assert.equal(records[0]?.budgets?.length, MAX_RELEASED_PODS);
  });

  test('[SAF-4] what is open goes into no other record, and that of another way into none', () => {
    const names = (records: readonly ReleaseRecord[]): string[] =>
      records.flatMap(({ pods }) => pods.map(({ uid }) => uid));
    const one = (uid: string, change: Partial<ReleaseRecord> = {}): ReleaseRecord =>
      aRecord({ pods: [{ namespace: 'default', name: uid, uid }], ...change });
    const endedAt = '2026-01-01T00:09:30Z';
    const fill = (count: number): ReleaseRecord[] =>
      Array.from({ length: count }, (_, at) => one(`other-${at}`, { by: `policy ${at}`, endedAt }));
    const kept = (...releases: ReleaseRecord[]): ReleaseRecord[] =>
      plan(aCase({ fence: aFence({ releases }) })).records;
    const held = aPod({ uid: 'held', name: 'held' });
    const open = {
      pods: [aPod(), held],
      fence: aFence({ releases: [one('held'), one('over', { endedAt }), ...fill(MAX_RELEASES)] }),
    };
    const before = plan(aCase(open)).records;
    assert.deepEqual([before[0]?.endedAt, before[0]?.pods.length], [undefined, 2], 'with the pod that is new');
    const later = plan(
      aCase({ ...open, fence: aFence({ releases: [one('over', { endedAt }), one('held'), ...fill(MAX_RELEASES)] }) }),
    );
    const still = later.records.filter((record) => record.endedAt === undefined);
    assert.deepEqual(names(still), ['held', 'pod-0']);
    const attachments = [anAttachment(), anAttachment({ name: 'csi-9', uid: 'attachment-9', volume: 'pv-9' })];
    const past = [one('past', { bootId: 'boot-0', attachments: ['csi-9'] }), ...fill(MAX_RELEASES)];
    const elsewhere = plan(aCase({ attachments, fence: aFence({ releases: past }) })).records;
    assert.ok(names(elsewhere).includes('past'), 'that of another boot is not over either');
    const unknown = { way: 'of another version' as never, endedAt };
    const bases = [one('a', { ...unknown, basis: 'PowerOff' }), one('b', { ...unknown, basis: 'StorageFenced' })];
    assert.ok(kept(...bases, ...fill(MAX_RELEASES - 2)).every(({ pods }) => pods.length === 1));
  });

  test('[POD-6] a pod that is on record stays there, unless there is no room for what it has', () => {
    const another = aRecord({ pods: [{ namespace: 'default', name: 'web-1', uid: 'pod-1' }], freed: [], volumes: [] });
    const pods = [aPod(), aPod({ uid: 'pod-1', name: 'web-1', claims: [] })];
    const placed = (...releases: ReleaseRecord[]): number[] =>
      plan(aCase({ pods, fence: aFence({ releases }) })).records.map((record) => record.pods.length);
    assert.deepEqual(placed(another, aRecord()), [1, 1]);
    const full = Array.from({ length: MAX_RELEASED_PODS }, (_, at) => `entry ${at}`);
    const { records } = plan(aCase({ fence: aFence({ releases: [aRecord({ freed: full })] }) }));
    assert.deepEqual(
      records.map(({ freed }) => freed.length),
      [MAX_RELEASED_PODS, 1],
    );
  });

  test('[SAF-10] what a record has no room for, of volumes as of pods, gets another, with its pod', () => {
    const count = 9;
    const each = 60;
    const claims = (at: number): string[] => Array.from({ length: each }, (_, one) => `data-${at}-${one}`);
    const names = Array.from({ length: count }, (_, at) => claims(at)).flat();
    const volumes = Object.fromEntries(
      names.map((claim) => [
        `default/${claim}`,
        aVolume({ claim: `default/${claim}`, volume: claim, csi: { driver: 'driver.longhorn.io', handle: claim } }),
      ]),
    );
    const pods = Array.from({ length: count }, (_, at) =>
      aPod({ uid: `pod-${at}`, name: `web-${at}`, claims: claims(at).map((claim) => ({ volume: claim, claim })) }),
    );
    const attachments = names.map((volume) => anAttachment({ name: `csi-${volume}`, uid: volume, volume }));
    const nodeCase = aCase({ pods, volumes, attachments, fence: aFence() });
    const { records } = plan(nodeCase);
    const sizes = (all: readonly ReleaseRecord[]): number[][] =>
      all.map((one) => [one.pods, one.volumes, one.freed, one.attachments].map(({ length }) => length));
    const expected = [
      [8, 480, 480, 480],
      [1, 60, 60, 60],
    ];
    assert.deepEqual(sizes(records), expected);
    assert.deepEqual(sizes(plan({ ...nodeCase, fence: aFence({ releases: records }) }).records), expected, 'once');
    const grounds = plan(nodeCase).steps.flatMap((step) => ('grounds' in step ? [step.grounds.freed.length] : []));
    assert.ok(grounds.includes(names.length), 'none of them may be there again');
  });

  test('records that have ended are kept while there is room', () => {
    const ended = Array.from({ length: MAX_RELEASES - 2 }, (_, at) => aRecord({ by: `policy ${at}`, endedAt: 'x' }));
    assert.equal(plan(aCase({ fence: aFence({ releases: ended }) })).records.length, MAX_RELEASES - 1);
  });

  test('records are bounded: the oldest that are over go, one that is open never', () => {
    const old = Array.from({ length: MAX_RELEASES }, (_, at) =>
      aRecord({ by: `policy ${at}`, ...(at === 0 ? {} : { endedAt: 'x' }) }),
    );
    const { records } = plan(aCase({ fence: aFence({ releases: old }) }));
    assert.equal(records.length, MAX_RELEASES);
    assert.ok(
      records.some(({ by }) => by === 'policy 0'),
      'the open one',
    );
    assert.ok(
      records.every(({ by }) => by !== 'policy 1'),
      'the oldest of the others',
    );
    assert.ok(
      records.some(({ by }) => by === 'policy release'),
      'the new one',
    );
  });
});
