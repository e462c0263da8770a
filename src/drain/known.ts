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

export function known(view: DrainView): Known {
  const replicasOn = Map.groupBy(view.replicas, ({ node }) => node);
  const replicasOf = Map.groupBy(view.replicas, ({ volume }) => volume);
  const podsOf = Map.groupBy(view.pods, ({ node }) => node);
  const overPod = budgetIndex(view.budgets);
  return {
    view,
    nodes: new Map(view.nodes.map((node) => [node.name, node])),
    volumes: new Map(view.volumes.map((volume) => [volume.name, volume])),
    replicasOn: (node) => replicasOn.get(node) ?? [],
    replicasOf: (volume) => replicasOf.get(volume) ?? [],
    podsOf: (node) => podsOf.get(node) ?? [],
    budgetsOver: overPod,
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
