/**
 * A local copy of a collection, projected to what matters, that only ever moves forward in time.
 *
 * It turns what a server says into changes: each exactly once, in order, a recreated object as a delete and an add.
 * Whatever is older than what was already seen is dropped (S16).
 */
import type { KubeObject } from './client.ts';
import { ProtocolError } from './json-stream.ts';
import { compareVersions, isVersion } from './resource-version.ts';

export interface Entry<T> {
  /** `namespace/name`, or the name alone for cluster-scoped objects. */
  key: string;
  uid: string;
  resourceVersion: string;
  value: T;
}

export type Change<T> =
  | { type: 'added'; entry: Entry<T> }
  | { type: 'updated'; entry: Entry<T>; previous: Entry<T> }
  | { type: 'deleted'; entry: Entry<T> };

export class View<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #project: (object: KubeObject) => T;
  readonly #onChange: (change: Change<T>) => void;
  #version: string | undefined;
  #duplicates = 0;

  constructor(project: (object: KubeObject) => T, onChange: (change: Change<T>) => void) {
    this.#project = project;
    this.#onChange = onChange;
  }

  get entries(): ReadonlyMap<string, Entry<T>> {
    return this.#entries;
  }

  /** The newest resourceVersion that the view has seen; undefined before the first list. */
  get version(): string | undefined {
    return this.#version;
  }

  /** How many events were dropped because they were not newer than the view. */
  get duplicates(): number {
    return this.#duplicates;
  }

  entryOf(object: KubeObject): Entry<T> {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    if (uid === undefined || !isVersion(resourceVersion)) {
      throw new ProtocolError(`object ${name} has no uid or no valid resourceVersion`);
    }
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    return { key, uid, resourceVersion, value: this.#project(object) };
  }

  /** Takes a whole list. False, and nothing changes, if it is older than the view. */
  replace(listed: Map<string, Entry<T>>, version: string): boolean {
    if (this.#version !== undefined && compareVersions(version, this.#version) < 0) return false;
    this.#version = version;
    for (const known of this.#entries.values()) {
      if (!listed.has(known.key)) this.#remove(known);
    }
    for (const entry of listed.values()) {
      if (this.#entries.get(entry.key)?.resourceVersion !== entry.resourceVersion) this.#put(entry);
    }
    return true;
  }

  /** Takes one event of a watch. */
  apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void {
    const entry = this.entryOf(object);
    if (this.#version !== undefined && compareVersions(entry.resourceVersion, this.#version) <= 0) {
      this.#duplicates += 1;
      return;
    }
    this.#version = entry.resourceVersion;
    if (type !== 'DELETED') {
      this.#put(entry);
      return;
    }
    const known = this.#entries.get(entry.key);
    if (known !== undefined) this.#remove(known.uid === entry.uid ? entry : known);
  }

  /** A bookmark: nothing changed up to here. */
  advance(version: string): void {
    if (!isVersion(version)) throw new ProtocolError(`bookmark with resourceVersion ${JSON.stringify(version)}`);
    if (this.#version === undefined || compareVersions(version, this.#version) > 0) this.#version = version;
  }

  #put(entry: Entry<T>): void {
    const known = this.#entries.get(entry.key);
    if (known !== undefined && known.uid !== entry.uid) this.#remove(known);
    const previous = this.#entries.get(entry.key);
    // Every event brings a copy of the key; the map keeps the first, and so does the entry.
    if (previous !== undefined) entry.key = previous.key;
    this.#entries.set(entry.key, entry);
    this.#onChange(previous === undefined ? { type: 'added', entry } : { type: 'updated', entry, previous });
  }

  #remove(entry: Entry<T>): void {
    this.#entries.delete(entry.key);
    this.#onChange({ type: 'deleted', entry });
  }
}
