/** Rows of cases: what is thought of a node, what is wanted, stored, done and claimed. */
import assert from 'node:assert/strict';
import { firstPowerMethods, questionOf } from '../api/power.ts';
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
  inForce,
  nowMs,
  quarantine,
  renewedLease,
  withoutNode,
} from '../../test/support/release-case.ts';
import { timeOf } from '../api/facts.ts';
import { deviceHash } from '../api/fence-config.ts';
import type { Method } from '../api/fence-config.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { LadderThreshold, NodeCase, Sighting } from '../api/release-view.ts';
import type { Step } from '../api/steps.ts';
import { actsOf } from '../api/steps.ts';
import { commandKey } from '../api/task.ts';
import type { NodeDecision } from './decide-node.ts';
import { decideNode } from './decide-node.ts';

const off: Method = { name: 'ipmi-off', action: 'off', driver: 'agent:fence_ipmilan', parameters: {}, secrets: [] };
const on: Method = { ...off, name: 'ipmi-on', action: 'on' };
const config: NodeCase['config'] = {
  ok: true,
  config: { source: 'fence-config', isolation: [], powerManagement: [{ off: [off], on: [on] }], recovery: [] },
};
/** Its device has just said that it is off. */
const saysOff: NonNullable<NodeCase['power']> = {
  question: questionOf(firstPowerMethods(config)),
  askedForMs: 0,
  answers: [{ device: 'ipmi', power: 'off', identity: 'same', wasSeenOn: true, message: 'off' }],
};
const at = '2026-01-01T00:09:00.000Z';
const ready: LadderThreshold = {
  key: 'Ready=NotTrue',
  condition: { type: 'Ready', status: 'NotTrue', forMs: 5000 },
  remedies: [{ name: 'act', periodMs: 60_000, cleanResources: true }],
  recovery: [],
};
const silent: LadderThreshold = { ...ready, key: 'lease', lease: { staleForMs: 12_000 } };
delete silent.condition;

/** A node that has not been Ready for a minute, under a policy with one remedy of this kind. */
function remedied(kind: string, change: Partial<NodeCase> = {}, threshold = ready): NodeCase {
  const storm = { maxUnresponsive: '40%', maxConcurrent: 1, cooldownMs: 0 };
  const remedy = aRemedy({ thresholds: [threshold], kinds: { act: kind }, templates: { act: 'hash' }, storm });
  return aCase({
    pods: [],
    attachments: [],
    node: aNode({ volumesInUse: [] }),
    policy: inForce({ podDeletion: 'do-nothing', remedy }),
    trouble: { conditions: [{ type: 'Ready', status: 'Unknown', forMs: 60_000 }], leaseSilentMs: 60_000 },
    count: aCount({ nodes: 5, troubled: 1 }),
    config,
    ...change,
  });
}

const toldOff = { step: 'power-management' as const, method: 'ipmi-off', device: deviceHash(off) ?? '', storage: [] };

function storedFence(change: Partial<NonNullable<NodeFenceStatus['fence']>>): NonNullable<NodeFenceStatus['fence']> {
  return {
    step: 'power-management',
    status: 'running',
    phase: 'off',
    level: 0,
    index: 1,
    retries: 0,
    restarts: 0,
    startedAt: at,
    stepStartedAt: at,
    bootId: 'boot-1',
    cleanResources: true,
    switched: [{ ...toldOff, commandSentAt: at, confirmedAt: at }],
    method: 'ipmi-off',
    ...change,
  };
}

const running = { threshold: 'Ready=NotTrue', position: 0, remedy: 'act', phase: 'running', startedAt: at } as const;
const powered = aFence({ incident: anIncident(), ladders: [running], fence: storedFence({}) });
const deeds = ({ steps }: NodeDecision): string[] => steps.flatMap((step) => actsOf(step).map((act) => act.do));
const groundsOf = (step: Step | undefined) => (step !== undefined && 'grounds' in step ? step.grounds : undefined);

describe('before anything is read', () => {
  const sighting = (change: Partial<Sighting> = {}): Sighting => {
    const { name, view, limits, gates, policies, hasOpenRecord, alarm } = aCase();
    return { name, view, limits, gates, policies, hasOpenRecord, alarm, ...change };
  };
  const stale = (confirmed: boolean): Sighting['view'] => {
    const { view } = aCase();
    const conditions = [{ type: 'Ready', status: 'True' as const, reason: '', since: '' }];
    return {
      ...view,
      ...(view.node && { node: { ...view.node, conditions } }),
      lease: { renewTime: '', unchangedForMs: 13_000, confirmed },
    };
  };
  const rows: [string, Sighting, NodeDecision['attention'], readonly string[]][] = [
    ['a node that is down, under a policy: its pods are wanted', sighting(), 'needed', ['pods']],
    ['one that nobody cares for: nothing', sighting({ policies: { ...sighting().policies, count: 0 } }), 'none', []],
    [
      'a server that is silent: nothing can be concluded',
      sighting({ view: { ...aCase().view, silentMs: 60_000 } }),
      'blind',
      [],
    ],
    ['a view that is too old: the same', sighting({ view: { ...aCase().view, ageMs: 600_000 } }), 'blind', []],
    ['a Lease that seems stale: it is read live first', sighting({ view: stale(false) }), 'blind', ['liveLease']],
  ];
  for (const [title, seen, attention, wants] of rows) {
    test(title, () => {
      const decision = decideNode(seen);
      assert.deepEqual([decision.attention, decision.wants], [attention, wants]);
      assert.deepEqual(
        [decision.steps, decision.record, decision.claims],
        [[], undefined, { fence: false, remedy: false, pods: 0 }],
      );
    });
  }

  test('[EVD-2] a Lease is wanted once for each look, and suspected when the read confirms it', () => {
    const again = decideNode({ ...sighting({ view: stale(false) }), leaseWasRead: true });
    assert.deepEqual(again.wants, []);
    assert.equal(decideNode(sighting({ view: stale(true) })).judgement.verdict, 'suspect');
  });
});

describe('what is stored, done and claimed', () => {
  const rows: [
    string,
    NodeCase,
    { deeds: string[]; fence?: boolean; remedy?: boolean; pods?: number; phase?: string; hold?: string },
  ][] = [
    ['a pod by policy', aCase(), { deeds: ['quarantine', 'freeVolumes', 'forceDelete'], pods: 1 }],
    [
      'the same, held by a dry run',
      aCase({ policy: inForce({ mode: 'DryRun' }) }),
      { deeds: [], hold: 'DryRun', pods: 0 },
    ],
    [
      'the same, with no pods left for this minute',
      aCase({ allowance: { pods: 0, perMinute: 300, untilMs: nowMs + 1000 } }),
      { deeds: [], pods: 0 },
    ],
    ['a fence begins', remedied('fence'), { deeds: ['switch'], fence: true, phase: 'poweringOff' }],
    [
      'not in a storm',
      remedied('fence', { count: aCount({ nodes: 3, troubled: 3 }) }),
      { deeds: [], phase: 'waiting', hold: 'StormLimit' },
    ],
    [
      'not beside another one',
      remedied('fence', { count: aCount({ nodes: 9, troubled: 2, fencing: ['node-2'] }) }),
      { deeds: [], phase: 'waiting', hold: 'ConcurrencyLimit' },
    ],
    [
      'not while somebody has stopped it',
      remedied('fence', { fence: aFence({}, { stop: true }) }),
      { deeds: [], hold: 'Stopped' },
    ],
    [
      'a machine that is off lets its pods go',
      remedied('fence', { pods: [aPod()], fence: powered, node: aNode({ volumesInUse: [] }) }),
      { deeds: ['quarantine', 'takeOutOfService', 'forceDelete'], fence: true, pods: 1, phase: 'off' },
    ],
    [
      'and is switched on when they have gone',
      remedied('fence', { fence: powered }),
      { deeds: ['switch'], phase: 'poweringOn' },
    ],
    ['a Job', remedied('podTemplate'), { deeds: ['runJob'], remedy: true }],
    [
      'not in a storm either',
      remedied('podTemplate', { count: aCount({ nodes: 3, troubled: 3 }) }),
      { deeds: [], hold: 'StormLimit' },
    ],
    [
      'nor because its power is off, which ends a storm for fences alone',
      remedied('podTemplate', { count: aCount({ nodes: 3, troubled: 3 }), power: saysOff }),
      { deeds: [], hold: 'StormLimit' },
    ],
    [
      'nor is its machine removed for that',
      remedied('deleteMachine', { count: aCount({ nodes: 3, troubled: 3 }), power: saysOff }),
      { deeds: [], hold: 'StormLimit' },
    ],
    [
      'while a fence goes on in a storm that finds it off',
      remedied('fence', { count: aCount({ nodes: 3, troubled: 3 }), power: saysOff }),
      { deeds: ['switch'], phase: 'poweringOff' },
    ],
    ['a drain', remedied('drain'), { deeds: ['drain'], remedy: true }],
    ['a machine to be removed', remedied('deleteMachine'), { deeds: ['deleteMachine'], remedy: true }],
    ['a cordon', remedied('cordon'), { deeds: ['cordon'] }],
    ['an uncordon', remedied('uncordon'), { deeds: ['uncordon'] }],
    [
      'a node that is back, clean and soaked',
      aCase({
        node: aNode({ ready: 'True', taints: [quarantine], volumesInUse: [] }),
        lease: renewedLease,
        pods: [],
        attachments: [],
        hasOpenRecord: true,
        fence: aFence({
          incident: anIncident(),
          releases: [aRecord({ freedAt: 'x', podsGoneAt: 'x', endedAt: 'x' })],
          return: { stage: 'clean', since: '2026-01-01T00:00:00Z', failures: 0 },
        }),
      }),
      { deeds: ['untaint'] },
    ],
  ];
  for (const [title, nodeCase, { deeds: expected, fence = false, remedy = false, pods = 0, phase, hold }] of rows) {
    test(title, () => {
      const decision = decideNode(nodeCase);
      assert.deepEqual(deeds(decision), expected);
      assert.deepEqual(decision.claims, { fence, remedy, pods });
      assert.equal(decision.record?.status?.fence?.phase, phase);
      assert.equal(decision.findings?.hold?.reason, hold);
    });
  }

  test('a case can be written as JSON and is decided the same', () => {
    for (const [title, nodeCase] of rows) {
      const again = JSON.parse(JSON.stringify(nodeCase)) as NodeCase;
      assert.equal(JSON.stringify(decideNode(again)), JSON.stringify(decideNode(nodeCase)), title);
    }
  });

  test('S18: every act rests on the epoch that is stored with it, and another holder begins another', () => {
    for (const [identity, epoch] of [
      ['me', 1],
      ['other', 2],
    ] as const) {
      const { record, steps } = decideNode(remedied('fence', { identity, pods: [aPod()], fence: powered }));
      assert.equal(record?.status?.epoch, epoch);
      assert.deepEqual([...new Set(steps.flatMap((step) => groundsOf(step)?.epoch ?? []))], [epoch]);
    }
  });

  test('S20: a fence that begins anew begins an epoch of its own', () => {
    const failed = storedFence({ phase: 'failed', status: 'error', startedAt: '2026-01-01T00:01:00.000Z' });
    const waiting = { ...running, phase: 'waiting', until: at } as const;
    const twice = { ...ready, remedies: [...ready.remedies, ...ready.remedies] };
    const stored = aFence({ incident: anIncident(), ladders: [waiting], fence: failed });
    // Who was heard of since the first one began was not asked about this one.
    const { record: begun } = decideNode(remedied('fence', { fence: stored }, twice));
    assert.deepEqual([begun?.status?.fence?.phase, begun?.status?.epoch], ['waiting', 2]);
    const next = { fence: { ...stored, status: begun?.status ?? stored.status } };
    const { record, steps } = decideNode(remedied('fence', next, twice));
    assert.deepEqual([record?.status?.fence?.phase, record?.status?.epoch], ['poweringOff', 2]);
    assert.equal(groundsOf(steps[0])?.epoch, 2);
  });

  test('nothing is recorded of a node that nobody asked about, and so nothing runs', () => {
    const alone = aCase({ policy: { kind: 'none' }, pods: [], attachments: [] });
    assert.equal(decideNode(alone).record, undefined);
    assert.deepEqual(decideNode(withoutNode(alone)).steps, []);
  });
});

describe('what acts rest on', () => {
  test('S15: a Job, a drain and a deletion rest on the trouble that they are for', () => {
    for (const kind of ['podTemplate', 'drain', 'deleteMachine']) {
      const byCondition = groundsOf(decideNode(remedied(kind)).steps[0]);
      assert.ok(byCondition?.basis === 'Remedy');
      assert.deepEqual(
        [byCondition.trouble, byCondition.leaseRenewTime],
        [{ type: 'Ready', status: 'NotTrue' }, undefined],
      );
      const byLease = groundsOf(decideNode(remedied(kind, {}, silent)).steps[0]);
      assert.ok(byLease?.basis === 'Remedy');
      assert.deepEqual([byLease.trouble, byLease.leaseRenewTime], [undefined, aCase().lease?.renewTime]);
      const reported = remedied(kind, { node: aNode({ heartbeatTime: 'beat' }) }, silent);
      assert.equal(groundsOf(decideNode(reported).steps[0])?.heartbeatTime, 'beat', 'who reports is alive (SAF-3)');
      assert.deepEqual([byLease.nodeUid, byLease.bootId, byLease.policy?.name], ['node-uid', 'boot-1', 'release']);
      const { lease: _, ...without } = remedied(kind, {}, silent);
      for (const one of [without, { ...without, lease: { ...aCase().lease!, isGone: true as const } }]) {
        const byKubernetes = groundsOf(decideNode(one).steps[0]);
        assert.ok(byKubernetes?.basis === 'Remedy');
        assert.deepEqual(byKubernetes.trouble, { type: 'Ready', status: 'Unknown' }, 'Kubernetes hears nothing either');
      }
    }
  });

  test('[SAF-8] S39: so does every command that switches off, and what is silent has to be so still; not what switches on', () => {
    const fence = groundsOf(decideNode(remedied('fence')).steps[0]);
    assert.ok(fence?.basis === 'Remedy');
    assert.deepEqual(
      [fence.trouble, fence.leaseRenewTime],
      [{ type: 'Ready', status: 'NotTrue' }, aCase().lease?.renewTime],
    );
    const on = groundsOf(decideNode(remedied('fence', { fence: powered })).steps[0]);
    assert.ok(on?.basis === 'Remedy' && on.trouble === undefined && on.leaseRenewTime === undefined);
    assert.deepEqual([fence.pause, fence.policy?.name], [aCase().pause, 'release']);
    assert.deepEqual([on.pause, on.policy], ['any', undefined], 'nobody forbids that (SAF-12)');
  });

  test('[SAF-7] S39: also where nobody says any more what it is for: then the node has to be away still', () => {
    const entry = { step: 'power-management', method: 'ipmi-off', device: deviceHash(off) ?? '' } as const;
    const told = storedFence({
      phase: 'poweringOff',
      index: 0,
      switched: [{ ...entry, storage: [], commandSentAt: timeOf(aCase().serverNowMs) }],
    });
    const fence = aFence({ incident: anIncident(), ladders: [running], fence: told });
    const unsent = commandKey('ipmi-off', timeOf(aCase().serverNowMs));
    const gone = remedied('fence', { fence, policy: { kind: 'none' }, unsent });
    const renewed = aCase().lease?.renewTime;
    const notTrue = { type: 'Ready', status: 'NotTrue' };
    const rows: [NodeCase, unknown[]][] = [
      [gone, [renewed, notTrue]],
      [{ ...gone, node: { ...gone.node!, ready: 'True' } }, [renewed, undefined]],
      [{ ...gone, lease: undefined } as unknown as NodeCase, ['', notTrue]],
    ];
    for (const [one, expected] of rows) {
      const grounds = groundsOf(decideNode(one).steps[0]);
      assert.ok(grounds?.basis === 'Remedy');
      assert.deepEqual([grounds.leaseRenewTime, grounds.trouble], expected);
    }
  });

  test('[STM-4] the first command of a step finds a slot free, in whatever try or place; one that goes on has its own', () => {
    const now = timeOf(aCase().serverNowMs);
    const own = { ...toldOff, commandSentAt: now };
    const pdu = { ...toldOff, method: 'pdu-off', commandSentAt: at };
    const slotOf = (change: Parameters<typeof storedFence>[0]): unknown => {
      const stored = storedFence({ phase: 'poweringOff', index: 0, switched: [], ...change });
      const fence = aFence({ incident: anIncident(), ladders: [running], fence: stored });
      const decision = decideNode(remedied('fence', { fence, unsent: commandKey('ipmi-off', now) }));
      return groundsOf(decision.steps[0])?.slot?.kind ?? deeds(decision)[0];
    };
    const isFirst = [
      {},
      { retries: 1, until: at },
      { switched: [own] },
      { index: 1 },
      { switched: [own, pdu], waitsFor: '-' },
    ];
    for (const change of isFirst) assert.equal(slotOf(change), 'fence', JSON.stringify(change));
    const before = { ...pdu, commandSentAt: '2026-01-01T00:08:59.000Z' };
    assert.equal(slotOf({ switched: [before] }), 'fence', 'of another step');
    assert.equal(slotOf({ switched: [own, pdu] }), 'switch');
    assert.equal(slotOf({ switched: [{ ...toldOff, commandSentAt: at }], until: now }), 'switch', 'of an earlier try');
  });

  test('[REM-5] a Job that was made runs on, whatever became of the trouble', () => {
    const first = decideNode(remedied('podTemplate')).record?.status;
    assert.ok(first !== undefined && first.jobs.length === 1);
    const made = { ...first, jobs: first.jobs.map((job) => ({ ...job, uid: 'job-uid' })) };
    const [step] = decideNode(remedied('podTemplate', { fence: aFence(made) })).steps;
    const grounds = groundsOf(step);
    assert.ok(grounds?.basis === 'Remedy' && grounds.trouble === undefined);
    assert.ok(step !== undefined && 'begins' in step && step.begins.do === 'runJob' && step.begins.wasMade);
  });

  test('S4: a release from a machine that is off asks the devices that have switched it off', () => {
    const { steps } = decideNode(remedied('fence', { pods: [aPod()], fence: powered }));
    const grounds = groundsOf(steps.at(-1));
    assert.ok(grounds?.basis === 'PowerOff');
    assert.deepEqual(grounds.question, { what: 'power', methods: [off], offForMs: 60_000 });
    const unread = decideNode(
      remedied('fence', { pods: [aPod()], fence: powered, config: { ok: false, problems: [] } }),
    );
    const blind = groundsOf(unread.steps.at(-1));
    assert.ok(
      blind?.basis === 'PowerOff' && blind.question.methods.length === 0,
      'and with nobody to ask nothing goes',
    );
  });

  test('S13: that the machine was off counts for the boot that it was in', () => {
    const ladder = { ...running, remedy: 'act' };
    const wasOff = (bootId: string): boolean => {
      const incident = anIncident({ poweredOff: { at: '2026-01-01T00:05:00Z', bootId } });
      const [step] = decideNode(remedied('deleteMachine', { fence: aFence({ incident, ladders: [ladder] }) })).steps;
      assert.ok(step !== undefined && 'begins' in step && step.begins.do === 'deleteMachine');
      return step.begins.wasOff;
    };
    assert.deepEqual([wasOff('boot-1'), wasOff('boot-0')], [true, false]);
    const stored = decideNode(remedied('fence', { fence: powered })).record?.status;
    const asOff = decideNode(remedied('fence', { pods: [aPod()], fence: powered })).record?.status;
    assert.equal(stored?.incident?.poweredOff, undefined, 'on its way on, and nobody saw it off');
    assert.equal(asOff?.incident?.poweredOff?.bootId, 'boot-1');
  });
});
