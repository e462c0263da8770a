/**
 * [SAF-16] Longhorn guards by itself, under each value of its own setting: what `plan-drain` says beforehand, what the status
 * of the policy says meanwhile, and what becomes of the copies on the disks have to be the same story.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainPolicy } from '../../../src/api/drain-policy.ts';
import type { DrainPolicyName } from '../../../src/api/drain-view.ts';
import { DRAIN_POLICIES } from '../../../src/api/policy-defaults.ts';
import { readPlans } from '../../../src/cli/plan-drain.ts';
import type { NodePlan } from '../../../src/decide/plan-drain.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { invariants } from '../../../src/scenario/checkers/index.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import type { VirtualClock } from '../../../src/world/time/virtual-clock.ts';
import type { World } from '../../../src/world/world.ts';
import { failuresOf, parsed, run } from '../run-file.ts';
import type { WatchedCopies } from './copies.ts';
import { watchCopies } from './copies.ts';

const namespace = 'longhorn-system';

/** Where the copies are, and who uses the volume: a pod that can go anywhere is on `here` when it begins. */
const layouts = {
  'two copies, used elsewhere': { replicas: ['node-1', 'node-2'], attachedTo: 'node-4' },
  'two copies, used there': { replicas: ['node-1', 'node-2'], here: true },
  'the last copy, used elsewhere': { replicas: ['node-1'], attachedTo: 'node-4' },
  'the last copy, used there': { replicas: ['node-1'], here: true },
  'the last copy, stopped': { replicas: ['node-1'] },
} satisfies Record<string, { replicas: string[]; attachedTo?: string; here?: boolean }>;
type Layout = keyof typeof layouts;

/** What happens, until when the drains are judged, and when all is over. */
const stories = {
  'a cordon': { events: [{ at: '20s', cordon: 'node-1' }], judgedAtMs: 80_000, endMs: 82_000 },
  'a drain': { events: [{ at: '20s', drain: 'node-1' }], judgedAtMs: 150_000, endMs: 152_000 },
  'a drain, a loss of power, the way back': {
    events: [
      { at: '20s', drain: 'node-1' },
      { at: '100s', powerOff: 'node-1' },
      { at: '160s', powerOn: 'node-1' },
      { at: '240s', uncordon: 'node-1' },
    ],
    judgedAtMs: 99_000,
    endMs: 360_000,
  },
  'a drain while the other node is fenced': {
    events: [
      { at: '0s', partition: 'node-2' },
      { at: '50s', drain: 'node-1' },
      { at: '60s', heal: 'node-2' },
    ],
    judgedAtMs: 300_000,
    endMs: 302_000,
  },
  'two drains': {
    events: [
      { at: '20s', drain: 'node-1' },
      { at: '20s', drain: 'node-2' },
    ],
    judgedAtMs: 150_000,
    endMs: 152_000,
  },
} satisfies Record<string, { events: { at: string; [act: string]: string }[]; judgedAtMs: number; endMs: number }>;
type Story = keyof typeof stories;

const fencing = {
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'RemedyPolicy',
  metadata: { name: 'nodes' },
  spec: {
    allNodes: true,
    thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] }],
    remedies: [{ name: 'fence', fence: {} }],
    fence: { isolateAfter: '0s', powerManagementAfter: '0s' },
  },
};

const guard = {
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'DrainPolicy',
  metadata: { name: 'default' },
  spec: { allNodes: true, policy: 'block-if-contains-last-replica' },
};

const user = [
  {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv-v' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'driver.longhorn.io', volumeHandle: 'v' },
      claimRef: { namespace: 'default', name: 'data' },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], volumeName: 'pv-v', resources: { requests: { storage: '1Gi' } } },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'db' } },
      template: {
        metadata: { labels: { app: 'db' } },
        spec: {
          // Where it is at first: there is no other such node until the others get their label.
          nodeSelector: { db: 'true' },
          containers: [{ name: 'db', image: 'example/db:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
        },
      },
    },
  },
];

interface Seen {
  plans: NodePlan[];
  lost: boolean;
  /** Nodes that were cordoned and whose instance manager is gone. */
  drained: string[];
  /** Where the status of the policy said for long what was not so. */
  untrue: string[];
  isGuarding: boolean;
  failures: string[];
}

type Status = Partial<DrainPolicy['status']>;
type Use = { replicas: string[]; attachedTo?: string; here?: boolean };

const nodes = ['node-1', 'node-2', 'node-3', 'node-4'];
/** Longer than the guard needs to see a change and to write it down. */
const patienceMs = 5000;
const sampleMs = 500;

function scenarioOf(own: DrainPolicyName, layout: Layout, story: Story): Scenario {
  const { replicas, attachedTo, here = false }: Use = layouts[layout];
  const { events, endMs } = stories[story];
  const setting = { apiVersion: 'longhorn.io/v1beta2', kind: 'Setting', value: own };
  const open = nodes.map((name) => ({ metadata: { name, labels: { db: 'true' } } }));
  return parsed('own-setting', {
    cluster: {
      nodes: nodes.map((name) => ({ name, labels: name === 'node-1' ? { db: 'true' } : {} })),
      kubernetes: { bootTime: '20s' },
      longhorn: {
        rebuildMiBps: 500,
        volumes: [{ name: 'v', replicas, ...(attachedTo !== undefined && { attachedTo }) }],
      },
    },
    objects: [
      { ...setting, metadata: { name: 'node-drain-policy', namespace } },
      fencing,
      guard,
      ...(here ? user : []),
    ],
    events: [
      ...(here ? open.map((one) => ({ at: '0s', apply: { apiVersion: 'v1', kind: 'Node', ...one } })) : []),
      ...events,
    ],
    runFor: `${endMs / 1000}s`,
    ...(story === 'a drain, a loss of power, the way back' && {
      expect: [
        { budget: { node: 'node-1', blocks: true } },
        { node: { name: 'node-1', ready: true, schedulable: true, taints: [] } },
        { volume: { name: 'v', robustness: 'healthy', dataIntact: true } },
      ],
    }),
  });
}

function statusOf(watched: WatchedCopies): Status {
  const [policy] = watched.state().drainPolicies.values() as Iterable<{ status?: Status }>;
  return policy?.status ?? {};
}

/** What the status says of a drain that waits, against the budget that really stands over a pod that is still there. */
function untrueNow(watched: WatchedCopies, node: string): string | undefined {
  const { pods, budgets, nodes: all } = watched.state();
  if (all.get(node)?.spec?.unschedulable !== true) return undefined;
  const pod = pods.get(`${namespace}/instance-manager-${node}`);
  const stands = pod !== undefined && budgets.has(`${namespace}/instance-manager-${node}`);
  const told = statusOf(watched).draining?.find((one) => one.node === node);
  if (told?.blocked === stands || (pod === undefined && told?.blocked === false)) return undefined;
  return `${node}: the budget ${stands ? 'stands' : 'does not stand'}, told is ${JSON.stringify(told)}`;
}

async function see(own: DrainPolicyName, layout: Layout, story: Story): Promise<Seen> {
  const { events, judgedAtMs, endMs } = stories[story];
  const drains = events.flatMap((event: { at: string; drain?: string }) =>
    event.drain === undefined ? [] : [{ at: event.at, drain: event.drain }],
  );
  const drainAtMs = Number.parseInt(drains[0]?.at ?? '0', 10) * 1000;
  const watched = watchCopies('v', false);
  const plans: Promise<NodePlan[]>[] = [];
  const found = { lost: false, drained: [] as string[], isGuarding: false };
  const untrue = new Map<string, { what: string; sinceMs: number }>();
  const saysSo = new Set<string>();
  const sample = (nowMs: number): void => {
    for (const node of ['node-1', 'node-2']) {
      const what = untrueNow(watched, node);
      const before = untrue.get(node);
      if (what === undefined) untrue.delete(node);
      else if (before === undefined) untrue.set(node, { what, sinceMs: nowMs });
      else if (nowMs - before.sinceMs > patienceMs) saysSo.add(what);
    }
  };
  const atZero = (world: World, clock: VirtualClock): void => {
    watched.follow(world);
    const names = drains.map(({ drain }) => drain);
    if (names.length > 0) clock.after(drainAtMs - 1000, () => plans.push(readPlans(clientOf(world, clock), names)));
    for (let ms = 0; ms < judgedAtMs; ms += sampleMs) clock.after(ms, () => sample(ms));
    clock.after(judgedAtMs, () => {
      found.lost = watched.lost();
      found.drained = names.filter((node) => watched.isDrained(node));
      const guarding = statusOf(watched).conditions?.find(({ type }) => type === 'Guarding');
      found.isGuarding = guarding?.status === 'True';
    });
    clock.after(endMs - 100, () => watched.end());
  };
  let start = (): void => {};
  const report = await run(scenarioOf(own, layout, story), {
    freezes: true,
    invariants: [...invariants, watched.invariant],
    onWorld: (world, clock) => (start = () => atZero(world, clock)),
    onZero: () => start(),
  });
  return { plans: (await Promise.all(plans)).flat(), ...found, untrue: [...saysSo], failures: failuresOf(report) };
}

function clientOf(world: World, clock: VirtualClock): KubeClient {
  const transport = world.server.transport('planner');
  return new KubeClient({ transport, clock, userAgent: 'kubectl', fieldManager: 'kubectl' });
}

/** Where the three do not tell the same story. */
function disagreements({ plans, lost, drained, untrue, isGuarding }: Seen): string[] {
  const wrong = [...untrue];
  const warned = plans.some(({ warnings }) => warnings.length > 0);
  if (plans.length > 0 && lost !== warned)
    wrong.push(lost ? 'the last copy went, and no plan had warned' : 'a plan warned of what was kept');
  if (isGuarding && lost) wrong.push('the policy says that it guards, and the last copy went');
  // Of two that count on each other the first to be cordoned may be gone before the second is.
  const never = new Set<string>(['LastReplica', 'LastRunningReplica', 'NowhereToRebuild']);
  if (plans.some(({ together }) => together.some(({ reason }) => never.has(reason)))) {
    if (drained.length === plans.length) wrong.push('the plan says that both drains together never end, and they did');
    return wrong;
  }
  for (const { node, finishes } of plans) {
    const isDone = drained.includes(node);
    if (finishes === 'yes' && !isDone) wrong.push(`the plan says that the drain of ${node} ends, and it waits`);
    if (finishes === 'no' && isDone) wrong.push(`the plan says that the drain of ${node} never ends, and it did`);
  }
  return wrong;
}

const storyNames = Object.keys(stories) as Story[];

/** All of them with `FENCELINE_EXHAUSTIVE=1` (`make soak`); else two of five, so that each meets every value and every story. */
function chosen(own: number, story: number): Layout[] {
  const all = Object.keys(layouts) as Layout[];
  if (process.env['FENCELINE_EXHAUSTIVE'] === '1') return all;
  return all.filter((_, index) => (index + own + 2 * story) % 5 < 2);
}

describe('[SAF-16] Longhorn under its own setting', () => {
  for (const own of DRAIN_POLICIES) {
    for (const story of storyNames) {
      test(`${own}: ${story}`, async () => {
        const wrong: string[] = [];
        for (const layout of chosen(DRAIN_POLICIES.indexOf(own), storyNames.indexOf(story))) {
          const seen = await see(own, layout, story);
          wrong.push(...[...seen.failures, ...disagreements(seen)].map((what) => `${layout}: ${what}`));
        }
        assert.deepEqual(wrong, []);
      });
    }
  }
});
