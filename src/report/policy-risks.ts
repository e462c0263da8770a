/**
 * What is legal in a policy and can cost data or availability all the same, as an ordered list of questions: the worst
 * first, because its reason is the one that a dashboard shows.
 */
import { formatDuration, parseDuration } from '../api/duration.ts';
import { renewalMs, silentAfterMs } from '../api/life.ts';
import { actionOf } from '../api/policy-facts.ts';
import { RISKY } from '../api/reasons.ts';
import type { WrittenPolicy } from '../api/written.ts';

export type RiskReason = Exclude<
  keyof (typeof RISKY)['reason'],
  'NothingRisky' | 'OutletUnproven' | 'PortUnproven' | 'IdentityUnchecked'
>;

export interface Risk {
  reason: RiskReason;
  message: string;
}

/** kube-controller-manager detaches by force after this, whatever runs on the node. */
const forceDetachMs = 360_000;
/** No machine boots faster, firmware included. */
const shortestBootMs = 60_000;
/** After a remedy that restarts something, a node needs at least so long to show that it has helped. */
const shortestPeriodMs = 30_000;
const restarting = ['podTemplate', 'fence', 'deleteMachine'];

type Question = (spec: WrittenPolicy, nodeCount: number) => string | undefined;

const questions: readonly [RiskReason, Question][] = [
  ['NobodySelected', nobodySelected],
  ['NoStormLimit', noStormLimit],
  ['RiskAfterFailedFence', riskAfterFailedFence],
  ['RiskAccepted', riskAccepted],
  ['NoConcurrencyLimit', noConcurrencyLimit],
  ['KubernetesDetaches', kubernetesDetaches],
  ['LeaseTooEager', leaseTooEager],
  ['PeriodTooShort', periodTooShort],
  ['PowerBeforeIsolation', powerBeforeIsolation],
  ['NoProvisioner', noProvisioner],
  ['RemedyUnused', remedyUnused],
];

/** `nodeCount`: how many nodes the policy is in force for. */
export function risksOf(spec: WrittenPolicy, nodeCount: number): Risk[] {
  return questions.flatMap(([reason, ask]) => {
    const message = ask(spec, nodeCount);
    return message === undefined ? [] : [{ reason, message }];
  });
}

/** A label that nobody has, mostly by a slip: everything looks well, and nothing is protected. */
function nobodySelected({ allNodes }: WrittenPolicy, nodeCount: number): string | undefined {
  if (nodeCount > 0) return undefined;
  return allNodes === true
    ? 'it is in force for no node: another policy applies to each of them, or there are none'
    : 'it is in force for no node: none has the labels of its selector, or another policy applies to them';
}

function kindOfRemedy({ remedies = [] }: WrittenPolicy, name: string | undefined): string | undefined {
  const remedy = remedies.find((one) => one.name === name);
  return remedy && actionOf(remedy);
}

/** Whether one of its ladders fences. */
export function fences(spec: WrittenPolicy): boolean {
  return (spec.thresholds ?? []).some(({ remedies = [] }) =>
    remedies.some(({ name }) => kindOfRemedy(spec, name) === 'fence'),
  );
}

function noStormLimit(spec: WrittenPolicy, nodeCount: number): string | undefined {
  const limit = spec.storm?.maxUnresponsive;
  if (!fences(spec) || limit === undefined) return undefined;
  const isNone = typeof limit === 'number' ? nodeCount > 0 && limit >= nodeCount : limit === '100%';
  return isNone ? `storm.maxUnresponsive ${limit} lets every node be fenced at once: write 40%` : undefined;
}

function noConcurrencyLimit(spec: WrittenPolicy, nodeCount: number): string | undefined {
  const limit = spec.storm?.maxConcurrent ?? 1;
  if (!fences(spec) || nodeCount < 2 || limit < nodeCount) return undefined;
  return `storm.maxConcurrent ${limit} is no limit for ${nodeCount} nodes`;
}

function acceptsRisk({ release }: WrittenPolicy): string[] {
  const { podDeletion = 'do-nothing', volumeAttachmentRecovery = 'never' } = release ?? {};
  return [
    ...(podDeletion === 'do-nothing' ? [] : [`podDeletion ${podDeletion}`]),
    ...(volumeAttachmentRecovery === 'never' ? [] : [`volumeAttachmentRecovery ${volumeAttachmentRecovery}`]),
  ];
}

function riskAccepted(spec: WrittenPolicy): string | undefined {
  const accepted = acceptsRisk(spec);
  if (accepted.length === 0 || (spec.release?.provisioners ?? []).length === 0) return undefined;
  return `${accepted.join(' and ')} lets go without proof that nothing writes any more`;
}

function noProvisioner(spec: WrittenPolicy): string | undefined {
  const accepted = acceptsRisk(spec);
  if (accepted.length === 0 || (spec.release?.provisioners ?? []).length > 0) return undefined;
  return `${accepted.join(' and ')} has no effect without release.provisioners: list the drivers that it is about`;
}

function riskAfterFailedFence(spec: WrittenPolicy): string | undefined {
  if (spec.release?.riskAfterFailedFence !== true || riskAccepted(spec) === undefined) return undefined;
  return 'release.riskAfterFailedFence: a fence fails just when nobody knows what the machine is doing';
}

function kubernetesDetaches(spec: WrittenPolicy): string | undefined {
  const powerMs = parseDuration(spec.fence?.powerManagementAfter ?? '') ?? 0;
  for (const { condition, lease, remedies = [] } of spec.thresholds ?? []) {
    const at = remedies.findIndex(({ name }) => kindOfRemedy(spec, name) === 'fence');
    if (at === -1 || (condition !== undefined && condition.type !== 'Ready')) continue;
    const beforeMs = remedies.slice(0, at).reduce((sum, { period }) => sum + (parseDuration(period ?? '') ?? 0), 0);
    const totalMs = (parseDuration(condition?.for ?? lease?.staleFor ?? '') ?? 0) + beforeMs + powerMs;
    if (totalMs < forceDetachMs) continue;
    const minutes = Math.round(totalMs / 6000) / 10;
    return `a fence cuts the power ${minutes} minutes after the trouble begins, and kube-controller-manager may detach volumes by force after 6: shorten fence.powerManagementAfter or the periods before it`;
  }
  return undefined;
}

function leaseTooEager({ thresholds = [] }: WrittenPolicy): string | undefined {
  const usualMs = silentAfterMs(undefined);
  const eager = thresholds.find(({ lease }) => (parseDuration(lease?.staleFor ?? '') ?? Infinity) < usualMs);
  return (
    eager &&
    `lease.staleFor ${eager.lease?.staleFor} counts as ${formatDuration(usualMs)} where kubelets renew every ${formatDuration(renewalMs(undefined))}, as they do by default`
  );
}

function periodTooShort(spec: WrittenPolicy): string | undefined {
  const { bootTimeout } = spec.fence ?? {};
  if (fences(spec) && (parseDuration(bootTimeout ?? '') ?? Infinity) < shortestBootMs) {
    return `fence.bootTimeout ${bootTimeout} is shorter than a boot: the power would be cut again and again`;
  }
  for (const { remedies = [] } of spec.thresholds ?? []) {
    // What comes after the last one is a report, which hurts nobody.
    for (const { name, period } of remedies.slice(0, -1)) {
      const isShort = (parseDuration(period ?? '') ?? Infinity) < shortestPeriodMs;
      if (!isShort || !restarting.includes(kindOfRemedy(spec, name) ?? '')) continue;
      return `the period ${period} of ${name} is over before the node can show that it has helped`;
    }
  }
  return undefined;
}

function powerBeforeIsolation(spec: WrittenPolicy): string | undefined {
  const { isolateAfter = '', powerManagementAfter = '' } = spec.fence ?? {};
  const [isolateMs, powerMs] = [parseDuration(isolateAfter), parseDuration(powerManagementAfter)];
  if (!fences(spec) || isolateMs === undefined || powerMs === undefined || powerMs >= isolateMs) return undefined;
  return `fence.powerManagementAfter ${powerManagementAfter} comes before isolateAfter ${isolateAfter}: no node is ever isolated whose power can be cut`;
}

function remedyUnused({ remedies = [], thresholds = [] }: WrittenPolicy): string | undefined {
  const used = new Set(
    thresholds.flatMap((it) => [...(it.remedies ?? []), ...(it.recovery ?? [])]).map((it) => it.name),
  );
  const unused = remedies.map(({ name }) => name).filter((name) => !used.has(name));
  return unused.length === 0 ? undefined : `no ladder uses ${unused.join(', ')}`;
}
