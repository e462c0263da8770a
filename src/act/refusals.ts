/**
 * What does not go at the API server, of what was decided about each node: a right that is missing, a webhook that says no, is down
 * or does not answer, a conflict in every try. Why does not matter to whoever waits for it: what counts is for how long nothing has
 * gone, and only what goes ends that. What is decided next has to know.
 */
import type { NodeCase } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { KubeError, KubeErrorKind } from '../kube/errors.ts';
import type { ActOutcome } from './act-outcome.ts';

/** That is an answer, and is told at once. */
const no: ReadonlySet<KubeErrorKind> = new Set(['forbidden', 'invalid', 'unauthorized']);
/** What else has failed goes the next time, as a rule: nobody is told of it before. */
const soonOverMs = 5000;
/** Tries that are further apart are no series: nobody knows what would have been answered between them. */
const seriesMs = 60_000;

interface Series {
  message: string;
  isNo: boolean;
  forMs: number;
  lastMs: number;
  /** Since the last try the API server was away as a whole, which says nothing of what was tried. */
  isAway: boolean;
}

export class Refusals {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #of = new Map<string, Series>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** What the acts of one pass have come to: one that was not even tried, or only begun, neither goes nor fails. */
  noteActs(name: string, acts: readonly ActOutcome[]): void {
    const failed = acts.map(failureOf).find((error) => error !== undefined);
    const isDone = acts.some(({ kind }) => kind === 'done');
    const isLeft = acts.some(({ kind }) => kind === 'changed' || kind === 'unconfirmed');
    const isOver = !isLeft && acts.some(({ kind }) => kind === 'needless');
    if (isDone || (failed === undefined && isOver)) this.forget(name);
    if (failed !== undefined) this.note(name, failed);
  }

  /** What a try has come to; undefined: it has gone. */
  note(name: string, error: Pick<KubeError, 'kind' | 'message'> | undefined): void {
    if (error === undefined) {
      this.#of.delete(name);
      return;
    }
    const nowMs = this.#clock.monotonic();
    const before = this.#lately(name);
    const sinceMs = before === undefined || before.isAway ? 0 : nowMs - before.lastMs;
    const isNo = no.has(error.kind);
    const message = before?.isNo === true && !isNo ? before.message : error.message;
    const forMs = (before?.forMs ?? 0) + sinceMs;
    this.#of.set(name, { message, isNo: isNo || before?.isNo === true, forMs, lastMs: nowMs, isAway: false });
  }

  /** Nothing could be decided, because the API server did not answer: that time does not count. */
  away(name: string): void {
    const before = this.#of.get(name);
    if (before !== undefined) this.#of.set(name, { ...before, isAway: true });
  }

  forget(name: string): void {
    this.#of.delete(name);
  }

  /** For how long in a row, from the first try to the last. */
  of(name: string): NodeCase['refused'] {
    const series = this.#lately(name);
    if (series === undefined || (!series.isNo && series.forMs < soonOverMs)) return undefined;
    return { message: series.message, forMs: series.forMs };
  }

  #lately(name: string): Series | undefined {
    const series = this.#of.get(name);
    return series !== undefined && this.#clock.monotonic() - series.lastMs <= seriesMs ? series : undefined;
  }
}

/** Whoever is overtaken in every try has failed as well. */
function failureOf(act: ActOutcome): Pick<KubeError, 'kind' | 'message'> | undefined {
  if (act.kind === 'failed') return act.error;
  return act.kind === 'changed' && act.act !== undefined ? { kind: 'conflict', message: act.what } : undefined;
}
