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
  /** For how long nobody but the node is to blame: before that the API server was away. Absent: all the time. */
  hearableForMs?: number;
  /** How long ago it was renewed for the first time after it had been silent; absent: that was never seen. */
  backForMs?: number;
  /** Somebody has deleted it, and no kubelet has made it again: that is silence too, since the last renewal that was seen. */
  isGone?: true;
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
  const whole = Number.isInteger(seconds) ? Number(seconds) : 0;
  return whole > 0 ? whole * 1000 : undefined;
}

/** How often a kubelet with this Lease renews it. */
export function renewalMs(lease: Pick<Pulse, 'durationMs'> | undefined): number {
  const durationMs = lease?.durationMs ?? usualDurationMs;
  return Math.min(Math.max(durationMs, shortestMs), longestMs) / renewalsPerDuration;
}

/** A renewal that was sent before the power went may be seen so long after; what comes later, no dead machine has sent. */
export const RENEWAL_UNDERWAY_MS = 2000;

/**
 * Whether its kubelet goes on renewing although its machine is said to have been off for `forMs`. The last renewals of a
 * dead machine may arrive late, but no later than a view may be old and still be judged by: what is first seen after that was
 * written after it.
 */
export function renewsSince(
  lease: Pulse & { renewed?: boolean | undefined },
  forMs: number,
  viewAgeMs: number,
): boolean {
  if (lease.renewed !== true || !isRenewing(lease)) return false;
  return lease.unchangedForMs < forMs - viewAgeMs - RENEWAL_UNDERWAY_MS;
}

/** For how long such a Lease has to be unchanged until its kubelet is silent; somebody may want to wait longer. */
export function silentAfterMs(lease: Pick<Pulse, 'durationMs'> | undefined, leastMs = 0): number {
  return Math.max(leastMs, renewalMs(lease) * patience);
}

/** For how long it has not been renewed although it could have been. */
export function silentForMs({ unchangedForMs, hearableForMs = Infinity }: Pulse): number {
  return Math.min(unchangedForMs, hearableForMs);
}

/** A Lease may be neither silent nor renewing: where nobody could have heard of it, nothing is known (STM-2). */
export function isSilent(lease: Pulse, leastMs = 0): boolean {
  return silentForMs(lease) >= silentAfterMs(lease, leastMs);
}

/** Or was a moment ago: whatever kept it from renewing may keep others from it for as long as they have until they are silent. */
export function isSilentOrJustBack(lease: Pulse): boolean {
  return isSilent(lease) || (lease.backForMs ?? Infinity) < silentAfterMs(lease);
}

export function isRenewing(lease: Pulse): boolean {
  return lease.isGone !== true && lease.unchangedForMs < silentAfterMs(lease);
}

/** What only a living kubelet writes, as it stood when something was heard of its node. */
export interface Signs {
  /** `renewTime` of the Lease, and `lastHeartbeatTime` of Ready, as written; empty: there was none. */
  renewTime: string;
  heartbeatTime: string;
}

interface Living {
  lease?: { renewTime: string };
  node?: { heartbeatTime?: string; bootId: string; volumesInUse: readonly string[] };
  fence?: { status: { releases: readonly Freed[] } };
}

/** Of a release on record: what it took out of `volumesInUse`. */
interface Freed {
  freed: readonly string[];
  freedAt?: string | undefined;
  endedAt?: string | undefined;
  bootId?: string | undefined;
}

export function signsOf({ lease, node }: { lease?: { renewTime: string }; node?: { heartbeatTime?: string } }): Signs {
  return { renewTime: lease?.renewTime ?? '', heartbeatTime: node?.heartbeatTime ?? '' };
}

/** What was taken out of `volumesInUse` and stands there again was written by a kubelet that lives. */
export function reappearedOf({ node, fence }: Pick<Living, 'node' | 'fence'>): string | undefined {
  for (const { freedAt, freed, endedAt, bootId } of fence?.status.releases ?? []) {
    if (freedAt === undefined || endedAt !== undefined || bootId !== node?.bootId) continue;
    const back = freed.find((entry) => node?.volumesInUse.includes(entry));
    if (back !== undefined) return back;
  }
  return undefined;
}

/**
 * Whether what was heard of a node still says something (S35): since then its kubelet must not have shown that it lives. Told
 * by what is written and never by when, so that neither a clock nor another instance makes a difference. What was kept
 * without its signs, by an earlier version, says nothing.
 */
export function stillCounts({ signs }: { signs?: Signs | undefined }, living: Living): boolean {
  if (signs === undefined || reappearedOf(living) !== undefined) return false;
  const now = signsOf(living);
  // That there is no Lease any more is no sign of life.
  return [
    [signs.renewTime, now.renewTime],
    [signs.heartbeatTime, now.heartbeatTime],
  ].every(([then, latest]) => latest === '' || latest === then);
}
