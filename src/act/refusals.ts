/**
 * What the API server answers no to, of what was decided about each node: a right that is missing, a webhook. It is no failure that
 * passes, and what is decided next has to know.
 */
import type { NodeCase } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { KubeError, KubeErrorKind } from '../kube/errors.ts';

/** Whoever was not answered, or only for now, has not been refused. */
const no: ReadonlySet<KubeErrorKind> = new Set(['forbidden', 'invalid', 'unauthorized']);
/** Tries that are further apart are no series: nobody knows what would have been answered between them. */
const seriesMs = 60_000;

interface Series {
  message: string;
  firstMs: number;
  lastMs: number;
}

export class Refusals {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #of = new Map<string, Series>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** What a try has come to; undefined: it was not refused. */
  note(name: string, error: KubeError | undefined): void {
    if (error === undefined || !no.has(error.kind)) {
      this.#of.delete(name);
      return;
    }
    const nowMs = this.#clock.monotonic();
    const before = this.#of.get(name);
    const firstMs = before !== undefined && nowMs - before.lastMs <= seriesMs ? before.firstMs : nowMs;
    this.#of.set(name, { message: error.message, firstMs, lastMs: nowMs });
  }

  forget(name: string): void {
    this.#of.delete(name);
  }

  /** For how long in a row, from the first no to the last. */
  of(name: string): NodeCase['refused'] {
    const series = this.#of.get(name);
    return series && { message: series.message, forMs: series.lastMs - series.firstMs };
  }
}
