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
  /** Of ours: it is over a pod of another node than it says, as only one that somebody edited is. Of several pods any may go. */
  isAstray: (budget: BudgetFacts) => boolean;
}

/**
 * What was found out about lists that are still the same ones: a cordon changes neither replicas nor budgets, and is not
 * to wait until twenty thousand of them are sorted again.
 */
export interface Memory {
  storage?: { replicas: DrainView['replicas']; volumes: DrainView['volumes']; index: StorageIndex };
  budgets?: { budgets: DrainView['budgets']; pods: DrainView['pods']; index: BudgetIndex };
}

type StorageIndex = Pick<Known, 'volumes' | 'replicasOn' | 'replicasOf'>;
type BudgetIndex = Pick<Known, 'budgetsOver' | 'isAstray'>;

export function known(view: DrainView, memory: Memory = {}): Known {
  const { replicas, volumes, budgets, pods } = view;
  if (memory.storage?.replicas !== replicas || memory.storage.volumes !== volumes) {
    memory.storage = { replicas, volumes, index: storageIndex(view) };
  }
  if (memory.budgets?.budgets !== budgets || memory.budgets.pods !== pods) {
    memory.budgets = { budgets, pods, index: budgetIndex(budgets, pods) };
  }
  const podsOf = Map.groupBy(pods, ({ node }) => node);
  return {
    view,
    ...memory.storage.index,
    ...memory.budgets.index,
    nodes: new Map(view.nodes.map((node) => [node.name, node])),
    podsOf: (node) => podsOf.get(node) ?? [],
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

function budgetIndex(budgets: readonly BudgetFacts[], pods: readonly StoragePodFacts[]): BudgetIndex {
  const budgetsOver = budgetFinder(budgets);
  const astray = new Set<BudgetFacts>();
  for (const pod of pods) {
    for (const budget of budgetsOver(pod).ours) if (budget.node !== pod.node) astray.add(budget);
  }
  return { budgetsOver, isAstray: (budget) => astray.has(budget) };
}

/** A budget is looked for by the rarest label that it asks for; one that asks for none is about every pod. */
function budgetFinder(budgets: readonly BudgetFacts[]): Known['budgetsOver'] {
  const selecting = budgets.filter(({ selector, deleting }) => selector !== undefined && !deleting);
  const labelsOf = ({ selector }: BudgetFacts): readonly string[] => textsOf(selector?.matchLabels ?? noLabels);
  const counts = new Map<string, number>();
  const countOf = (label: string): number => counts.get(label) ?? 0;
  for (const budget of selecting) for (const label of labelsOf(budget)) counts.set(label, countOf(label) + 1);
  const rarest = (budget: BudgetFacts): string | undefined => {
    const fewest = Math.min(...labelsOf(budget).map(countOf));
    return labelsOf(budget).find((label) => countOf(label) === fewest);
  };
  const byLabel = Map.groupBy(selecting, rarest);
  const found = new Map<StoragePodFacts, ReturnType<Known['budgetsOver']>>();
  return (pod) => {
    const known = found.get(pod);
    if (known !== undefined) return known;
    const keys = [undefined, ...textsOf(pod.labels)];
    const over = keys.flatMap((key) => byLabel.get(key) ?? []).filter((budget) => isOver(budget, pod));
    const answer = { ours: over.filter(({ ours }) => ours), foreign: over.filter(({ ours }) => !ours) };
    found.set(pod, answer);
    return answer;
  };
}

const noLabels: Readonly<Record<string, string>> = {};
/** Of some thousand budgets and pods one or two have changed since the last look. */
const texts = new WeakMap<object, readonly string[]>();

function textsOf(labels: Readonly<Record<string, string>>): readonly string[] {
  const before = texts.get(labels);
  if (before !== undefined) return before;
  const made = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  texts.set(labels, made);
  return made;
}

/** Expressions are not evaluated here: whom they leave out is not known, so that they leave out nobody. */
function isOver({ selector }: BudgetFacts, { labels }: StoragePodFacts): boolean {
  return Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
}
