/**
 * What the server remembers: every object once, as an immutable version with its JSON text made at most once, and per
 * collection the recent history, from which watches start and old states are told.
 */
import { Document } from '../../kube/transport.ts';
import type { ApiObject, JsonRecord } from './object.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** How an object looks in another version of its API. */
export type Conversion = (object: ApiObject) => ApiObject;

export function encode(text: string): Uint8Array {
  return Buffer.from(text);
}

const lineEnd = '}\n';

const eventTypes: readonly EventType[] = ['MODIFIED', 'ADDED', 'DELETED'];

function lineStart(type: EventType): string {
  return `{"type":"${type}","object":`;
}

/** One object at one revision. Readers share it and its text: it is never changed. */
export class Version {
  readonly object: ApiObject;
  readonly revision: number;
  #tail: string | undefined;
  #lines: Partial<Record<EventType, Uint8Array>> | undefined;
  #documents: Partial<Record<EventType | 'alone', Document>> | undefined;
  #views: Map<Conversion, Version> | undefined;

  constructor(object: ApiObject, revision: number) {
    this.object = object;
    this.revision = revision;
  }

  /** The whole object. */
  get text(): string {
    const { kind, apiVersion } = this.object;
    return `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},${this.#rest()}`;
  }

  /** As it stands in a list of a built-in resource: without kind and apiVersion. */
  get itemText(): string {
    return `{${this.#rest()}`;
  }

  line(type: EventType): Uint8Array {
    this.#lines ??= {};
    return (this.#lines[type] ??= encode(lineStart(type) + this.text + lineEnd));
  }

  /** The whole object as it goes over the wire: cut out of what watches were told, where they were. */
  get bytes(): Uint8Array {
    for (const type of eventTypes) {
      const line = this.#lines?.[type];
      if (line !== undefined) return line.subarray(lineStart(type).length, line.length - lineEnd.length);
    }
    return encode(this.text);
  }

  /** The object, or what a watch tells of it, for those who share it instead of reading bytes. */
  document(type?: EventType): Document {
    const { object } = this;
    this.#documents ??= {};
    return (this.#documents[type ?? 'alone'] ??= new Document(type === undefined ? object : { type, object }));
  }

  as(conversion: Conversion | undefined): Version {
    if (conversion === undefined) return this;
    this.#views ??= new Map();
    let view = this.#views.get(conversion);
    if (view === undefined) {
      view = new Version(conversion(this.object), this.revision);
      this.#views.set(conversion, view);
    }
    return view;
  }

  #rest(): string {
    if (this.#tail === undefined) {
      const { kind: _kind, apiVersion: _apiVersion, ...rest } = this.object;
      this.#tail = JSON.stringify(rest).slice(1);
    }
    return this.#tail;
  }
}

export interface StoreEvent {
  type: EventType;
  revision: number;
  atMs: number;
  /** For DELETED: the last state, at the revision of the deletion. */
  version: Version;
  previous: Version | undefined;
}

export interface Pin {
  path: string;
  value: string;
  read: (object: ApiObject) => string;
}

export interface Watcher {
  namespace: string | undefined;
  /** A field that the watcher wants to have one value: events of other values are not even offered. */
  pin: Pin | undefined;
  take(event: StoreEvent): void;
}

/** As etcd is told to by default: history is kept for five minutes. */
const historyMs = 300_000;
const historyLimit = 100_000;

export function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

export class Collection {
  readonly #objects = new Map<string, Version>();
  #sorted: string[] | undefined;
  #history: StoreEvent[] = [];
  #head = 0;
  /** Everything after this revision is still in the history. */
  #since: number;
  readonly #watchers = new Set<Watcher>();
  readonly #pinned = new Map<string, { read: Pin['read']; byValue: Map<string, Set<Watcher>> }>();

  readonly #inOrder: boolean;

  constructor(since: number, inOrder: boolean) {
    this.#inOrder = inOrder;
    this.#since = since;
  }

  get size(): number {
    return this.#objects.size;
  }

  get since(): number {
    return this.#since;
  }

  get(key: string): Version | undefined {
    return this.#objects.get(key);
  }

  /** In the order of their keys, as etcd lists them. */
  keys(): readonly string[] {
    this.#sorted ??= this.#inOrder ? [...this.#objects.keys()].sort() : [...this.#objects.keys()];
    return this.#sorted;
  }

  values(): IterableIterator<Version> {
    return this.#objects.values();
  }

  apply(key: string, event: StoreEvent): void {
    if (event.type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, event.version);
    if (event.type !== 'MODIFIED') this.#sorted = undefined;
    this.#history.push(event);
    this.#trim(event.atMs);
    this.#offer(event);
  }

  /** The events after `revision`, oldest first. The caller has made sure that they are all there. */
  after(revision: number): StoreEvent[] {
    let low = this.#head;
    let high = this.#history.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#history[middle]?.revision ?? 0) <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#history.slice(low);
  }

  /** All objects as they were at a revision that the history still reaches. */
  stateAt(revision: number): Map<string, Version> {
    const state = new Map(this.#objects);
    const undone = this.after(revision);
    for (let index = undone.length - 1; index >= 0; index -= 1) {
      const { version, previous } = undone[index] as StoreEvent;
      const key = keyOf(version.object.metadata.namespace, version.object.metadata.name);
      if (previous === undefined) state.delete(key);
      else state.set(key, previous);
    }
    return state;
  }

  /** The newest revision of this collection that is at least so old. */
  revisionAt(atMs: number, current: number): number {
    for (let index = this.#history.length - 1; index >= this.#head; index -= 1) {
      const event = this.#history[index] as StoreEvent;
      if (event.atMs <= atMs) return event.revision;
    }
    return this.#history.length > this.#head ? this.#since : current;
  }

  forget(revision: number): void {
    this.#history = [];
    this.#head = 0;
    this.#since = revision;
  }

  watch(watcher: Watcher): () => void {
    const { pin } = watcher;
    if (pin === undefined) {
      this.#watchers.add(watcher);
      return () => this.#watchers.delete(watcher);
    }
    let field = this.#pinned.get(pin.path);
    if (field === undefined) {
      field = { read: pin.read, byValue: new Map() };
      this.#pinned.set(pin.path, field);
    }
    const { byValue } = field;
    const set = byValue.get(pin.value) ?? new Set<Watcher>();
    byValue.set(pin.value, set.add(watcher));
    return () => {
      set.delete(watcher);
      if (set.size === 0 && byValue.get(pin.value) === set) byValue.delete(pin.value);
    };
  }

  #trim(nowMs: number): void {
    while (this.#history.length - this.#head > 1) {
      const oldest = this.#history[this.#head] as StoreEvent;
      if (nowMs - oldest.atMs < historyMs && this.#history.length - this.#head <= historyLimit) break;
      this.#since = oldest.revision;
      this.#head += 1;
    }
    if (this.#head > 1000 && this.#head * 2 > this.#history.length) {
      this.#history = this.#history.slice(this.#head);
      this.#head = 0;
    }
  }

  #offer(event: StoreEvent): void {
    for (const watcher of this.#watchers) offerTo(watcher, event);
    for (const { read, byValue } of this.#pinned.values()) {
      const now = read(event.version.object);
      for (const watcher of byValue.get(now) ?? []) offerTo(watcher, event);
      const before = event.previous === undefined ? now : read(event.previous.object);
      if (before === now) continue;
      for (const watcher of byValue.get(before) ?? []) offerTo(watcher, event);
    }
  }
}

function offerTo(watcher: Watcher, event: StoreEvent): void {
  if (watcher.namespace === undefined || watcher.namespace === event.version.object.metadata.namespace) {
    watcher.take(event);
  }
}

/** One counter for all collections, as one etcd has. */
export class Store {
  readonly #collections = new Map<string, Collection>();
  readonly #now: () => number;
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  readonly #counts: boolean;
  readonly #inOrder: boolean;
  #revision = 1;

  constructor({ now, counts, inOrder }: { now: () => number; counts: boolean; inOrder: boolean }) {
    this.#now = now;
    this.#counts = counts;
    this.#inOrder = inOrder;
  }

  get revision(): number {
    return this.#revision;
  }

  collection(id: string): Collection {
    let found = this.#collections.get(id);
    if (found === undefined) {
      found = new Collection(this.#revision, this.#inOrder);
      this.#collections.set(id, found);
    }
    return found;
  }

  drop(id: string): void {
    this.#collections.delete(id);
  }

  /** Told of every change of every collection, as it happens. */
  onChange(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Writes an object; its resourceVersion is set here. */
  put(id: string, object: ApiObject): Version {
    const { namespace, name } = object.metadata;
    const collection = this.collection(id);
    const key = keyOf(namespace, name);
    const previous = collection.get(key);
    const version = this.#next(object);
    const type = previous === undefined ? 'ADDED' : 'MODIFIED';
    this.#apply(collection, key, { type, revision: version.revision, atMs: this.#now(), version, previous });
    return version;
  }

  remove(id: string, key: string): Version | undefined {
    const collection = this.collection(id);
    const previous = collection.get(key);
    if (previous === undefined) return undefined;
    const version = this.#next({ ...previous.object, metadata: { ...previous.object.metadata } });
    this.#apply(collection, key, { type: 'DELETED', revision: version.revision, atMs: this.#now(), version, previous });
    return version;
  }

  /** Old history is no longer known: watches and lists from before meet 410. */
  compact(): void {
    for (const collection of this.#collections.values()) collection.forget(this.#revision);
  }

  #apply(collection: Collection, key: string, event: StoreEvent): void {
    collection.apply(key, event);
    for (const listener of this.#listeners) listener(event);
  }

  #next(object: ApiObject): Version {
    if (this.#counts) this.#revision += 1;
    object.metadata.resourceVersion = String(this.#revision);
    return new Version(object, this.#revision);
  }
}

/** A copy of an object that says another revision: what a watch tells of something that left its selection. */
export function atRevision(version: Version, revision: number): Version {
  const metadata = { ...version.object.metadata, resourceVersion: String(revision) };
  return new Version({ ...version.object, metadata }, revision);
}

export function bookmarkLine(
  kind: { apiVersion: string; kind: string },
  revision: number,
  initialEnd: boolean,
): Uint8Array {
  const metadata: JsonRecord = { resourceVersion: String(revision), creationTimestamp: null };
  if (initialEnd) metadata['annotations'] = { 'k8s.io/initial-events-end': 'true' };
  const object = { kind: kind.kind, apiVersion: kind.apiVersion, metadata };
  return encode(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
}

export function errorLine(status: JsonRecord): Uint8Array {
  return encode(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
}
