import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  aCase,
  aFence,
  anIncident,
  aNode,
  aPod,
  aRecord,
  entry,
  eviction,
  forceEviction,
  inForce,
  nowMs,
  quarantine,
  silentLease,
} from '../../test/support/release-case.ts';
import { featureGates } from '../api/feature-gates.ts';
import { OUR_OUT_OF_SERVICE } from '../api/out-of-service.ts';
import type { LiveNode, NodeCase, PodFacts, TaintFacts, TolerationFacts } from '../api/release-view.ts';
import { assertionOf, byAssertion, isEvictable, tolerates } from './by-assertion.ts';
import type { Objection } from './checks.ts';
import { endOfEviction } from './end-of-eviction.ts';
import { releaseNode, wayNamed } from './release-node.ts';

const outOfService: TaintFacts = {
  key: 'node.kubernetes.io/out-of-service',
  effect: 'NoExecute',
  value: 'nodeshutdown',
};
const shutdown: TaintFacts = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' };

/** A pod that nobody has asked to go, on a node of which somebody says that it is dead. */
function assertedCase(change: Partial<NodeCase> = {}, pod: Partial<PodFacts> = {}): NodeCase {
  const { deletionAtMs: _, ...wanted } = aPod(pod);
  return aCase({
    gates: eviction,
    policy: { kind: 'none' },
    node: aNode({ taints: [forceEviction] }),
    pods: [wanted],
    ...change,
  });
}

function refusal(nodeCase: NodeCase): Objection | undefined {
  const [fate] = releaseNode(nodeCase);
  assert.ok(fate);
  if (fate.goes) {
    assert.deepEqual([fate.way, wayNamed(fate.way).basis], ['assertion', 'Asserted']);
    return undefined;
  }
  return fate.objections.find(({ way }) => way === 'assertion')?.objection;
}

describe('the word of whoever set a taint', () => {
  test('[FEV-1, FEV-2] any pod goes, terminating or not, with volumes or without', () => {
    assert.equal(refusal(assertedCase()), undefined);
    assert.equal(refusal(assertedCase({}, { claims: [] })), undefined);
    const { owner: _, ...bare } = aPod();
    assert.equal(refusal(assertedCase({ pods: [bare] })), undefined);
  });

  const tainted = (...taints: TaintFacts[]): Partial<NodeCase> => ({ node: aNode({ taints }) });
  const rows: [string, string, Partial<NodeCase>][] = [
    ['nobody has given it', 'NoAssertion', tainted()],
    ['the gate is off', 'GateOff', { gates: featureGates() }],
    ['the effect is another', 'TaintEffect', tainted({ ...forceEviction, effect: 'NoSchedule' })],
    ['out-of-service, and no policy', 'NoAssertion', tainted(outOfService)],
    [
      'out-of-service, and the policy lists the cloud',
      'NoAssertion',
      { ...tainted(outOfService), policy: inForce({ assertions: ['CloudShutdown'] }) },
    ],
    [
      'out-of-service with another effect',
      'TaintEffect',
      { ...tainted({ ...outOfService, effect: 'NoSchedule' }), policy: inForce({ assertions: ['OutOfService'] }) },
    ],
    ['the cloud, and no policy', 'NoAssertion', tainted(shutdown)],
    ['the node is Ready', 'NodeReady', { node: aNode({ taints: [forceEviction], ready: 'True' }) }],
    [
      'the kubelet renews',
      'KubeletAlive',
      { lease: { renewTime: 'x', unchangedForMs: 1, renewedSinceNotReady: true } },
    ],
    ['a volume is in use again', 'KubeletAlive', { fence: aFence({ releases: [aRecord({ freedAt: 'x' })] }) }],
  ];
  for (const [when, reason, change] of rows) {
    test(`[FEV-1, FEV-3, FEV-7, FEV-8, FEV-9] ${when}: ${reason}`, () => {
      assert.equal(refusal(assertedCase(change))?.reason, reason);
    });
  }

  test('[SAF-3] a kubelet that has lived since it was given voids it, until it is given again', () => {
    const signs = { renewTime: silentLease.renewTime, heartbeatTime: '' };
    const given = { source: 'ForceEvictionTaint', says: 'Dead', detail: 'x', observedAt: 'x', signs } as const;
    const since = (change: Partial<NodeCase>, evidence = [given]): string | undefined =>
      refusal(assertedCase({ fence: aFence({ incident: anIncident(), evidence }), ...change }))?.reason;
    assert.equal(since({}), undefined);
    const lease = { ...silentLease, renewTime: 'later' };
    assert.equal(since({ lease }), 'KubeletAlive');
    assert.equal(since({ node: aNode({ taints: [forceEviction], heartbeatTime: 'later' }) }), 'KubeletAlive');
    const again = { ...given, signs: { ...signs, renewTime: 'later' } };
    assert.equal(since({ lease }, [again]), undefined);
  });

  test('[FEV-7, FEV-8] listed, the standard taint and the cloud’s are the same word, and need no gate', () => {
    const policy = inForce({ assertions: ['OutOfService', 'CloudShutdown'], podDeletion: 'do-nothing' });
    for (const taint of [outOfService, shutdown]) {
      assert.equal(refusal(assertedCase({ ...tainted(taint), policy, gates: featureGates() })), undefined);
    }
  });

  test('[FEV-8, FEV-9] one that nobody listens to takes nothing from one that is listened to', () => {
    const policy = inForce({ assertions: ['OutOfService'], podDeletion: 'do-nothing' });
    const both = { ...tainted(forceEviction, outOfService), policy, gates: featureGates() };
    assert.equal(refusal(assertedCase(both)), undefined);
  });

  test('[FEV-1] the taint is one of the grounds, while it is there', () => {
    assert.deepEqual(byAssertion.grounds(assertedCase(), { drivers: [] }), { basis: 'Asserted', taint: forceEviction });
    assert.deepEqual(byAssertion.grounds(assertedCase(tainted()), { drivers: [] }), { basis: 'Asserted' });
  });

  test('[FEV-2] DaemonSet and mirror pods stay', () => {
    assert.equal(
      refusal(assertedCase({}, { owner: { group: 'apps', kind: 'DaemonSet', name: 'a', uid: 'a' } }))?.reason,
      'DaemonSetPod',
    );
    assert.equal(refusal(assertedCase({}, { mirror: true }))?.reason, 'MirrorPod');
  });

  test('[FEV-2] who tolerates it stays, with tolerationSeconds until they have passed', () => {
    const patient = (toleration: TolerationFacts, nodeCase: Partial<NodeCase> = {}): Objection | undefined =>
      refusal(assertedCase(nodeCase, { tolerations: [toleration] }));
    const { key } = forceEviction;
    assert.equal(patient({ key, operator: 'Exists' })?.reason, 'Tolerated');
    assert.equal(patient({ key, operator: 'Exists' })?.untilMs, undefined);
    const minute = { key, operator: 'Exists', tolerationSeconds: 60 };
    const timeAdded = '2026-01-01T00:09:30Z';
    const node = aNode({ taints: [{ ...forceEviction, timeAdded }] });
    assert.equal(patient(minute, { node })?.untilMs, Date.parse(timeAdded) + 60_000);
    assert.equal(patient(minute, { node, serverNowMs: Date.parse(timeAdded) + 60_000 }), undefined);
    assert.equal(patient({ ...minute, tolerationSeconds: -5 }, { node }), undefined);
    assert.equal(patient({ key: 'another', operator: 'Exists' }), undefined, 'another taint is none of it');
    const tolerations = [{ ...minute, tolerationSeconds: 600 }, minute, { key: 'another', tolerationSeconds: 1 }];
    const several = refusal(assertedCase({ node }, { tolerations }));
    assert.equal(several?.untilMs, Date.parse(timeAdded) + 60_000, 'of several the shortest');
  });

  test('[FEV-2] a taint without a time counts from when it was first recorded', () => {
    const seen = '2026-01-01T00:09:30Z';
    const evidence = [{ source: 'ForceEvictionTaint', says: 'Dead', detail: '', observedAt: seen, by: 'x' }] as const;
    const tolerations = [{ key: forceEviction.key, operator: 'Exists', tolerationSeconds: 60 }];
    const nodeCase = assertedCase({ fence: aFence({ evidence: [...evidence] }) }, { tolerations });
    assert.equal(refusal(nodeCase)?.untilMs, Date.parse(seen) + 60_000);
    const { fence: _, ...unrecorded } = nodeCase;
    assert.equal(refusal(unrecorded)?.untilMs, nowMs + 60_000);
  });

  test('the author is the one who was first seen, not whoever wrote the list of taints last', () => {
    const node = (taintedBy: string): LiveNode => aNode({ taints: [forceEviction, quarantine], taintedBy });
    const first = assertedCase({ node: node('kubectl') });
    assert.equal(assertionOf(first)?.by, 'taint fenceline.dev/force-eviction, set by kubectl');
    const evidence = [
      {
        source: 'ForceEvictionTaint',
        says: 'Dead',
        detail: '',
        observedAt: 'x',
        by: 'taint of kubectl',
        bootId: 'boot-1',
      },
    ] as const;
    const fence = aFence({ evidence: [...evidence], incident: anIncident() });
    assert.equal(assertionOf(assertedCase({ node: node('fenceline'), fence }))?.by, 'taint of kubectl');
    const cloud = { ...evidence[0], source: 'CloudShutdownTaint', by: 'the cloud' } as const;
    const later = aFence({ evidence: [...evidence, cloud], incident: anIncident() });
    assert.equal(assertionOf(assertedCase({ node: node('fenceline'), fence: later }))?.by, 'taint of kubectl');
    const rebooted = { ...aNode({ taints: [forceEviction], taintedBy: 'kubectl' }), bootId: 'boot-2' };
    assert.match(assertionOf(assertedCase({ node: rebooted, fence }))?.by ?? '', /set by kubectl/, 'of another boot');
  });

  test('tolerations are read as Kubernetes reads them', () => {
    const taint = { key: 'a', value: 'v', effect: 'NoExecute' };
    const rows: [TolerationFacts, boolean][] = [
      [{ operator: 'Exists' }, true],
      [{}, false],
      [{ key: 'a', operator: 'Exists' }, true],
      [{ key: 'a', value: 'v' }, true],
      [{ key: 'a' }, false],
      [{ key: 'a', operator: 'Equal', value: 'w' }, false],
      [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }, false],
      [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }, true],
      [{ key: 'b', operator: 'Exists' }, false],
    ];
    for (const [toleration, expected] of rows) {
      assert.equal(tolerates(toleration, taint), expected, JSON.stringify(toleration));
    }
  });

  test('[FEV-3] whatever the taints and tolerations, nothing goes from a node that is Ready', () => {
    const taint = fc.constantFrom(forceEviction, outOfService, shutdown, quarantine);
    fc.assert(
      fc.property(fc.uniqueArray(taint), fc.boolean(), (taints, terminating) => {
        const policy = inForce({ assertions: ['OutOfService', 'CloudShutdown'] });
        const nodeCase = assertedCase({ node: aNode({ taints, ready: 'True' }), policy });
        const pods = terminating ? [aPod()] : nodeCase.pods;
        assert.ok(releaseNode({ ...nodeCase, pods }).every(({ goes }) => !goes));
      }),
    );
  });
});

describe('the end of an eviction', () => {
  const ready = (change: Partial<NodeCase> = {}): NodeCase =>
    assertedCase({ node: aNode({ ready: 'True', taints: [forceEviction] }), ...change });
  const asserted = aRecord({ basis: 'Asserted', by: 'taint' });

  test('[FEV-3] a node that is Ready, and of which nothing was evicted: at once', () => {
    assert.deepEqual(endOfEviction(ready(), []), { do: 'untaint', ...forceEviction });
  });

  test('[FEV-3, FEV-5] in the middle it finishes first, Ready or not', () => {
    assert.equal(endOfEviction(ready(), [asserted]), undefined);
    assert.equal(endOfEviction(assertedCase(), [asserted]), undefined);
    assert.notEqual(endOfEviction(ready(), [{ ...asserted, endedAt: 'x' }]), undefined);
  });

  test('[FEV-5] while the node is away it stays until all is gone and detached', () => {
    const over = [{ ...asserted, endedAt: 'x' }];
    assert.equal(endOfEviction(assertedCase({ attachments: [] }), over), undefined, 'a pod is left');
    assert.equal(endOfEviction(assertedCase({ pods: [] }), over), undefined, 'a volume is left');
    assert.notEqual(endOfEviction(assertedCase({ pods: [], attachments: [] }), over), undefined);
    const staying = assertedCase({}, { owner: { group: 'apps', kind: 'DaemonSet', name: 'a', uid: 'a' } });
    assert.notEqual(endOfEviction(staying, over), undefined, 'what stays keeps its volume');
  });

  test('[FEV-9] with the gate off only what we have begun is finished', () => {
    assert.equal(endOfEviction(ready({ gates: featureGates() }), []), undefined);
    assert.notEqual(endOfEviction(ready({ gates: featureGates() }), [{ ...asserted, endedAt: 'x' }]), undefined);
  });

  test('[FEV-8] only our own taint, and only with its effect', () => {
    assert.equal(endOfEviction(ready({ node: aNode({ ready: 'True', taints: [outOfService] }) }), []), undefined);
    const other = { ...forceEviction, effect: 'NoSchedule' };
    assert.equal(endOfEviction(ready({ node: aNode({ ready: 'True', taints: [other] }) }), []), undefined);
  });

  test('[FEV-2] who tolerates it for ever does not hold it up, who tolerates it for a while does', () => {
    const tolerating = (tolerationSeconds?: number): NodeCase => {
      const toleration = { key: forceEviction.key, operator: 'Exists' };
      return assertedCase(
        {},
        { tolerations: [tolerationSeconds === undefined ? toleration : { ...toleration, tolerationSeconds }] },
      );
    };
    const [pod] = tolerating().pods;
    assert.ok(pod);
    assert.equal(isEvictable(tolerating(), pod), false);
    const [patient] = tolerating(600).pods;
    assert.ok(patient);
    assert.equal(isEvictable(tolerating(600), patient), true);
  });

  test('[FEV-2] nor does what is over, or belongs to the node; without any taint whatever does not would go', () => {
    const untainted = assertedCase({ node: aNode() });
    assert.equal(isEvictable(untainted, aPod()), true);
    for (const pod of [{ phase: 'Failed' }, { mirror: true }]) assert.equal(isEvictable(untainted, aPod(pod)), false);
  });

  test('[SAF-9] nor does what came after the quarantine and would come again', () => {
    const late = (tolerations: TolerationFacts[]): NodeCase =>
      assertedCase(
        {
          node: aNode({ taints: [forceEviction, quarantine] }),
          fence: aFence({ incident: anIncident(), quarantine: { since: '2026-01-01T00:02:00Z', pods: [] } }),
          attachments: [],
        },
        { tolerations },
      );
    const over = [{ ...asserted, endedAt: 'x' }];
    assert.notEqual(endOfEviction(late([{ key: quarantine.key, operator: 'Exists' }]), over), undefined);
    assert.equal(endOfEviction(late([]), over), undefined);
  });
});

test("[EVD-5, FEV-8] a taint of ours is nobody's word", () => {
  const policy = inForce({ assertions: ['OutOfService'] });
  const ours = aCase({ node: aNode({ taints: [OUR_OUT_OF_SERVICE] }), policy });
  assert.equal(assertionOf(ours), undefined);
  const objections = byAssertion.checks.flatMap((check) => check(ours, aPod()) ?? []);
  assert.equal(objections[0]?.reason, 'NoAssertion', 'nobody is told to write it with another effect');
  const theirs = aNode({ taints: [{ ...OUR_OUT_OF_SERVICE, effect: 'NoExecute', value: 'nodeshutdown' }] });
  assert.equal(assertionOf(aCase({ node: theirs, policy }))?.source, 'OutOfServiceTaint');
});

test('the fixture frees what kubelets call the volume', () => assert.ok(aNode().volumesInUse.includes(entry)));
