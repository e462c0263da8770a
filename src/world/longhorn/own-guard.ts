/**
 * What Longhorn does about drains by itself, where it has the setting `node-drain-policy`: a budget over every instance
 * manager, which goes when the node is cordoned and the setting lets it, and replicas that are sent away from a cordoned
 * node. An installation without the setting is one from before it: it keeps no budget, and leaves requests as they are.
 */
import type { Api } from '../controllers/api.ts';
import { podDisruptionBudgets } from '../controllers/resources.ts';
import type { PodDisruptionBudget } from '../objects/workloads.ts';
import type { ReplicaObject } from './objects.ts';
import { instanceManagerLabels, instanceManagerName, longhornNamespace } from './objects.ts';

export const drainSetting = 'node-drain-policy';

/** What its manager sees. */
export interface Sight {
  /** The value of the setting. */
  policy: string;
  replicas: () => Iterable<ReplicaObject>;
  isCordoned: (node: string) => boolean;
  /** The instance manager runs and answers. */
  isServed: (node: string) => boolean;
  /** An engine runs there: somebody writes through it. */
  hasEngine: (node: string) => boolean;
  budgetOf: (node: string) => PodDisruptionBudget | undefined;
}

/** Of an instance manager that does not run the budget is left as it is; of a cordoned node none is made. */
export async function keepOwnBudget(api: Api, node: string, sight: Sight): Promise<void> {
  if (!sight.isServed(node)) return;
  const budget = sight.budgetOf(node);
  if (sight.isCordoned(node)) {
    if (budget !== undefined && letsGo(node, sight)) await api.delete(podDisruptionBudgets, budget);
    return;
  }
  if (budget !== undefined) return;
  await api.create<PodDisruptionBudget>(podDisruptionBudgets, {
    metadata: { name: instanceManagerName(node), namespace: longhornNamespace },
    spec: { minAvailable: 1, selector: { matchLabels: instanceManagerLabels(node) } },
  });
}

function letsGo(node: string, sight: Sight): boolean {
  if (sight.hasEngine(node)) return false;
  if (sight.policy === 'always-allow') return true;
  const here = [...sight.replicas()].filter(({ spec }) => spec?.nodeID === node);
  if (sight.policy === 'block-for-eviction') return here.length === 0;
  return here.every(
    (replica) =>
      (sight.policy === 'allow-if-replica-is-stopped' && isStopped(replica)) ||
      isUnused(replica) ||
      isProtectedElsewhere(replica, sight),
  );
}

/** Whether it is sent away because its node is cordoned; what a user wants comes on top. */
export function sendsAway(replica: ReplicaObject, sight: Sight): boolean {
  if (!sight.isCordoned(replica.spec?.nodeID ?? '')) return false;
  switch (sight.policy) {
    case 'block-for-eviction':
      return true;
    case 'block-for-eviction-if-contains-last-replica':
      return !isProtectedElsewhere(replica, sight);
    default:
      return false;
  }
}

/** Two nodes that are cordoned do not protect each other. Whether it is on its way out, or in use, is not asked. */
function isProtectedElsewhere({ spec }: ReplicaObject, sight: Sight): boolean {
  return [...sight.replicas()].some(({ spec: other }) => {
    const { nodeID = '', volumeName, healthyAt = '', failedAt = '' } = other ?? {};
    if (volumeName !== spec?.volumeName || nodeID === spec?.nodeID || healthyAt === '' || failedAt !== '') return false;
    return !sight.isCordoned(nodeID) && sight.isServed(nodeID) && sight.budgetOf(nodeID) !== undefined;
  });
}

function isUnused({ spec }: ReplicaObject): boolean {
  return (spec?.healthyAt ?? '') === '' && (spec?.failedAt ?? '') === '';
}

function isStopped({ spec, status }: ReplicaObject): boolean {
  return spec?.desireState === 'stopped' && status?.currentState === 'stopped';
}
