/**
 * A list-watch as it is usually written first. The fault tests run it beside the product's: a fault that does not break
 * this one would prove nothing.
 *
 * It lists everything at once, watches, and lists again when the watch ends; it believes that a connection without
 * errors is alive, that what has the same name is the same object, and that what just arrived is new.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import { documents } from '../../src/kube/json-stream.ts';
import type { Resource } from '../../src/kube/resources.ts';
import { collectionPath, withQuery } from '../../src/kube/resources.ts';

export interface Seen {
  type: 'added' | 'updated' | 'deleted';
  name: string;
  uid: string;
  resourceVersion: string;
}

export class NaiveListWatch {
  readonly log: Seen[] = [];
  readonly #known = new Set<string>();
  #heardAt = 0;

  get ageMs(): number {
    return performance.now() - this.#heardAt;
  }

  async run(client: KubeClient, resource: Resource, namespace: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const listed = await client.list(resource, { namespace });
      if (!listed.ok) {
        await delay(100);
        continue;
      }
      for (const item of listed.value.items) this.#put(item);
      const version = listed.value.metadata.resourceVersion;
      const path = withQuery(collectionPath(resource, namespace), { watch: '1', resourceVersion: version });
      const opened = await client.stream(path, 'watch', { signal });
      if (!opened.ok) continue;
      try {
        for await (const event of documents(opened.value.body)) this.#take(event as never);
      } catch {
        await delay(100);
      }
    }
  }

  #take(event: { type: string; object: KubeObject }): void {
    if (event.type === 'DELETED') {
      this.#known.delete(event.object.metadata.name);
      this.#note('deleted', event.object);
    } else if (event.type === 'ADDED' || event.type === 'MODIFIED') this.#put(event.object);
  }

  #put(object: KubeObject): void {
    const known = this.#known.has(object.metadata.name);
    this.#known.add(object.metadata.name);
    this.#note(known ? 'updated' : 'added', object);
  }

  #note(type: Seen['type'], object: KubeObject): void {
    this.#heardAt = performance.now();
    const { name, uid = '', resourceVersion = '' } = object.metadata;
    this.log.push({ type, name, uid, resourceVersion });
  }
}
