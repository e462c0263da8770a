/**
 * A drain in every combination of policy, number of replicas, condition of the volume and what happens meanwhile, as
 * scenarios for the product itself; and what has to be true of each when it has run.
 */
import assert from 'node:assert/strict';
import { DRAIN_POLICIES } from '../../../src/api/policy-defaults.ts';
import type { DrainPolicyName } from '../../../src/api/drain-view.ts';
import { readPlans } from '../../../src/cli/plan-drain.ts';
import type { NodePlan } from '../../../src/decide/plan-drain.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { invariants } from '../../../src/scenario/checkers/index.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { parseScenarios } from '../../../src/scenario/parse.ts';
import type { VirtualClock } from '../../../src/world/time/virtual-clock.ts';
import type { World } from '../../../src/world/world.ts';
import type { CrashPoint, Killed } from '../killed.ts';
import { killedAtWrite } from '../killed.ts';
import { failuresOf } from '../run-file.ts';
import type { Condition } from './copies.ts';
import { conditionOf, conditions, leftoversOf, requestsLeft, watchCopies } from './copies.ts';

/** The name of a policy: the policy becomes that one. */
export type Meanwhile = 'nothing' | 'uncordon' | 'second drain' | DrainPolicyName;

export interface Combination {
  policy: DrainPolicyName;
  /** How many healthy ones there are before anything fails. One that is being rebuilt is there beyond them. */
  replicas: number;
  condition: Condition;
  meanwhile: Meanwhile;
}

/** With 4 GiB at 160 MiB a second a rebuild takes 25.6 s: each is in the middle of it when something happens. */
const longhorn = { rebuildMiBps: 160 };
const sizeGiB = 4;
export const volumeName = 'v';
const nodes = ['node-1', 'node-2', 'node-3', 'node-4', 'node-5'] as const;
const first = nodes[0];
const second = nodes[1];
const spare = nodes[4];

/** Kubectl tries again every five seconds: what happens meanwhile falls in between, and a plan is made before the next. */
const drainAtMs = 20_000;
const meanwhileAtMs = 32_000;
const aroundMs = 1000;
/** Before what was begun for a request is finished, and with it the request. */
const withdrawnAtMs = 42_000;
/** Until then everything has come to rest that can without the node that failed; it comes back afterwards. */
const restAtMs = 115_000;
const backAtMs = 120_000;
const endMs = 240_000;

/** A drain of two nodes takes some thirty. */
const mostWrites = 80;

export const replicaCounts = [1, 2, 3] as const;

/** A volume with one replica is not degraded when that one fails, but faulted: there is nothing left to keep. */
export function canExist({ replicas, condition }: Pick<Combination, 'replicas' | 'condition'>): boolean {
  return condition !== 'degraded' || replicas > 1;
}

export function meanwhilesOf(policy: DrainPolicyName): Meanwhile[] {
  return ['nothing', 'uncordon', 'second drain', ...DRAIN_POLICIES.filter((other) => other !== policy)];
}

export function combinations(): { all: Combination[]; impossible: number } {
  const every = DRAIN_POLICIES.flatMap((policy) =>
    replicaCounts.flatMap((replicas) =>
      conditions.flatMap((condition) =>
        meanwhilesOf(policy).map((meanwhile): Combination => ({ policy, replicas, condition, meanwhile })),
      ),
    ),
  );
  const all = every.filter(canExist);
  return { all, impossible: every.length - all.length };
}

export function nameOf({ policy, replicas, condition, meanwhile }: Combination): string {
  return `${policy}, ${replicas} ${condition}, ${meanwhile === 'nothing' ? 'drain' : `drain and ${meanwhile}`}`;
}

function drainPolicy(policy: DrainPolicyName): object {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'DrainPolicy',
    metadata: { name: 'default' },
    spec: { allNodes: true, policy },
  };
}

/** Where its copies are at time 0, all of them whole. */
function holdersOf({ replicas, condition }: Combination): string[] {
  return nodes.slice(0, condition === 'rebuilding' ? replicas + 1 : replicas);
}

const text = (ms: number): string => `${ms / 1000}s`;

function eventsOf(combination: Combination): object[] {
  const { condition, meanwhile } = combination;
  const last = holdersOf(combination).at(-1);
  const events: object[] = [{ at: text(drainAtMs), drain: first }];
  if (condition === 'degraded') events.push({ at: '0s', powerOff: last }, { at: text(backAtMs), powerOn: last });
  // Back from a reboot its copy is behind, and is made again from the others.
  if (condition === 'rebuilding') events.push({ at: '2s', reboot: last });
  const at = text(meanwhileAtMs);
  if (meanwhile === 'uncordon') events.push({ at, uncordon: first });
  else if (meanwhile === 'second drain') events.push({ at, drain: second });
  else if (meanwhile !== 'nothing') events.push({ at, apply: drainPolicy(meanwhile) });
  return events;
}

export function scenarioFor(combination: Combination): Scenario {
  const { policy, condition } = combination;
  const volume = {
    name: volumeName,
    sizeGiB,
    replicas: holdersOf(combination),
    ...(condition === 'stopped' ? {} : { attachedTo: spare }),
  };
  const spec = {
    cluster: { nodes: nodes.length, kubernetes: { bootTime: '5s' }, longhorn: { ...longhorn, volumes: [volume] } },
    objects: [drainPolicy(policy)],
    events: eventsOf(combination),
    runFor: text(endMs),
  };
  const name = nameOf(combination);
  const source = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', metadata: { name }, spec });
  const [scenario] = parseScenarios(name, source);
  assert.ok(scenario);
  return scenario;
}

function policiesOf({ policy, meanwhile }: Combination): DrainPolicyName[] {
  return [policy, ...DRAIN_POLICIES.filter((other) => other === meanwhile)];
}

/** Whether a policy that was in force lets the last copy go. */
export function mayLose(combination: Combination): boolean {
  const policies = policiesOf(combination);
  const isStopped = combination.condition === 'stopped';
  return policies.includes('always-allow') || (isStopped && policies.includes('allow-if-replica-is-stopped'));
}

/** Under a policy that moves nothing, the only copy waits for somebody to make another one; nothing else waits for ever. */
function hasToWait({ policy, replicas, condition }: Combination): boolean {
  if (replicas > 1 || condition === 'rebuilding') return false;
  if (policy === 'block-if-contains-last-replica') return true;
  return policy === 'allow-if-replica-is-stopped' && condition === 'running';
}

export interface Ran {
  killed: Killed;
  /** What was not as it has to be, in words. */
  wrong: string[];
  /** There was a moment without a whole copy on a node that was not drained. */
  lost: boolean;
}

export async function runCombination(combination: Combination, point?: CrashPoint): Promise<Ran> {
  const watched = watchCopies(volumeName, !mayLose(combination));
  const plans: Promise<NodePlan[]>[] = [];
  const wrong: string[] = [];
  const left = (when: string, leftOf = leftoversOf): void => {
    const policy = policiesOf(combination).at(-1) ?? combination.policy;
    wrong.push(...leftOf(watched.state(), policy).map((what) => `${when}: ${what}`));
  };
  const atZero = (world: World, clock: VirtualClock): void => {
    watched.follow(world);
    for (const { atMs, node } of plansFor(combination)) {
      clock.after(atMs, () => plans.push(readPlans(plannerOf(world, clock), [node])));
    }
    clock.after(drainAtMs - 1, () => wrong.push(...notAsMeant(combination, world)));
    // Whoever was killed may need longer than that.
    if (point === undefined) {
      clock.after(withdrawnAtMs, () => left('ten seconds later', requestsLeft));
      clock.after(restAtMs, () => left('at rest'));
    }
    clock.after(endMs - 1, () => {
      left('in the end');
      wrong.push(...notEnded(combination, watched.isDrained(first)));
      watched.end();
    });
  };
  let start = (): void => {};
  const killed = await killedAtWrite(scenarioFor(combination), point, {
    invariants: [...invariants, watched.invariant],
    onWorld: (world, clock) => (start = () => atZero(world, clock)),
    onZero: () => start(),
  });
  const lost = watched.lost();
  const warnings = (await Promise.all(plans)).flat().flatMap((plan) => plan.warnings);
  if (lost && !warnings.some((warning) => warning.includes(`volume ${volumeName} `))) {
    wrong.push('the last copy was let go, and no plan had warned of it');
  }
  if (killed.writes.length > mostWrites) wrong.push(`${killed.writes.length} writes`);
  return { killed, wrong: [...failuresOf(killed.seen.report), ...wrong], lost };
}

/** The drain has to meet the volume in the condition that it is about. */
function notAsMeant({ replicas, condition }: Combination, world: World): string[] {
  const found = conditionOf(world, volumeName);
  const healthy = condition === 'degraded' ? replicas - 1 : replicas;
  if (found.condition === condition && found.healthy === healthy) return [];
  return [`the drain found ${found.healthy} healthy and ${found.condition}`];
}

function notEnded(combination: Combination, isDrained: boolean): string[] {
  if (combination.meanwhile !== 'nothing' || isDrained !== hasToWait(combination)) return [];
  return [isDrained ? 'the drain did not wait' : 'the drain waits for ever'];
}

/** Before each drain, and under another policy before the drain goes on under it. */
function plansFor({ meanwhile }: Combination): { atMs: number; node: string }[] {
  const before = { atMs: drainAtMs - aroundMs, node: first };
  if (meanwhile === 'nothing' || meanwhile === 'uncordon') return [before];
  if (meanwhile === 'second drain') return [before, { atMs: meanwhileAtMs - aroundMs, node: second }];
  return [before, { atMs: meanwhileAtMs + aroundMs, node: first }];
}

function plannerOf(world: World, clock: VirtualClock): KubeClient {
  const transport = world.server.transport('planner');
  return new KubeClient({ transport, clock, userAgent: 'kubectl', fieldManager: 'kubectl' });
}
