/**
 * The live reads of one step, right before its acts. Whatever several of them ask for is read once: what was compared is
 * then the very object from which a patch is made, and nothing waits for the same answer twice.
 */
import type { CallOptions, KubeClient, KubeObject } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import type { ObjectRef, Resource } from '../kube/resources.ts';
import { objectPath } from '../kube/resources.ts';

export class LiveReads {
  readonly #client: KubeClient;
  readonly #options: CallOptions;
  readonly #reads = new Map<string, Promise<Result<KubeObject>>>();

  constructor(client: KubeClient, options: CallOptions) {
    this.#client = client;
    this.#options = options;
  }

  get<T extends KubeObject>(ref: ObjectRef): Promise<Result<T>> {
    const path = objectPath(ref);
    const read = this.#reads.get(path) ?? this.#client.get(ref, this.#options);
    this.#reads.set(path, read);
    return read as Promise<Result<T>>;
  }

  list<T extends KubeObject>(
    resource: Resource,
    which: { namespace?: string; fieldSelector?: string } = {},
  ): Promise<Result<{ items: T[] }>> {
    return this.#client.list<T>(resource, which, this.#options);
  }
}
