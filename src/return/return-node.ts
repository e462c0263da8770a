/**
 * The way back into service, in named stages: `seen` again, `clean`, `soaked`, `schedulable`. The quarantine goes last,
 * and only from a node that was rebooted or is verified clean (S7, S9).
 *
 * Clean means that nothing of what was released is left: by another boot ID, or by what the returned kubelet reports of
 * its volumes; of one that no kubelet reports, by another boot ID alone. We have taken the released volumes out of `volumesInUse` ourselves, so their absence says something only
 * once a kubelet has had the time to write that list again. A pod that shows in no volume of its own has ended when the kubelet has
 * known for as long that it is gone as it lets it take.
 */
import type { NodeFenceStatus, ReleaseRecord } from '../api/node-fence.ts';
import { DEFAULT_SOAK } from '../api/policy-facts.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { FORCE_EVICTION_KEY, QUARANTINE_KEY } from '../api/release-view.ts';
import type { GroundedAct } from '../api/steps.ts';
import { formatDuration } from '../api/duration.ts';
import { hasTaint, isOver, nameInUse, sharesBoot } from '../api/facts.ts';
import { isRenewing, renewalMs } from '../api/life.ts';
import { isForgotten } from '../api/quarantine.ts';
import { USUAL_GRACE_SECONDS } from '../api/unseen.ts';
import { notConnected } from './connected.ts';
import { failuresOf, soakFor } from './soak.ts';

type Stage = NonNullable<NodeFenceStatus['return']>['stage'];

export interface ReturnDecision {
  stage: Stage | undefined;
  /** What the next stage waits for. */
  waitsFor?: {
    reason: 'NotSeen' | 'NotClean' | 'DetachPending' | 'Soaking' | 'CutOff' | 'MarkedDead';
    message: string;
  };
  /** By the API server's clock. */
  soakUntilMs?: number;
  /** What lets the node back into service, once all stages are behind it. */
  act?: Extract<GroundedAct, { do: 'untaint' }>;
}

/**
 * A kubelet that returns says first that it is Ready, on the strength of the Node as it last knew it, and corrects the
 * rest in the next reports, one every 10 s, or less often where it renews less often: only then is the absence of a volume
 * its word.
 */
const reportsUntilBelieved = 2;
const reportMs = 10_000;
const effect = 'NoSchedule';
const untilEnded = ': by then its kubelet has ended what was let go there';

export function isQuarantined({ node }: Pick<NodeCase, 'node'>): boolean {
  return hasTaint(node, QUARANTINE_KEY, effect);
}

function whyAway({ name, node, lease }: NodeCase): string | undefined {
  if (node?.ready !== 'True') return `${name} is not Ready`;
  // Otherwise Kubernetes has not noticed yet.
  return lease !== undefined && !isRenewing(lease) ? `the Lease of ${name} is not renewed` : undefined;
}

export function returnNode(nodeCase: NodeCase, records: readonly ReleaseRecord[]): ReturnDecision {
  const { fence } = nodeCase;
  const away = whyAway(nodeCase);
  if (away !== undefined) return waiting(undefined, 'NotSeen', away);
  const attached = stillAttached(nodeCase, records);
  if (attached !== undefined) return waiting('seen', 'DetachPending', attached);
  const leftover = notClean(nodeCase, records);
  if (leftover !== undefined) return waiting('seen', 'NotClean', leftover);
  const soak = nodeCase.policy.kind === 'one' ? nodeCase.policy.policy : DEFAULT_SOAK;
  const failures = failuresOf(fence?.status, nodeCase.serverNowMs);
  const stored = fence?.status.return;
  const cleanSinceMs =
    stored === undefined || stored.stage === 'seen' ? nodeCase.serverNowMs : Date.parse(stored.since);
  const leastMs = isRebooted(nodeCase, records) ? 0 : believedAfterMs(nodeCase) + hiddenEndMs(nodeCase, records);
  const forMs = Math.max(soakFor(soak, failures), leastMs);
  const soakUntilMs = cleanSinceMs + forMs;
  if (nodeCase.serverNowMs < soakUntilMs) {
    const failed = `, because it has failed ${often(failures)} within a day`;
    const why = forMs > Math.max(soak.soakMs, leastMs) ? failed : forMs > soak.soakMs ? untilEnded : '';
    const message = `${nodeCase.name} has to stay Ready and clean for ${formatDuration(forMs)}${why}`;
    return { ...waiting('clean', 'Soaking', message), soakUntilMs };
  }
  const cut = stillCutOff(nodeCase);
  if (cut !== undefined) return waiting('soaked', 'CutOff', cut);
  const marked = stillMarked(nodeCase);
  if (marked !== undefined) return waiting('soaked', 'MarkedDead', marked);
  return { stage: 'soaked', act: { do: 'untaint', key: QUARANTINE_KEY, effect } };
}

/** In service without its storage it is not back (RET-2). */
function stillCutOff(nodeCase: NodeCase): string | undefined {
  const { switched = [] } = nodeCase.fence?.status.fence ?? {};
  const cut = switched.find(({ step, device }) => step === 'isolation' && device !== undefined);
  return cut === undefined ? notConnected(nodeCase) : `${cut.method} has cut it off, and is not switched on again`;
}

/** The quarantine goes last (S7). Who has set the other one has to take it away, unless a release of ours does. */
function stillMarked({ node }: NodeCase): string | undefined {
  const isMarked = node?.taints.some(({ key }) => key === FORCE_EVICTION_KEY) ?? false;
  return isMarked ? `it still has the taint ${FORCE_EVICTION_KEY}, by which somebody says that it is dead` : undefined;
}

function believedAfterMs({ lease }: NodeCase): number {
  return reportsUntilBelieved * Math.max(reportMs, renewalMs(lease));
}

/** How long what was let go here may take to end of which nothing shows that it has. Without a record: as long as most. */
function hiddenEndMs(nodeCase: NodeCase, records: readonly ReleaseRecord[]): number {
  if (records.length === 0) return USUAL_GRACE_SECONDS * 1000;
  const graces = leftHere(nodeCase, ofThisBoot(nodeCase, records)).map(({ graceSeconds = 0 }) => graceSeconds);
  return Math.max(0, ...graces) * 1000;
}

function often(failures: number): string {
  return failures === 1 ? 'once before' : `${failures} times before`;
}

function waiting(
  stage: Stage | undefined,
  reason: NonNullable<ReturnDecision['waitsFor']>['reason'],
  message: string,
): ReturnDecision {
  return { stage, waitsFor: { reason, message } };
}

/** Detach has to be finished. A pod that was never taken away, because the node came back in time, keeps its volume. */
function stillAttached(nodeCase: NodeCase, records: readonly ReleaseRecord[]): string | undefined {
  const used = volumesInService(nodeCase);
  const released = new Set(records.flatMap(({ volumes }) => volumes).filter((volume) => !used.has(volume)));
  const left = nodeCase.attachments.find(({ node, volume }) => node === nodeCase.name && released.has(volume));
  if (left === undefined) return undefined;
  const refused = left.detachError === undefined ? '' : `: the driver says ${left.detachError}`;
  return `volume ${left.volume} was released and is still attached${refused}`;
}

/** Of the machine: what ran there goes on running under a Node object that was made anew. */
function ofThisBoot({ node }: NodeCase, records: readonly ReleaseRecord[]): ReleaseRecord[] {
  return records.filter(({ bootId }) => bootId === node?.bootId);
}

/** Since all that is on record; where nothing is, nobody knows. */
function isRebooted(nodeCase: NodeCase, records: readonly ReleaseRecord[]): boolean {
  return !sharesBoot(nodeCase) && records.length > 0 && ofThisBoot(nodeCase, records).length === 0;
}

function notClean(nodeCase: NodeCase, records: readonly ReleaseRecord[]): string | undefined {
  const inUse = nodeCase.node?.volumesInUse ?? [];
  const inService = entriesInService(nodeCase);
  // Without any record, as when somebody deleted it, whatever no pod accounts for counts as a leftover.
  const freed = records.length === 0 ? inUse : records.flatMap((record) => record.freed);
  const left = freed.find((entry) => inUse.includes(entry) && !inService.has(entry));
  if (left !== undefined) return `its kubelet still uses ${left}, which was released`;
  if (isForgotten(nodeCase)) {
    const pod = 'the record is gone of a pod that was there, and no kubelet reports whether it still runs';
    if (!sharesBoot(nodeCase)) return `it waits for a reboot: ${pod}`;
    return `other nodes have its boot ID, so that no reboot shows: ${pod}; whoever has rebooted it removes the taint ${QUARANTINE_KEY}`;
  }
  // What an earlier boot ran is not running any more.
  const current = ofThisBoot(nodeCase, records);
  const unseen = unseenLeft(nodeCase, current);
  if (unseen !== undefined) return unseen;
  // One that nobody has sent away was never let go: the node came back in time.
  const going = nodeCase.pods.find(
    ({ uid, deletionAtMs }) =>
      deletionAtMs !== undefined && current.some(({ pods }) => pods.some((pod) => pod.uid === uid)),
  );
  return going === undefined ? undefined : `pod ${going.namespace}/${going.name} was released and is still there`;
}

/** What was let go. Where the boot ID says nothing, a machine that was off has ended it all the same (FEN-16). */
function leftHere(nodeCase: NodeCase, current: readonly ReleaseRecord[]): ReleaseRecord['pods'] {
  const staying = new Set(inServicePods(nodeCase).map(({ uid }) => uid));
  return current
    .filter(({ basis }) => basis !== 'PowerOff' || !sharesBoot(nodeCase))
    .flatMap(({ pods }) => pods)
    .filter(({ uid }) => !staying.has(uid));
}

/** Nothing that this boot reports shows that it has ended. */
function unseenLeft(nodeCase: NodeCase, current: readonly ReleaseRecord[]): string | undefined {
  const left = leftHere(nodeCase, current).find(({ unseen }) => unseen !== undefined);
  if (left === undefined) return undefined;
  const { namespace, name, unseen } = left;
  return `it waits for a reboot: pod ${namespace}/${name} was released, and no kubelet reports whether it still uses ${unseen}`;
}

function inServicePods({ pods }: NodeCase): PodFacts[] {
  return pods.filter((pod) => pod.deletionAtMs === undefined && !isOver(pod));
}

function volumesInService(nodeCase: NodeCase): Set<string> {
  return new Set(knownVolumes(nodeCase).map(({ volume }) => volume));
}

function entriesInService(nodeCase: NodeCase): Set<string> {
  return new Set(knownVolumes(nodeCase).flatMap((volume) => nameInUse(volume) ?? []));
}

function knownVolumes(nodeCase: NodeCase): { volume: string; csi?: { driver: string; handle: string } }[] {
  return inServicePods(nodeCase).flatMap(({ namespace, claims }) =>
    claims.flatMap(({ claim }) => {
      const volume = nodeCase.volumes[`${namespace}/${claim}`];
      return volume?.known ? [volume] : [];
    }),
  );
}
