/**
 * A shared copy of one collection. Whoever writes tells it the answer at once, so that a controller never decides on a
 * state older than its own last write: the stock ones keep books of what they expect for that, here the copy itself is
 * never behind.
 */
import type { Clock } from '../../clock.ts';
import type { KubeClient, KubeObject } from '../../kube/client.ts';
import type { KubeError } from '../../kube/errors.ts';
import type { ListWatchTimings } from '../../kube/list-watch.ts';
import { ListWatch } from '../../kube/list-watch.ts';
import { compareVersions } from '../../kube/resource-version.ts';
import type { Resource } from '../../kube/resources.ts';
import { apiVersionOf } from '../../kube/resources.ts';
import type { Change } from '../../kube/view.ts';
import { keyOf } from '../objects/meta.ts';

/** `object` is absent when it is gone, `previous` when it is new. */
export type ObjectChange<T> =
  | { key: string; object: T; previous?: T }
  | { key: string; object?: undefined; previous: T };

export type ChangeListener<T> = (change: ObjectChange<T>) => void;

export interface InformerOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  onProblem: (error: KubeError) => void;
  timings?: Partial<ListWatchTimings>;
}

/** The world's own components need no proof of how fresh their view is, and questions cost requests. */
const unhurried: Partial<ListWatchTimings> = {
  probeEveryMs: 2 ** 31 - 1,
  reopenAfterMs: 2 ** 31 - 1,
  trustPageMs: Infinity,
};

/** Objects by something that is derived from them, for instance pods by node. */
export class Index<T extends KubeObject> {
  readonly keysOf: (object: T) => readonly string[];
  readonly #groups = new Map<string, Map<string, T>>();

  constructor(keysOf: (object: T) => readonly string[]) {
    this.keysOf = keysOf;
  }

  /** By key of the object. */
  of(group: string): ReadonlyMap<string, T> {
    return this.#groups.get(group) ?? new Map<string, T>();
  }

  put(key: string, object: T, previous: T | undefined): void {
    const groups = this.keysOf(object);
    if (previous !== undefined) {
      for (const group of this.keysOf(previous)) if (!groups.includes(group)) this.#drop(group, key);
    }
    for (const group of groups) {
      let members = this.#groups.get(group);
      if (members === undefined) {
        members = new Map();
        this.#groups.set(group, members);
      }
      members.set(key, object);
    }
  }

  remove(key: string, object: T): void {
    for (const group of this.keysOf(object)) this.#drop(group, key);
  }

  #drop(group: string, key: string): void {
    const members = this.#groups.get(group);
    members?.delete(key);
    if (members?.size === 0) this.#groups.delete(group);
  }
}

export class Informer<T extends KubeObject> {
  readonly resource: Resource;
  readonly #watch: ListWatch<T>;
  readonly #objects = new Map<string, T>();
  readonly #listeners: ChangeListener<T>[] = [];
  readonly #indexes: Index<T>[] = [];
  /** UIDs of what was deleted by us for good and is still to be deleted in the watch. */
  readonly #gone = new Set<string>();

  constructor(resource: Resource, options: InformerOptions, onSync: () => void) {
    this.resource = resource;
    this.#watch = new ListWatch<T>({
      client: options.client,
      clock: options.clock,
      random: options.random,
      onProblem: options.onProblem,
      resource,
      timings: { ...unhurried, ...options.timings },
      project: (object) => withType(object, resource) as T,
      onChange: (change) => this.#take(change),
      onSync: () => {
        this.#sweep();
        onSync();
      },
    });
  }

  get synced(): boolean {
    return this.#watch.synced;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }

  /** Hears of every change from now on, and of every object that is known already. */
  on(listener: ChangeListener<T>): void {
    this.#listeners.push(listener);
    for (const [key, object] of this.#objects) listener({ key, object });
  }

  indexBy(keysOf: (object: T) => readonly string[]): Index<T> {
    const index = new Index(keysOf);
    for (const [key, object] of this.#objects) index.put(key, object, undefined);
    this.#indexes.push(index);
    return index;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#watch.run(signal);
  }

  /** The answer to a write of ours, or to a live read. */
  observe(answer: KubeObject): void {
    const object = withType(answer, this.resource) as T;
    const { uid = '', resourceVersion = '' } = object.metadata;
    const seen = this.#watch.version;
    // Up to here the watch has told everything, a deletion included.
    if (seen !== undefined && compareVersions(resourceVersion, seen) <= 0) return;
    if (!this.#gone.has(uid)) this.#put(object);
  }

  /** We have deleted it, and the server needs nothing more to let it go. */
  forget(object: KubeObject): void {
    const key = keyOf(object);
    const { uid = '' } = object.metadata;
    const known = this.#objects.get(key);
    if (known === undefined || known.metadata.uid !== uid) return;
    this.#gone.add(uid);
    this.#remove(key, known);
  }

  #take({ type, entry }: Change<T>): void {
    if (type === 'deleted') {
      this.#gone.delete(entry.uid);
      const known = this.#objects.get(entry.key);
      if (known !== undefined && known.metadata.uid === entry.uid) this.#remove(entry.key, entry.value);
    } else if (!this.#gone.has(entry.uid)) {
      this.#put(entry.value);
    }
  }

  #put(object: T): void {
    const key = keyOf(object);
    const { uid, resourceVersion = '' } = object.metadata;
    const known = this.#objects.get(key);
    if (known !== undefined) {
      if (compareVersions(resourceVersion, known.metadata.resourceVersion ?? '') <= 0) return;
      if (known.metadata.uid !== uid) this.#remove(key, known);
    }
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes) index.put(key, object, previous);
    const change = previous === undefined ? { key, object } : { key, object, previous };
    for (const listener of this.#listeners) listener(change);
  }

  #remove(key: string, last: T): void {
    const known = this.#objects.get(key) ?? last;
    this.#objects.delete(key);
    for (const index of this.#indexes) index.remove(key, known);
    for (const listener of this.#listeners) listener({ key, previous: last });
  }

  /** A list says of everything older than itself whether it still exists, also of what only our own answers showed. */
  #sweep(): void {
    const { entries, version = '' } = this.#watch;
    for (const [key, object] of this.#objects) {
      if (entries.get(key)?.uid === object.metadata.uid) continue;
      if (compareVersions(object.metadata.resourceVersion ?? '', version) <= 0) this.#remove(key, object);
    }
    const listed = new Set([...entries.values()].map(({ uid }) => uid));
    for (const uid of this.#gone) if (!listed.has(uid)) this.#gone.delete(uid);
  }
}

/** Items of a list carry no type of their own; managedFields are half of an object, and nobody here reads them. */
function withType(object: KubeObject, resource: Resource): KubeObject {
  const { managedFields, ...metadata } = object.metadata as KubeObject['metadata'] & { managedFields?: unknown };
  // Nearly all that a watch tells is as it should be, and shared with the server as it is.
  if (managedFields === undefined && object.kind === resource.kind && object.apiVersion !== undefined) return object;
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}

/** One informer per resource, made when it is first asked for. */
export class Informers {
  readonly #options: InformerOptions;
  readonly #informers = new Map<string, Informer<KubeObject>>();
  readonly #onSynced: (() => void)[] = [];
  #running = false;

  constructor(options: InformerOptions) {
    this.#options = options;
  }

  /** Only before `run`: a copy that is not there yet would look like an empty cluster. */
  of<T extends KubeObject>(resource: Resource): Informer<T> {
    let informer = this.known(resource);
    if (informer === undefined) {
      if (this.#running) throw new Error(`nobody watches ${resource.plural}, and it is too late to begin`);
      informer = new Informer<KubeObject>(resource, this.#options, () => this.#onSync());
      this.#informers.set(nameOf(resource), informer);
    }
    // Who asks for a resource knows what its objects look like.
    return informer as unknown as Informer<T>;
  }

  known(resource: Resource): Informer<KubeObject> | undefined {
    return this.#informers.get(nameOf(resource));
  }

  get synced(): boolean {
    return [...this.#informers.values()].every((informer) => informer.synced);
  }

  /** Calls once, when every informer has its first list; at once if that is so already. */
  whenSynced(callback: () => void): void {
    if (this.#running && this.synced) callback();
    else this.#onSynced.push(callback);
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#running = true;
    await Promise.all([...this.#informers.values()].map((informer) => informer.run(signal)));
  }

  #onSync(): void {
    if (!this.synced) return;
    for (const callback of this.#onSynced.splice(0)) callback();
  }
}

function nameOf(resource: Resource): string {
  return `${resource.plural}.${resource.group}`;
}
