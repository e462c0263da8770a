/**
 * A storage system with replicas, as the drain guard needs it: what to watch of it, what that means, and how it is told
 * what is wanted. Knows nothing of rules, and sends nothing by itself.
 */
import type { CountedCopy, ReplicaFacts, StorageFacts, StorageNodeFacts } from '../api/drain-view.ts';
import type { JsonPatchOperation, KubeObject, Precondition } from '../kube/client.ts';
import type { ObjectRef, Resource } from '../kube/resources.ts';

/** A write with its preconditions, for whoever carries it out. */
export interface StoragePatch {
  ref: ObjectRef;
  only: Precondition;
  operations: JsonPatchOperation[];
  subresource?: string;
}

export interface StorageSystem {
  readonly name: string;
  /** All namespaced; where the first of them is not served, the system is not installed. */
  readonly resources: readonly Resource[];
  /** Keeps of an object what `facts` reads, and forgets the rest. */
  readonly slim: (object: KubeObject) => KubeObject;
  /** `memory`: what was found out about objects that are still the same ones. */
  readonly facts: (
    objectsOf: (resource: Resource) => Iterable<KubeObject>,
    memory?: WeakMap<KubeObject, unknown>,
  ) => StorageFacts;
  /** What has to be read live to say whether these copies are what they are taken for. */
  readonly grounds: (
    objectsOf: (resource: Resource) => Iterable<KubeObject>,
    namespace: string,
    copies: readonly CountedCopy[],
  ) => ObjectRef[];
  /** `policy`: for which one; undefined takes the request back. */
  readonly eviction: (namespace: string, replica: ReplicaFacts, policy: string | undefined) => StoragePatch;
  readonly autoEvicting: (namespace: string, node: StorageNodeFacts, value: boolean) => StoragePatch;
}
