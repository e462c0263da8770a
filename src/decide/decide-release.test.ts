import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  aCase,
  aFence,
  anAttachment,
  anIncident,
  aNode,
  aPod,
  aRecord,
  aRemedy,
  entry,
  eviction,
  failover,
  forceEviction,
  inForce,
  nowMs,
  quarantine,
  renewedLease,
  safeDriver,
  withoutNode,
} from '../../test/support/release-case.ts';
import { aStored, entryOf } from '../../test/support/fenced-case.ts';
import { MAX_STUCK } from '../api/fence-names.ts';
import { featureGates } from '../api/feature-gates.ts';
import type { NodeFence } from '../api/node-fence.ts';
import { OUR_OUT_OF_SERVICE } from '../api/out-of-service.ts';
import type { NodeCase, PolicyFacts } from '../api/release-view.ts';
import type { Act } from '../api/steps.ts';
import { actsOf } from '../api/steps.ts';
import type { ReleaseDecision } from './decide-release.ts';
import { decideRelease } from './decide-release.ts';
import { asItStands } from './decide-remedy.ts';

function decide(nodeCase: NodeCase): ReleaseDecision {
  return decideRelease(nodeCase, asItStands(nodeCase), 1);
}

const deeds = ({ steps }: ReleaseDecision): Act['do'][] => steps.flatMap((step) => actsOf(step).map((act) => act.do));
const isRelease = (deed: Act['do']): boolean => !['quarantine', 'untaint'].includes(deed);
const over = aRecord({ freedAt: 'x', podsGoneAt: 'x', endedAt: 'x' });
const cleanBack = { ready: 'True', taints: [quarantine], volumesInUse: [] } as const;
const removing = aRemedy({ fence: { ...aRemedy().fence, machineRemoved: true } });
type PolicyMode = PolicyFacts['mode'];
const cleanBackCase = { node: aNode(cleanBack), lease: renewedLease, pods: [], attachments: [] };

describe('what is done', () => {
  test('nothing while a hold stands; with an approval missing, only the way back goes on', () => {
    for (const mode of ['Paused', 'DryRun', 'Approve'] as const) {
      assert.deepEqual(deeds(decide(aCase({ policy: inForce({ mode }) }))), [], mode);
    }
    assert.deepEqual(deeds(decide(aCase({ fence: aFence({}, { stop: true }) }))), []);
    const soaked = aFence({ releases: [over], return: { stage: 'clean', since: '2026-01-01T00:00:00Z', failures: 0 } });
    const back = (mode: 'Paused' | 'Approve'): ReleaseDecision =>
      decide(aCase({ ...cleanBackCase, policy: inForce({ mode }), fence: soaked }));
    assert.deepEqual(deeds(back('Approve')), ['untaint']);
    assert.deepEqual(deeds(back('Paused')), []);
  });

  test('[RET-2, SAF-4] a node under fence is not put back into service, though it still reads Ready and clean', () => {
    const soaked: Partial<NodeFence['status']> = {
      releases: [over],
      return: { stage: 'clean', since: '2026-01-01T00:00:00Z', failures: 0 },
    };
    const back = (fence?: NodeFence['status']['fence']): Act['do'][] =>
      deeds(
        decide(aCase({ ...cleanBackCase, fence: aFence({ ...soaked, ...(fence === undefined ? {} : { fence }) }) })),
      );
    assert.deepEqual(back(), ['untaint']);
    for (const phase of ['poweringOff', 'poweringOn', 'booting'] as const) {
      assert.deepEqual(back(aStored(phase, { switched: [entryOf('power-management')] })), [], phase);
    }
  });

  test('[EVD-5, FEN-13] our mark goes under every hold, first of all, on grounds that no hold is part of', () => {
    const node = aNode({ taints: [quarantine, OUR_OUT_OF_SERVICE] });
    const pause = { namespace: 'fenceline', written: { by: 'alice' } };
    const held: Partial<NodeCase>[] = [
      { fence: aFence({}, { stop: true }) },
      { pause },
      { policy: inForce({ mode: 'Paused' }) },
      { policy: inForce({ mode: 'DryRun' }) },
      { policy: inForce({ mode: 'Approve' }) },
      { fence: aFence({ incident: anIncident({ acts: 9999 }) }) },
      {},
    ];
    for (const change of held) {
      const [first] = decide(aCase({ node, ...change })).steps;
      const { grounds, acts } = first !== undefined && 'acts' in first ? first : assert.fail();
      assert.deepEqual(acts, [{ do: 'untaint', ...OUR_OUT_OF_SERVICE }]);
      const { basis, nodeUid, bootId, policy } = grounds;
      assert.deepEqual([basis, nodeUid, bootId, policy], ['Unmark', node.uid, node.bootId, undefined]);
    }
  });

  test('[FEN-11, ADM-7] the Node object of a removed machine goes, but not while somebody works there', () => {
    const at = '2026-01-01T00:00:00Z';
    const fence: NodeFence['status']['fence'] = {
      status: 'final',
      step: 'recovery',
      phase: 'finished',
      stepStartedAt: at,
      startedAt: at,
      switched: [
        { step: 'power-management', method: 'off', device: 'd', storage: [], commandSentAt: at, confirmedAt: at },
      ],
      level: 0,
      index: 0,
      retries: 0,
      restarts: 0,
      bootId: 'boot-1',
      cleanResources: true,
    };
    const nodeCase = aCase({ pods: [], attachments: [], fence: aFence({ fence }) });
    const removes = (mode: PolicyMode, maintenanceUntil?: string): boolean =>
      deeds(
        decide({
          ...nodeCase,
          node: aNode({ volumesInUse: [], ...(maintenanceUntil === undefined ? {} : { maintenanceUntil }) }),
          policy: inForce({ mode, remedy: removing }),
        }),
      ).includes('deleteNode');
    assert.equal(removes('Enforce'), true);
    assert.equal(removes('Enforce', new Date(nowMs + 60_000).toISOString()), false);
    assert.equal(removes('Enforce', new Date(nowMs - 60_000).toISOString()), true);
    assert.equal(removes('Approve'), false);
  });

  test('[NGS-7, FEV-5] the quarantine outlasts the force-eviction taint', () => {
    const fence = aFence({ releases: [over], return: { stage: 'clean', since: '2026-01-01T00:00:00Z', failures: 0 } });
    const node = aNode({ ...cleanBack, taints: [quarantine, forceEviction] });
    const decision = decide(aCase({ gates: eviction, node, pods: [], attachments: [], fence }));
    assert.deepEqual(
      decision.steps.flatMap(actsOf).map((act) => 'key' in act && act.key),
      [forceEviction.key],
    );
    const deaf = decide(aCase({ node, pods: [], attachments: [], fence }));
    assert.deepEqual(deeds(deaf), [], 'also where the taint is not ours to end');
  });

  test('[NGS-9, FEV-9] switched off, nothing that rests on a gate goes', () => {
    const gates = [
      featureGates(),
      failover,
      eviction,
      featureGates({ NonGracefulFailover: true, ForceEviction: true }),
    ];
    const known = fc.record({
      gates: fc.constantFrom(...gates),
      tainted: fc.boolean(),
      record: fc.constantFrom(undefined, aRecord({ basis: 'Asserted' }), aRecord({ basis: 'StorageSafeDetach' })),
      podsGone: fc.boolean(),
      ready: fc.constantFrom('True', 'False', 'Unknown'),
    });
    fc.assert(
      fc.property(known, ({ gates: set, tainted, record, podsGone, ready }) => {
        const releases = record === undefined ? [] : [{ ...record, podsGoneAt: '2026-01-01T00:00:00Z' }];
        const taints = [quarantine, ...(tainted ? [forceEviction] : [])];
        const decision = decide(
          aCase({
            gates: set,
            drivers: safeDriver,
            policy: { kind: 'none' },
            node: aNode({ taints, ready, volumesInUse: [] }),
            pods: podsGone ? [] : [aPod()],
            fence: aFence({ releases, incident: anIncident() }),
          }),
        );
        const released = deeds(decision).filter(isRelease);
        if (ready === 'True') assert.deepEqual(released, []);
        if (!set.NonGracefulFailover && !(set.ForceEviction && tainted)) assert.deepEqual(released, []);
      }),
      { numRuns: 300 },
    );
  });
});

describe('what is told', () => {
  const stuckOf = (change: Partial<NodeCase>): string[] =>
    decide(aCase(change)).stuck.map(({ reason, message }) => `${reason} | ${message}`);
  const nothing = inForce({ podDeletion: 'do-nothing' });

  test('[POD-2] only ways that somebody opened explain why a pod is stuck', () => {
    assert.deepEqual(stuckOf({ policy: nothing }), ['DoNothing | policy: podDeletion of policy release is do-nothing']);
    assert.deepEqual(stuckOf({ policy: { kind: 'none' } }), ['NoPolicy | policy: no RemedyPolicy selects the node']);
    const [both] = stuckOf({ policy: nothing, gates: failover });
    assert.match(both ?? '', /^VolumeNotProtected \| safe detach: .*; policy: /);
    const tainted = aNode({ taints: [forceEviction] });
    assert.match(
      stuckOf({ policy: { kind: 'none' }, node: tainted })[0] ?? '',
      /^GateOff \| assertion: .*ForceEviction is off/,
    );
  });

  test('only pods that somebody misses', () => {
    assert.deepEqual(stuckOf({ policy: nothing, pods: [aPod({ deletionAtMs: nowMs + 1000 })] }), []);
    assert.deepEqual(stuckOf({ policy: nothing, pods: [aPod({ phase: 'Failed' })] }), []);
    assert.deepEqual(stuckOf({ policy: nothing, pods: [aPod({ mirror: true })] }), []);
    assert.deepEqual(
      stuckOf({ policy: nothing, pods: [aPod({ owner: { group: 'apps', kind: 'DaemonSet', name: 'a', uid: 'a' } })] }),
      [],
    );
    assert.deepEqual(stuckOf({}), [], 'what goes is not stuck');
  });

  test('nothing of a node that is well: its kubelet takes care', () => {
    assert.deepEqual(stuckOf({ policy: nothing, node: aNode({ ready: 'True' }) }), []);
    assert.equal(decide(aCase({ node: aNode({ ready: 'True' }) })).trouble, undefined);
  });

  test('bounded, however many there are', () => {
    const pods = Array.from({ length: 200 }, (_, at) => aPod({ name: `web-${at}`, uid: `${at}` }));
    const { stuck } = decide(aCase({ policy: nothing, pods }));
    assert.equal(stuck.length, MAX_STUCK);
    assert.ok(stuck.every(({ message }) => message.length <= 512));
  });

  test('[NGS-5] a refusal of the driver, as long as the release is not over', () => {
    const attachments = [anAttachment({ deleting: true, detachError: 'x'.repeat(1000) })];
    const open = aCase({ pods: [], attachments, fence: aFence({ releases: [aRecord()] }) });
    const [refusal] = decide(open).refusals;
    assert.deepEqual([refusal?.volume, refusal?.message.length], ['pv-0', 200]);
    assert.deepEqual(decide({ ...open, fence: aFence({ releases: [over] }) }).refusals, []);
  });
});

describe('what is wrong with the node', () => {
  const trouble = (nodeCase: NodeCase): string | undefined => decide(nodeCase).trouble?.text;

  test('by its condition, its marks, or its absence', () => {
    assert.equal(trouble(aCase()), 'Ready=Unknown');
    assert.equal(trouble(aCase({ node: aNode({ ready: undefined }) })), 'Ready=not reported');
    assert.equal(trouble(aCase({ node: aNode(cleanBack) })), 'in quarantine');
    assert.equal(
      trouble(aCase({ gates: eviction, node: aNode({ ready: 'True', taints: [forceEviction] }) })),
      'asserted to be dead',
    );
    assert.equal(trouble(withoutNode(aCase())), 'there is no Node object');
    assert.equal(trouble(withoutNode(aCase({ pods: [], attachments: [] }))), undefined);
    assert.equal(trouble(withoutNode(aCase({ attachments: [] }))), 'there is no Node object', 'a pod is left');
    assert.equal(trouble(withoutNode(aCase({ pods: [] }))), 'there is no Node object', 'or a volume');
  });

  test('[ADM-2] counts for the condition that it began with, and for none where it is no problem of the node', () => {
    const counts = (nodeCase: NodeCase, threshold?: string): string | undefined => {
      const ladder = {
        threshold: threshold ?? '',
        position: 0,
        remedy: 'fence',
        phase: 'running',
        startedAt: '',
      } as const;
      const remedy = threshold === undefined ? asItStands(nodeCase) : { jobs: [], ladders: [ladder], ladder };
      return decideRelease(nodeCase, remedy, 1).trouble?.condition;
    };
    const rung = { remedies: [], recovery: [] };
    const disk = { key: 'DiskBroken=True', condition: { type: 'DiskBroken', status: 'True', forMs: 0 }, ...rung };
    const silent = { key: 'lease', lease: { staleForMs: 12_000 }, ...rung };
    const policy = inForce({ remedy: aRemedy({ thresholds: [disk, silent] }) });
    const well = aCase({ policy, node: aNode({ ready: 'True' }), pods: [], attachments: [] });
    assert.equal(counts(aCase()), 'Ready');
    assert.equal(counts(aCase({ node: aNode({ ready: undefined }) })), 'Ready');
    assert.equal(counts(well, 'DiskBroken=True'), 'DiskBroken');
    assert.equal(counts(well, 'lease'), 'Ready');
    assert.equal(counts(well, 'of an older policy'), undefined);
    assert.equal(counts(aCase({ node: aNode(cleanBack) })), undefined);
    assert.equal(counts(withoutNode(aCase())), undefined);
  });

  test('[FEV-5, FEV-9] an eviction on record that is not finished is trouble until it is, whatever the gate', () => {
    const node = aNode({ ready: 'True', taints: [forceEviction] });
    const half = (record: object): NodeCase =>
      aCase({ node, fence: aFence({ releases: [aRecord({ basis: 'Asserted', ...record })] }) });
    assert.equal(trouble(half({})), 'its eviction is not finished');
    assert.equal(trouble(half({ endedAt: 'x' })), undefined);
    const earlier = aRecord({ basis: 'AcceptedRisk', endedAt: 'x' });
    const second = aFence({ releases: [earlier, aRecord({ basis: 'Asserted' })] });
    assert.equal(trouble(aCase({ node, fence: second })), 'its eviction is not finished', 'of several one is enough');
    const unmarked = aNode({ ready: 'True' });
    assert.equal(
      trouble(aCase({ node: unmarked, fence: second })),
      undefined,
      'without the taint there is nothing to end',
    );
  });
});

describe('when to look again', () => {
  const inMs = (change: Partial<NodeCase>): number => decide(aCase(change)).recheckAtMs - nowMs;

  test('[POD-4] when the time of a pod is up, a second later at the latest', () => {
    assert.equal(inMs({ pods: [aPod({ deletionAtMs: nowMs + 7000 })] }), 8000);
    assert.equal(inMs({ pods: [] }), Infinity);
  });

  test('soon where nobody tells: a replacement, a kubelet that falls silent', () => {
    const policy = inForce({ podDeletion: 'do-nothing', volumeAttachmentRecovery: 'immediate' });
    assert.equal(inMs({ policy }), 2000);
    assert.equal(
      inMs({ policy, pods: [aPod({ phase: 'Failed' })], attachments: [] }),
      Infinity,
      'not for what is over',
    );
    const lease = { renewTime: 'x', unchangedForMs: 1, renewedSinceNotReady: true };
    assert.equal(inMs({ gates: failover, drivers: safeDriver, lease }), 2000);
  });

  test('[ADM-2] when an alarm about repeated trouble ends', () => {
    const times = ['2026-01-01T00:00:10Z', '2026-01-01T00:09:00Z'];
    const fence = aFence({ problems: [{ condition: 'Ready', count: 2, times, pods: [] }] });
    const policy = inForce({ alarms: [{ condition: 'Ready', count: 2, withinMs: 600_000 }] });
    assert.equal(inMs({ pods: [], fence, policy }), 10_000);
    assert.equal(inMs({ pods: [], fence }), Infinity);
  });

  test('never in the past, whatever is known', () => {
    const goneAt = '2026-01-01T00:00:00Z';
    assert.ok(inMs({ pods: [], fence: aFence({ releases: [aRecord({ podsGoneAt: goneAt })] }) }) > 0);
    assert.ok(inMs({ node: aNode({ volumesInUse: [entry] }) }) > 0);
  });
});
