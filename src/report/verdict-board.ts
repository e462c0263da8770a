/** The present verdict on every node, and what to say when one changes. One value feeds log, metrics and status. */
import type { Judgement, Verdict } from '../api/view.ts';
import { VERDICTS } from '../api/view.ts';

export interface VerdictChange {
  node: string;
  judgement: Judgement;
  /** Absent: the first verdict on this node. */
  previous?: Judgement;
}

export class VerdictBoard {
  readonly #verdicts = new Map<string, Judgement>();
  readonly #onChange: (change: VerdictChange) => void;

  constructor(onChange: (change: VerdictChange) => void) {
    this.#onChange = onChange;
  }

  get verdicts(): ReadonlyMap<string, Judgement> {
    return this.#verdicts;
  }

  get counts(): Record<Verdict, number> {
    const counts = Object.fromEntries(VERDICTS.map((verdict) => [verdict, 0])) as Record<Verdict, number>;
    for (const { verdict } of this.#verdicts.values()) counts[verdict] += 1;
    return counts;
  }

  /** Evidence changes all the time, a verdict or its reason rarely: only that is news. */
  publish(node: string, judgement: Judgement): void {
    const previous = this.#verdicts.get(node);
    const news = previous?.verdict !== judgement.verdict || previous.reason !== judgement.reason;
    // Evidence of health is never looked at, and replacing it for every node all the time is most of the garbage.
    if (!news && judgement.verdict === 'healthy') return;
    this.#verdicts.set(node, judgement);
    if (!news) return;
    this.#onChange(previous === undefined ? { node, judgement } : { node, judgement, previous });
  }

  forget(node: string): void {
    this.#verdicts.delete(node);
  }

  clear(): void {
    this.#verdicts.clear();
  }
}
