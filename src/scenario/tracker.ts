/**
 * Expectations over time. A moment is looked at when all its work is done; what was true only in between does not count.
 * Observation begins with the first event: what is true then already counts as having become true at that moment.
 */
import type { Finding } from './moment.ts';
import type { Expectation } from './format.ts';

export interface ExpectationReport {
  expectation: unknown;
  ok: boolean;
  /** When it became true (`by`), was looked at (`at`), or was broken (`never`, `always`); null: not at all. */
  at: number | null;
  detail: string;
}

export class Tracker {
  readonly expectation: Expectation;
  #trueSince: number | undefined;
  #broken: { at: number; detail: string } | undefined;
  #settled: ExpectationReport | undefined;
  #last = '';

  constructor(expectation: Expectation) {
    this.expectation = expectation;
  }

  /** Whether it has to be looked at whenever something has changed. */
  get watches(): boolean {
    return this.#settled === undefined && this.#broken === undefined && this.expectation.when.type !== 'at';
  }

  /** A moment at or after the first event. */
  look(nowMs: number, { holds, detail }: Finding): void {
    this.#last = detail;
    if (!holds) this.#trueSince = undefined;
    else this.#trueSince ??= nowMs;
    const { type } = this.expectation.when;
    if ((type === 'never' && holds) || (type === 'always' && !holds)) this.#broken ??= { at: nowMs, detail };
  }

  /** The moment that the expectation names has come, or the end of the run. */
  settle(nowMs: number, { holds, detail }: Finding): void {
    const { text: expectation, when } = this.expectation;
    if (this.#settled !== undefined) return;
    switch (when.type) {
      case 'at':
      case 'end':
        this.#settled = { expectation, ok: holds, at: nowMs, detail };
        break;
      case 'by':
        this.#settled = { expectation, ok: this.#trueSince !== undefined, at: this.#trueSince ?? null, detail };
        break;
      case 'never':
      case 'always':
        this.#settled = {
          expectation,
          ok: this.#broken === undefined,
          at: this.#broken?.at ?? null,
          detail: this.#broken?.detail ?? this.#last,
        };
    }
  }

  get report(): ExpectationReport {
    return this.#settled ?? { expectation: this.expectation.text, ok: false, at: null, detail: 'not looked at' };
  }
}

/** When a run has to stop to look. */
export function stopsOf({ expectation: { when } }: Tracker): number[] {
  return 'atMs' in when ? [when.atMs] : [];
}
