/** Whether a cluster has come to rest: every workload is ready, and nothing is being attached or placed any more. */
import type { KubeObject } from '../kube/client.ts';
import { isReady, keyOf } from '../world/objects/meta.ts';
import type { Pod } from '../world/objects/pods.ts';
import type { ClusterState, StoredChange } from './cluster-state.ts';

interface Workload extends KubeObject {
  spec?: { replicas?: number; completions?: number };
  status?: {
    observedGeneration?: number;
    readyReplicas?: number;
    updatedReplicas?: number;
    numberReady?: number;
    desiredNumberScheduled?: number;
    succeeded?: number;
  };
}

const kinds = ['StatefulSet', 'Deployment', 'ReplicaSet', 'DaemonSet'];

export class Workloads {
  readonly #workloads = new Map<string, Workload>();

  take({ type, object }: StoredChange): void {
    if (!kinds.includes(object.kind ?? '')) return;
    const key = `${object.kind} ${keyOf(object)}`;
    if (type === 'DELETED') this.#workloads.delete(key);
    else this.#workloads.set(key, object);
  }

  /** What is not ready yet; empty: all is. */
  unsettled(state: ClusterState, nodeCount: number): string[] {
    const ready = [...state.nodes.values()].filter((node) => isReady(node) && isFree(node.spec?.taints));
    return [
      ...(ready.length < nodeCount ? [`${nodeCount - ready.length} nodes are not ready`] : []),
      ...[...this.#workloads].filter(([, workload]) => !isSettled(workload)).map(([key]) => key),
      ...[...state.pods].filter(([, pod]) => !podSettled(pod)).map(([key]) => `Pod ${key}`),
    ];
  }
}

const cordonTaint = 'node.kubernetes.io/unschedulable';

function isFree(taints: { key: string }[] | undefined): boolean {
  // A node that its administrator has cordoned is as he wants it.
  return (taints ?? []).every(({ key }) => !key.startsWith('node.kubernetes.io/') || key === cordonTaint);
}

function isSettled({ kind, metadata, spec, status }: Workload): boolean {
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 1)) return false;
  if (kind === 'DaemonSet') return (status?.numberReady ?? 0) >= (status?.desiredNumberScheduled ?? 0);
  return (status?.readyReplicas ?? 0) >= (spec?.replicas ?? 1);
}

function podSettled(pod: Pod): boolean {
  const phase = pod.status?.phase;
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  return phase === 'Succeeded' || phase === 'Failed' || isReady(pod);
}
