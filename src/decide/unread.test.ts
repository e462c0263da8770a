/** What may be decided about a node whose pods nobody has read: nothing but that nothing is done. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aCount,
  aFence,
  anIncident,
  aNode,
  aPod,
  aRecord,
  aRemedy,
  eviction,
  failover,
  forceEviction,
  inForce,
  nowMs,
  quarantine,
  withoutNode,
} from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import { clockTime } from '../api/facts.ts';
import { signsOf } from '../api/life.ts';
import { firstPowerMethods, questionOf } from '../api/power.ts';
import type { NodeCase } from '../api/release-view.ts';
import { UNREAD_PODS } from '../api/unseen.ts';
import type { NodeDecision } from './decide-node.ts';
import { decideNode } from './decide-node.ts';

const off: Method = { name: 'ipmi-off', action: 'off', driver: 'agent:fence_ipmilan', parameters: {}, secrets: [] };
const config: NodeCase['config'] = {
  ok: true,
  config: { source: 'fence-config', isolation: [], powerManagement: [{ off: [off], on: [] }], recovery: [] },
};
const saysOff: NonNullable<NodeCase['power']> = {
  question: questionOf(firstPowerMethods(config)),
  askedForMs: 0,
  answers: [{ device: 'ipmi', power: 'off', identity: 'same', wasSeenOn: true, message: 'off' }],
};
const storm = aCount({ nodes: 10, troubled: 5 });
const alone = aCount({ nodes: 10, troubled: 1 });
const remedy = aRemedy({
  thresholds: [
    {
      key: 'lease',
      lease: { staleForMs: 12_000 },
      remedies: [{ name: 'fence', periodMs: 60_000, cleanResources: true }],
      recovery: [],
    },
  ],
  kinds: { fence: 'fence' },
  storm: { maxUnresponsive: '40%', maxConcurrent: 1, cooldownMs: 0 },
  fence: { ...aRemedy().fence, isolateAfterMs: 0, powerManagementAfterMs: 0 },
});

/** Silent for a minute, one of five of ten, under a policy that fences what is silent; its pods were not read. */
function unread(change: Partial<NodeCase> = {}): NodeCase {
  return aCase({
    isUnread: true,
    pods: [],
    attachments: [],
    node: aNode({ volumesInUse: [] }),
    policy: inForce({ podDeletion: 'do-nothing', remedy }),
    trouble: { conditions: [{ type: 'Ready', status: 'Unknown', forMs: 60_000 }], leaseSilentMs: 60_000 },
    config,
    count: storm,
    ...change,
  });
}

const wantsPods = ({ wants, steps, record, findings, claims }: NodeDecision): boolean => {
  if (!wants.includes('pods')) return false;
  assert.deepEqual(
    [steps, record, findings, claims],
    [[], undefined, undefined, { fence: false, remedy: false, pods: 0 }],
  );
  return true;
};

describe('a node whose pods nobody has read', () => {
  test('[STM-1] in a storm it says why it is held, and nobody asks for its pods', () => {
    const decision = decideNode(unread());
    assert.ok(!wantsPods(decision));
    assert.equal(decision.record?.status?.hold?.reason, 'StormLimit');
    assert.deepEqual(decision.steps, []);
  });

  test('[STM-1, STM-6] it is on record since when, and of how many; one that others are in already is the same', () => {
    const zones = [
      { zone: 'a', nodes: 4, troubled: 2 },
      { zone: 'b', nodes: 3, troubled: 1 },
    ];
    const labels = { ...aNode().labels, 'topology.kubernetes.io/zone': 'b' };
    const stormOf = (change: Partial<NodeCase>): unknown => decideNode(unread(change)).record?.status?.storm;
    const { serverNowMs } = unread();
    assert.deepEqual(stormOf({}), { since: clockTime(serverNowMs), nodes: 10, troubled: 5 });
    const zoned = stormOf({ count: { ...storm, zones }, node: aNode({ volumesInUse: [], labels }) });
    assert.deepEqual(zoned, {
      since: clockTime(serverNowMs),
      nodes: 10,
      zone: 'b',
      zoneNodes: 3,
      troubled: 5,
      zoneTroubled: 1,
    });
    const others = { sinceMs: serverNowMs - 60_000, nodes: 10, zones: {} };
    assert.deepEqual(stormOf({ count: { ...storm, storm: others } }), {
      since: clockTime(others.sinceMs),
      nodes: 10,
      troubled: 5,
    });
  });

  test('[STM-1, STM-6] and how bad it was at worst, of those of whom it is known', () => {
    const zones = [{ zone: 'b', nodes: 3, troubled: 2 }];
    const node = aNode({ volumesInUse: [], labels: { ...aNode().labels, 'topology.kubernetes.io/zone': 'b' } });
    const begun = { since: '2026-01-01T00:00:00Z', nodes: 10, zoneNodes: 3 };
    const after = (before: object, change: object, found = node): unknown => {
      const count = { ...storm, zones, ...change };
      const fence = aFence({ storm: { ...begun, ...before }, incident: anIncident() });
      const { record } = decideNode(unread({ count, node: found, fence }));
      return (record?.status ?? fence.status).storm;
    };
    const known = { troubled: 5, zoneTroubled: 1 };
    assert.deepEqual(after(known, { troubled: 7 }), { ...begun, troubled: 7, zoneTroubled: 2 });
    assert.deepEqual(after({ troubled: 9, zoneTroubled: 3 }, {}), { ...begun, troubled: 9, zoneTroubled: 3 });
    assert.deepEqual(after({ troubled: 5 }, {}), { ...begun, troubled: 5, zoneTroubled: 2 });
    const other = { sinceMs: Date.parse(begun.since), nodes: 10, zones: {} };
    const taken = { troubled: 10, unjudged: 9, storm: other };
    assert.deepEqual(after(known, taken), { ...begun, ...known }, 'whoever takes over knows of nobody yet');
    const moved = { zones: [...zones, { zone: 'c', nodes: 3, troubled: 0 }] };
    const there = aNode({ volumesInUse: [], labels: { ...aNode().labels, 'topology.kubernetes.io/zone': 'c' } });
    const inB = { ...begun, zone: 'b', ...known };
    assert.deepEqual(after({ zone: 'b', ...known }, moved, there), { ...inB, zoneTroubled: 2 }, 'its zone of then');
    assert.deepEqual(after({}, {}), begun, 'an earlier version has not written it down');
  });

  test('[STM-4] nor while another one has the slot', () => {
    const decision = decideNode(unread({ count: { ...alone, fencing: ['node-2'] } }));
    assert.equal(decision.record?.status?.hold?.reason, 'ConcurrencyLimit');
  });

  test('[SAF-7, SAF-18] before anything is done they are read: whether anything is gained is not known without them', () => {
    assert.ok(wantsPods(decideNode(unread({ count: alone }))));
    const read: NodeCase = { ...unread({ count: alone, pods: [aPod()] }) };
    delete read.isUnread;
    assert.ok(!wantsPods(decideNode(read)));
  });

  test('[EVD-2, STM-1] a machine that is found off is let go, whatever holds back cuts', () => {
    assert.ok(wantsPods(decideNode(unread({ power: saysOff }))));
  });

  test('[POD-11, NGS-2] where a pod could go without a fence, they are read', () => {
    const policy = inForce({ podDeletion: 'delete-statefulset-pod' });
    assert.ok(wantsPods(decideNode(unread({ policy }))), 'at the risk of its policy, which has no fence');
    assert.ok(wantsPods(decideNode(unread({ gates: failover }))), 'by the word of its storage');
    const tainted = aNode({ volumesInUse: [], taints: [forceEviction] });
    assert.ok(wantsPods(decideNode(unread({ gates: eviction, node: tainted }))), 'by that of a person');
  });

  test('a fence that waits lets nothing go at the risk of its policy', () => {
    const risky = inForce({ podDeletion: 'delete-statefulset-pod', remedy });
    assert.equal(decideNode(unread({ policy: risky })).record?.status?.hold?.reason, 'StormLimit');
  });

  test('[NGS-7] what was begun is brought to its end with them', () => {
    const cases: Partial<NodeCase>[] = [
      { node: aNode({ volumesInUse: [], taints: [quarantine] }) },
      { fence: aFence({ incident: anIncident(), releases: [aRecord()] }) },
      {
        fence: aFence({
          incident: anIncident(),
          applied: [{ kind: 'Taint', key: quarantine.key, effect: 'NoSchedule', recordedAt: 'x' }],
        }),
      },
    ];
    for (const change of cases) assert.ok(wantsPods(decideNode(unread(change))), JSON.stringify(change));
    assert.ok(wantsPods(decideNode(withoutNode(unread()))), 'a Node that is gone');
  });

  test('[FEN-12] one whose kernel has crashed has its pods read: they may go by that, whatever holds back cuts', () => {
    const policy = inForce({ podDeletion: 'do-nothing', remedy, kdump: { timeoutMs: 60_000 } });
    const signs = signsOf(unread());
    const crash = { address: '10.0.0.1', bootId: aNode().bootId, signs, heardForMs: 1000 };
    assert.ok(wantsPods(decideNode(unread({ crash, policy }))));
    assert.ok(!wantsPods(decideNode(unread({ policy }))));
  });

  test('[REM-4] one ladder that has come to its end is enough: what is done then is not for a fence to wait for', () => {
    const ladder = { threshold: 'lease', position: 0, remedy: 'fence', startedAt: clockTime(nowMs - 60_000) };
    const other = { ...ladder, threshold: 'Ready=Unknown', phase: 'exhausted' } as const;
    const thresholds = [...remedy.thresholds, { ...remedy.thresholds[0]!, key: 'Ready=Unknown' }];
    const ladders = [{ ...ladder, phase: 'running' } as const, other];
    const policy = inForce({ podDeletion: 'do-nothing', remedy: { ...remedy, thresholds } });
    assert.ok(wantsPods(decideNode(unread({ policy, fence: aFence({ incident: anIncident(), ladders }) }))));
  });

  test('[SAF-12] a rehearsal tells which pods would go', () => {
    assert.ok(wantsPods(decideNode(unread({ policy: inForce({ mode: 'DryRun', remedy }) }))));
    assert.ok(!wantsPods(decideNode(unread({ policy: inForce({ mode: 'Paused', remedy }) }))));
  });

  test('[SAF-4] that nobody knows who was there is on record for its boot, also when they are read later', () => {
    const { record } = decideNode(unread());
    const unseen = { bootId: aNode().bootId, pods: [UNREAD_PODS] };
    assert.deepEqual(record?.status?.incident?.unseen, unseen);
    const fence = aFence({ incident: { ...anIncident(), unseen } });
    const read: NodeCase = { ...unread({ fence, pods: [aPod()] }), serverNowMs: nowMs + 1000 };
    delete read.isUnread;
    const later = decideNode(read).record?.status?.incident?.unseen?.pods ?? [];
    assert.ok(later.includes(UNREAD_PODS));
  });
});
