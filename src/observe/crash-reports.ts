/** Crashed kernels that have reported themselves: kept for as long as a dump may take, in every instance, leader or not. */
import type { NodeCase } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';

type Heard = NonNullable<NodeCase['crash']>;
type Crash = Omit<Heard, 'heardForMs'>;

/** The sender repeats itself every few seconds until the dump is written. */
const keptMs = 600_000;

export class CrashReports {
  readonly #clock: Clock;
  readonly #crashes = new Map<string, Crash & { heardAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * `bootId` and `signs`: as the node was known when it was heard. Answers whether that is news: the sender repeats itself, and
   * so may anybody who can reach the port.
   */
  heard(node: string, crash: Crash): boolean {
    const known = this.of(node);
    this.#crashes.set(node, { ...crash, heardAtMs: this.#clock.monotonic() });
    const isNews = known === undefined || known.bootId !== crash.bootId || !isSame(known.signs, crash.signs);
    // What nobody asks for any more, because its node is gone, is forgotten as well.
    if (isNews) for (const name of this.#crashes.keys()) this.of(name);
    return isNews;
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
