/**
 * Garbage collection by owner: what belongs to nobody any more goes; an owner that is deleted in the foreground waits for
 * what blocks it; one that is deleted with `orphan` lets go of its dependents first.
 */
import type { KubeObject } from '../../kube/client.ts';
import { removeFinalizer } from '../../kube/patches.ts';
import type { Resource } from '../../kube/resources.ts';
import { apiVersionOf } from '../../kube/resources.ts';
import type { OwnerReference } from '../objects/meta.ts';
import { isTerminating, ownersOf } from '../objects/meta.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informer } from './informer.ts';
import type { WorkQueue } from './work-queue.ts';

const who = 'generic-garbage-collector';
const foreground = 'foregroundDeletion';
const orphan = 'orphan';

interface Collection {
  informer: Informer<KubeObject>;
  byOwner: Index<KubeObject>;
}

type OwnerState = 'present' | 'gone' | 'waiting';

export class GarbageCollector {
  readonly #api: Api;
  readonly #collections = new Map<string, Collection>();
  readonly #byKind = new Map<string, Resource>();
  readonly #queue: WorkQueue;
  /** UIDs of owners that a live read did not find. */
  readonly #gone = new Set<string>();

  constructor(host: ControllerHost, resources: readonly Resource[]) {
    this.#api = host.apiFor(who);
    this.#queue = host.queue(who, (item) => this.#process(item), { workers: 20 });
    for (const resource of resources) {
      const informer = host.informers.of(resource);
      const byOwner = informer.indexBy((object) => ownersOf(object).map(({ uid }) => uid));
      this.#collections.set(nameOf(resource), { informer, byOwner });
      this.#byKind.set(`${apiVersionOf(resource)}/${resource.kind}`, resource);
    }
    for (const [name, { informer }] of this.#collections) {
      informer.on(({ key, object, previous }) => {
        if (object === undefined) this.#ownerGone(previous.metadata.uid ?? '');
        else if (isNews(object, previous)) this.#queue.add(`${name}|${key}`);
      });
    }
  }

  #ownerGone(uid: string): void {
    for (const item of this.#dependentsOf(uid)) this.#queue.add(item.item);
  }

  #dependentsOf(uid: string): { item: string; resource: Resource; object: KubeObject }[] {
    return [...this.#collections].flatMap(([name, { informer, byOwner }]) =>
      [...byOwner.of(uid)].map(([key, object]) => ({ item: `${name}|${key}`, resource: informer.resource, object })),
    );
  }

  async #process(item: string): Promise<undefined> {
    const [name = '', key = ''] = item.split('|', 2);
    const collection = this.#collections.get(name);
    const object = collection?.informer.get(key);
    if (collection === undefined || object === undefined) return;
    const { resource } = collection.informer;
    if (isTerminating(object)) {
      await this.#processDeleted(resource, object);
      return;
    }
    const owners = ownersOf(object);
    if (owners.length === 0) return;
    const states = await Promise.all(owners.map((owner) => this.#stateOf(owner, object)));
    if (states.every((state) => state === 'present')) return;
    if (states.includes('present')) {
      const kept = owners.filter((_, at) => states[at] === 'present');
      await this.#api.patch(resource, object, [{ op: 'replace', path: '/metadata/ownerReferences', value: kept }], {
        exact: true,
      });
      return;
    }
    const { uid = '', finalizers = [] } = object.metadata;
    const waiting = states.includes('waiting') && this.#dependentsOf(uid).length > 0;
    const propagationPolicy =
      waiting || finalizers.includes(foreground) ? 'Foreground' : finalizers.includes(orphan) ? 'Orphan' : 'Background';
    await this.#api.delete(resource, object, { propagationPolicy });
  }

  async #processDeleted(resource: Resource, object: KubeObject): Promise<void> {
    const { uid = '', finalizers = [] } = object.metadata;
    const dependents = this.#dependentsOf(uid);
    if (finalizers.includes(orphan)) {
      for (const { resource, object } of dependents) {
        const kept = ownersOf(object).filter((owner) => owner.uid !== uid);
        const path = '/metadata/ownerReferences';
        await this.#api.patch(resource, object, [{ op: 'replace', path, value: kept }], { exact: true });
      }
      await this.#api.patch(resource, object, removeFinalizer(object, orphan));
      return;
    }
    if (!finalizers.includes(foreground)) return;
    const blocking = dependents.filter(({ object }) =>
      ownersOf(object).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
    );
    if (blocking.length === 0) await this.#api.patch(resource, object, removeFinalizer(object, foreground));
    else for (const { item } of dependents) this.#queue.add(item);
  }

  async #stateOf(owner: OwnerReference, dependent: KubeObject): Promise<OwnerState> {
    const resource = this.#byKind.get(`${owner.apiVersion}/${owner.kind}`);
    // Of what nobody watches nothing is known, and nothing may be concluded.
    if (resource === undefined) return 'present';
    if (this.#gone.has(owner.uid)) return 'gone';
    const key = resource.namespaced ? `${dependent.metadata.namespace ?? ''}/${owner.name}` : owner.name;
    const known = this.#collections.get(nameOf(resource))?.informer.get(key);
    const found = known?.metadata.uid === owner.uid ? known : await this.#api.get(resource, key);
    if (found === undefined || found.metadata.uid !== owner.uid) {
      this.#gone.add(owner.uid);
      return 'gone';
    }
    const deleting = isTerminating(found) && (found.metadata.finalizers ?? []).includes(foreground);
    return deleting && owner.blockOwnerDeletion === true ? 'waiting' : 'present';
  }
}

function nameOf({ plural, group }: Resource): string {
  return `${plural}.${group}`;
}

/** Heartbeats are most of all changes, and change nothing here. */
function isNews(object: KubeObject, previous: KubeObject | undefined): boolean {
  if (isTerminating(object)) return true;
  const owners = ownersOf(object);
  if (previous === undefined) return owners.length > 0;
  const before = ownersOf(previous);
  return owners.length !== before.length || owners.some(({ uid }, at) => uid !== before[at]?.uid);
}
