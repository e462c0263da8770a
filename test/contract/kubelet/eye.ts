/** What is seen of the cluster, by one watch for all behaviours; keeps every version of a pod. */
import type { KubeObject } from '../../../src/kube/client.ts';
import { nodes, pods } from '../../../src/kube/resources.ts';
import { Informers } from '../../../src/world/controllers/informer.ts';
import type { Node } from '../../../src/world/objects/nodes.ts';
import type { Pod } from '../../../src/world/objects/pods.ts';
import type { Subject } from './subject.ts';

export class Eye {
  readonly #seen: Informers;
  readonly #versions = new Map<string, Pod[]>();
  readonly #ended = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor({ client, clock, random }: Pick<Subject, 'client' | 'clock' | 'random'>) {
    this.#seen = new Informers({ client, clock, random, onProblem: () => {} });
    this.#seen.of(nodes);
    this.#seen.of<Pod>(pods).on(({ object, previous }) => this.#note(object ?? previous));
  }

  async open(): Promise<void> {
    this.#running = this.#seen.run(this.#ended.signal);
    await new Promise<void>((resolve) => this.#seen.whenSynced(resolve));
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  pod(key: string): Pod | undefined {
    return this.#seen.of<Pod>(pods).get(key);
  }

  node(name: string): Node | undefined {
    return this.#seen.of<Node>(nodes).get(name);
  }

  versionsOf(podUid: string): readonly Pod[] {
    return this.#versions.get(podUid) ?? [];
  }

  #note(object: KubeObject | undefined): void {
    if (object === undefined) return;
    const { uid = '' } = object.metadata;
    const versions = this.#versions.get(uid) ?? [];
    versions.push(object as Pod);
    this.#versions.set(uid, versions);
  }
}
