/** As in ../mutants.ts: one line of the product sabotaged for each invariant about fences, and the run in which it shows. */
import type { Scenario } from '../../../src/scenario/format.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import { marked, removed } from '../../mutants/stories/machines.ts';
import type { Sabotage } from '../mutant.ts';
import type { MutantCase } from '../mutants.ts';
import { factMutantCases } from './fact-mutants.ts';
import { waitMutantCases } from './wait-mutants.ts';
import { scenarioOf, variation } from '../run-file.ts';
import { atOnce, byCondition, everywhere, fenced, place } from './fenced.ts';

/** By then everybody was heard of, and the device is about to be told. */
const lookedAroundMs = 20_500;

/** The first answer about power after that takes its time, as that of a BMC behind a slow network does. */
function slowFirstAnswer(delayMs: number): () => RunOptions {
  return () => {
    let isFirst = false;
    let begin = (): void => {};
    return {
      onZero: () => begin(),
      onWorld(world, clock) {
        begin = () => void clock.after(lookedAroundMs, () => (isFirst = true));
        for (const bmc of world.bmcs.values()) {
          const request = bmc.request.bind(bmc);
          bmc.request = async (action, signal) => {
            const answer = await request(action, signal);
            const isIt = isFirst && action === 'status';
            isFirst &&= !isIt;
            if (isIt) await new Promise<void>((resolve) => clock.after(delayMs, resolve));
            return answer;
          };
        }
      },
    };
  };
}

/** Devices that say off from the first question on, whatever is true. */
function alwaysOff(): RunOptions {
  return {
    onWorld(world) {
      for (const bmc of world.bmcs.values()) bmc.setFault('saysOff');
    },
  };
}

/** What was switched off stays off. */
function neverOnAgain(): RunOptions {
  return {
    onWorld(world) {
      for (const bmc of world.bmcs.values()) {
        const request = bmc.request.bind(bmc);
        bmc.request = async (action, signal) =>
          action === 'on' ? { ok: false, error: 'refused' } : request(action, signal);
      }
    },
  };
}

const knownWrong: Sabotage = {
  file: 'src/fence/belief.ts',
  line: 'if (wrong !== undefined) return known(`${message}, and it is known to be wrong: ${wrong}`);',
  instead: "if (wrong === '') return known(message);",
};

/** More than one minute's worth, all on the node of the pod with the volume. */
export function manyPods(replicas: number): object {
  const labels = { app: 'many' };
  const near = { labelSelector: { matchLabels: { app: 'web' } }, topologyKey: 'kubernetes.io/hostname' };
  const spec = {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [near] } },
    containers: [{ name: 'main', image: 'example/many:1' }],
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'many', namespace: 'default' },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

/** A Ready node in trouble, about which something is done that takes its time. */
function remedied(name: string, remedy: object, objects: object[] = []): Scenario {
  const condition = { type: 'KernelDeadlock', status: 'True', for: '1s' };
  return fenced(name, {
    policy: {
      thresholds: [{ condition, remedies: [{ name: 'it', period: '5m' }] }],
      remedies: [{ name: 'it', ...remedy }],
    },
    objects,
    events: [{ at: '30s', condition: { node: place, type: 'KernelDeadlock', status: 'True' } }],
    runFor: '90s',
  });
}

const aJob = {
  podTemplate: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'example/remedy:1' }] } },
};

export const fenceMutantCases: readonly MutantCase[] = [
  {
    invariant: 'S15',
    mistake: 'takes a pause whose time is written wrong for one that is over',
    sabotage: {
      file: 'src/api/pause.ts',
      line: 'if (untilMs !== undefined && nowMs >= untilMs) return undefined;',
      instead: 'if (time !== undefined && !(nowMs < (untilMs ?? 0))) return undefined;',
    },
    scenario: scenarioOf('holes/paused-for-all-without-end'),
    says: /although everything is paused$/,
  },
  {
    invariant: 'S15',
    mistake: 'drives pods out without looking again',
    sabotage: {
      file: 'src/act/drain-node.ts',
      line: 'const objection = await mayAct();',
      instead: 'const objection = undefined as string | undefined;',
    },
    scenario: remedied('driven-out', { drain: {} }),
    says: /^pod default\/web-0 on node-\d was evicted without a live read of .*Lease, policy right before$/,
  },
  {
    invariant: 'S15',
    mistake: 'makes a Job without looking again',
    sabotage: {
      file: 'src/act/jobs.ts',
      line: 'const objection = await mayAct();',
      instead: 'const objection = undefined as string | undefined;',
    },
    scenario: remedied('remedied', aJob),
    says: /^jobs\/fenceline-remedies\/\S+ was made for node-\d without a live read of .*Lease, policy right before$/,
  },
  {
    invariant: 'S15',
    mistake: 'deletes a Machine without looking again',
    sabotage: {
      file: 'src/act/delete-machine.ts',
      line: 'const objection = await mayAct();',
      instead: 'const objection = undefined as string | undefined;',
    },
    scenario: removed('removed', {}),
    options: () => marked(),
    says: /^machines\/default\/m-1 of node-\d was deleted without a live read of .*policy right before$/,
  },
  {
    invariant: 'S44',
    mistake: 'deletes the Machine that an annotation names although two nodes claim to be it',
    sabotage: {
      file: 'src/act/delete-machine.ts',
      line: 'if (rival !== undefined) return rival;',
      instead: 'void rival;',
    },
    // What two say of themselves is left out wherever a node is read.
    also: [
      {
        file: 'src/api/machine.ts',
        line: 'if (bySystem === undefined && byProvider === undefined) return node;',
        instead: 'if (rival.length > 0) return node;',
      },
    ],
    scenario: removed('claimed-twice', {}),
    options: () => marked({ rival: 'node-2' }),
    says: /^machines\/default\/m-1 was deleted, and has the provider ID of node-2$/,
  },
  {
    invariant: 'S44',
    mistake: 'runs what a policy says where the Secrets of the devices are',
    sabotage: {
      file: 'src/operator/operator.ts',
      line: 'const { devices, remedyNamespace: namespace, identity, limits, gates, onPass } = this.#options;',
      instead: 'const { devices, namespace, identity, limits, gates, onPass } = this.#options;',
    },
    scenario: remedied('run-at-home', aJob),
    says: /^jobs\/fenceline\/\S+ was made where the operator and the Secrets of its devices are$/,
  },
  {
    invariant: 'S4',
    mistake: 'believes a device that answers for another machine',
    sabotage: {
      file: 'src/act/power.ts',
      line: "if (isSameMachine(known, identity)) return { ...said, identity: 'same', says };",
      instead: "return { ...said, identity: 'same', says };",
    },
    scenario: fenced('wrong-machine', {
      // Kubernetes has noticed by then: what is let go of a node that is Ready has a checker of its own, too.
      policy: { thresholds: byCondition },
      events: [
        { at: '0s', device: { node: place, fault: 'wrongMachine' } },
        // So that two machines do not write at the same time, which has a checker of its own.
        { at: '0s', storagePartition: place },
        { at: '0s', partition: place },
      ],
      runFor: '1m',
    }),
    beside: ['S29', 'S6'],
    says: /on the basis PowerOff although its machine is on$/,
  },
  {
    invariant: 'S34',
    mistake: 'believes an outlet that was never seen on',
    sabotage: {
      file: 'src/fence/belief.ts',
      line: "if (identity === 'none' && !wasSeenOn && answer.power !== 'unknown') {",
      instead: "if (identity === 'none' && !wasSeenOn && answer.power === 'unknown') {",
    },
    // Its kubelet goes on renewing after it has said off, which alone would save the day.
    also: [knownWrong],
    scenario: fenced('never-seen-on', {
      cluster: { nodes: ['node-1', 'node-2', 'node-3'].map((name) => ({ name, identity: false })) },
      events: [{ at: '1s', powerOff: place }],
      runFor: '1m',
    }),
    options: alwaysOff,
    says: /by the word of a device that was never seen on while its node lived$/,
  },
  {
    invariant: 'S34',
    mistake: 'uses a device that is known to be wrong',
    sabotage: knownWrong,
    scenario: fenced('known-wrong', { events: [{ at: '3m', powerOff: place }], runFor: '4m' }),
    options: alwaysOff,
    says: /by the word of a device that had said off while its node lived$/,
  },
  {
    invariant: 'S18',
    mistake: 'tells a device what was true when it began to ask',
    sabotage: {
      file: 'src/act/power.ts',
      line: 'const objection = await settings.mayAct();',
      // It looks, which is S15, and does not care.
      instead: 'const objection = void (await settings.mayAct()) as string | undefined;',
    },
    scenario: fenced('deposed', {
      cluster: { operators: 2 },
      policy: {
        // Its incident is still open when the first one wakes up.
        thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence', cleanResources: true, period: '3m' }] }],
        fence: { ...atOnce, bootTimeout: '5m' },
      },
      events: [
        { at: '0s', partition: place },
        // The one that leads.
        { at: '23s', isolateOperator: 1 },
        { at: '90s', restoreOperator: 1 },
      ],
      runFor: '3m',
    }),
    options: slowFirstAnswer(50_000),
    // Its successor has done all of it, and switched the machine on.
    beside: ['S20', 'S45'],
    says: /^operator-\d told the device of node-\d off although operator-\d_\S+ holds its record$/,
  },
  {
    invariant: 'S21',
    mistake: 'does not count those that do not respond',
    sabotage: {
      file: 'src/judge/storm.ts',
      line: 'if (troubled > allowed) {',
      instead: 'if (troubled > count.nodes + allowed) {',
    },
    scenario: fenced('storm', {
      policy: {
        fence: { ...atOnce, isolateAfter: '15s', powerManagementAfter: '15s' },
        storm: { maxUnresponsive: '40%', maxConcurrent: 2 },
      },
      objects: [everywhere()],
      events: ['node-1', 'node-2'].map((partition) => ({ at: '0s', partition })),
      runFor: '1m',
    }),
    says: /^node-\d is cut while 2 of 3 nodes of the cluster do not respond$/,
  },
  {
    invariant: 'S21',
    mistake: 'does not count the pods that it lets go',
    sabotage: { file: 'src/release/rate.ts', line: 'if (left >= 0) return fate;', instead: 'return fate;' },
    scenario: fenced('rush', {
      policy: { storm: { podsPerMinute: 2 } },
      objects: [manyPods(6)],
      events: [{ at: '0s', powerOff: place }],
      runFor: '1m',
    }),
    says: /was (marked Failed|deleted by force) as number 3 in a minute, and 2 may go$/,
  },
  {
    invariant: 'S25',
    mistake: 'keeps to itself why a machine stays off',
    sabotage: {
      file: 'src/fence/stored.ts',
      line: '...(state.message === undefined ? {} : { message: state.message.slice(0, 1024) }),',
      instead: '',
    },
    scenario: fenced('left-off', {
      policy: { fence: { ...atOnce, retries: 0 } },
      events: [
        { at: '0s', partition: place },
        { at: '90s', heal: place },
      ],
      runFor: '7m',
    }),
    options: neverOnAgain,
    says: /^node-\d is still switched off five minutes after the last fault, and nobody says why$/,
  },
  {
    invariant: 'S27',
    mistake: 'lets one device be asked at a time',
    sabotage: {
      file: 'src/act/device-tasks.ts',
      line: "if ((known?.key === key && !isDropped) || known?.state.outcome === 'running') return;",
      instead:
        "if ((known?.key === key && !isDropped) || [...this.#tasks.values()].some((it) => it.state.outcome === 'running')) return;",
    },
    scenario: fenced('slow-neighbour', {
      cluster: { nodes: 5 },
      policy: { storm: { maxUnresponsive: '60%', maxConcurrent: 2 } },
      events: [
        { at: '0s', device: { node: 'node-1', fault: 'ignores' } },
        { at: '0s', partition: 'node-1' },
        { at: '1s', partition: 'node-2' },
      ],
      runFor: '2m',
    }),
    says: /^the device of node-2 is not asked while that of node-1 is$/,
  },
  {
    invariant: 'S36',
    mistake: 'counts silence alone',
    sabotage: {
      file: 'src/judge/storm.ts',
      line: 'const more = threshold === undefined ? undefined : ownOf(count.byThreshold, threshold);',
      instead: 'const more = undefined as TroubleCount["byThreshold"][string] | undefined;',
    },
    scenario: fenced('same-condition', {
      policy: {
        thresholds: [
          {
            condition: { type: 'KernelDeadlock', status: 'True', for: '5s' },
            remedies: [{ name: 'fence', period: '10s' }],
          },
        ],
      },
      events: ['node-1', 'node-2', 'node-3'].map((node) => ({
        at: '0s',
        condition: { node, type: 'KernelDeadlock', status: 'True' },
      })),
      runFor: '30s',
    }),
    says: /^node-\d is fenced while 3 of 3 nodes of the cluster are in the same trouble$/,
  },
  {
    invariant: 'S37',
    mistake: 'takes what was restored for what is asked for today',
    sabotage: {
      file: 'src/decide/request.ts',
      line: 'if (isFromBefore(requested.at, record)) {',
      instead: 'if (requested.by === "nobody") {',
    },
    scenario: fenced('restored-request', {
      events: [
        {
          at: '3m',
          apply: {
            apiVersion: 'fenceline.dev/v1alpha1',
            kind: 'NodeFence',
            metadata: { name: 'node-fence-node-1' },
            spec: { node: 'node-1', requested: { by: 'jane', at: '2026-01-01T00:00:30Z' } },
          },
        },
      ],
      runFor: '5m',
    }),
    // It is told of a node that is well, too.
    beside: ['S39', 'S45'],
    says: /^node-1 is well, and switched off for a request that is older than its record$/,
  },
  {
    invariant: 'S35',
    mistake: 'goes on believing what was said before the node showed that it lives',
    sabotage: {
      file: 'src/api/life.ts',
      line: "].every(([then, latest]) => latest === '' || latest === then);",
      instead: "].every(([then, latest]) => latest === '' || latest === then || true);",
    },
    // It cannot reach its storage, so that two machines do not write at the same time, which has a checker of its own.
    scenario: variation('holes/kdump-then-alive', {
      events: [
        { at: '10s', kdumpSent: place },
        { at: '2m', storagePartition: place },
        { at: '2m', partition: place },
      ],
      runFor: '4m',
    }),
    says: /on the basis KernelCrashed \(.*\), although the node has shown since that it lives$/,
  },
  ...waitMutantCases,
  ...factMutantCases,
];
