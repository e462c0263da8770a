/**
 * What all kubelets of a fleet watch, watched once: hundreds of watches by node name would cost an API server more than
 * everything else the fleet does. Which kubelet may look at it is for its machine to say: one that is cut off keeps to
 * what it saw last.
 */
import type { Clock } from '../../clock.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';
import type { KubeError } from '../../kube/errors.ts';
import type { ListWatchTimings } from '../../kube/list-watch.ts';
import { ListWatch } from '../../kube/list-watch.ts';
import { nodes, pods } from '../../kube/resources.ts';
import type { Change } from '../../kube/view.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';

export interface FeedListener {
  podChanged(pod: Pod): void;
  podGone(pod: Pod): void;
  nodeChanged(node: Node): void;
  /** Everything is known that there was when the feed began. */
  synced(): void;
}

export interface FeedOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  onProblem: (error: KubeError) => void;
  timings?: Partial<ListWatchTimings>;
}

export class ClusterFeed {
  readonly #pods: ListWatch<Pod>;
  readonly #nodes: ListWatch<Node>;
  readonly #podsByNode = new Map<string, Map<string, Pod>>();
  readonly #listeners = new Map<string, FeedListener>();

  constructor({ client, clock, random, onProblem, timings = {} }: FeedOptions) {
    const common = { client, clock, random, onProblem, timings, onSync: () => this.#onSync() };
    this.#pods = new ListWatch<Pod>({
      ...common,
      resource: pods,
      fieldSelector: 'spec.nodeName!=',
      project: (object) => withoutManagedFields(object) as Pod,
      onChange: (change) => this.#onPod(change),
    });
    this.#nodes = new ListWatch<Node>({
      ...common,
      resource: nodes,
      project: (object) => withoutManagedFields(object),
      onChange: ({ type, entry }) => {
        if (type !== 'deleted') this.#listeners.get(entry.key)?.nodeChanged(entry.value);
      },
    });
  }

  get synced(): boolean {
    return this.#pods.synced && this.#nodes.synced;
  }

  /** By UID. */
  podsOf(nodeName: string): ReadonlyMap<string, Pod> {
    return this.#podsByNode.get(nodeName) ?? new Map<string, Pod>();
  }

  nodeOf(nodeName: string): Node | undefined {
    return this.#nodes.entries.get(nodeName)?.value;
  }

  listen(nodeName: string, listener: FeedListener): () => void {
    this.#listeners.set(nodeName, listener);
    return () => {
      if (this.#listeners.get(nodeName) === listener) this.#listeners.delete(nodeName);
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#pods.run(signal), this.#nodes.run(signal)]);
  }

  #onPod({ type, entry }: Change<Pod>): void {
    const nodeName = entry.value.spec.nodeName ?? '';
    let known = this.#podsByNode.get(nodeName);
    if (known === undefined) {
      known = new Map();
      this.#podsByNode.set(nodeName, known);
    }
    const listener = this.#listeners.get(nodeName);
    if (type === 'deleted') {
      known.delete(entry.uid);
      listener?.podGone(entry.value);
    } else {
      known.set(entry.uid, entry.value);
      listener?.podChanged(entry.value);
    }
  }

  #onSync(): void {
    if (!this.synced) return;
    for (const listener of this.#listeners.values()) listener.synced();
  }
}

/** They are half of an object, and nobody here reads them. */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _managedFields, ...metadata } = object.metadata as KubeObject['metadata'] & {
    managedFields?: unknown;
  };
  return { ...object, metadata };
}
