/** Crashed kernels that have reported themselves: kept for as long as a dump may take, in every instance, leader or not. */
import type { NodeCase } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';

type Crash = NonNullable<NodeCase['crash']>;

/** The sender repeats itself every few seconds until the dump is written. */
const keptMs = 600_000;

export class CrashReports {
  readonly #clock: Clock;
  readonly #crashes = new Map<string, Crash & { heardAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `bootId`: the boot that the node was known to be in when it was heard. */
  heard(node: string, crash: Crash): void {
    this.#crashes.set(node, { ...crash, heardAtMs: this.#clock.monotonic() });
  }

  of(node: string): Crash | undefined {
    const crash = this.#crashes.get(node);
    if (crash === undefined) return undefined;
    if (this.#clock.monotonic() < crash.heardAtMs + keptMs) return { bootId: crash.bootId, address: crash.address };
    this.#crashes.delete(node);
    return undefined;
  }
}
