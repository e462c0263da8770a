import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  anAttachment,
  anIncident,
  aNode,
  aPod,
  aRecord,
  entry,
  inForce,
  nowMs,
  quarantine,
  renewedLease,
  withoutNode,
} from '../../test/support/release-case.ts';
import { hash } from '../api/hash.ts';
import type { NodeFenceStatus, ReleaseRecord } from '../api/node-fence.ts';
import type { LiveNode, NodeCase, PodFacts } from '../api/release-view.ts';
import type { ReturnDecision } from './return-node.ts';
import { isQuarantined, returnNode } from './return-node.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;
type Step = Fence['switched'][number]['step'];

const aStored: Fence = {
  step: 'recovery',
  status: 'final',
  phase: 'finished',
  level: 0,
  index: 0,
  cleanResources: true,
  retries: 0,
  restarts: 0,
  startedAt: '2026-01-01T00:00:00Z',
  stepStartedAt: '2026-01-01T00:00:00Z',
  switched: [],
};

const over = aRecord({ freedAt: 'x', podsGoneAt: 'x', endedAt: 'x' });
/** Back, Ready and in quarantine, with nothing left of what was released; the same boot. */
function back(node: Partial<LiveNode> = {}, change: Partial<NodeCase> = {}): NodeCase {
  const known = { ready: 'True', taints: [quarantine], volumesInUse: [], ...node } as const;
  return aCase({ node: aNode(known), lease: renewedLease, pods: [], attachments: [], ...change });
}

function staying(change: Partial<PodFacts> = {}): PodFacts {
  const { deletionAtMs: _, ...pod } = aPod(change);
  return pod;
}

function withoutLease(nodeCase: NodeCase): NodeCase {
  const { lease: _, ...rest } = nodeCase;
  return rest;
}

function stage({ stage: at, waitsFor }: ReturnDecision): string {
  return `${at ?? 'away'}: ${waitsFor?.reason ?? 'nothing'}`;
}

function stored(at: NonNullable<NodeFenceStatus['return']>['stage'], sinceMs: number): NodeCase['fence'] & object {
  const since = `${new Date(sinceMs).toISOString().slice(0, 19)}Z`;
  return aFence({ return: { stage: at, since, failures: 0 } });
}

describe('the way back', () => {
  const rows: [string, string, NodeCase, ReleaseRecord[]][] = [
    ['it is not Ready', 'away: NotSeen', back({ ready: 'Unknown' }), [over]],
    [
      'its Lease is not renewed',
      'away: NotSeen',
      back({}, { lease: { ...renewedLease, unchangedForMs: 12_000 } }),
      [over],
    ],
    [
      'its Lease is renewed less often, and will be',
      'clean: Soaking',
      back({}, { lease: { ...renewedLease, unchangedForMs: 12_000, durationMs: 80_000 } }),
      [over],
    ],
    ['it has no Lease', 'clean: Soaking', withoutLease(back()), [over]],
    ['there is no Node', 'away: NotSeen', withoutNode(back()), [over]],
    ['a released volume is attached', 'seen: DetachPending', back({}, { attachments: [anAttachment()] }), [over]],
    ['another volume is', 'clean: Soaking', back({}, { attachments: [anAttachment({ volume: 'pv-9' })] }), [over]],
    [
      'a released volume is attached to another node',
      'clean: Soaking',
      back({}, { attachments: [anAttachment({ node: 'node-2' })] }),
      [over],
    ],
    ['a released volume is in use', 'seen: NotClean', back({ volumesInUse: [entry] }), [over]],
    [
      'a released volume is in use by a pod on its way out',
      'seen: NotClean',
      back({ volumesInUse: [entry] }, { pods: [aPod({ uid: 'pod-9' })] }),
      [over],
    ],
    [
      'a released volume is in use, and the pod that had it is over',
      'seen: NotClean',
      back({ volumesInUse: [entry] }, { pods: [staying({ uid: 'pod-9', phase: 'Succeeded' })] }),
      [over],
    ],
    ['another is', 'clean: Soaking', back({ volumesInUse: ['kubernetes.io/csi/x^y'] }), [over]],
    ['a released pod is there', 'seen: NotClean', back({}, { pods: [aPod({ phase: 'Failed' })] }), [over]],
    ['a released pod still runs', 'seen: NotClean', back({}, { pods: [aPod()] }), [over]],
    [
      'one of several released pods still runs',
      'seen: NotClean',
      back({}, { pods: [aPod()] }),
      [{ ...over, pods: [...over.pods, { namespace: 'default', name: 'web-1', uid: 'pod-1' }] }],
    ],
    ['a pod leaves that was not released', 'clean: Soaking', back({}, { pods: [aPod({ uid: 'pod-9' })] }), [over]],
    [
      'the pod was released from this boot, before its Node object was made anew',
      'seen: NotClean',
      back({}, { pods: [aPod()] }),
      [{ ...over, nodeUid: 'another' }],
    ],
    ['all is gone', 'clean: Soaking', back(), [over]],
    [
      'it was booted since',
      'clean: Soaking',
      back({ bootId: 'boot-2' }, { pods: [aPod({ phase: 'Failed' })] }),
      [over],
    ],
    ['booted, and in use again', 'seen: NotClean', back({ bootId: 'boot-2', volumesInUse: [entry] }), [over]],
    [
      'booted, and still attached',
      'seen: DetachPending',
      back({ bootId: 'boot-2' }, { attachments: [anAttachment()] }),
      [over],
    ],
    ['the record is gone, a volume is left', 'seen: NotClean', back({ volumesInUse: [entry] }), []],
    ['the record is gone, nothing is left', 'clean: Soaking', back(), []],
  ];
  for (const [when, expected, nodeCase, records] of rows) {
    test(`[NGS-7, FEV-5] ${when}: ${expected}`, () => {
      const decision = returnNode(nodeCase, records);
      assert.equal(stage(decision), expected);
      assert.equal(decision.act, undefined, 'and nothing is taken away');
    });
  }

  describe('of a pod with a volume that no kubelet reports', () => {
    const { namespace, name, uid } = aPod();
    const hidden = { ...over, pods: [{ namespace, name, uid, unseen: 'pv-0' }] };

    test('[RET-2, SAF-4] the same boot proves nothing, and another one does', () => {
      const waits = returnNode(back(), [hidden]);
      assert.equal(stage(waits), 'seen: NotClean');
      assert.match(waits.waitsFor?.message ?? '', /^it waits for a reboot: pod \S+ was released, .* uses pv-0$/);
      assert.equal(stage(returnNode(back({ bootId: 'boot-2' }), [hidden])), 'clean: Soaking');
    });

    test('[RET-2] it stays in service if it was never taken away', () => {
      assert.equal(stage(returnNode(back({}, { pods: [staying()] }), [hidden])), 'clean: Soaking');
    });

    test('[FEN-16] where the boot ID says nothing, only power that was off has ended it', () => {
      const shared = back({ sharesBootId: true });
      assert.equal(stage(returnNode(shared, [{ ...hidden, basis: 'PowerOff' }])), 'clean: Soaking');
      assert.equal(stage(returnNode(shared, [{ ...hidden, basis: 'StorageFenced' }])), 'seen: NotClean');
      assert.equal(stage(returnNode(back(), [{ ...hidden, basis: 'PowerOff' }])), 'seen: NotClean');
    });
  });

  describe('of a pod that shows in no volume', () => {
    const { namespace, name, uid } = aPod();
    const quick = { namespace, name: 'web-1', uid: 'pod-1', graceSeconds: 1 };
    const hidden = { ...over, pods: [{ namespace, name, uid, graceSeconds: 90 }, quick] };
    const waits = (nodeCase: NodeCase, ...records: ReleaseRecord[]): number =>
      (returnNode(nodeCase, records).soakUntilMs ?? NaN) - nowMs;

    test('[NGS-7, NGS-8] it has had its time to end, from when its kubelet knows that it is gone', () => {
      assert.equal(waits(back(), hidden), 110_000);
      assert.equal(waits(back({ bootId: 'boot-2' }), hidden), 30_000, 'it was rebooted');
      assert.equal(waits(back({}, { pods: [staying()] }), hidden), 30_000, 'it was never taken away');
      assert.equal(waits(back(), over, { ...hidden, bootId: 'boot-0' }), 30_000, 'that was another boot');
      const { message } = returnNode(back(), [hidden]).waitsFor ?? {};
      assert.equal(
        message,
        'node-1 has to stay Ready and clean for 1m50s: by then its kubelet has ended what was let go there',
      );
    });

    test('[SAF-4] without a record it is given what most are given', () => {
      assert.equal(waits(back()), 50_000);
    });

    test('[FEN-16] where the boot ID says nothing, power that was off has ended it', () => {
      const shared = back({ sharesBootId: true });
      assert.equal(waits(shared, { ...hidden, basis: 'PowerOff' }), 30_000);
      assert.equal(waits(shared, { ...hidden, basis: 'StorageFenced' }), 110_000);
      assert.equal(waits(back(), { ...hidden, basis: 'PowerOff' }), 110_000, 'it was never off');
    });
  });

  test('[NGS-7] a pod that was never taken away keeps its volume', () => {
    const inService = back({ volumesInUse: [entry] }, { pods: [staying()], attachments: [anAttachment()] });
    assert.equal(stage(returnNode(inService, [over])), 'clean: Soaking');
  });

  test('[NGS-5] a driver that refuses is quoted', () => {
    const refused = back({}, { attachments: [anAttachment({ detachError: 'in use' })] });
    assert.match(returnNode(refused, [over]).waitsFor?.message ?? '', /pv-0 .*the driver says in use/);
  });

  test('[NGS-7] after the soak the quarantine goes, if no other pod has come', () => {
    const since = nowMs - 30_000;
    const decision = returnNode(back({}, { fence: stored('clean', since), pods: [] }), [over]);
    assert.equal(decision.stage, 'soaked');
    assert.deepEqual(decision.act, { do: 'untaint', ...quarantine });
    assert.equal(stage(returnNode(back({}, { fence: stored('clean', since + 1000) }), [over])), 'clean: Soaking');
  });

  test('[RET-2] it stays until what has cut it off is switched on again; a cordon of ours has cut off nothing', () => {
    const soaked = (one: object, step: Step = 'isolation'): ReturnDecision => {
      const switched = [{ step, method: 'fc-off', storage: [], ...one }];
      const { status } = stored('clean', nowMs - 30_000);
      return returnNode(back({}, { fence: aFence({ ...status, fence: { ...aStored, switched } }) }), [over]);
    };
    const cutOff = soaked({ device: 'fc' });
    assert.equal(stage(cutOff), 'soaked: CutOff');
    assert.equal(cutOff.waitsFor?.message, 'fc-off has cut it off, and is not switched on again');
    const broken = { ok: false, problems: [] } as unknown as NodeCase['config'];
    const { status } = stored('clean', nowMs - 50_000);
    const unremembered = returnNode(back({}, { config: broken, fence: aFence({ ...status, releases: [] }) }), []);
    assert.equal(stage(unremembered), 'soaked: CutOff');
    assert.match(unremembered.waitsFor?.message ?? '', /^the record of what was done to it is gone/);
    assert.equal(stage(soaked({})), 'soaked: nothing');
    assert.equal(stage(soaked({ device: 'ipmi' }, 'power-management')), 'soaked: nothing', 'a node that is back is on');
  });

  test('[SAF-4] what nobody remembers waits for a reboot, or for a person where no reboot shows', () => {
    const value = `an-incident.${hash('boot-1')}`;
    const forgotten = (node: Partial<LiveNode> = {}): ReturnDecision =>
      returnNode(back({ taints: [{ ...quarantine, value }], ...node }), []);
    for (const decision of [forgotten(), forgotten({ sharesBootId: true })]) {
      assert.equal(stage(decision), 'seen: NotClean');
    }
    assert.match(forgotten().waitsFor?.message ?? '', /^it waits for a reboot: the record is gone/);
    assert.match(
      forgotten({ sharesBootId: true }).waitsFor?.message ?? '',
      /^other nodes have its boot ID, .* removes/,
    );
  });

  test('[RET-1] it waits for whoever has marked it as dead to take that back, and says so', () => {
    const marked = { key: 'fenceline.dev/force-eviction', effect: 'NoExecute' };
    const soaked = { fence: stored('clean', nowMs - 30_000), pods: [] };
    const decision = returnNode(back({ taints: [quarantine, marked] }, soaked), [over]);
    assert.equal(stage(decision), 'soaked: MarkedDead');
    assert.equal(decision.act, undefined);
    assert.match(decision.waitsFor?.message ?? '', /still has the taint fenceline\.dev\/force-eviction/);
  });

  test('[NGS-7] the soak counts from when it was clean, and is the policy’s', () => {
    assert.equal(returnNode(back(), [over]).soakUntilMs, nowMs + 30_000);
    assert.equal(returnNode(back({}, { fence: stored('seen', nowMs - 600_000) }), [over]).soakUntilMs, nowMs + 30_000);
    const patient = back({}, { policy: inForce({ soakMs: 300_000 }) });
    assert.equal(returnNode(patient, [over]).soakUntilMs, nowMs + 300_000);
    assert.equal(returnNode(back({}, { policy: { kind: 'none' } }), [over]).soakUntilMs, nowMs + 30_000);
  });

  /** Comes back from the second trouble within an hour. */
  const relapsed = aFence({
    incident: anIncident(),
    problems: [{ condition: 'Ready', count: 2, times: ['2025-12-31T23:10:00Z', '2026-01-01T00:01:00Z'], pods: [] }],
  });

  test('[RET-1] repeated failures lengthen the soak, and it says why', () => {
    const longer = returnNode(back({}, { fence: relapsed }), [over]);
    assert.equal(longer.soakUntilMs, nowMs + 60_000);
    const message = 'node-1 has to stay Ready and clean for 1m, because it has failed once before within a day';
    assert.equal(longer.waitsFor?.message, message);
    const policy = inForce({ maxSoakMs: 45_000, backoff: 3 });
    assert.equal(returnNode(back({}, { fence: relapsed, policy }), [over]).soakUntilMs, nowMs + 45_000);
    const unpoliced = back({}, { fence: relapsed, policy: { kind: 'none' } });
    assert.equal(returnNode(unpoliced, [over]).soakUntilMs, nowMs + 60_000);
  });

  test('[RET-1] where failures have not lengthened it, they are not blamed', () => {
    const first = returnNode(back({}, { fence: aFence({ incident: anIncident() }) }), [over]);
    const steady = returnNode(back({}, { fence: relapsed, policy: inForce({ backoff: 1 }) }), [over]);
    // 20 s pass in any case, until the kubelet has reported.
    const short = returnNode(back({}, { fence: relapsed, policy: inForce({ soakMs: 10_000 }) }), [over]);
    for (const { waitsFor } of [first, steady, short])
      assert.match(waitsFor?.message ?? '', /for (?:30s|20s: by then .*)$/);
  });

  test('[NGS-7] without a reboot a soak of nothing is still long enough for the kubelet to report', () => {
    const policy = inForce({ soakMs: 0 });
    assert.equal(stage(returnNode(back({}, { policy }), [over])), 'clean: Soaking');
    assert.equal(returnNode(back({ bootId: 'boot-2' }, { policy }), [over]).stage, 'soaked');
    assert.equal(stage(returnNode(back({}, { policy }), [])), 'clean: Soaking', 'without a record nobody knows');
  });

  test('[FEN-16] another boot ID that other nodes have as well is no reboot', () => {
    const policy = inForce({ soakMs: 0 });
    const shared = back({ bootId: 'boot-2', sharesBootId: true }, { policy });
    assert.equal(stage(returnNode(shared, [over])), 'clean: Soaking');
  });

  test('[SAF-14] a kubelet that renews less often is given longer to report, and no other one less', () => {
    const policy = inForce({ soakMs: 0 });
    const until = (durationMs: number): number | undefined =>
      returnNode(back({}, { policy, lease: { ...renewedLease, durationMs } }), [over]).soakUntilMs;
    assert.equal(until(80_000), nowMs + 40_000);
    assert.equal(until(20_000), nowMs + 20_000);
  });
});

test('a quarantine is known by key and effect', () => {
  assert.equal(isQuarantined(back()), true);
  assert.equal(isQuarantined(back({ taints: [{ ...quarantine, effect: 'NoExecute' }] })), false);
  assert.equal(isQuarantined({}), false);
});
