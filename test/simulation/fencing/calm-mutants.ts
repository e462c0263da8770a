/** As in ../mutants.ts, for what is cut although nothing is wrong (S45): each thing that tells a plan from trouble left out. */
import type { MutantCase } from '../mutants.ts';
import type { Sabotage } from '../mutant.ts';
import { namedScenario, scenarioOf } from '../run-file.ts';
import { atOnce, fenced, place } from './fenced.ts';
import { cutAndPowered } from './switches.ts';

const slowBoot = { kubernetes: { nodeMonitorGracePeriod: '20s', bootTime: '60s' } };
const policy = { fence: { ...atOnce, bootTimeout: '2m' } };

const byDeadlock = [
  { condition: { type: 'KernelDeadlock', status: 'True', for: '10s' }, remedies: [{ name: 'fence', period: '10s' }] },
  { lease: { staleFor: '12s' }, remedies: [{ name: 'fence', period: '10s' }] },
];
const deadlock = { condition: { node: place, type: 'KernelDeadlock', status: 'True' } };

const pausedUntil = (name: string, until: string): object => ({
  at: '0s',
  apply: { apiVersion: 'v1', kind: 'Node', metadata: { name, annotations: { 'fenceline.dev/pause.one': until } } },
});

/** Whatever people and machines say about it. */
export const neverPatient: Sabotage = {
  file: 'src/decide/brake-of.ts',
  line: 'const isPatient = node !== undefined && spell !== undefined && !isRequested && nodeCase.isUnread !== true;',
  instead: 'const isPatient = false;',
};

export const calmMutantCases: readonly MutantCase[] = [
  {
    invariant: 'S45',
    mistake: 'takes a node for silent whose kubelet goes on reporting',
    sabotage: {
      file: 'src/decide/silence.ts',
      line: 'Math.min(silentForMs(lease), reportedForMs)',
      instead: 'silentForMs(lease)',
    },
    also: [
      {
        file: 'src/decide/silence.ts',
        line: 'lease.isGone === true || isStuck(lease)',
        instead: 'lease.isGone === true',
      },
    ],
    scenario: namedScenario('storms/node-that-lies', 'node-that-lies'),
    says: /^operator-1 cut node-\d although its kubelet reports that it is well, and only its Lease is stuck$/,
  },
  {
    invariant: 'S45',
    mistake: 'cuts what the API server lets nothing go from',
    sabotage: {
      file: 'src/decide/brake-of.ts',
      line: "(kind === 'fence' && !isRequested ? refusedBrake(nodeCase) : undefined) ??",
      instead: '',
    },
    scenario: fenced('cut-in-vain', {
      policy: { fence: { ...atOnce, powerManagementAfter: '60s' } },
      objects: [...cutAndPowered],
      events: [
        { at: '0s', partition: place },
        { at: '0s', apiFault: { operator: 1, fault: 'deniesNodes' } },
      ],
    }),
    says: /^operator-1 cut node-\d although the API server lets it change nothing there$/,
  },
  {
    invariant: 'S45',
    mistake: 'takes a node for silent that could not renew because the API server was away',
    sabotage: {
      file: 'src/api/life.ts',
      line: 'return Math.min(unchangedForMs, hearableForMs);',
      instead: 'return unchangedForMs;',
    },
    scenario: scenarioOf('holes/api-server-away'),
    says: /^operator-1 cut node-\d although nobody could renew: the API server was away until a moment ago$/,
  },
  {
    invariant: 'S45',
    mistake: 'believes whatever an API server says what time it is',
    sabotage: {
      file: 'src/kube/server-time.ts',
      line: 'this.#doubt(leastMs, nowMs);',
      instead: 'if (dateMs > 0) return dateMs;',
    },
    scenario: { ...namedScenario('holes/wrong-date', 'kubelet-upgraded-date-ahead'), expectations: [] },
    says: /^operator-1 cut node-\d although its machine answers, and only its kubelet is stopped$/,
  },
  {
    invariant: 'S45',
    mistake: 'takes a reboot that somebody wants for an incident',
    sabotage: neverPatient,
    scenario: fenced('wanted-reboot', {
      cluster: slowBoot,
      policy,
      events: [
        { at: '0s', drain: place },
        { at: '20s', reboot: place },
        { at: '90s', uncordon: place },
      ],
    }),
    says: /^operator-1 cut node-\d although somebody has cordoned it$/,
  },
  {
    invariant: 'S45',
    mistake: 'takes a reboot that a kubelet has announced for an incident',
    sabotage: neverPatient,
    scenario: { ...scenarioOf('holes/graceful-reboot'), expectations: [] },
    says: /^operator-1 cut node-\d although somebody has shut it down$/,
  },
  {
    invariant: 'S45',
    mistake: 'does not care whether only the kubelet is down',
    sabotage: {
      file: 'src/release/patience.ts',
      line: "if (port !== 'refused') return undefined;",
      instead: 'return;',
    },
    also: [{ file: 'src/act/grounds.ts', line: "return found === 'refused' ?", instead: 'return false ?' }],
    scenario: fenced('kubelet-replaced', {
      policy,
      events: [
        { at: '0s', kubeletStop: place },
        { at: '60s', kubeletStart: place },
      ],
    }),
    says: /^operator-1 cut node-\d although its machine answers, and only its kubelet is stopped$/,
  },
  {
    invariant: 'S45',
    mistake: 'cuts what nobody waits for',
    sabotage: {
      file: 'src/release/patience.ts',
      line: 'if (gainOf(nodeCase) !== undefined || isForgotten(nodeCase) || isEmptiedByLadder(nodeCase)) return undefined;',
      instead: 'return;',
    },
    scenario: fenced('nobody-waits', {
      policy,
      events: [
        { at: '0s', partition: 'node-1' },
        { at: '60s', heal: 'node-1' },
      ],
    }),
    says: /^operator-1 cut node-1 although nothing there would be freed$/,
  },
  {
    invariant: 'S45',
    mistake: 'does not wait for the last of several pauses',
    sabotage: {
      file: 'src/release/patience.ts',
      line: 'const untilMs = Math.max(...open.map(',
      instead: 'if (open.length < 2) return undefined;\n  const untilMs = Math.max(...open.map(',
    },
    scenario: fenced('two-pauses', {
      policy,
      events: [
        {
          at: '0s',
          apply: {
            apiVersion: 'v1',
            kind: 'Node',
            metadata: {
              name: 'node-3',
              annotations: {
                'fenceline.dev/pause.one': '2026-01-01T00:01:00Z',
                'fenceline.dev/pause.two': '2026-01-01T00:05:00Z',
              },
            },
          },
        },
        { at: '0s', partition: place },
      ],
      runFor: '2m',
    }),
    says: /^operator-1 cut node-3 although somebody has paused it until 2026-01-01T00:05:00Z$/,
  },
  {
    invariant: 'S45',
    mistake: 'counts what a leader before has not lived to see as if it had been silent all the time',
    sabotage: {
      file: 'src/decide/brake-of.ts',
      line: 'return { sinceMs: quiet?.isAlive === false ? heardMs : calledMs,',
      instead: 'return { sinceMs: quiet?.isAlive === false && nodeCase.lease?.renewed === true ? heardMs : calledMs,',
    },
    scenario: fenced('rebooted-at-a-failover', {
      cluster: slowBoot,
      policy: { ...policy, thresholds: byDeadlock },
      events: [
        { at: '0s', cordon: place },
        { at: '5s', ...deadlock },
        { at: '1m45s', reboot: place },
        { at: '1m50s', crashOperator: 1 },
      ],
      runFor: '4m',
    }),
    says: /^operator-1 cut node-\d although somebody has cordoned it$/,
  },
  {
    invariant: 'S45',
    mistake: 'forgets with the leader that a machine was off before it was switched on',
    sabotage: {
      file: 'src/decide/incident-after.ts',
      line: 'return { ...incident, foundOff: { at: known?.at ?? now, bootId } };',
      instead: 'return incident;',
    },
    scenario: scenarioOf('holes/switched-on-failover'),
    says: /^operator-1 cut node-\d although it was off, and somebody has switched it on$/,
  },
  {
    invariant: 'S45',
    mistake: 'counts the time of a kubelet from when its node was first in trouble',
    sabotage: {
      file: 'src/release/patience.ts',
      line: 'const untilMs = heardMs + kubeletAwayMs;',
      instead: 'const untilMs = sinceMs + kubeletAwayMs;',
    },
    also: [
      {
        file: 'src/release/patience.ts',
        line: 'function kubeletDown(nodeCase: PresentCase, { heardMs }: Spell)',
        instead: 'function kubeletDown(nodeCase: PresentCase, { sinceMs }: Spell)',
      },
      { file: 'src/release/patience.ts', line: '...(nowMs < spell.heardMs + kubeletAwayMs', instead: '...(nowMs < 0' },
    ],
    scenario: fenced('stopped-as-a-pause-ends', {
      policy: { ...policy, thresholds: byDeadlock },
      events: [
        pausedUntil('node-3', '2026-01-01T00:06:30Z'),
        { at: '5s', ...deadlock },
        { at: '5m58s', kubeletStop: place },
        { at: '7m', kubeletStart: place },
        { at: '7m', condition: { ...deadlock.condition, status: 'False' } },
      ],
      runFor: '8m',
    }),
    says: /^operator-1 cut node-3 although its machine answers, and only its kubelet is stopped$/,
  },
];
