/** Which labels a selector means, and which nodes an affinity allows. */
import type { LabelSelector, Requirement } from '../objects/meta.ts';
import type { Node, NodeSelectorTerm } from '../objects/nodes.ts';

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
