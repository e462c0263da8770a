/**
 * Since when nothing was heard of a kubelet. Who has seen its last renewal knows; whoever leads after that one knows what is on
 * record, for as long as the Lease says what it said then. Where neither tells, it counts from when we could first have heard of
 * it: that is later than the truth and never earlier, so that patience with a node is longer by that and has an end all the same.
 * Times of the Lease itself are by the clock of its node, and say nothing.
 */
import { clockTime } from '../api/facts.ts';
import { isRenewing, isSilent, silentAfterMs, silentForMs } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase, TroubleFacts } from '../api/release-view.ts';
import type { LeaseFacts } from '../api/view.ts';

type Incident = NonNullable<NodeFenceStatus['incident']>;

export interface Quiet {
  /** By the API server's clock: its last renewal was no later than this. */
  sinceMs: number;
  /** It was seen to renew, and the next renewal is not overdue; no: it is silent, or nobody knows yet. */
  isAlive: boolean;
}

/** The API server tells the time in whole seconds, and so does the record. */
const roundedMs = 1000;

/** Undefined: there is no Lease that could say anything, and none is on record. */
export function quietOf({
  lease,
  fence,
  serverNowMs,
}: Pick<NodeCase, 'lease' | 'fence' | 'serverNowMs'>): Quiet | undefined {
  const stored = fence?.status.incident?.silence;
  const isStored = stored !== undefined && (lease === undefined || lease.renewTime === stored.renewTime);
  if (isStored) return { sinceMs: Date.parse(stored.since), isAlive: false };
  if (lease === undefined) return undefined;
  const sinceMs = (Math.ceil((serverNowMs - silentForMs(lease)) / roundedMs) + 1) * roundedMs;
  return { sinceMs, isAlive: lease.renewed === true && isRenewing(lease) };
}

/** Kept from when it is found silent until it is heard of: whoever leads next counts from there as well. */
export function withSilence(nodeCase: NodeCase, { silence, ...incident }: Incident): Incident {
  const quiet = quietOf(nodeCase);
  const { lease } = nodeCase;
  if (quiet === undefined || quiet.isAlive) return incident;
  // What is on record of another renewal says nothing of this one.
  if (lease === undefined || lease.renewTime === silence?.renewTime) {
    return silence === undefined ? incident : { ...incident, silence };
  }
  if (!isSilent(lease)) return incident;
  return { ...incident, silence: { since: clockTime(quiet.sinceMs), renewTime: lease.renewTime } };
}

/** Its kubelet has reported the status of its node when it should have renewed: that it does not renew says nothing of whether it lives. */
export function isStuck(lease: LeaseFacts): boolean {
  return lease.unchangedForMs - (lease.reportedForMs ?? Infinity) >= silentAfterMs(lease);
}

/** What has to be as it is when something is done because nothing is heard of a node: whatever its kubelet writes is a sign of life. */
export function unheard({ lease, node }: Pick<NodeCase, 'lease' | 'node'>): {
  leaseRenewTime: string;
  heartbeatTime: string;
} {
  return { leaseRenewTime: lease?.renewTime ?? '', heartbeatTime: node?.heartbeatTime ?? '' };
}

/**
 * Not before a live read has found it so. Where there is no Lease, its kubelet may have none, or cannot make it again after somebody
 * has deleted it: then a node is silent when Kubernetes says so, which hears of it by its Node as well. A kubelet that lives
 * contradicts with its next report, so that it counts from there. It is the same where a Lease is stuck. And nobody is silent for longer
 * than since it has last reported.
 */
export function silenceOf(
  lease: LeaseFacts | undefined,
  conditions: TroubleFacts['conditions'],
): Pick<TroubleFacts, 'leaseSilentMs' | 'leaseDurationMs'> {
  const { durationMs } = lease ?? {};
  const lasts = durationMs === undefined ? {} : { leaseDurationMs: durationMs };
  if (lease === undefined || lease.isGone === true || isStuck(lease)) {
    const missed = conditions.find(({ type, status }) => type === 'Ready' && status === 'Unknown');
    return missed === undefined ? {} : { leaseSilentMs: missed.forMs, ...lasts };
  }
  const { confirmed, reportedForMs = Infinity } = lease;
  return confirmed ? { leaseSilentMs: Math.min(silentForMs(lease), reportedForMs), ...lasts } : {};
}
