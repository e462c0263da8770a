/**
 * How long pods that may go wait for us: from the moment from which nothing kept them, as far as that was known beforehand, until
 * the API server had taken the last write of the pass. Between passes the clock of the API server counts, which tells whole
 * seconds; what a pass takes is measured.
 */
import type { LabelsOf } from './metric-list.ts';
import type { Pass } from './pass.ts';
import { Histogram } from './prometheus.ts';

type Findings = NonNullable<Pass['decision']['findings']>;
type Fate = Findings['fates'][number];

export class ReleaseTimes {
  readonly took = new Histogram<LabelsOf<'fenceline_release_seconds'>>([
    0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
  ]);
  /** By node and UID of the pod: since when it may go, or from when on it will, if nothing else happens. */
  readonly #since = new Map<string, ReadonlyMap<string, number>>();

  note({ nodeCase, decision, acts, tookMs }: Pass): void {
    const { name, serverNowMs: nowMs, fence } = nodeCase;
    const { fates = [], records = [], hold } = decision.findings ?? {};
    const known = this.#since.get(name);
    const begun = new Set(records.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
    // What another instance has begun counts from when that was put on record.
    const recordedMs = new Map(
      (fence?.status.releases ?? []).flatMap(({ recordedAt, joinedAt = recordedAt, pods }) =>
        pods.map(({ uid }) => [uid, Date.parse(joinedAt)] as const),
      ),
    );
    const since = new Map<string, number>();
    for (const fate of fates) {
      const { uid } = fate.pod;
      const sinceMs = begun.has(uid)
        ? Math.min(known?.get(uid) ?? recordedMs.get(uid) ?? nowMs, nowMs)
        : dueMs(fate, hold);
      if (Number.isFinite(sinceMs)) since.set(uid, sinceMs);
    }
    if (since.size === 0) this.#since.delete(name);
    else this.#since.set(name, since);
    for (const outcome of acts) {
      if (outcome.kind !== 'done' || (outcome.act.do !== 'forceDelete' && outcome.act.do !== 'failPod')) continue;
      const { pod, basis } = outcome.act;
      this.took.observe({ basis }, (nowMs - (since.get(pod.uid) ?? nowMs) + tookMs) / 1000);
    }
  }

  forget(name: string): void {
    this.#since.delete(name);
  }

  clear(): void {
    this.#since.clear();
  }
}

/** What only waits for a time may go from then on; Infinity: nobody knows when. */
function dueMs(fate: Fate, hold: Findings['hold']): number {
  if (fate.goes) return hold?.untilMs ?? Infinity;
  return Math.min(...fate.objections.map(({ objection }) => objection.untilMs ?? Infinity));
}
