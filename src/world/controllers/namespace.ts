/** Deleted namespaces: empties them, then lets them go. */
import type { Resource } from '../../kube/resources.ts';
import type { Namespace } from '../objects/meta.ts';
import { isTerminating } from '../objects/meta.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Informer } from './informer.ts';
import { namespaces } from './resources.ts';

const who = 'namespace-controller';
const lookAgainMs = 1000;

export class NamespaceController {
  readonly #api: Api;
  readonly #namespaces: Informer<Namespace>;
  readonly #resources: readonly Resource[];

  constructor(host: ControllerHost, resources: readonly Resource[]) {
    this.#api = host.apiFor(who);
    this.#namespaces = host.informers.of(namespaces);
    this.#resources = resources.filter(({ namespaced }) => namespaced);
    const queue = host.queue(who, (name) => this.#sync(name));
    this.#namespaces.on(({ key, object }) => {
      if (object !== undefined && isTerminating(object)) queue.add(key);
    });
  }

  async #sync(name: string): Promise<number | undefined> {
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined || !isTerminating(namespace)) return undefined;
    let left = 0;
    for (const resource of this.#resources) {
      const items = await this.#api.list(resource, name);
      for (const item of items) if (!isTerminating(item)) await this.#api.delete(resource, item);
      left += items.length;
    }
    if (left > 0) return lookAgainMs;
    const finalizers = (namespace.spec?.finalizers ?? []).filter((finalizer) => finalizer !== 'kubernetes');
    await this.#api.replace<Namespace>(
      namespaces,
      { ...namespace, spec: { ...namespace.spec, finalizers } },
      'finalize',
    );
    return undefined;
  }
}
