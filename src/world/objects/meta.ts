/** What objects of every kind have, and what can be said of any of them. */
import type { KubeObject, ObjectMeta } from '../../kube/client.ts';
import type { Resource } from '../../kube/resources.ts';

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastHeartbeatTime?: string;
  lastProbeTime?: string | null;
  observedGeneration?: number;
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: Requirement[];
}

/** Of a label selector or of a node affinity; the latter also knows Gt and Lt. */
export interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: string };
}

/** With `blockOwnerDeletion`, which the client itself has no use for. */
export function ownersOf(object: KubeObject): OwnerReference[] {
  return object.metadata.ownerReferences ?? [];
}

export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return ownersOf(object).find(({ controller }) => controller === true);
}

export function controlledBy(owner: KubeObject, resource: Resource): OwnerReference {
  return {
    apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
    kind: resource.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

export function keyOf({ metadata: { namespace, name } }: { metadata: Pick<ObjectMeta, 'name' | 'namespace'> }): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function conditionOf(
  object: { status?: { conditions?: Condition[] } } | undefined,
  type: string,
): Condition | undefined {
  // Asked of every pod whenever its owner looks at it: a loop costs a fraction of `find`.
  for (const condition of object?.status?.conditions ?? noConditions) if (condition.type === type) return condition;
  return undefined;
}

const noConditions: readonly Condition[] = [];

export function isReady(object: { status?: { conditions?: Condition[] } } | undefined): boolean {
  return conditionOf(object, 'Ready')?.status === 'True';
}

export function isTerminating(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}
