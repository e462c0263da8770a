/**
 * What nodes have taken of what all share: slots for fences, and pods per minute. Counted by what the records say, so that it
 * holds across restarts, and by what this process has decided since, which the view of the records may not show yet.
 */
import type { Clock } from '../clock.ts';
import type { PolicyMatch } from '../api/release-view.ts';
import type { Allowance } from '../api/surroundings.ts';
import type { Claims } from '../decide/decide-node.ts';
import { allowanceOf, minuteMs } from '../release/rate.ts';
import type { Released } from '../release/rate.ts';

export class ClaimBook {
  /** Nodes that have a slot by what this process has decided last, which the view of the records may not show yet. */
  readonly #slots = { fence: new Set<string>(), remedy: new Set<string>() };
  /** By our own clock. */
  readonly #pods = new Map<string, { atMs: number; pods: number }[]>();
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** In the tick of the decision, so that two nodes never take the same share. */
  take(node: string, { fence, remedy, pods }: Claims): void {
    for (const [slots, has] of [[this.#slots.fence, fence] as const, [this.#slots.remedy, remedy] as const]) {
      if (has) slots.add(node);
      else slots.delete(node);
    }
    if (pods === 0) return;
    const nowMs = this.#clock.monotonic();
    const recent = (this.#pods.get(node) ?? []).filter(({ atMs }) => atMs > nowMs - minuteMs);
    this.#pods.set(node, [...recent, { atMs: nowMs, pods }]);
  }

  slots(kind: 'fence' | 'remedy'): Iterable<string> {
    return this.#slots[kind];
  }

  /** `stored`: what the records of each node say. Undefined: no policy limits it. */
  allowance(
    policy: PolicyMatch,
    stored: ReadonlyMap<string, readonly Released[]>,
    nowMs: number,
  ): Allowance | undefined {
    if (policy.kind !== 'one') return undefined;
    // Whatever clock is off: what was let go here was let go so long ago.
    const sinceMs = nowMs - this.#clock.monotonic();
    const own = new Map(
      [...this.#pods].map(([node, went]) => [node, went.map(({ atMs, pods }) => ({ atMs: atMs + sinceMs, pods }))]),
    );
    return allowanceOf(policy.policy.podsPerMinute, { stored, own, nowMs });
  }

  forget(node: string): void {
    this.#slots.fence.delete(node);
    this.#slots.remedy.delete(node);
  }
}
