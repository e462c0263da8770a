/** Marks of ours that say of a node what is not so any more, or serve nobody, and that an operator leaves there although it leads. */
import { nodeFenceName } from '../../api/fence-names.ts';
import { isReady } from '../../world/objects/meta.ts';
import type { Node, Taint } from '../../world/objects/nodes.ts';
import type { Act } from '../format.ts';
import type { CheckContext } from './checker.ts';

/** In a lead without a gap: whoever was cut off until then has to get its watches back before it looks at anything. */
const soonMs = 90_000;
/** Whoever leads says so more often. */
const gapMs = 15_000;

export class UntrueMarks {
  readonly #context: CheckContext;
  readonly #markOf: (node: Node) => Taint | undefined;
  /** Operators that something keeps from the API server. */
  readonly #faulty = new Set<number>();
  /** Since when each node has one. */
  readonly #sinceMs = new Map<string, number>();
  #leader = '';
  #leadsSinceMs = 0;
  #lastMs = -Infinity;

  /** `markOf`: what we have put on a node, as it is stored. */
  constructor(context: CheckContext, markOf: (node: Node) => Taint | undefined) {
    this.#context = context;
    this.#markOf = markOf;
  }

  acted(act: Act): void {
    if (act.do !== 'apiFault') return;
    if (act.fault === 'none') this.#faulty.delete(act.operator);
    else this.#faulty.add(act.operator);
  }

  /** An operator has written its own Lease, which only a leader does. */
  led(user: string): void {
    const { state, nowMs, violated } = this.#context;
    const atMs = nowMs();
    const goesOn = user === this.#leader && atMs - this.#lastMs <= gapMs && this.#faulty.size === 0;
    if (!goesOn) this.#leadsSinceMs = atMs;
    this.#leader = user;
    this.#lastMs = atMs;
    for (const [name, node] of state.nodes) {
      const mark = this.#markOf(node);
      const why = mark && this.#whyUntrue(node);
      const sinceMs = this.#sinceMs.get(name) ?? atMs;
      if (mark === undefined || why === undefined) this.#sinceMs.delete(name);
      else if (atMs - Math.max(sinceMs, this.#leadsSinceMs) < soonMs) this.#sinceMs.set(name, sinceMs);
      else {
        this.#sinceMs.set(name, Infinity);
        violated(`${name} keeps the taint ${mark.key}, which is ours, although ${why}`);
      }
    }
  }

  /** Told by the world, and by what a person has written. */
  #whyUntrue(node: Node): string | undefined {
    const { state, machineOf } = this.#context;
    const { name } = node.metadata;
    const machine = machineOf(name);
    const isHere = machine?.alive === true && node.status?.nodeInfo?.bootID === machine.bootId;
    if (isHere && isReady(node)) return 'it is Ready';
    const isStopped = state.fences.get(nodeFenceName(name))?.spec?.stop === true;
    return isStopped ? 'somebody has stopped its fence' : undefined;
  }
}
