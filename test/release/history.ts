/**
 * All that happened to pods, nodes, attachments and records, in the order in which the API server took it: it counts
 * every write to any object with the same counter, so that revisions tell what came first, however busy the machine is.
 */
import { realClock } from '../../src/clock.ts';
import type { NodeFence } from '../../src/api/node-fence.ts';
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import { ListWatch } from '../../src/kube/list-watch.ts';
import type { Resource } from '../../src/kube/resources.ts';
import { nodeFences, nodes, pods, volumeAttachments } from '../../src/kube/resources.ts';
import type { Change } from '../../src/kube/view.ts';
import type { Node } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import type { VolumeAttachment } from '../../src/world/objects/volumes.ts';

export interface Moment<T> {
  revision: number;
  /** When we heard of it. */
  atMs: number;
  type: 'added' | 'updated' | 'deleted';
  object: T;
}

const resources = { pods, nodes, volumeAttachments, nodeFences };

interface Kinds {
  pods: Pod;
  nodes: Node;
  volumeAttachments: VolumeAttachment;
  nodeFences: NodeFence & KubeObject;
}

export type Kind = keyof Kinds;

export class History {
  readonly #watches: Record<Kind, ListWatch<KubeObject>>;
  readonly #moments: Record<Kind, Moment<KubeObject>[]> = {
    pods: [],
    nodes: [],
    volumeAttachments: [],
    nodeFences: [],
  };
  readonly #ended = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(client: KubeClient) {
    const watch = (kind: Kind, resource: Resource): ListWatch<KubeObject> =>
      new ListWatch<KubeObject>({
        client,
        clock: realClock,
        random: Math.random,
        resource,
        project: (object) => object,
        onChange: (change) => this.#note(kind, change),
      });
    this.#watches = {
      pods: watch('pods', resources.pods),
      nodes: watch('nodes', resources.nodes),
      volumeAttachments: watch('volumeAttachments', resources.volumeAttachments),
      nodeFences: watch('nodeFences', resources.nodeFences),
    };
  }

  start(): void {
    this.#running = Promise.all(Object.values(this.#watches).map((watch) => watch.run(this.#ended.signal)));
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  /** What is there now. */
  now<K extends Kind>(kind: K): Kinds[K][] {
    return [...this.#watches[kind].entries.values()].map(({ value }) => value as Kinds[K]);
  }

  /** What happened, oldest first. */
  of<K extends Kind>(kind: K, is: (object: Kinds[K]) => boolean = () => true): Moment<Kinds[K]>[] {
    return (this.#moments[kind] as Moment<Kinds[K]>[]).filter(({ object }) => is(object));
  }

  #note(kind: Kind, { type, entry }: Change<KubeObject>): void {
    const { resourceVersion, value: object } = entry;
    this.#moments[kind].push({ revision: Number(resourceVersion), atMs: performance.now(), type, object });
  }
}
