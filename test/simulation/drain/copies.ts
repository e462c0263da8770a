/** Where the copies of a volume really are during a drain, and what is left over when it has ended. */
import { GUARD_LABEL, WITHDRAWING } from '../../../src/api/drain-names.ts';
import type { DrainPolicy } from '../../../src/api/drain-policy.ts';
import type { DrainPolicyName } from '../../../src/api/drain-view.ts';
import type { CheckContext, Checker, Invariant } from '../../../src/scenario/checkers/checker.ts';
import type { ClusterState } from '../../../src/scenario/cluster-state.ts';
import type { PodDisruptionBudget } from '../../../src/world/objects/workloads.ts';
import type { TrueVolume } from '../../../src/world/longhorn/truth.ts';
import type { World } from '../../../src/world/world.ts';

/** Of a volume, when a drain begins. */
export const conditions = ['running', 'stopped', 'degraded', 'rebuilding'] as const;
export type Condition = (typeof conditions)[number];

export interface WatchedCopies {
  invariant: Invariant;
  /** From here until the end of the run, in which every machine is switched off. */
  follow: (world: World) => void;
  end: () => void;
  state: () => ClusterState;
  lost: () => boolean;
  isDrained: (node: string) => boolean;
}

/**
 * Sees to it that at every moment a healthy copy with everything that was written is on a node that is not drained: what
 * is on a drained one counts as gone, as if its machine were taken away.
 */
export function watchCopies(volume: string, hasToStay: boolean): WatchedCopies {
  let world: World | undefined;
  let context: CheckContext | undefined;
  let isLost = false;
  const contextNow = (): CheckContext => {
    if (context === undefined) throw new Error('before the run');
    return context;
  };
  const isDrained = (node: string): boolean => {
    const isCordoned = contextNow().state.nodes.get(node)?.spec?.unschedulable === true;
    return isCordoned && !isServed(world, node);
  };
  const look = (): void => {
    const found = trueVolume(world, volume);
    if (found === undefined || isLost) return;
    const kept = wholeOf(found).filter((node) => !isDrained(node));
    if (kept.length > 0) return;
    isLost = true;
    if (hasToStay) contextNow().violated(`no whole copy of volume ${volume} is left on a node that was not drained`);
  };
  return {
    invariant: {
      id: 'last copy',
      check: (given): Checker => {
        context = given;
        return { onReplicas: look, onMachine: look };
      },
    },
    follow: (built) => (world = built),
    end: () => (world = undefined),
    state: () => contextNow().state,
    lost: () => isLost,
    isDrained,
  };
}

function isServed(world: World | undefined, node: string): boolean {
  const machine = world?.fleet.machine(node);
  if (machine === undefined || !machine.alive) return false;
  return [...machine.processes.values()].some(({ podName }) => podName === instanceManagerOf(node));
}

function instanceManagerOf(node: string): string {
  return `instance-manager-${node}`;
}

function trueVolume(world: World | undefined, volume: string): TrueVolume | undefined {
  // Asked for a report it takes down what was written until now.
  world?.longhorn?.report(volume);
  return world?.longhorn?.truth.volumes.get(volume);
}

function wholeOf({ replicas, confirmed }: TrueVolume): string[] {
  return [...replicas.values()]
    .filter(({ state, content }) => state === 'healthy' && content.checksum === confirmed.checksum)
    .map(({ node }) => node);
}

export function conditionOf(world: World, volume: string): { condition: Condition; healthy: number } {
  const found = trueVolume(world, volume);
  const states = [...(found?.replicas.values() ?? [])].map(({ state }) => state);
  const healthy = states.filter((state) => state === 'healthy').length;
  const isRebuilt = states.some((state) => state === 'building' || state === 'repairing');
  if (isRebuilt) return { condition: 'rebuilding', healthy };
  if (states.includes('failed')) return { condition: 'degraded', healthy };
  return { condition: found?.engineOn === undefined ? 'stopped' : 'running', healthy };
}

/** What is not as the policy in force wants it, once nothing moves any more. */
export function leftoversOf(state: ClusterState, policy: DrainPolicyName): string[] {
  return [
    ...requestsLeft(state, policy),
    ...[...state.nodes.keys()].flatMap((node) => budgetsLeft(state, node, policy)),
  ];
}

/** Requests and marks that nobody wants any more. One that is carried out leaves no trace: this is asked before. */
export function requestsLeft(state: ClusterState, policy: DrainPolicyName): string[] {
  return [...state.nodes.keys()].flatMap((node) => requestsOn(state, node, policy));
}

function requestsOn(state: ClusterState, node: string, policy: DrainPolicyName): string[] {
  const isCordoned = state.nodes.get(node)?.spec?.unschedulable === true;
  const mayAsk = isCordoned && policy.startsWith('block-for-eviction');
  const asked = [...state.replicas.values()].filter(
    ({ spec }) => spec?.nodeID === node && spec.evictionRequested === true,
  );
  const storage = [...state.storageNodes.values()].find(({ metadata }) => metadata.name === node);
  const isMarked = storage?.status?.autoEvicting === true;
  return [
    ...(asked.length > 0 && !mayAsk ? [`a replica on ${node} is still asked to leave`] : []),
    ...(isMarked === asked.length > 0 ? [] : [`autoEvicting of ${node} is ${isMarked}, ${asked.length} are asked`]),
  ];
}

/**
 * A drain that waits says for what, and has a budget to wait at, also when it came too late and the pod is gone already.
 * One whose pod is on its way out waits for nobody but its kubelet.
 */
function budgetsLeft(state: ClusterState, node: string, policy: DrainPolicyName): string[] {
  const isCordoned = state.nodes.get(node)?.spec?.unschedulable === true;
  const pod = state.pods.get(`longhorn-system/${instanceManagerOf(node)}`);
  const isThere = pod !== undefined && pod.metadata.deletionTimestamp === undefined;
  const told = toldOf(state, node);
  const budgets = [...state.budgets.values()].filter((one) => isAbout(one, node));
  const wanted = isCordoned ? Number(told?.blocked) : Number(policy !== 'always-allow');
  const found: string[] = [];
  if (!isThere && !isCordoned) found.push(`${node} is not cordoned and has no storage pod`);
  if (budgets.length !== wanted) found.push(`${node} has ${budgets.length} budgets, and should have ${wanted}`);
  if (budgets.some(({ metadata }) => metadata.annotations?.[WITHDRAWING] !== undefined)) {
    found.push(`the budget of ${node} is still announced to go`);
  }
  const isExplained = told?.blocked === true && told.reason !== '' && told.message !== '';
  if (isCordoned && isThere && !isExplained) found.push(`${node} is not drained, but told is ${JSON.stringify(told)}`);
  return found;
}

function toldOf(state: ClusterState, node: string): DrainPolicy['status']['draining'][number] | undefined {
  const [policy] = state.drainPolicies.values() as Iterable<{ status?: Partial<DrainPolicy['status']> }>;
  return policy?.status?.draining?.find((one) => one.node === node);
}

function isAbout({ metadata, spec }: PodDisruptionBudget, node: string): boolean {
  return metadata.labels?.[GUARD_LABEL] !== undefined && spec?.selector?.matchLabels?.['longhorn.io/node'] === node;
}
