/**
 * From what is known of a node to what is thought of it. The ordered list of checks is the documentation: the first
 * that has an answer gives the verdict; of what none has anything to say, it is Ready.
 *
 * Suspicion starts with the Lease, because Kubernetes needs its grace period of 40 to 50 seconds before it says
 * anything. Blindness comes before everything else: whoever cannot see must not conclude that others are dead.
 */
import { isSilent, silentAfterMs, silentForMs } from '../api/life.ts';
import type {
  ConditionStatus,
  EvidenceItem,
  JudgeLimits,
  Judgement,
  NodeView,
  Verdict,
  VerdictReason,
} from '../api/view.ts';

export const defaultLimits: JudgeLimits = {
  leaseStaleForMs: silentAfterMs(undefined),
  silentForMs: 15_000,
  viewAgeMs: 80_000,
};

type Check = (view: NodeView, limits: JudgeLimits) => Judgement | undefined;

const checks: Check[] = [apiSilent, viewTooOld, nodeGone, noReadyCondition, notReady, leaseStale, poweredOff];

/** While nothing changes, a verdict that does not wait for anything is looked at again after this. */
const idleRecheckMs = 60_000;
const blindRecheckMs = 2000;
const liveReadRecheckMs = 1000;

export function judgeNode(view: NodeView, limits: JudgeLimits): Judgement {
  for (const check of checks) {
    const judgement = check(view, limits);
    if (judgement !== undefined) return judgement;
  }
  return ready(view, limits);
}

function apiSilent(view: NodeView, limits: JudgeLimits): Judgement | undefined {
  if (view.silentMs <= limits.silentForMs) return undefined;
  const detail = `the API server has not answered for ${seconds(view.silentMs)}`;
  return judgement('unknown', 'ApiSilent', [{ source: 'View', says: 'Unknown', detail }], blindRecheckMs);
}

function viewTooOld(view: NodeView, limits: JudgeLimits): Judgement | undefined {
  if (view.ageMs <= limits.viewAgeMs) return undefined;
  const detail = `the last ${seconds(view.ageMs)} are not known`;
  return judgement('unknown', 'ViewTooOld', [{ source: 'View', says: 'Unknown', detail }], blindRecheckMs);
}

function nodeGone(view: NodeView, limits: JudgeLimits): Judgement | undefined {
  if (view.node !== undefined) return undefined;
  return judgement('down', 'NodeGone', [
    { source: 'NodeDeletion', says: 'Unknown', detail: 'there is no Node object' },
    ...leaseEvidence(view, limits),
  ]);
}

function noReadyCondition(view: NodeView, limits: JudgeLimits): Judgement | undefined {
  return readyOf(view) === undefined
    ? judgement('unknown', 'NoReadyCondition', leaseEvidence(view, limits))
    : undefined;
}

function notReady(view: NodeView, limits: JudgeLimits): Judgement | undefined {
  const status = readyOf(view);
  if (status === 'True') return undefined;
  const reason = status === 'False' ? 'NotReady' : 'ReadyUnknown';
  const { lease } = view;
  if (lease === undefined || lease.confirmed) return judgement('down', reason, evidenceOf(view, limits));
  // Ladders count from the Lease as well, also where Kubernetes has said its word before we began to look.
  const staleInMs = silentAfterMs(lease, limits.leaseStaleForMs) - silentForMs(lease);
  if (staleInMs > 0) return judgement('down', reason, evidenceOf(view, limits), staleInMs);
  return { ...judgement('down', reason, evidenceOf(view, limits), liveReadRecheckMs), wants: 'liveLease' };
}

function leaseStale(view: NodeView, limits: JudgeLimits): Judgement | undefined {
  const { lease } = view;
  if (lease === undefined || !isSilent(lease, limits.leaseStaleForMs)) return undefined;
  const reason = lease.isGone === true ? 'LeaseGone' : 'LeaseStale';
  if (lease.confirmed) return judgement('suspect', reason, evidenceOf(view, limits));
  // What the view has not heard of may be a watch that lags. One read tells, and costs less than a false alarm.
  return {
    ...judgement('healthy', 'ReadyAndRenewing', evidenceOf(view, limits), liveReadRecheckMs),
    wants: 'liveLease',
  };
}

/** Before its Lease could be overdue (EVD-4). That it is off is found out once more before anything rests on it. */
function poweredOff(view: NodeView, limits: JudgeLimits): Judgement | undefined {
  if (view.power === undefined) return undefined;
  const evidence = [
    ...evidenceOf(view, limits),
    { source: 'Power', says: 'Dead', detail: view.power.message } as const,
  ];
  return judgement('suspect', 'PoweredOff', evidence, liveReadRecheckMs);
}

function ready(view: NodeView, limits: JudgeLimits): Judgement {
  const { lease } = view;
  if (lease === undefined) return judgement('healthy', 'ReadyWithoutLease', evidenceOf(view, limits));
  const recheckInMs = Math.max(1, silentAfterMs(lease, limits.leaseStaleForMs) - silentForMs(lease));
  const reason = lease.isGone === true ? 'ReadyWithoutLease' : 'ReadyAndRenewing';
  return judgement('healthy', reason, evidenceOf(view, limits), recheckInMs);
}

function judgement(
  verdict: Verdict,
  reason: VerdictReason,
  evidence: EvidenceItem[],
  recheckInMs = idleRecheckMs,
): Judgement {
  return { verdict, reason, evidence, recheckInMs };
}

function readyOf(view: NodeView): ConditionStatus | undefined {
  return view.node?.conditions.find((condition) => condition.type === 'Ready')?.status;
}

function evidenceOf(view: NodeView, limits: JudgeLimits): EvidenceItem[] {
  const condition = view.node?.conditions.find((one) => one.type === 'Ready');
  if (condition === undefined) return leaseEvidence(view, limits);
  // Silence says Unknown, and so does False: a kubelet that reports trouble is alive, its machine can still write.
  const says = condition.status === 'Unknown' ? 'Unknown' : 'Alive';
  const detail = `Ready is ${condition.status} (${condition.reason}) since ${condition.since}`;
  return [{ source: 'Condition', says, detail }, ...leaseEvidence(view, limits)];
}

function leaseEvidence(view: NodeView, limits: JudgeLimits): EvidenceItem[] {
  const { lease } = view;
  if (lease === undefined) return [{ source: 'Lease', says: 'Unknown', detail: 'no Lease' }];
  const how = lease.confirmed ? ', confirmed by a live read' : '';
  const what = lease.isGone === true ? 'deleted, ' : '';
  const detail = `${what}last renewed at ${lease.renewTime}, unchanged for ${seconds(lease.unchangedForMs)}${how}`;
  return [{ source: 'Lease', says: isSilent(lease, limits.leaseStaleForMs) ? 'Unknown' : 'Alive', detail }];
}

function seconds(ms: number): string {
  return Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'ever';
}
