/** Disruption budgets over storage pods: what one says, and how ours are written. */
import { GUARD_LABEL, GUARDED_NODE, WITHDRAWING } from '../api/drain-names.ts';
import type { BudgetFacts } from '../api/drain-view.ts';
import type { JsonPatchOperation, KubeObject } from '../kube/client.ts';

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: object[];
}

export interface BudgetObject extends KubeObject {
  spec?: { minAvailable?: number | string; selector?: Selector };
}

export function budgetFacts(object: BudgetObject): BudgetFacts {
  const { metadata, spec } = object;
  const { name, uid = '', resourceVersion = '', labels = {}, annotations = {} } = metadata;
  const node = annotations[GUARDED_NODE];
  return {
    name,
    uid,
    resourceVersion,
    ours: labels[GUARD_LABEL] !== undefined,
    ...(node === undefined ? {} : { node }),
    withdrawing: annotations[WITHDRAWING] !== undefined,
    deleting: metadata.deletionTimestamp !== undefined,
    // It is over one pod: one that has to stay is all of them.
    blocks: typeof spec?.minAvailable === 'number' && spec.minAvailable >= 1,
    ...(spec?.selector === undefined ? {} : { selector: selectorOf(spec.selector) }),
  };
}

/** An empty one selects every pod. */
function selectorOf({ matchLabels = {}, matchExpressions = [] }: Selector): NonNullable<BudgetFacts['selector']> {
  return { matchLabels, hasExpressions: matchExpressions.length > 0 };
}

export function guardBudget(
  namespace: string,
  { name, node, selector }: { name: string; node: string; selector: Readonly<Record<string, string>> },
): BudgetObject {
  return {
    metadata: { name, namespace, labels: { [GUARD_LABEL]: 'true' }, annotations: { [GUARDED_NODE]: node } },
    spec: { minAvailable: 1, selector: { matchLabels: { ...selector } } },
  };
}

/** It still lets none of the pods with these labels go, and is about no others. */
export function isOverOnly({ blocks, selector }: BudgetFacts, labels: Readonly<Record<string, string>>): boolean {
  if (!blocks || selector === undefined || selector.hasExpressions) return false;
  const asked = Object.entries(selector.matchLabels);
  return asked.length === Object.keys(labels).length && asked.every(([key, value]) => labels[key] === value);
}

/** Makes one that somebody edited what it was; annotations of others stay. */
export function repairOf({ metadata }: BudgetObject, wanted: BudgetObject): JsonPatchOperation[] {
  const { annotations = {} } = wanted.metadata;
  const path = `/metadata/annotations/${GUARDED_NODE.replace('/', '~1')}`;
  return [
    { op: 'add', path: '/spec', value: wanted.spec },
    metadata.annotations === undefined
      ? { op: 'add', path: '/metadata/annotations', value: annotations }
      : { op: 'add', path, value: annotations[GUARDED_NODE] },
  ];
}

/** Ours always have annotations: the node that they are for is one. */
export function withdrawalMark(withdrawing: boolean): JsonPatchOperation[] {
  const path = `/metadata/annotations/${WITHDRAWING.replace('/', '~1')}`;
  return [withdrawing ? { op: 'add', path, value: 'true' } : { op: 'remove', path }];
}
