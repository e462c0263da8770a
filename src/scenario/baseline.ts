/** How things stood at time 0: where every pod was, and which node a scenario means by the place of a pod. */
import type { Pod } from '../world/objects/pods.ts';
import type { ClusterState } from './cluster-state.ts';
import type { NodeRef, PodRef } from './format.ts';
import { ScenarioError } from './reader.ts';

export interface KnownPod {
  key: string;
  uid: string;
  node: string | undefined;
  labels: Record<string, string>;
}

export class Baseline {
  readonly #pods = new Map<string, KnownPod>();
  readonly #eventCounts: (reason: string) => number;

  constructor(state: ClusterState) {
    for (const [key, pod] of state.pods) this.note(key, pod);
    const counts = new Map<string, number>();
    this.#eventCounts = (reason) => counts.get(reason) ?? 0;
    for (const reason of state.eventReasons()) counts.set(reason, state.eventCount(reason));
  }

  /** A pod that came later: the first of its name is what the scenario means by it. */
  note(key: string, pod: Pod): void {
    if (this.#pods.has(key)) return;
    const { uid = '', labels = {} } = pod.metadata;
    this.#pods.set(key, { key, uid, node: pod.spec.nodeName, labels });
  }

  pod(key: string): KnownPod | undefined {
    return this.#pods.get(key);
  }

  *labelled(ref: { label: string; namespace?: string }): Generator<KnownPod, undefined> {
    for (const pod of this.#pods.values()) if (matches(pod.key, pod.labels, ref)) yield pod;
  }

  /** How many had been reported before. */
  eventCount(reason: string): number {
    return this.#eventCounts(reason);
  }

  nodeName(ref: NodeRef): string {
    if ('node' in ref) return ref.node;
    const found =
      'name' in ref.podOf ? [this.pod(`${ref.podOf.namespace}/${ref.podOf.name}`)] : [...this.labelled(ref.podOf)];
    const node = found.find((pod) => pod?.node !== undefined)?.node;
    if (node === undefined) throw new ScenarioError([`${ref.where}: there was no pod ${textOf(ref.podOf)} at time 0`]);
    return node;
  }
}

export function matches(
  key: string,
  labels: Record<string, string> | undefined,
  ref: { label: string; namespace?: string },
): boolean {
  const [name = '', value = ''] = ref.label.split('=');
  if (ref.namespace !== undefined && !key.startsWith(`${ref.namespace}/`)) return false;
  return labels?.[name] === value;
}

function textOf(ref: PodRef): string {
  return 'name' in ref ? `${ref.namespace}/${ref.name}` : `with the label ${ref.label}`;
}
