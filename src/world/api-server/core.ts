/** What all parts of the server share. */
import type { Clock } from '../../clock.ts';
import type { Feature, Kind, RuleContext } from './kind.ts';
import type { ApiObject } from './object.ts';
import { Registry } from './registry.ts';
import type { Version } from './store.ts';
import { keyOf, Store } from './store.ts';

export interface CoreOptions {
  clock: Clock;
  random: () => number;
  tolerationSeconds: number;
  without: ReadonlySet<Feature>;
  /** Of which storages it is kept who set which field; absent: of all. */
  ownersOf?: ReadonlySet<string> | undefined;
  /** Stored objects cannot be changed by mistake; costs time. */
  freezes: boolean;
}

export class Core {
  readonly clock: Clock;
  readonly random: () => number;
  readonly store: Store;
  readonly registry = new Registry();
  readonly #without: ReadonlySet<Feature>;
  readonly #ownersOf: ReadonlySet<string> | undefined;
  readonly #context: RuleContext;
  readonly #freezes: boolean;
  /** Called after every change of an object of a storage. */
  readonly #hooks = new Map<string, (object: ApiObject, deleted: boolean) => void>();

  constructor({ clock, random, tolerationSeconds, without, ownersOf, freezes }: CoreOptions) {
    this.#freezes = freezes;
    this.clock = clock;
    this.random = random;
    this.#without = without;
    this.#ownersOf = ownersOf;
    this.store = new Store({ now: () => clock.now(), counts: this.has('revisions'), inOrder: this.has('listOrder') });
    this.#context = {
      nowMs: () => clock.now(),
      random,
      tolerationSeconds,
      lookup: (storage, namespace, name) => this.store.collection(storage).get(keyOf(namespace, name))?.object,
      all: (storage) => this.#objects(storage),
      has: (feature) => this.has(feature),
    };
  }

  has(feature: Feature): boolean {
    return !this.#without.has(feature);
  }

  keepsOwners({ storage }: Kind): boolean {
    return this.has('managedFields') && this.#ownersOf?.has(storage) !== false;
  }

  context(): RuleContext {
    return this.#context;
  }

  onChange(storage: string, hook: (object: ApiObject, deleted: boolean) => void): void {
    this.#hooks.set(storage, hook);
  }

  put(kind: Kind, object: ApiObject): Version {
    const version = this.store.put(kind.storage, object);
    if (this.#freezes) freeze(version.object);
    this.#hooks.get(kind.storage)?.(version.object, false);
    return version;
  }

  remove(kind: Kind, namespace: string | undefined, name: string): Version | undefined {
    const version = this.store.remove(kind.storage, keyOf(namespace, name));
    if (version !== undefined) this.#hooks.get(kind.storage)?.(version.object, true);
    return version;
  }

  *#objects(storage: string): Generator<ApiObject> {
    const collection = this.store.collection(storage);
    for (const key of collection.keys()) {
      const version = collection.get(key);
      if (version !== undefined) yield version.object;
    }
  }
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) freeze(member);
}
