/**
 * All orders in which the steps of two parties can happen, one run for each. Depth first, by the choices of the run
 * before: the last of them that has another answer left gets it.
 *
 * Two orders that differ only in steps that make no difference to each other lead to the same, so that one of them is
 * enough. Which those are is found out as in dynamic partial-order reduction (Flanagan and Godefroid): after each run,
 * for every step that came after one of the other party to which it makes a difference, and could have come before it,
 * that order is tried as well. Sleep sets (Godefroid) leave out what would only repeat: a party whose step was taken
 * first in an earlier run sleeps until the other does something that makes a difference to that step; a run in which
 * nobody is awake any more was seen already, and is abandoned.
 */
import type { Choice, Step } from '../../src/world/network/step-gate.ts';

interface Point {
  /** Who goes first here, in the order in which it is tried. */
  options: string[];
  at: number;
  /** Whoever sleeps here need not be tried: that was seen from an earlier point. */
  asleep: ReadonlySet<string>;
}

export class Abandoned extends Error {}

export interface ExplorerOptions {
  parties: readonly [string, string];
  /** Whether it makes a difference which of the two comes first. */
  depend: (a: Step, b: Step) => boolean;
  /** How long one party is waited for that is to go first, but has no step yet. */
  patienceMs: number;
}

export class Explorer {
  readonly #options: ExplorerOptions;
  readonly #path: Point[] = [];
  #asleep = new Map<string, Step>();
  #abandoned = false;
  #steps: Step[] = [];

  constructor(options: ExplorerOptions) {
    this.#options = options;
  }

  get abandoned(): boolean {
    return this.#abandoned;
  }

  /** Of the present run, in order. */
  get steps(): readonly Step[] {
    return this.#steps;
  }

  /** A new run begins. */
  begin(): void {
    this.#asleep = new Map();
    this.#abandoned = false;
    this.#steps = [];
  }

  /** Whether there is another run; the next one then takes another way. */
  advance(): boolean {
    this.#findRaces();
    for (let last = this.#path.at(-1); last !== undefined; last = this.#path.at(-1)) {
      if (last.at + 1 < last.options.length) {
        last.at += 1;
        return true;
      }
      this.#path.pop();
    }
    return false;
  }

  choose(heads: ReadonlyMap<string, Step>, late: string | undefined): Choice {
    const [first = ''] = heads.keys();
    const party = this.#abandoned || late !== undefined ? undefined : this.#decide(heads);
    if (party === undefined) {
      this.#abandoned = true;
      return { go: first };
    }
    const step = heads.get(party);
    if (step === undefined) return { await: party, forMs: this.#options.patienceMs };
    this.#steps.push(step);
    for (const [other, head] of this.#asleep) if (this.#options.depend(head, step)) this.#asleep.delete(other);
    return { go: party };
  }

  /** Undefined: whatever could come now has been seen. */
  #decide(heads: ReadonlyMap<string, Step>): string | undefined {
    const depth = this.#steps.length;
    let point = this.#path[depth];
    if (point === undefined) {
      const awake = this.#options.parties.filter((party) => !this.#asleep.has(party));
      // Only where everybody who has a step sleeps is somebody waited for.
      const party = awake.find((one) => heads.has(one)) ?? awake[0];
      if (party === undefined) return undefined;
      point = { options: [party], at: 0, asleep: new Set(this.#asleep.keys()) };
      this.#path[depth] = point;
    }
    for (const tried of point.options.slice(0, point.at)) {
      const head = heads.get(tried);
      if (head !== undefined) this.#asleep.set(tried, head);
    }
    return point.options[point.at];
  }

  #findRaces(): void {
    const { depend } = this.#options;
    for (const [late, step] of this.#steps.entries()) {
      const early = this.#steps.findLastIndex(
        (other, at) => at < late && other.party !== step.party && depend(other, step),
      );
      const point = this.#path[early];
      if (point === undefined || this.#isOrdered(early, late)) continue;
      if (!point.options.includes(step.party) && !point.asleep.has(step.party)) point.options.push(step.party);
    }
  }

  /** Whether a step had to come after an earlier one: an earlier step of its own party came after it for a reason. */
  #isOrdered(early: number, late: number): boolean {
    const steps = this.#steps.slice(early, late);
    const party = this.#steps[late]?.party;
    return steps.some(
      (own, at) =>
        own.party === party &&
        steps.slice(0, at).some((other) => other.party !== party && this.#options.depend(other, own)),
    );
  }
}
