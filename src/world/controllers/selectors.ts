/** Which labels a selector means, and which nodes an affinity allows. */
import type { LabelSelector, Requirement } from '../objects/meta.ts';
import type { Node, NodeSelectorTerm, Taint } from '../objects/nodes.ts';
import type { Toleration } from '../objects/pods.ts';

type Labels = Readonly<Record<string, string>>;

/** An absent selector selects nothing, an empty one everything. */
export function matchesLabels(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every((requirement) => meets(requirement, labels[requirement.key]))
  );
}

export function matchesNodeTerms(terms: readonly NodeSelectorTerm[], node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    // A term without requirements selects nothing.
    if (matchExpressions.length + matchFields.length === 0) return false;
    return (
      matchExpressions.every((requirement) => meets(requirement, labels[requirement.key])) &&
      matchFields.every((requirement) => meets(requirement, node.metadata.name))
    );
  });
}

function meets({ operator, values = [] }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}

export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === 'Exists') return true;
  return (toleration.operator ?? 'Equal') === 'Equal' && (toleration.value ?? '') === (taint.value ?? '');
}

export function untolerated(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly string[],
): Taint | undefined {
  return (taints ?? []).find(
    (taint) =>
      effects.includes(taint.effect) && !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
}
