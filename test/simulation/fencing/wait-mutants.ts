/** As in mutants.ts, for who has to wait before a fence begins, and who need not. */
import type { Sabotage } from '../mutant.ts';
import type { MutantCase } from '../mutants.ts';
import { namedScenario, scenarioOf } from '../run-file.ts';
import { beyondQuorum } from './control-plane.ts';
import { atOnce, fenced, place } from './fenced.ts';
import { onOwnNode } from './own-node.ts';

/** Whoever was well when it was looked at last is well. */
const everybodyJudged: Sabotage = {
  file: 'src/judge/storm.ts',
  line: "return lease !== undefined && lease.unchangedForMs >= silentAfterMs(lease) ? 'unjudged' : 'well';",
  instead: "return 'well';",
};

export const waitMutantCases: readonly MutantCase[] = [
  {
    invariant: 'S21',
    mistake: 'cuts what is silent although nobody is heard of but in its own zone',
    sabotage: {
      file: 'src/judge/storm.ts',
      line: 'if (zone === undefined) return loneZoneBrake(count);',
      instead: 'if (zone === undefined) return undefined;',
    },
    scenario: { ...namedScenario('storms/own-side', 'own-zone-alone'), expectations: [] },
    says: /^[bc]-\d is cut by operator-1, and nobody outside of its zone a responds$/,
  },
  {
    invariant: 'S22',
    mistake: 'counts the quorum of a control plane too low',
    sabotage: {
      file: 'src/judge/storm.ts',
      line: 'const quorum = Math.floor(nodes / 2) + 1;',
      instead: 'const quorum = Math.floor(nodes / 2);',
    },
    scenario: beyondQuorum,
    says: /^cp-\d was cut, and 1 of 3 nodes of control-plane are left of the 2 that it needs$/,
  },
  {
    invariant: 'S22',
    mistake: 'cuts the machine that it runs on itself',
    // Who does not know where it runs: what holds it back, and what refuses at the wire, each need that alone.
    sabotage: {
      file: 'src/operator/operator.ts',
      line: 'client: options.client.readingTimeBy(this.#serverTime),',
      instead: 'client: options.client.readingTimeBy(this.#serverTime), nodeName: undefined,',
    },
    scenario: onOwnNode('own-node-cut', 2),
    says: /^operator-1 cut node-1, on which it runs itself$/,
  },
  {
    invariant: 'S21',
    mistake: 'takes those for alive who were heard of before the API server was away',
    sabotage: {
      file: 'src/operator/shared-facts.ts',
      line: 'if (lease.hearableForMs === undefined && nowMs - renewedAtMs < sinceMs) continue;',
      instead: 'if (nowMs - renewedAtMs < sinceMs) continue;',
    },
    also: [everybodyJudged],
    scenario: scenarioOf('holes/heard-before-the-api-was-away'),
    says: /^node-1 is cut while 5 of 6 nodes of the cluster do not respond$/,
  },
  {
    invariant: 'S38',
    mistake: 'cuts before the others could be heard of',
    sabotage: {
      file: 'src/judge/storm.ts',
      line: 'if (around !== undefined && around.unheard === 0) return undefined;',
      instead: 'return undefined;',
    },
    scenario: fenced('too-early', { events: [{ at: '0s', partition: place }], runFor: '30s' }),
    says: /^node-\d is cut before node-\d, node-\d could be heard of$/,
  },
  {
    invariant: 'S38',
    mistake: 'takes what it reads now for what was written now',
    sabotage: {
      file: 'src/observe/observer.ts',
      line: 'return waitedMs > 0 && dueMs < seenAtMs && dueMs >= seenAtMs - behindAtMostMs ? dueMs : seenAtMs;',
      instead: 'return waitedMs > 0 && dueMs < seenAtMs && dueMs >= seenAtMs ? dueMs : seenAtMs;',
    },
    scenario: { ...scenarioOf('holes/renewal-found-late'), expectations: [] },
    says: /^node-2 is cut before node-1 could be heard of$/,
  },
  {
    invariant: 'S38',
    mistake: 'looks around since a suspicion that was over',
    sabotage: {
      file: 'src/operator/shared-facts.ts',
      line: 'return isAnew ? quiet.sinceMs + silentAfterMs(read.lease) : startedMs;',
      instead: 'return isAnew ? startedMs : startedMs;',
    },
    scenario: { ...scenarioOf('holes/lost-again-behind-a-command'), expectations: [] },
    says: /^node-1 is cut before node-2, node-3 could be heard of$/,
  },
  {
    invariant: 'S38',
    mistake: 'waits for nobody because of a request that nobody makes today',
    sabotage: {
      file: 'src/decide/brake-of.ts',
      line: "(kind === 'fence' && !isRequested ? lookAround(settling(nodeCase), nowMs) : undefined) ??",
      instead:
        "(kind === 'fence' && !isRequested && !nodeCase.fence?.spec.requested ? lookAround(settling(nodeCase), nowMs) : undefined) ??",
    },
    scenario: fenced('old-request', {
      events: [
        ...['node-1', 'node-2', 'node-3'].map((node) => ({
          at: '0s',
          apply: {
            apiVersion: 'fenceline.dev/v1alpha1',
            kind: 'NodeFence',
            metadata: { name: `node-fence-${node}` },
            spec: { node, requested: { by: 'jane', at: '2025-12-31T00:00:00Z' } },
          },
        })),
        { at: '30s', partition: place },
      ],
      runFor: '1m',
    }),
    says: /^node-\d is cut before node-\d, node-\d could be heard of, and the request on record is older than its record$/,
  },
  {
    invariant: 'S41',
    mistake: 'keeps the slot of a fence that can do no more',
    sabotage: {
      file: 'src/api/facts.ts',
      line: "const cutting: ReadonlySet<string> = new Set(['isolating', 'isolated', 'poweringOff', 'off']);",
      instead:
        "const cutting: ReadonlySet<string> = new Set(['isolating', 'isolated', 'poweringOff', 'off', 'failed']);",
    },
    scenario: fenced('failed-for-good', {
      cluster: { nodes: 8 },
      policy: { fence: { ...atOnce, bootTimeout: '5s', retries: 0, restarts: 0 } },
      events: [
        { at: '0s', device: { node: 'node-1', fault: 'ignores' } },
        { at: '0s', partition: 'node-1' },
        // Two that wait have their devices asked all the time, and that is no work for the other one.
        ...['node-2', 'node-3'].map((partition) => ({ at: '60s', partition })),
      ],
      runFor: '5m',
    }),
    says: /^node-[23] waits for its turn while nobody works on another node$/,
  },
  {
    invariant: 'S41',
    mistake: 'keeps the slot of a fence that somebody has stopped',
    sabotage: {
      file: 'src/fence/at-rest.ts',
      line: 'return isRunning ? { fence } : { fence: { ...fence, waitsFor: isOpen(fence) ? heldInVain : heldWhileCut } };',
      instead: 'return { fence };',
    },
    scenario: fenced('stopped-for-good', {
      cluster: { nodes: 5 },
      policy: { fence: { ...atOnce, bootTimeout: '5s' } },
      events: [
        { at: '0s', partition: 'node-1' },
        {
          at: '22s',
          apply: {
            apiVersion: 'fenceline.dev/v1alpha1',
            kind: 'NodeFence',
            metadata: { name: 'node-fence-node-1' },
            spec: { node: 'node-1', stop: true },
          },
        },
        { at: '30s', partition: 'node-2' },
      ],
      runFor: '4m',
    }),
    says: /^node-2 waits for its turn while nobody works on another node$/,
  },
  {
    invariant: 'S37',
    mistake: 'lets a request wait for as long as it is held back',
    sabotage: {
      file: 'src/decide/request.ts',
      line: 'if (!isLate) return undefined;',
      instead: 'if (!isLate || isTaken) return undefined;',
    },
    scenario: scenarioOf('holes/request-held-by-a-storm'),
    beside: ['S39', 'S45'],
    says: /^node-1 is well, and switched off for a request that has lapsed$/,
  },
  {
    invariant: 'S37',
    mistake: 'cuts a node that is back for what was asked for when it was lost',
    sabotage: {
      file: 'src/decide/request.ts',
      line: 'if (trouble === undefined || !isBack(nodeCase) || wrongWith(nodeCase) !== undefined) return undefined;',
      instead: 'if (trouble !== "") return undefined;',
    },
    also: [
      {
        file: 'src/decide/request.ts',
        line: 'if (isReadySince(nodeCase, asked)) {',
        instead: "if (bootId === '' && isReadySince(nodeCase, asked)) {",
      },
    ],
    scenario: scenarioOf('holes/request-for-one-that-came-back'),
    beside: ['S39', 'S45'],
    says: /^node-1 is well, and switched off for a request that was about trouble that has passed$/,
  },
  {
    invariant: 'S36',
    mistake: 'takes what was so when it first looked for what has just begun',
    sabotage: { file: 'src/observe/condition-times.ts', line: 'forMs: isFirst ? Infinity :', instead: 'forMs:' },
    scenario: scenarioOf('holes/deadlock-everywhere-failover'),
    says: /^node-\d is fenced while 6 of 6 nodes of the cluster are in the same trouble$/,
  },
  {
    invariant: 'S36',
    mistake: 'counts those alone whose turn to be judged has come',
    sabotage: everybodyJudged,
    scenario: { ...scenarioOf('holes/silent-together-jobs'), expectations: [] },
    says: /^node-\d gets a Job while 3 of 4 nodes of the cluster are in the same trouble$/,
  },
];
