/**
 * The one reading of life. A kubelet renews its Lease every quarter of the duration that stands in it, so that the Lease itself
 * says from when on its silence means something. Ages are by our own clock, never by that of the node.
 */

/** As far as silence is read from it. */
export interface Pulse {
  /** How long it has not been renewed, by our own clock since it was first seen like this. */
  unchangedForMs: number;
  /** What the Lease says of itself; absent: nothing that can be used. */
  durationMs?: number | undefined;
}

/** That of a stock kubelet. */
const usualDurationMs = 40_000;
/** Whoever writes a shorter one would be silent between two answers of a slow API server; a longer one, never. */
const shortestMs = 4000;
const longestMs = 600_000;
const renewalsPerDuration = 4;
/** A kubelet spreads its renewals by up to 4 %, and a write takes its time. */
const patience = 1.2;

/** From `spec.leaseDurationSeconds`; undefined where it says nothing. */
export function leaseDurationMs(seconds: unknown): number | undefined {
  return typeof seconds === 'number' && Number.isInteger(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

/** How often a kubelet with this Lease renews it. */
export function renewalMs(lease: Pick<Pulse, 'durationMs'> | undefined): number {
  const durationMs = lease?.durationMs ?? usualDurationMs;
  return Math.min(Math.max(durationMs, shortestMs), longestMs) / renewalsPerDuration;
}

/** For how long such a Lease has to be unchanged until its kubelet is silent; somebody may want to wait longer. */
export function silentAfterMs(lease: Pick<Pulse, 'durationMs'> | undefined, leastMs = 0): number {
  return Math.max(leastMs, renewalMs(lease) * patience);
}

export function isSilent(lease: Pulse, leastMs = 0): boolean {
  return lease.unchangedForMs >= silentAfterMs(lease, leastMs);
}
