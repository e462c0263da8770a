/** Watches: history first, then what happens, each object as one line. */
import { ByteQueue } from './byte-stream.ts';
import type { Core } from './core.ts';
import type { WatchFaults } from './faults.ts';
import type { Kind } from './kind.ts';
import { apiVersionOf } from './kind.ts';
import type { Page, Selection } from './reads.ts';
import { list, versionParameter } from './reads.ts';
import { ApiError } from './status-error.ts';
import type { EventType, StoreEvent, Version, Watcher } from './store.ts';
import { atRevision, bookmarkLine, encode, errorLine } from './store.ts';

export interface WatchRequest {
  kind: Kind;
  selection: Selection;
  query: URLSearchParams;
  faults: WatchFaults;
  user: string;
  shares: boolean;
  /** How a line is shown, where it is not the object itself. */
  render?: ((type: EventType, version: Version) => Uint8Array) | undefined;
}

/** About as often as the real server sends them. */
const bookmarkEveryMs = 60_000;
const defaultTimeoutSeconds = 1800;

export class Watch implements Watcher {
  readonly stream: ByteQueue;
  readonly namespace: string | undefined;
  readonly pin: Watcher['pin'];
  readonly #core: Core;
  readonly #request: WatchRequest;
  readonly #cancels: (() => void)[] = [];
  readonly #bookmarks: boolean;
  #cancelBookmark = (): void => {};
  /** The newest revision that was told. */
  #told = 0;
  #releasedAtMs = 0;
  #waiting = 0;

  constructor(core: Core, request: WatchRequest) {
    this.#core = core;
    this.#request = request;
    this.namespace = core.has('watchScope') ? request.selection.namespace : undefined;
    this.pin = request.selection.pin;
    this.stream = new ByteQueue();
    this.stream.onClose(() => this.#close());
    const wanted = request.query.get('allowWatchBookmarks') === 'true' || !core.has('bookmarksOnDemand');
    this.#bookmarks = wanted && core.has('bookmarks');
    this.#start();
  }

  take(event: StoreEvent): void {
    const { faults, user } = this.#request;
    const copies = faults.copies(event, user);
    for (let count = 0; count < copies; count += 1) this.#deliver(event);
  }

  #start(): void {
    const { query, kind } = this.#request;
    const collection = this.#core.store.collection(kind.storage);
    const version = versionParameter(this.#core, query);
    const initial = query.get('sendInitialEvents') === 'true';
    if (initial && this.#core.has('initialEvents')) refuseWithoutMatch(query);
    if (version !== undefined && version !== '0' && !initial) {
      if (Number(version) < collection.since && this.#core.has('compaction')) {
        this.#fail(Number(version), collection.since);
        return;
      }
      this.#told = this.#core.has('watchStart') ? Number(version) : 0;
      if (this.#core.has('watchReplay')) for (const event of collection.after(this.#told)) this.#offer(event);
    } else if (this.#core.has(initial ? 'initialEvents' : 'watchState')) this.#tellState(initial);
    if (this.stream.closed) return;
    this.#cancels.push(collection.watch(this));
    this.#schedule();
  }

  #offer(event: StoreEvent): void {
    if (this.namespace === undefined || this.namespace === event.version.object.metadata.namespace) this.#tell(event);
  }

  #tellState(marked: boolean): void {
    const { kind, selection, query } = this.#request;
    const plain = new URLSearchParams();
    if (query.get('resourceVersion') === '0') plain.set('resourceVersion', '0');
    const state: Page = list(this.#core, { kind, selection, query: plain, lagMs: 0 });
    for (const version of state.versions) this.#push(this.#line('ADDED', version));
    this.#told = state.revision;
    if (marked) this.#push(bookmarkLine({ kind: kind.kind, apiVersion: apiVersionOf(kind) }, state.revision, true));
  }

  #fail(wanted: number, oldest: number): void {
    const error = new ApiError(410, 'Expired', `too old resource version: ${wanted} (${oldest})`);
    this.#push(errorLine(error.toStatus()));
    this.stream.end();
  }

  #schedule(): void {
    const { clock, random } = this.#core;
    const asked = Number(this.#request.query.get('timeoutSeconds') ?? 0);
    const seconds = asked > 0 ? asked : defaultTimeoutSeconds * (1 + random());
    if (this.#core.has('watchTimeout')) this.#cancels.push(clock.after(seconds * 1000, () => this.#end()));
    if (this.#bookmarks) this.#nextBookmark();
  }

  #nextBookmark(): void {
    this.#cancelBookmark = this.#core.clock.after(bookmarkEveryMs, () => {
      this.#bookmark();
      this.#nextBookmark();
    });
  }

  #bookmark(): void {
    const { revision } = this.#core.store;
    this.#inOrder(() => this.#tellBookmark(revision));
  }

  #tellBookmark(revision: number): void {
    const { kind } = this.#request;
    this.#told = Math.max(this.#told, revision);
    this.#push(bookmarkLine({ kind: kind.kind, apiVersion: apiVersionOf(kind) }, this.#told, false));
  }

  /** What it has not told yet by then it has not passed. */
  #end(): void {
    if (this.#bookmarks) this.#tellBookmark(this.#isBehind() ? this.#told : this.#core.store.revision);
    this.stream.end();
  }

  #deliver(event: StoreEvent): void {
    this.#inOrder(() => this.#tell(event));
  }

  #isBehind(): boolean {
    return this.#waiting > 0 || this.#request.faults.lagMs(this.#request.user) > 0;
  }

  /** A server that lags tells everything so much later, what it has come to included; one after the other, also when that ends. */
  #inOrder(tell: () => void): void {
    const { clock } = this.#core;
    if (!this.#isBehind()) {
      tell();
      return;
    }
    const lagMs = this.#request.faults.lagMs(this.#request.user);
    this.#releasedAtMs = Math.max(this.#releasedAtMs, clock.monotonic() + lagMs);
    this.#waiting += 1;
    const cancel = clock.after(this.#releasedAtMs - clock.monotonic(), () => {
      this.#waiting -= 1;
      tell();
    });
    this.#cancels.push(cancel);
  }

  #tell(event: StoreEvent): void {
    this.#told = Math.max(this.#told, event.revision);
    const line = this.#lineOf(event);
    if (line !== undefined) this.#push(line);
  }

  #lineOf(event: StoreEvent): Uint8Array | undefined {
    const { test } = this.#request.selection;
    const { type, version, previous } = event;
    if (type === 'DELETED' && !this.#core.has('watchDeletes')) return undefined;
    if (test === undefined) return this.#line(type, version);
    const is = type !== 'DELETED' && test(version.object);
    const was = previous !== undefined && test(previous.object);
    if (!this.#core.has('selectorTransitions')) return is ? this.#line(type, version) : undefined;
    if (is) return this.#line(was && this.#core.has('watchTypes') ? 'MODIFIED' : 'ADDED', version);
    if (!was) return undefined;
    return this.#line('DELETED', type === 'DELETED' ? version : atRevision(previous, event.revision));
  }

  #line(type: EventType, version: Version): Uint8Array {
    const { kind, render, shares } = this.#request;
    const shown = version.as(kind.fromStored);
    if (shares) return shown.document(type);
    if (!this.#core.has('watchObjects')) return encode(`{"type":"${type}","object":${shown.itemText}}\n`);
    return render === undefined ? shown.line(type) : render(type, shown);
  }

  #push(line: Uint8Array): void {
    this.stream.push(line);
  }

  #close(): void {
    this.#cancelBookmark();
    for (const cancel of this.#cancels) cancel();
    this.#cancels.length = 0;
  }
}

function refuseWithoutMatch(query: URLSearchParams): void {
  if (query.get('resourceVersionMatch') === 'NotOlderThan') return;
  const message = 'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
  throw new ApiError(422, 'Invalid', `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ${message}`, {
    group: 'meta.k8s.io',
    kind: 'ListOptions',
    causes: [{ reason: 'FieldValueForbidden', message, field: 'resourceVersionMatch' }],
  });
}
