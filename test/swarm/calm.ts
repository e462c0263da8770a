/**
 * Clusters in which nothing is wrong: nodes are cordoned, drained and rebooted, kubelets are upgraded, workloads restarted one pod
 * after the other, machines shut down and started again, and meanwhile operators and the API server are restarted too. Not one
 * machine may lose its power through us (S45).
 */
import type { Report } from '../../src/scenario/report.ts';
import { Random } from '../../src/world/random.ts';
import { Chance } from '../twins/chance.ts';
import type { Happening, Manifest, ScenarioDocument, SwarmNode } from './document.ts';
import { documentOf, seconds } from './document.ts';
import { byKured, marked, pausedForAll } from './others.ts';
import { clock } from './people.ts';
import { powerWatch } from './policies.ts';
import { driverObjects, workloads } from './workloads.ts';

interface Work {
  chance: Chance;
  node: string;
  at: number;
  bootSeconds: number;
  objects: readonly Manifest[];
}

/** What is done, and how long it takes. */
interface Chore {
  events: Happening[];
  takes: number;
}

export function generateCalm(seed: number): ScenarioDocument {
  const random = new Random(seed);
  const of = (name: string): Chance => new Chance(random.stream(`calm/${name}`));
  const chance = of('cluster');
  const nodes: SwarmNode[] = Array.from({ length: chance.between(2, 4) }, (_, index) => ({
    name: `node-${index + 1}`,
    zone: `z${index + 1}`,
    ...(chance.maybe(0.2) ? { identity: false } : {}),
  }));
  const bootSeconds = chance.one([10, 60, 90, 180, 240]);
  const objects = [...driverObjects(of('drivers')), ...workloads(of('workloads'), nodes), policy(of('policy'))];
  const operators = chance.one([1, 1, 2]);
  const [chores, services] = [of('chores'), of('services')];
  const events: Happening[] = [];
  let at = chores.between(5, 30);
  for (const { name: node } of chores.some(nodes, nodes.length)) {
    const { events: more, takes } = chores.one(allChores)({ chance: chores, node, at, bootSeconds, objects });
    events.push(...more, ...restarted(services, operators, at, takes));
    at += takes + chores.between(0, 20);
    if (at > 420) break;
  }
  const nodeMonitorGracePeriod = chance.one(['20s', '40s', '50s']);
  const lease = chance.maybe(0.15) ? { leaseDuration: chance.one(['20s', '80s']) } : {};
  return documentOf(`calm-${seed}`, {
    seed,
    cluster: {
      nodes,
      kubernetes: { nodeMonitorGracePeriod, bootTime: seconds(bootSeconds), ...lease },
      operators,
    },
    objects,
    events: whereAnswered(events.toSorted((one, other) => timeOf(one) - timeOf(other))),
    runFor: seconds(Math.max(600, at + 60)),
  });
}

function timeOf({ at }: Happening): number {
  return Number.parseFloat(at);
}

const typed = ['drain', 'cordon', 'uncordon', 'apply'];

/** Whoever is told that his drain has failed, or that the API server does not answer, does not go on as if it had: no such outage. */
function whereAnswered(events: readonly Happening[]): Happening[] {
  const ups = events.filter((event) => 'apiUp' in event);
  const left = new Set<Happening>();
  for (const down of events.filter((event) => 'apiDown' in event)) {
    const up = ups.find((event) => timeOf(event) > timeOf(down));
    const isDuring = (event: Happening): boolean =>
      timeOf(event) >= timeOf(down) && timeOf(event) <= timeOf(up ?? event);
    if (events.some((event) => typed.some((key) => key in event) && isDuring(event))) {
      left.add(down);
      if (up !== undefined) left.add(up);
    }
  }
  return events.filter((event) => !left.has(event));
}

/** As docs/fencing.md has it, by the Lease or by the condition, at once or after a while. */
function policy(chance: Chance): Manifest {
  const trigger = chance.maybe(0.5)
    ? { lease: { staleFor: '12s' } }
    : { condition: { type: 'Ready', status: 'NotTrue', for: '5s' } };
  const atOnce = { isolateAfter: '0s', powerManagementAfter: '0s' };
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'RemedyPolicy',
    metadata: { name: 'workers' },
    spec: {
      allNodes: true,
      thresholds: [{ ...trigger, remedies: [{ name: 'fence' }] }],
      remedies: [{ name: 'fence', fence: {} }],
      fence: { ...chance.one([{}, atOnce, atOnce]), ...powerWatch(chance) },
      storm: { maxUnresponsive: '60%' },
    },
  };
}

const allChores: readonly ((work: Work) => Chore)[] = [
  reboot,
  reboot,
  upgrade,
  upgrade,
  upgradeAfterPause,
  upgradeWhileAllIsPaused,
  rebootByKured,
  shutDownByOthers,
  restart,
  shutDown,
  rebootInOrder,
  shutDownInOrder,
];

/** `kubectl drain`, reboot, `kubectl uncordon` when it is back. */
function reboot({ chance, node, at, bootSeconds }: Work): Chore {
  const begun = at + chance.one([45, 60, 90]);
  const back = begun + bootSeconds + chance.one([15, 40]);
  return {
    events: [
      { at: seconds(at), drain: node },
      { at: seconds(begun), reboot: node },
      { at: seconds(back), uncordon: node },
    ],
    takes: back - at,
  };
}

/** The kubelet is away while its package is replaced; its pods run on. */
function upgrade({ chance, node, at }: Work): Chore {
  const takes = chance.one([15, 30, 60, 90, 180]);
  return {
    events: [
      { at: seconds(at), kubeletStop: node },
      { at: seconds(at + takes), kubeletStart: node },
    ],
    takes,
  };
}

/** Announced: nobody is to mind until then. It takes a little longer, or begins late. */
function upgradeAfterPause({ chance, node, at }: Work): Chore {
  const until = at + chance.one([20, 40, 90]);
  const stop = until + chance.one([-15, -5, 1, 10]);
  const start = stop + chance.one([10, 30, 90, 200]);
  const annotations = { 'fenceline.dev/pause.upgrade': clock(until) };
  return {
    events: [
      { at: seconds(at), apply: { apiVersion: 'v1', kind: 'Node', metadata: { name: node, annotations } } },
      ...(chance.maybe(0.5) ? [{ at: seconds(at), cordon: node }] : []),
      { at: seconds(stop), kubeletStop: node },
      { at: seconds(start), kubeletStart: node },
      { at: seconds(start + 15), uncordon: node },
    ],
    takes: start + 15 - at,
  };
}

/** Nothing is to happen to anybody meanwhile; it is over a little early, or late. */
function upgradeWhileAllIsPaused({ chance, node, at }: Work): Chore {
  const stop = at + chance.one([1, 10]);
  const start = stop + chance.one([20, 60, 120]);
  const until = start + chance.one([-15, 5, 30]);
  return {
    events: [
      ...pausedForAll(chance, at, until, clock),
      { at: seconds(stop), kubeletStop: node },
      { at: seconds(start), kubeletStart: node },
    ],
    takes: Math.max(start, until) - at,
  };
}

function rebootByKured({ chance, node, at, bootSeconds }: Work): Chore {
  const begun = at + chance.one([20, 60]);
  const back = begun + bootSeconds + chance.one([15, 40]);
  return { events: byKured({ node, at, begun, back }), takes: back - at };
}

/** As `shutDown`, by whoever says on the node that it is theirs. */
function shutDownByOthers(work: Work): Chore {
  const { events, takes } = shutDown(work);
  const { chance, node, at } = work;
  return { events: [...events, ...marked(chance, node, at, at + takes)], takes };
}

/** What is replaced while all of this goes on: the operator, which another instance or the next start follows, and the API server. */
function restarted(chance: Chance, operators: number, at: number, takes: number): Happening[] {
  const within = (): number => at + chance.between(0, Math.max(1, takes));
  const failover = (): Happening => ({ at: seconds(within()), crashOperator: chance.between(1, operators) });
  const down = within();
  const apiServer: Happening[] = [
    { at: seconds(down), apiDown: true },
    { at: seconds(down + chance.one([2, 8, 20])), apiUp: true },
  ];
  return [...(chance.maybe(0.35) ? [failover()] : []), ...(chance.maybe(0.2) ? apiServer : [])];
}

/** `kubectl rollout restart` of everything. */
function restart({ objects, at }: Work): Chore {
  const annotations = { 'kubectl.kubernetes.io/restartedAt': `${at}` };
  const restarted = objects.flatMap((object): Happening[] => {
    if (!['Deployment', 'StatefulSet', 'DaemonSet'].includes(object.kind)) return [];
    const spec = object['spec'] as { template: { metadata: { annotations?: object } } };
    const { metadata } = spec.template;
    const known = { ...metadata.annotations, ...annotations };
    const template = { ...spec.template, metadata: { ...metadata, annotations: known } };
    return [{ at: seconds(at), apply: { ...object, spec: { ...spec, template } } }];
  });
  return { events: restarted, takes: 30 };
}

/** Emptied, switched off by whoever works on it, and on again. */
function shutDown({ chance, node, at, bootSeconds }: Work): Chore {
  const off = at + 60;
  const on = off + chance.one([10, 60, 120]);
  return {
    events: [
      { at: seconds(at), drain: node },
      { at: seconds(off), powerOff: node },
      { at: seconds(on), powerOn: node },
      { at: seconds(on + bootSeconds + 20), uncordon: node },
    ],
    takes: on + bootSeconds + 20 - at,
  };
}

/** `systemctl reboot` without a drain: the kubelet says so, and ends its pods in time. */
function rebootInOrder({ node, at, bootSeconds }: Work): Chore {
  return { events: [{ at: seconds(at), gracefulReboot: node }], takes: shutdownSeconds + bootSeconds + 20 };
}

function shutDownInOrder({ chance, node, at, bootSeconds }: Work): Chore {
  const on = at + shutdownSeconds + chance.one([10, 60, 120]);
  return {
    events: [
      { at: seconds(at), gracefulShutdown: node },
      { at: seconds(on), powerOn: node },
    ],
    takes: on + bootSeconds + 20 - at,
  };
}

/** What a kubelet takes to end its pods. */
const shutdownSeconds = 30;

/** Commands to switch a machine off that was on, by the log of the devices themselves. */
export function cutsIn({ timeline }: Pick<Report, 'timeline'>): string[] {
  const off = new Set<string>();
  const cuts: string[] = [];
  for (const { at, actor, what, object } of timeline) {
    if (object.startsWith('machine/') && what === 'off') off.add(actor);
    if (object.startsWith('machine/') && what === 'booting') off.delete(actor);
    if (actor === 'device' && what === 'asked for off' && !off.has(object.slice('node/'.length))) {
      cuts.push(`${object} is switched off at ${at / 1000} s`);
    }
  }
  return cuts;
}
