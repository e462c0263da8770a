/**
 * Keeps a View of one collection up to date, for as long as it runs: a paged list, then a watch from there on, resumed
 * where it broke off, and a new list when the server no longer remembers that place. From time to time it is listed anew all the
 * same: a watch that has lost an event on its way looks like one to which nothing has happened, and what was lost with it would
 * be believed for good. A page every two minutes is what that costs, however large it is; who knows better does not wait (`doubt`).
 *
 * A failure detector stands on this, so two things matter more than elsewhere. It never stops for good: whatever fails
 * is reported and tried again. And it knows how old its knowledge is: `ageMs` is the time since a moment up to which
 * the view is known to hold everything. That moment is not when something last arrived, because what arrives from a
 * slow connection or a server that lags may be old; it is when the server was last asked for its current version and
 * the watch has since passed that version.
 */
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeClient, KubeObject } from './client.ts';
import { transportFailure } from './client.ts';
import type { KubeError, Result } from './errors.ts';
import { errorFromStatus, failure } from './errors.ts';
import { documents, ProtocolError, readList } from './json-stream.ts';
import { compareVersions, isVersion } from './resource-version.ts';
import type { Resource } from './resources.ts';
import { collectionPath, withQuery } from './resources.ts';
import type { HttpResponse } from './transport.ts';
import type { Change, Entry } from './view.ts';
import { View } from './view.ts';

export interface ListWatchOptions<T> {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  resource: Resource;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Keeps what matters of an object; the object itself is forgotten. Must be total: an exception ends `run`. */
  project: (object: KubeObject) => T;
  /** Called once per change, in order. An exception ends `run` with it: it is a bug, and hiding it would lose changes. */
  onChange: (change: Change<T>) => void;
  /** After every list that was taken over, but for those that only confirm what is there. */
  onSync?: () => void;
  /** Everything that went wrong and will be tried again. */
  onProblem?: (error: KubeError) => void;
  timings?: Partial<ListWatchTimings>;
}

export interface ListWatchTimings {
  pageSize: number;
  /** How often the server is asked for its current version. */
  probeEveryMs: number;
  /** A watch that has not caught up for so long is reopened. The server sends a bookmark every minute. */
  reopenAfterMs: number;
  /** One that was reopened behind and is still so after this gives way to a list: where nothing changes, only a bookmark would tell. */
  catchUpMs: number;
  backoffFirstMs: number;
  backoffMaxMs: number;
  /** Asked of the server as the life of one watch; spread, so that not all are reopened at once. */
  watchSeconds: { min: number; max: number };
  /** For so long the view is taken on trust, for each page of it; then it is listed anew. */
  trustPageMs: number;
}

export const defaultTimings: ListWatchTimings = {
  pageSize: 500,
  probeEveryMs: 5000,
  reopenAfterMs: 90_000,
  catchUpMs: 10_000,
  backoffFirstMs: 100,
  backoffMaxMs: 10_000,
  watchSeconds: { min: 300, max: 600 },
  trustPageMs: 120_000,
};

/** Nothing was answered for so long, and something failed meanwhile: the server was away. Less is a connection that was lost. */
const awayWithFailureMs = 2000;
/** Who doubts what was listed this recently may have looked before. */
const beyondDoubtMs = 2000;
/** A watch that is this many questions behind is long being reopened. */
const maxProbes = 100;

interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: KubeObject;
}

export class ListWatch<T> {
  readonly #options: ListWatchOptions<T>;
  readonly #timings: ListWatchTimings;
  readonly #view: View<T>;
  readonly #path: string;
  /** Undefined: a list is needed. */
  #resumeFrom: string | undefined;
  /** When the last list began. */
  #listedAt = -Infinity;
  #currentAsOf: number | undefined;
  #answeredAt: number | undefined;
  /** Something has failed since then. */
  #hasFailed = false;
  /** When it answered again after it had been away. */
  #backAt = -Infinity;
  /** Questions that the watch has not passed yet, oldest first. */
  #probes: { version: string; sentAt: number }[] = [];
  #failures = 0;
  #lists = 0;
  #watches = 0;
  #openWatch = new AbortController();

  constructor(options: ListWatchOptions<T>) {
    this.#options = options;
    this.#timings = { ...defaultTimings, ...options.timings };
    this.#view = new View(options.project, options.onChange);
    this.#path = collectionPath(options.resource, options.namespace);
  }

  get entries(): ReadonlyMap<string, Entry<T>> {
    return this.#view.entries;
  }

  get synced(): boolean {
    return this.#currentAsOf !== undefined;
  }

  /** Everything that had happened this long ago is in the view. Infinity before the first list. */
  get ageMs(): number {
    return this.#currentAsOf === undefined ? Infinity : this.#options.clock.monotonic() - this.#currentAsOf;
  }

  /** Since the server last answered anything at all. Infinity before the first list. */
  get silentMs(): number {
    return this.#answeredAt === undefined ? Infinity : this.#options.clock.monotonic() - this.#answeredAt;
  }

  /** For how long the server has answered without being away. Zero: it is away; Infinity: it never was. */
  get answeringMs(): number {
    return this.#isAway ? 0 : this.#options.clock.monotonic() - this.#backAt;
  }

  get #isAway(): boolean {
    const { probeEveryMs } = this.#timings;
    return this.synced && this.silentMs >= (this.#hasFailed ? awayWithFailureMs : 1.5 * probeEveryMs);
  }

  get version(): string | undefined {
    return this.#view.version;
  }

  get statistics(): { lists: number; watches: number; duplicates: number } {
    return { lists: this.#lists, watches: this.#watches, duplicates: this.#view.duplicates };
  }

  /** Somebody has read, or was told by a conflict, that something is not as the view has it: it is listed anew. */
  doubt(): void {
    if (this.#options.clock.monotonic() - this.#listedAt < beyondDoubtMs) return;
    this.#listedAt = -Infinity;
    this.#openWatch.abort();
  }

  /** Ends when `signal` fires; rejects only with what `project` or `onChange` threw. */
  async run(signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const probing = this.#keepProbing(AbortSignal.any([signal, ended.signal]));
    try {
      while (!signal.aborted) {
        const startedAt = this.#options.clock.monotonic();
        const result = this.#needsList ? await this.#list(signal) : await this.#watch(signal);
        if (!signal.aborted) await this.#digest(result, this.#options.clock.monotonic() - startedAt, signal);
      }
    } finally {
      ended.abort();
      await probing;
    }
  }

  get #needsList(): boolean {
    return this.#resumeFrom === undefined || this.#trustedForMs <= 0;
  }

  /** How long what is in the view may still be taken for all there is. */
  get #trustedForMs(): number {
    const { trustPageMs, pageSize } = this.#timings;
    const pages = Math.max(1, Math.ceil(this.#view.entries.size / pageSize));
    return this.#listedAt + trustPageMs * pages - this.#options.clock.monotonic();
  }

  /** What a list or a watch came to: go on, start over, or wait before the next attempt. */
  async #digest(result: Result<{ progress: boolean }>, tookMs: number, signal: AbortSignal): Promise<void> {
    if (result.ok) {
      // A server that ends every watch at once without a word is as good as one that refuses.
      if (result.value.progress || tookMs > 1000) this.#failures = 0;
      else await this.#backOff(signal);
      return;
    }
    // Only we ourselves abort, and have said why.
    if (result.error.kind !== 'aborted') this.#options.onProblem?.(result.error);
    if (result.error.kind === 'gone') this.#resumeFrom = undefined;
    else if (result.error.kind !== 'aborted') this.#hasFailed = true;
    await this.#backOff(signal, result.error.retryAfterMs);
  }

  async #backOff(signal: AbortSignal, atLeastMs = 0): Promise<void> {
    const { backoffFirstMs, backoffMaxMs } = this.#timings;
    const fullMs = Math.min(backoffMaxMs, backoffFirstMs * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 30);
    const jittered = fullMs * (0.5 + this.#options.random() / 2);
    await sleep(this.#options.clock, Math.max(jittered, atLeastMs), signal);
  }

  async #list(signal: AbortSignal): Promise<Result<{ progress: boolean }>> {
    this.#lists += 1;
    const isFirst = this.#resumeFrom === undefined;
    const startedAt = this.#options.clock.monotonic();
    // One that fails is tried again when it is due again: until then the watch goes on.
    this.#listedAt = startedAt;
    const listed = new Map<string, Entry<T>>();
    let version: string | undefined;
    let next: string | undefined;
    do {
      const page = await this.#page(next, listed, signal);
      if (!page.ok) return page;
      if (version !== undefined && page.value.version !== version) {
        return failure(protocol(`${this.#path}: the pages of one list are of different versions`));
      }
      ({ version, next } = page.value);
    } while (next !== undefined);
    if (!this.#view.replace(listed, version)) {
      return failure(protocol(`${this.#path}: the server is at version ${version}, the view at ${this.#view.version}`));
    }
    this.#resumeFrom = version;
    this.#currentAsOf = startedAt;
    this.#probes = [];
    // Of what a later one brings, each change has been told.
    if (isFirst) this.#options.onSync?.();
    return { ok: true, value: { progress: true } };
  }

  async #page(
    next: string | undefined,
    listed: Map<string, Entry<T>>,
    signal: AbortSignal,
  ): Promise<Result<{ version: string; next: string | undefined }>> {
    const path = this.#query({ limit: String(this.#timings.pageSize), continue: next });
    const opened = await this.#options.client.stream(path, 'call', { signal });
    if (!opened.ok) return opened;
    const read = await this.#guarded(() =>
      readList(opened.value.body, (item) => {
        const entry = this.#view.entryOf(item as KubeObject);
        listed.set(entry.key, entry);
      }),
    );
    if (!read.ok) return read;
    this.#noteAnswer();
    const { resourceVersion, continue: following } = read.value.metadata ?? {};
    if (!isVersion(resourceVersion)) return failure(protocol(`${this.#path}: a list without a resourceVersion`));
    return { ok: true, value: { version: resourceVersion, next: following === '' ? undefined : following } };
  }

  async #watch(signal: AbortSignal): Promise<Result<{ progress: boolean }>> {
    this.#watches += 1;
    const { min, max } = this.#timings.watchSeconds;
    const spread = min + (max - min) * this.#options.random();
    const path = this.#query({
      watch: '1',
      allowWatchBookmarks: 'true',
      resourceVersion: this.#resumeFrom,
      timeoutSeconds: String(Math.max(1, Math.ceil(Math.min(spread, this.#trustedForMs / 1000)))),
    });
    const stalled = new AbortController();
    this.#openWatch = stalled;
    const opened = await this.#options.client.stream(path, 'watch', {
      signal: AbortSignal.any([signal, stalled.signal]),
    });
    if (!opened.ok) return opened;
    const stopGuard = this.#guardProgress(stalled);
    try {
      return await this.#follow(opened.value);
    } finally {
      stopGuard();
    }
  }

  async #follow(response: HttpResponse): Promise<Result<{ progress: boolean }>> {
    let progress = false;
    const result = await this.#guarded(async () => {
      for await (const event of documents(response.body)) {
        const problem = this.#take(event as WatchEvent);
        if (problem !== undefined) return problem;
        progress = true;
      }
      return undefined;
    });
    if (!result.ok) {
      if (progress) this.#failures = 0;
      return result;
    }
    return result.value === undefined ? { ok: true, value: { progress } } : failure(result.value);
  }

  #take(event: WatchEvent): KubeError | undefined {
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
        this.#view.apply(event.type, event.object);
        break;
      case 'BOOKMARK':
        this.#view.advance(event.object.metadata.resourceVersion ?? '');
        break;
      case 'ERROR':
        return errorFromStatus(`watch of ${this.#path}`, event.object as object);
      default:
        throw new ProtocolError(`watch event of type ${JSON.stringify(event.type satisfies never)}`);
    }
    this.#resumeFrom = this.#view.version;
    this.#noteAnswer();
    this.#settleProbe();
    return undefined;
  }

  /** Errors of the connection and of the protocol become values; everything else is a bug and goes on up. */
  async #guarded<R>(work: () => Promise<R>): Promise<Result<R>> {
    try {
      return { ok: true, value: await work() };
    } catch (error) {
      if (error instanceof ProtocolError) return failure(protocol(`${this.#path}: ${error.message}`));
      return failure(transportFailure({ method: 'GET', path: this.#path }, error));
    }
  }

  /**
   * Ends a watch that does not catch up: its connection may be dead in a way that nothing else shows. What it missed comes with the
   * next one, unless there was nothing to miss.
   */
  #guardProgress(stalled: AbortController): () => void {
    const { clock, onProblem } = this.#options;
    const { reopenAfterMs, catchUpMs } = this.#timings;
    const openedAt = clock.monotonic();
    const isSecond = this.ageMs >= reopenAfterMs;
    let cancel = (): void => {};
    const look = (): void => {
      const openMs = clock.monotonic() - openedAt;
      const isBehind = this.ageMs >= reopenAfterMs;
      const leftMs = isSecond && isBehind ? catchUpMs - openMs : reopenAfterMs - Math.min(this.ageMs, openMs);
      if (leftMs > 0) {
        cancel = clock.after(leftMs, look);
        return;
      }
      if (isSecond) this.#resumeFrom = undefined;
      const message = `watch of ${this.#path}: behind for ${Math.round(this.ageMs / 1000)} s, ${isSecond ? 'listed' : 'opened'} anew`;
      onProblem?.({ kind: 'timeout', message, mayHaveHappened: false });
      stalled.abort();
    };
    look();
    return () => cancel();
  }

  async #keepProbing(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const path = this.#query({ limit: '1' });
    while (!signal.aborted) {
      await sleep(clock, this.#timings.probeEveryMs, signal);
      if (signal.aborted || this.#probes.length >= maxProbes || !this.synced) continue;
      const sentAt = clock.monotonic();
      const opened = await client.stream(path, 'call', { signal });
      const read = opened.ok ? await this.#guarded(() => readList(opened.value.body, () => {})) : opened;
      // A failed probe is no news of its own: the age goes on growing, which is what there is to know.
      if (!read.ok) this.#hasFailed = true;
      if (!read.ok || !isVersion(read.value.metadata?.resourceVersion)) continue;
      this.#noteAnswer();
      this.#probes.push({ version: read.value.metadata.resourceVersion, sentAt });
      this.#settleProbe();
    }
  }

  #noteAnswer(): void {
    const now = this.#options.clock.monotonic();
    if (this.#isAway) this.#backAt = now;
    this.#hasFailed = false;
    this.#answeredAt = now;
  }

  #settleProbe(): void {
    const { version } = this.#view;
    if (version === undefined) return;
    for (let [oldest] = this.#probes; oldest !== undefined; [oldest] = this.#probes) {
      if (compareVersions(version, oldest.version) < 0) return;
      this.#currentAsOf = Math.max(this.#currentAsOf ?? 0, oldest.sentAt);
      this.#probes.shift();
    }
  }

  #query(more: Record<string, string | undefined>): string {
    const { labelSelector, fieldSelector } = this.#options;
    return withQuery(this.#path, { labelSelector, fieldSelector, ...more });
  }
}

function protocol(message: string): KubeError {
  return { kind: 'malformed', message, mayHaveHappened: false };
}
