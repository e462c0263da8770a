/**
 * As in mutants.ts, for what checkers once let pass, because a record said so, because it had been so before, or because they looked at
 * one kind of device only.
 */
import type { Scenario } from '../../src/scenario/format.ts';
import { ownMistake } from '../../src/scenario/report.ts';
import type { MutantCase } from './mutants.ts';
import { neverPatient } from './fencing/calm-mutants.ts';
import { atOnce, everywhere, fenced, place } from './fencing/fenced.ts';
import { cutAndPowered } from './fencing/switches.ts';
import { believedAtOnce, connectedAtOnce, kubeletAnew } from './sabotages.ts';
import { scenariosOf } from './run-file.ts';
import * as t from './trouble.ts';

const slowBoot = { kubernetes: { nodeMonitorGracePeriod: '20s', bootTime: '60s' } };
const patient = { fence: { ...atOnce, bootTimeout: '2m' } };

/** Of half an hour before time 0. */
const oldRequest = {
  at: '0s',
  apply: {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name: 'node-fence-node-3' },
    spec: { node: 'node-3', requested: { by: 'somebody', at: '2025-12-31T23:30:00Z' } },
  },
};
const paused = (until: string): object => ({
  at: '0s',
  apply: {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-3', annotations: { 'fenceline.dev/pause.one': until } },
  },
});

const onlyHere = { nodeSelector: { 'kubernetes.io/hostname': 'node-3' } };
/** Uses the volume of the pod that goes, and tolerates everything. */
const sharingPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'sharing', namespace: 'default' },
  spec: {
    ...onlyHere,
    containers: [{ name: 'main', image: 'example/web:1' }],
    tolerations: [{ operator: 'Exists' }],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  },
};

const [stoppedWhileAway] = scenariosOf('holes/mark-left-while-away') as [Scenario];

/** Every fence that makes a move is taken for one that goes round in circles. */
const dizzy = { file: 'src/fence/decide-fence.ts', line: 'const maxMoves = 20;', instead: 'const maxMoves = 0;' };
const cutOffAtZero = fenced('mistaken', { events: [{ at: '0s', partition: place }], runFor: '1m' });

export const strictMutantCases: readonly MutantCase[] = [
  {
    invariant: ownMistake,
    mistake: 'cannot decide about a node, and goes on with the others',
    sabotage: dizzy,
    scenario: cutOffAtZero,
    says: /^operator-1 cannot decide about node-\d: the fence goes round in circles in phase \w+$/,
  },
  {
    invariant: ownMistake,
    mistake: 'ends by what it cannot decide about a node',
    sabotage: dizzy,
    also: [
      {
        file: 'src/operator/attendant.ts',
        line: '      if (!(error instanceof Undecided)) throw error;',
        instead: '      if (error instanceof Undecided) throw error;',
      },
    ],
    scenario: cutOffAtZero,
    says: /^operator-1 failed: the fence goes round in circles in phase \w+$/,
  },
  {
    invariant: 'S45',
    mistake: 'takes any request on record, however old, for leave to cut in a planned reboot',
    sabotage: neverPatient,
    scenario: fenced('old-request', {
      cluster: slowBoot,
      policy: patient,
      events: [oldRequest, { at: '1s', drain: place }, { at: '20s', reboot: place }, { at: '90s', uncordon: place }],
    }),
    says: /^operator-1 cut node-\d although somebody has cordoned it, and the request on record /,
  },
  {
    invariant: 'S45',
    mistake: 'does not heed a pause where somebody has deleted the record',
    sabotage: neverPatient,
    scenario: fenced('record-gone-and-paused', {
      policy: patient,
      events: [
        paused('2026-01-01T01:00:00Z'),
        { at: '0s', partition: place },
        { at: '15s', delete: { kind: 'NodeFence', name: 'node-fence-node-3' } },
      ],
      runFor: '1m',
    }),
    says: /^operator-1 cut node-3 although somebody has paused it until 2026-01-01T01:00:00Z$/,
  },
  {
    invariant: 'S4',
    mistake: 'does not ask the device again before something goes',
    sabotage: {
      file: 'src/act/grounds.ts',
      line: "  if (!('question' in grounds)) return undefined;",
      instead: "  if (!('question' in grounds) || grounds.node !== '') return undefined;",
    },
    scenario: fenced('not-asked-again', { events: [{ at: '0s', powerOff: place }], runFor: '2m' }),
    says: /on the basis PowerOff, and its device was not asked right before$/,
  },
  {
    invariant: 'S5',
    mistake: 'leaves what it has said of a machine that is off on a node that lives, because its fence is stopped',
    sabotage: {
      file: 'src/decide/decide-release.ts',
      line: 'steps: [...unmark, ...steps],',
      instead: "steps: hold?.reason === 'Stopped' ? steps : [...unmark, ...steps],",
    },
    scenario: {
      ...stoppedWhileAway,
      events: stoppedWhileAway.events.slice(0, -2),
      runForMs: 6 * 60_000,
      expectations: [],
    },
    says: /^node-4 keeps the taint node\.kubernetes\.io\/out-of-service, which is ours, /,
  },
  {
    invariant: 'S6',
    mistake: 'says that nothing runs there, with an effect that drives nobody away',
    sabotage: {
      file: 'src/act/perform.ts',
      line: "key: QUARANTINE_KEY, effect: 'NoSchedule'",
      instead: "key: 'node.kubernetes.io/out-of-service', effect: 'NoSchedule'",
    },
    scenario: t.trouble('out-of-service', {
      ...t.safely,
      events: [t.partition[0]!],
      runFor: '30s',
    }),
    says: /^node-\d got the taint node\.kubernetes\.io\/out-of-service:NoSchedule while its machine can still write$/,
  },
  {
    invariant: 'S15',
    mistake: 'parts a node from its storage without looking again',
    sabotage: {
      file: 'src/act/device-tasks.ts',
      line: 'const objection = await mayAct();',
      instead: 'const objection = undefined as string | undefined;',
    },
    scenario: fenced('cut-unread', {
      policy: { fence: { ...atOnce, powerManagementAfter: '5m' } },
      objects: [...cutAndPowered],
      events: [{ at: '0s', partition: place }],
      runFor: '40s',
    }),
    says: /^the port of node-\d was told off without a live read of policy right before$/,
  },
  {
    invariant: 'S2',
    mistake: 'accepts a risk for people who have not',
    sabotage: {
      file: 'src/release/by-policy.ts',
      line: "    case 'do-nothing':\n      return [];",
      instead: "    case 'do-nothing':\n      return [statefulSet];",
    },
    scenario: t.trouble('nobody-accepts', {
      release: { podDeletion: 'do-nothing', provisioners: [t.driver] },
      events: t.partition,
    }),
    says: /^volume pv-0 is written from node-\d and node-\d at the same time$/,
  },
  {
    invariant: 'S3',
    mistake: 'calls a fence done that has failed',
    sabotage: {
      file: 'src/fence/stored.ts',
      line: "failed: { step: 'power-management', status: 'error' },",
      instead: "failed: { step: 'power-management', status: 'final' },",
    },
    scenario: fenced('failed-and-called-done', {
      policy: { fence: { ...atOnce, retries: 0 }, release: t.acceptsRisk },
      events: [
        { at: '0s', device: { node: place, fault: 'ignores' } },
        { at: '0s', partition: place },
      ],
      runFor: '3m',
    }),
    says: /although the fence of its node is unknown$/,
  },
  {
    invariant: 'S9',
    mistake: 'forgets what it has released as soon as the node is back',
    sabotage: {
      file: 'src/decide/record.ts',
      line: '    releases: records,',
      instead: "    releases: nodeCase.node?.ready === 'True' ? [] : records,",
    },
    also: [believedAtOnce],
    scenario: t.trouble('back-and-forgotten', {
      ...t.safely,
      release: {},
      soak: '0s',
      events: kubeletAnew,
    }),
    says: /^node-\d is back in service, and a pod that was released \(.*\) still runs there$/,
  },
  {
    invariant: 'S20',
    mistake: 'cuts a machine again that does not come back, in the same fence',
    sabotage: {
      file: 'src/fence/booting.ts',
      line: "  if (facts.isWorthIt) return fail(state, facts, 'the node was not Ready in time');",
      instead: "  if (facts.bootId !== '') return enter(state, 'poweringOff', facts);",
    },
    scenario: fenced('cut-twice', { events: [{ at: '0s', partition: place }], runFor: '5m' }),
    says: /^operator-1 cut node-\d a second time in the same fence$/,
  },
  {
    invariant: 'S21',
    mistake: 'brakes a fence when it begins, and not when it begins anew',
    sabotage: {
      file: 'src/fence/decide-fence.ts',
      line: '    isBraked: fenceCase.brake !== undefined,',
      instead:
        "    isBraked: fenceCase.brake !== undefined && fenceCase.status?.fence?.phase !== 'failed' && !fenceCase.status?.fence?.restarts,",
    },
    scenario: fenced('begun-anew', {
      policy: { fence: { ...atOnce, retries: 0, restarts: 1 } },
      objects: [everywhere()],
      events: [
        { at: '0s', device: { node: 'node-1', fault: 'ignores' } },
        { at: '0s', partition: 'node-1' },
        { at: '60s', partition: 'node-2' },
        { at: '61s', device: { node: 'node-1', fault: 'none' } },
      ],
      runFor: '3m',
    }),
    says: /^node-1 is cut while 2 of 3 nodes of the cluster do not respond$/,
  },
  {
    invariant: 'S25',
    mistake: 'says that it waits for a volume that is long detached',
    sabotage: {
      file: 'src/return/return-node.ts',
      line: '  if (left === undefined) return undefined;\n  const refused',
      instead:
        '  if (left === undefined) return released.size > 0 ? `volume ${[...released][0]} was released and is still attached` : undefined;\n  const refused',
    },
    scenario: fenced('false-sentence', { events: [{ at: '0s', powerOff: place }], runFor: '7m' }),
    says: /^node-\d still has the taint fenceline\.dev\/quarantine .* what is said of it is not so \(volume pv-0 was released/,
  },
  {
    invariant: 'S25',
    mistake: 'begins to soak anew in every pass',
    sabotage: {
      file: 'src/return/return-node.ts',
      line: "stored === undefined || stored.stage === 'seen' ? nodeCase.serverNowMs : Date.parse(stored.since);",
      instead: 'nodeCase.serverNowMs + 0 * Date.parse(stored?.since ?? nodeCase.name);',
    },
    scenario: fenced('soaks-for-ever', { events: [{ at: '0s', powerOff: place }], runFor: '8m' }),
    says: /^node-\d still has the taint fenceline\.dev\/quarantine .* what is said of it is not so \(node-\d has to stay/,
  },
  {
    invariant: 'S33',
    mistake: 'connects a node on which a pod still runs that Kubernetes has let go',
    sabotage: connectedAtOnce,
    scenario: fenced('let-go-by-others', {
      policy: {
        thresholds: [
          { lease: { staleFor: '12s' }, remedies: [{ name: 'fence', cleanResources: false, period: '10s' }] },
        ],
        fence: { ...atOnce, powerManagementAfter: '5m' },
      },
      objects: [...cutAndPowered],
      events: [{ at: '0s', partition: place }, t.taint('40s', t.outOfServiceKey), { at: '60s', heal: place }],
      runFor: '2m',
    }),
    // Two machines that write are what it comes to.
    beside: ['S2'],
    says: /^operator-1 connected node-\d, and default\/web-0, which was let go, still runs there$/,
  },
  {
    invariant: 'S43',
    mistake: 'frees a volume that another pod, which stays, uses as well',
    sabotage: {
      file: 'src/release/kept.ts',
      line: 'entry: (entry) => isUnnamed || named.has(entry),',
      instead: 'entry: (entry) => isUnnamed && named.has(entry),',
    },
    scenario: t.trouble('shared-volume', {
      gates: { ForceEviction: true },
      pod: { spec: onlyHere },
      objects: [sharingPod],
      events: [t.powerLoss[0]!, t.taint('22s', t.forceEvictionKey)],
      runFor: '45s',
    }),
    says: /was freed although pod sharing uses it and stays$/,
  },
];
