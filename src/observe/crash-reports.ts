/** Crashed kernels that have reported themselves: kept for as long as a dump may take, in every instance, leader or not. */
import type { NodeCase } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';

type Heard = NonNullable<NodeCase['crash']>;
type Crash = Omit<Heard, 'heardForMs'>;

/** That it crashed; that it was heard of since as alive, and crashed all the same; nothing. */
export type CrashNews = 'crash' | 'signs' | 'none';

/** The sender repeats itself every few seconds until the dump is written. */
const keptMs = 600_000;

export class CrashReports {
  readonly #clock: Clock;
  readonly #crashes = new Map<string, Crash & { heardAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * `bootId` and `signs`: as the node was known when it was heard. Answers what is new about it: the sender repeats itself, and so
   * may anybody who can reach the port.
   */
  heard(node: string, crash: Crash): CrashNews {
    const known = this.of(node);
    // Behind the others, so that the first of them are those that nobody has asked for since, because their nodes are gone.
    this.#crashes.delete(node);
    this.#crashes.set(node, { ...crash, heardAtMs: this.#clock.monotonic() });
    for (const name of this.#crashes.keys()) if (this.of(name) !== undefined) break;
    if (known?.bootId !== crash.bootId) return 'crash';
    return isSame(known.signs, crash.signs) ? 'none' : 'signs';
  }

  /** How many are remembered. */
  get size(): number {
    return this.#crashes.size;
  }

  of(node: string): Heard | undefined {
    const crash = this.#crashes.get(node);
    if (crash === undefined) return undefined;
    const { heardAtMs, ...heard } = crash;
    const heardForMs = this.#clock.monotonic() - heardAtMs;
    if (heardForMs < keptMs) return { ...heard, heardForMs };
    this.#crashes.delete(node);
    return undefined;
  }
}

function isSame(one: Crash['signs'], other: Crash['signs']): boolean {
  return one.renewTime === other.renewTime && one.heartbeatTime === other.heartbeatTime;
}
