/** What can go wrong between the server and its clients. Everything is off until a scenario says otherwise. */
import type { StoreEvent } from './store.ts';
import { ApiError } from './status-error.ts';

/** What a fault may look at. */
export interface SeenRequest {
  user: string;
  method: string;
  path: string;
  verb: string;
  resource: string;
}

export interface InjectedError {
  matches: (request: SeenRequest) => boolean;
  code: number;
  reason?: string;
  message?: string;
  retryAfterSeconds?: number;
  /** `after`: the write takes place all the same, and only its answer is lost. */
  when?: 'before' | 'after';
  /** How often; for ever when not given. */
  times?: number;
}

export type EventMatcher = (event: StoreEvent, user: string) => boolean;

/** The part that watches look at. */
export interface WatchFaults {
  copies(event: StoreEvent, user: string): number;
  lagMs(user: string): number;
}

export class Faults implements WatchFaults {
  #unavailable: 'broken' | 'notSent' | undefined;
  readonly #injected: InjectedError[] = [];
  readonly #dropped = new Set<EventMatcher>();
  readonly #doubled = new Set<EventMatcher>();
  #lag: (user: string) => number = () => 0;
  #delay: ((request: SeenRequest) => number) | undefined;
  #date = { byMs: 0, servers: 1, answers: 0 };
  readonly #breakWatches: () => void;
  readonly #compact: () => void;

  constructor(actions: { breakWatches: () => void; compact: () => void }) {
    this.#breakWatches = actions.breakWatches;
    this.#compact = actions.compact;
  }

  /** Whether a request could meet one. What watches are told is another matter. */
  get isAny(): boolean {
    return this.#unavailable !== undefined || this.#delay !== undefined || this.#injected.length > 0;
  }

  get unavailable(): 'broken' | 'notSent' | undefined {
    return this.#unavailable;
  }

  /** Every call fails and open watches break, until `up`. */
  down(failure: 'broken' | 'notSent' = 'broken'): void {
    this.#unavailable = failure;
    this.#breakWatches();
  }

  up(): void {
    this.#unavailable = undefined;
  }

  /** Of so many servers one has a wrong clock: every so manieth answer says so in its Date. Nothing that is stored is off by it. */
  skewDate(byMs: number, servers: number): void {
    this.#date = { byMs, servers, answers: 0 };
  }

  /** By how much the Date of the next answer is off. */
  nextDateSkewMs(): number {
    this.#date.answers += 1;
    return this.#date.answers % this.#date.servers === 0 ? this.#date.byMs : 0;
  }

  /** Open watches break; new ones work. */
  breakWatches(): void {
    this.#breakWatches();
  }

  /** History up to now is forgotten: whoever asks for older versions meets 410. */
  compact(): void {
    this.#compact();
  }

  inject(error: InjectedError): () => void {
    const own = { ...error };
    this.#injected.push(own);
    return () => {
      const index = this.#injected.indexOf(own);
      if (index !== -1) this.#injected.splice(index, 1);
    };
  }

  dropEvents(matches: EventMatcher): () => void {
    this.#dropped.add(matches);
    return () => this.#dropped.delete(matches);
  }

  duplicateEvents(matches: EventMatcher): () => void {
    this.#doubled.add(matches);
    return () => this.#doubled.delete(matches);
  }

  /** Watches and cached lists (`resourceVersion=0`) are so far behind. */
  lag(lagMs: number | ((user: string) => number)): void {
    this.#lag = typeof lagMs === 'number' ? () => lagMs : lagMs;
  }

  /** Answers take so long. */
  slow(delayMs: number | ((request: SeenRequest) => number)): void {
    if (delayMs === 0) this.#delay = undefined;
    else this.#delay = typeof delayMs === 'number' ? () => delayMs : delayMs;
  }

  delayMs(request: SeenRequest): number {
    return this.#delay?.(request) ?? 0;
  }

  lagMs(user: string): number {
    return this.#lag(user);
  }

  copies(event: StoreEvent, user: string): number {
    if (this.#dropped.size === 0 && this.#doubled.size === 0) return 1;
    for (const matches of this.#dropped) if (matches(event, user)) return 0;
    for (const matches of this.#doubled) if (matches(event, user)) return 2;
    return 1;
  }

  /** Throws the error that is to be answered instead, if there is one. */
  strike(request: SeenRequest, when: 'before' | 'after'): void {
    for (const [index, error] of this.#injected.entries()) {
      if ((error.when ?? 'before') !== when || !error.matches(request)) continue;
      if (error.times !== undefined) {
        error.times -= 1;
        if (error.times === 0) this.#injected.splice(index, 1);
      }
      const { code, retryAfterSeconds } = error;
      const reason = error.reason ?? reasons[code] ?? 'InternalError';
      const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
      throw new ApiError(code, reason, error.message ?? 'injected fault', details);
    }
  }
}

const reasons: Record<number, string> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
