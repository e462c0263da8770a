/** Disruption budgets over storage pods: what one says, and how ours are written. */
import { GUARD_LABEL, GUARDED_NODE, WITHDRAWING } from '../api/drain-names.ts';
import type { BudgetFacts, BudgetOwner, DrainAction } from '../api/drain-view.ts';
import type { JsonPatchOperation, KubeObject } from '../kube/client.ts';
import type { OwnerReference } from '../kube/ownership.ts';
import { apiVersionOf, drainPolicies } from '../kube/resources.ts';

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
    owners: (metadata.ownerReferences ?? [])
      .filter(({ apiVersion, kind }) => apiVersion === apiVersionOf(drainPolicies) && kind === drainPolicies.kind)
      .map((owner) => owner.uid),
    ...(spec?.selector === undefined ? {} : { selector: selectorOf(spec.selector) }),
  };
}

/** An empty one selects every pod. */
function selectorOf({ matchLabels = {}, matchExpressions = [] }: Selector): NonNullable<BudgetFacts['selector']> {
  return { matchLabels, hasExpressions: matchExpressions.length > 0 };
}

export function guardBudget(
  namespace: string,
  { name, node, selector, owners }: Omit<Extract<DrainAction, { do: 'createBudget' }>, 'do'>,
): BudgetObject {
  return {
    metadata: {
      name,
      namespace,
      labels: { [GUARD_LABEL]: 'true' },
      annotations: { [GUARDED_NODE]: node },
      ownerReferences: owners.map(referenceTo),
    },
    spec: specOver(selector),
  };
}

function specOver(selector: Readonly<Record<string, string>>): NonNullable<BudgetObject['spec']> {
  return { minAvailable: 1, selector: { matchLabels: { ...selector } } };
}

/** It neither controls the budget nor waits for its end: a policy can always be deleted. */
function referenceTo({ name, uid }: BudgetOwner): OwnerReference {
  return { apiVersion: apiVersionOf(drainPolicies), kind: drainPolicies.kind, name, uid };
}

/** It still lets none of the pods with these labels go, and is about no others. */
export function isOverOnly({ blocks, selector }: BudgetFacts, labels: Readonly<Record<string, string>>): boolean {
  if (!blocks || selector === undefined || selector.hasExpressions) return false;
  const asked = Object.entries(selector.matchLabels);
  return asked.length === Object.keys(labels).length && asked.every(([key, value]) => labels[key] === value);
}

/** Makes one that somebody edited what it was; annotations and owners of others stay. */
export function repairOf(
  { metadata }: BudgetObject,
  { node, selector, owners }: Extract<DrainAction, { do: 'repairBudget' }>,
): JsonPatchOperation[] {
  const isTheirs = ({ apiVersion, kind }: OwnerReference): boolean =>
    !apiVersion.startsWith(`${drainPolicies.group}/`) || kind !== drainPolicies.kind;
  const value = [...(metadata.ownerReferences ?? []).filter(isTheirs), ...owners.map(referenceTo)];
  const owned: JsonPatchOperation = { op: 'add', path: '/metadata/ownerReferences', value };
  if (selector === undefined) return [owned];
  const path = `/metadata/annotations/${GUARDED_NODE.replace('/', '~1')}`;
  return [
    owned,
    { op: 'add', path: '/spec', value: specOver(selector) },
    metadata.annotations === undefined
      ? { op: 'add', path: '/metadata/annotations', value: { [GUARDED_NODE]: node } }
      : { op: 'add', path, value: node },
  ];
}

/** Ours always have annotations: the node that they are for is one. */
export function withdrawalMark(withdrawing: boolean): JsonPatchOperation[] {
  const path = `/metadata/annotations/${WITHDRAWING.replace('/', '~1')}`;
  return [withdrawing ? { op: 'add', path, value: 'true' } : { op: 'remove', path }];
}
