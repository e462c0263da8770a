/**
 * How many pods may be released now. Counted by what the records say, so that it holds across restarts, and by what this
 * process has decided since, which the view of the records may not show yet. All by the clock of the API server.
 */
import type { NodeCase } from '../api/release-view.ts';
import type { Allowance } from '../release/rate.ts';

/** What the record of a node says: how many pods, since when, and when the last was gone. */
export interface Released {
  recordedMs: number;
  goneMs?: number;
  pods: number;
}

interface Took {
  atMs: number;
  pods: number;
}

/** Times are written in whole seconds, and so is the clock of the API server. */
const minuteMs = 62_000;
/** What was recorded and does not go, for want of an answer from a device, is not counted as going for ever (S27). */
const goingAtMostMs = 300_000;

export class ReleaseRate {
  readonly #own = new Map<string, Took[]>();

  /** `stored`: what the records of each node say. Undefined: no policy limits it. */
  allowance(
    { policy, serverNowMs }: NodeCase,
    stored: ReadonlyMap<string, readonly Released[]>,
  ): Allowance | undefined {
    if (policy.kind !== 'one') return undefined;
    const { podsPerMinute: perMinute } = policy.policy;
    let used = 0;
    let oldestMs = serverNowMs;
    for (const node of new Set([...stored.keys(), ...this.#own.keys()])) {
      const known = (stored.get(node) ?? []).map((one) => ({ atMs: wentAt(one, serverNowMs), pods: one.pods }));
      const lists = [known, this.#own.get(node) ?? []].map((list) =>
        list.filter(({ atMs }) => atMs > serverNowMs - minuteMs),
      );
      used += Math.max(...lists.map((list) => list.reduce((sum, { pods }) => sum + pods, 0)));
      oldestMs = Math.min(oldestMs, ...lists.flat().map(({ atMs }) => atMs));
    }
    return { pods: Math.max(0, perMinute - used), perMinute, untilMs: oldestMs + minuteMs };
  }

  took(node: string, nowMs: number, pods: number): void {
    if (pods === 0) return;
    const recent = (this.#own.get(node) ?? []).filter(({ atMs }) => atMs > nowMs - minuteMs);
    this.#own.set(node, [...recent, { atMs: nowMs, pods }]);
  }
}

/** Pods go some time after they were recorded: until the last is gone, they are going now. */
function wentAt({ recordedMs, goneMs }: Released, nowMs: number): number {
  return goneMs ?? Math.min(nowMs, recordedMs + goingAtMostMs);
}
