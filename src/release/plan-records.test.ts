/** What is on record of a release, and how it goes on from there. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  aCase,
  aFence,
  anAttachment,
  aNode,
  aPod,
  aRecord,
  aVolume,
  entry,
  eviction,
  forceEviction,
  inForce,
  nowMs,
  quarantine,
} from '../../test/support/release-case.ts';
import { MAX_RELEASED_PODS } from '../api/fence-names.ts';
import type { ReleaseRecord } from '../api/node-fence.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import type { Act, Step } from '../api/steps.ts';
import { actsOf } from '../api/steps.ts';
import type { ReleasePlan } from './plan.ts';
import { planRelease, progressed } from './plan.ts';
import { releaseNode } from './release-node.ts';

const plan = (nodeCase: NodeCase): ReleasePlan => planRelease(nodeCase, releaseNode(nodeCase), 4);
const deeds = (steps: readonly Step[]): Act['do'][][] => steps.map((step) => actsOf(step).map((act) => act.do));

describe('what is done already makes no step', () => {
  const recorded = (change: Partial<NodeCase> = {}, record: Partial<ReleaseRecord> = {}): NodeCase =>
    aCase({ fence: aFence({ releases: [aRecord(record)] }), ...change });

  test('after a crash at any write the same plan goes on, under the same record', () => {
    const marked = { taints: [quarantine] };
    const stages: [Partial<NodeCase>, Act['do'][][]][] = [
      [{}, [['quarantine'], ['freeVolumes'], ['forceDelete']]],
      [{ node: aNode(marked) }, [['freeVolumes'], ['forceDelete']]],
      [{ node: aNode({ ...marked, volumesInUse: [] }) }, [['forceDelete']]],
      [{ node: aNode({ ...marked, volumesInUse: [] }), pods: [aPod({ phase: 'Failed' })] }, [['forceDelete']]],
      [{ node: aNode({ ...marked, volumesInUse: [] }), pods: [aPod({ phase: 'Failed', graceSeconds: 0 })] }, []],
      [{ node: aNode({ ...marked, volumesInUse: [] }), pods: [] }, []],
    ];
    for (const [stage, expected] of stages) {
      const { steps, records } = plan(recorded(stage));
      assert.deepEqual(deeds(steps), expected);
      assert.equal(records.length, 1);
      assert.equal(records[0]?.epoch, 1, 'as it was first decided');
      assert.equal(records[0].pods.length, 1, 'each pod once');
      assert.equal(records[0].joinedAt, undefined);
    }
  });

  test('[POD-6] what does not fit into a record gets another, and stays there', () => {
    const pods = Array.from({ length: 2 * MAX_RELEASED_PODS + 3 }, (_, at) =>
      aPod({ uid: `pod-${at}`, name: `web-${at}` }),
    );
    const held = (records: readonly ReleaseRecord[]): number[] => records.map((record) => record.pods.length);
    const { records } = plan(aCase({ pods, fence: aFence() }));
    assert.deepEqual(held(records), [MAX_RELEASED_PODS, MAX_RELEASED_PODS, 3]);
    const uids = records.flatMap((record) => record.pods.map(({ uid }) => uid));
    assert.deepEqual(
      uids,
      pods.map(({ uid }) => uid),
      'each pod once',
    );
    const [full] = plan(aCase({ pods: pods.slice(0, MAX_RELEASED_PODS), fence: aFence() })).records;
    assert.ok(full);
    const same = plan(aCase({ pods: pods.slice(0, MAX_RELEASED_PODS), fence: aFence({ releases: [full] }) }));
    assert.deepEqual(held(same.records), [MAX_RELEASED_PODS], 'nothing is new');
    const other = plan(aCase({ pods: pods.slice(0, 2), fence: aFence({ releases: [{ ...full, bootId: 'boot-0' }] }) }));
    assert.deepEqual(
      held(other.records),
      [MAX_RELEASED_PODS, 2],
      'what is on record of another boot is on no record here',
    );
    const more = [...pods, aPod({ uid: 'more', name: 'more' })];
    const again = plan(aCase({ pods: more, fence: aFence({ releases: records }) }));
    assert.deepEqual(
      held(again.records),
      [MAX_RELEASED_PODS, MAX_RELEASED_PODS, 4],
      'what is new joins where there is room',
    );
  });

  test('[NGS-8] how long a pod may take to end is on record where no volume of its own shows that it has', () => {
    const graces = (...pods: PodFacts[]): (number | undefined)[] =>
      plan(aCase({ pods, fence: aFence() })).records.flatMap((record) => record.pods.map((pod) => pod.graceSeconds));
    assert.deepEqual(graces(aPod()), [undefined]);
    assert.deepEqual(graces(aPod({ endsWithinSeconds: 90 }), aPod({ uid: 'pod-1', name: 'web-1' })), [90, 30]);
  });

  test('a record of another boot, author or node is another record', () => {
    const others: Partial<ReleaseRecord>[] = [
      { bootId: 'boot-0' },
      { by: 'policy other' },
      { nodeUid: 'other' },
      { endedAt: 'x' },
      { way: 'remedy' },
    ];
    for (const other of others) assert.equal(plan(recorded({}, other)).records.length, 2, JSON.stringify(other));
  });

  test('progress is noted once, and noting it again changes nothing', () => {
    const arbitrary = fc.record({
      pods: fc.constantFrom([], [aPod()], [aPod({ phase: 'Failed' })]),
      volumesInUse: fc.constantFrom([], [entry]),
      attachments: fc.constantFrom([], [anAttachment()]),
      laterMs: fc.integer({ min: 0, max: 100_000 }),
    });
    fc.assert(
      fc.property(arbitrary, ({ pods, volumesInUse, attachments, laterMs }) => {
        const nodeCase = aCase({ pods, node: aNode({ volumesInUse }), attachments });
        const once = progressed(nodeCase, aRecord());
        assert.deepEqual(progressed({ ...nodeCase, serverNowMs: nowMs + laterMs }, once), once);
        if (once.endedAt !== undefined) assert.ok(once.podsGoneAt !== undefined && attachments.length === 0);
        if (once.freedAt !== undefined) assert.deepEqual(volumesInUse, []);
        if (once.podsGoneAt !== undefined) assert.ok(pods.every(({ phase }) => phase === 'Failed'));
      }),
    );
  });

  test('[POD-6] a pod that was deleted and is not over is deleted again, and so is one that only says that it is over', () => {
    const { deletionAtMs: _, ...undeleted } = aPod({ graceSeconds: 0, phase: 'Failed' });
    for (const pod of [undeleted, aPod({ graceSeconds: 0 }), aPod({ phase: 'Failed' })]) {
      const { steps } = planRelease(recorded({ pods: [pod] }), [{ pod, goes: true, way: 'policy', frees: [] }], 4);
      assert.deepEqual(deeds(steps).at(-1), ['forceDelete']);
    }
  });

  test('[POD-7] a pod whose object stays is recorded once, not in every pass', () => {
    const policy = inForce({ podDeletion: 'do-nothing', volumeAttachmentRecovery: 'immediate' });
    const over = {
      policy,
      pods: [aPod({ phase: 'Failed' })],
      attachments: [],
      awaited: ['default/data-web-0'],
    };
    const record = { podsStay: true, freedAt: 'x', podsGoneAt: 'x', endedAt: 'x' };
    const { steps, records } = plan(
      recorded({ ...over, node: aNode({ taints: [quarantine], volumesInUse: [] }) }, record),
    );
    assert.deepEqual([deeds(steps), records.length], [[], 1]);
    const count = (...releases: Partial<ReleaseRecord>[]): number =>
      plan(aCase({ ...over, fence: aFence({ releases: releases.map((one) => aRecord({ ...record, ...one })) }) }))
        .records.length;
    const another = { namespace: 'default', name: 'web-1', uid: 'pod-1' };
    assert.equal(count({}, { pods: [another] }), 2, 'by one of several records');
    assert.equal(count({ pods: [another, ...aRecord().pods] }), 1, 'as one of several pods');
    assert.equal(count({ pods: [another] }), 2, 'that was another pod');
    assert.equal(count({ bootId: 'boot-0' }), 2, 'that was another boot');
    const { way: _, ...unnamed } = aRecord({ podsStay: true });
    const open = { ...over, attachments: [anAttachment(), anAttachment({ name: 'csi-1' })] };
    const goesOn = plan(aCase({ ...open, fence: aFence({ releases: [unnamed] }) })).records;
    assert.deepEqual(
      goesOn.map(({ attachments }) => attachments),
      [['csi-0', 'csi-1']],
      'and goes on while it is open',
    );
  });

  test('[POD-7] what an earlier version wrote is of the only way that it can be, or of none', () => {
    const open = (change: Partial<ReleaseRecord>): number => {
      const { way: _, ...unnamed } = aRecord(change);
      return plan(aCase({ fence: aFence({ releases: [unnamed] }) })).records.length;
    };
    assert.equal(open({}), 1, 'that of the policy');
    assert.equal(open({ basis: 'PowerOff' }), 2);
  });

  describe('what joins a record later', () => {
    const before = aRecord({ freedAt: '2026-01-01T00:09:10Z', podsGoneAt: '2026-01-01T00:09:20Z' });
    const [first, second] = [anAttachment(), anAttachment({ name: 'csi-1', uid: 'attachment-1', volume: 'pv-1' })];
    const volumes = {
      'default/data-web-0': aVolume(),
      'default/data-web-1': aVolume({ volume: 'pv-1', csi: { driver: 'driver.longhorn.io', handle: 'pv-1' } }),
    };
    const newcomer = aPod({ name: 'web-1', uid: 'pod-1', claims: [{ volume: 'data', claim: 'data-web-1' }] });
    const joined = (change: Partial<NodeCase>, record = before): ReleaseRecord | undefined =>
      plan(
        aCase({
          node: aNode({ volumesInUse: [] }),
          volumes,
          attachments: [first, second],
          fence: aFence({ releases: [record] }),
          ...change,
        }),
      ).records[0];

    test('opens it again: neither are all pods gone, nor is all free', () => {
      const now = '2026-01-01T00:10:00Z';
      const { podsGoneAt: _, freedAt: __, ...open } = before;
      assert.deepEqual(joined({ pods: [newcomer] }), {
        ...open,
        joinedAt: now,
        pods: [...before.pods, { namespace: 'default', name: 'web-1', uid: 'pod-1' }],
        attachments: ['csi-0', 'csi-1'],
        volumes: ['pv-0', 'pv-1'],
        freed: [entry, 'kubernetes.io/csi/driver.longhorn.io^pv-1'],
      });
    });

    test('[EVD-5] what is free later, because a pod that stayed has gone, has a time of its own to be detached', () => {
      const asserted = aCase({ gates: eviction, policy: { kind: 'none' }, node: aNode({ taints: [forceEviction] }) });
      const [begun] = plan(asserted).records;
      const goneAt = (podsGoneAt: string | undefined, attachments: NodeCase['attachments']): string | undefined => {
        const releases = [{ ...begun!, ...(podsGoneAt === undefined ? {} : { podsGoneAt }) }];
        const [record] = plan({ ...asserted, pods: [], attachments, fence: aFence({ releases }) }).records;
        assert.deepEqual(
          record?.attachments,
          attachments.map(({ name }) => name),
        );
        return record?.podsGoneAt;
      };
      assert.equal(goneAt(before.podsGoneAt, [first]), before.podsGoneAt);
      assert.equal(goneAt(before.podsGoneAt, [first, second]), '2026-01-01T00:10:00Z');
    });

    test('and where nothing does it stays as it is', () => {
      const waits = { ...before, freed: [], freedAt: '2026-01-01T00:09:10Z' };
      const over = aPod({ phase: 'Failed' });
      assert.deepEqual(joined({ pods: [over] }), before);
      assert.deepEqual(joined({ pods: [] }, waits), waits);
      const { podsGoneAt: _, freedAt: __, ...open } = before;
      assert.deepEqual(joined({ pods: [aPod()], node: aNode() }, open), open);
    });
  });

  describe('what the world has done of it', () => {
    const after = (change: Partial<NodeCase>, record: Partial<ReleaseRecord> = {}): string => {
      const { freedAt, podsGoneAt, endedAt } = progressed(aCase(change), aRecord(record));
      const said = { free: freedAt, gone: podsGoneAt, over: endedAt };
      return Object.entries(said)
        .flatMap(([what, at]) => (at === undefined ? [] : [what]))
        .join();
    };
    const node = aNode({ volumesInUse: [] });

    test('[NGS-4] volumes are free when none of them is in use, by what this boot says', () => {
      assert.equal(after({ node }), 'free');
      assert.equal(after({}), '');
      assert.equal(after({}, { freed: ['other', entry] }), '', 'not all of them');
      assert.equal(after({ node: aNode({ bootId: 'boot-2', volumesInUse: [] }) }), '', 'it has mounted nothing yet');
    });

    test('[NGS-7] pods are gone when each of them is, or is over', () => {
      const pods = [...aRecord().pods, { namespace: 'default', name: 'web-1', uid: 'pod-1' }];
      assert.equal(after({}, { pods }), '');
      assert.equal(after({ pods: [aPod({ phase: 'Failed' })] }), 'gone');
    });

    test('[NGS-7] it is over when what it let go is detached; what others use by now is not waited for', () => {
      const gone = { pods: [], node };
      assert.equal(after(gone), 'free,gone');
      assert.equal(after({ ...gone, attachments: [] }), 'free,gone,over');
      assert.equal(after({ ...gone, attachments: [anAttachment({ name: 'csi-9' })] }), 'free,gone,over', 'another one');
      const { deletionAtMs: _, ...user } = aPod({ name: 'other', uid: 'pod-9' });
      assert.equal(after({ ...gone, pods: [user] }), 'free,gone,over');
    });
  });
});
