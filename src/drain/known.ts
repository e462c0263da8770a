/** The facts, found by what they are asked for. Built once per decision: some thousand nodes must not cost a square. */
import type {
  BudgetFacts,
  DrainNode,
  DrainView,
  ReplicaFacts,
  StoragePodFacts,
  VolumeFacts,
} from '../api/drain-view.ts';

export interface Known {
  view: DrainView;
  nodes: ReadonlyMap<string, DrainNode>;
  volumes: ReadonlyMap<string, VolumeFacts>;
  replicasOn: (node: string) => readonly ReplicaFacts[];
  replicasOf: (volume: string) => readonly ReplicaFacts[];
  podsOf: (node: string) => readonly StoragePodFacts[];
  /** Those that are about this pod and not on their way out. */
  budgetsOver: (pod: StoragePodFacts) => { ours: readonly BudgetFacts[]; foreign: readonly BudgetFacts[] };
}

/**
 * What was found out about lists that are still the same ones: a cordon changes neither replicas nor budgets, and is not
 * to wait until twenty thousand of them are sorted again.
 */
export interface Memory {
  storage?: { replicas: DrainView['replicas']; volumes: DrainView['volumes']; index: StorageIndex };
  budgets?: { budgets: DrainView['budgets']; pods: DrainView['pods']; over: Known['budgetsOver'] };
}

type StorageIndex = Pick<Known, 'volumes' | 'replicasOn' | 'replicasOf'>;

export function known(view: DrainView, memory: Memory = {}): Known {
  const { replicas, volumes, budgets, pods } = view;
  if (memory.storage?.replicas !== replicas || memory.storage.volumes !== volumes) {
    memory.storage = { replicas, volumes, index: storageIndex(view) };
  }
  if (memory.budgets?.budgets !== budgets || memory.budgets.pods !== pods) {
    memory.budgets = { budgets, pods, over: budgetIndex(budgets) };
  }
  const podsOf = Map.groupBy(pods, ({ node }) => node);
  return {
    view,
    ...memory.storage.index,
    nodes: new Map(view.nodes.map((node) => [node.name, node])),
    podsOf: (node) => podsOf.get(node) ?? [],
    budgetsOver: memory.budgets.over,
  };
}

function storageIndex({ replicas, volumes }: DrainView): StorageIndex {
  const replicasOn = Map.groupBy(replicas, ({ node }) => node);
  const replicasOf = Map.groupBy(replicas, ({ volume }) => volume);
  return {
    volumes: new Map(volumes.map((volume) => [volume.name, volume])),
    replicasOn: (node) => replicasOn.get(node) ?? [],
    replicasOf: (volume) => replicasOf.get(volume) ?? [],
  };
}

/** A budget is looked for by the rarest label that it asks for; one that asks for none is about every pod. */
function budgetIndex(budgets: readonly BudgetFacts[]): Known['budgetsOver'] {
  const selecting = budgets.filter(({ selector, deleting }) => selector !== undefined && !deleting);
  const labelsOf = ({ selector }: BudgetFacts): string[] => Object.entries(selector?.matchLabels ?? {}).map(textOf);
  const counts = new Map<string, number>();
  for (const label of selecting.flatMap(labelsOf)) counts.set(label, (counts.get(label) ?? 0) + 1);
  const rarest = (budget: BudgetFacts): string | undefined =>
    labelsOf(budget).sort((one, other) => (counts.get(one) ?? 0) - (counts.get(other) ?? 0))[0];
  const byLabel = Map.groupBy(selecting, rarest);
  const found = new Map<StoragePodFacts, ReturnType<Known['budgetsOver']>>();
  return (pod) => {
    const known = found.get(pod);
    if (known !== undefined) return known;
    const keys = [undefined, ...Object.entries(pod.labels).map(textOf)];
    const over = keys.flatMap((key) => byLabel.get(key) ?? []).filter((budget) => isOver(budget, pod));
    const answer = { ours: over.filter(({ ours }) => ours), foreign: over.filter(({ ours }) => !ours) };
    found.set(pod, answer);
    return answer;
  };
}

function textOf([key, value]: [string, string]): string {
  return `${key}=${value}`;
}

/** Expressions are not evaluated here: whom they leave out is not known, so that they leave out nobody. */
function isOver({ selector }: BudgetFacts, { labels }: StoragePodFacts): boolean {
  return Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
}
