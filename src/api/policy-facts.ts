/**
 * The one place where a stored policy becomes what the rules go by: durations in milliseconds, defaults resolved, and
 * nothing at all where something is missing that the CRD fills in. Then the CRD is older than the operator, and may have
 * dropped the very field that was to hold it back.
 */
import { hash } from './hash.ts';
import { parseDuration } from './duration.ts';
import type { DrainPolicyFacts } from './drain-view.ts';
import { usesOf } from './forbidden.ts';
import { choiceOf, NOBODY } from './node-choice.ts';
import { REMEDY_ACTIONS, REMEDY_DEFAULTS, STORAGE_SYSTEMS } from './policy-defaults.ts';
import type { AlarmFacts, LadderThreshold, OwnerKind, PolicyFacts, RemedyFacts, SoakFacts } from './release-view.ts';
import { thresholdKey } from './threshold-key.ts';
import type { StoredObject, WrittenDrainPolicy, WrittenPolicy } from './written.ts';
import { ownOf } from './own.ts';

const msOf = (text: string | undefined): number | undefined => parseDuration(text ?? '');

/** Where no policy says otherwise. */
export const DEFAULT_SOAK: SoakFacts = {
  soakMs: msOf(REMEDY_DEFAULTS.return.soak) ?? 0,
  backoff: REMEDY_DEFAULTS.return.backoff,
  maxSoakMs: msOf(REMEDY_DEFAULTS.return.maxSoak) ?? 0,
};
export const DEFAULT_FENCE: RemedyFacts['fence'] = {
  isolateAfterMs: msOf(REMEDY_DEFAULTS.fence.isolateAfter) ?? 0,
  powerManagementAfterMs: msOf(REMEDY_DEFAULTS.fence.powerManagementAfter) ?? 0,
  bootTimeoutMs: msOf(REMEDY_DEFAULTS.fence.bootTimeout) ?? 0,
  retries: REMEDY_DEFAULTS.fence.retries,
  restarts: REMEDY_DEFAULTS.fence.restarts,
  machineRemoved: REMEDY_DEFAULTS.fence.machineRemoved,
  powerOnFoundOff: REMEDY_DEFAULTS.fence.powerOnFoundOff,
  markOutOfService: REMEDY_DEFAULTS.fence.markOutOfService,
};
export const DEFAULT_STORM: RemedyFacts['storm'] = {
  maxUnresponsive: REMEDY_DEFAULTS.storm.maxUnresponsive,
  maxConcurrent: REMEDY_DEFAULTS.storm.maxConcurrent,
  cooldownMs: msOf(REMEDY_DEFAULTS.storm.cooldown) ?? 0,
};

/** Undefined: it is not in force. */
export function policyFacts({ metadata, spec = {} }: StoredObject<WrittenPolicy>): PolicyFacts | undefined {
  const choice = choiceOf(spec, metadata);
  const { mode, release } = spec;
  const soakMs = msOf(spec.return?.soak);
  if (choice === undefined || mode === undefined || release === undefined || soakMs === undefined) return undefined;
  const { podDeletion, volumeAttachmentRecovery } = release;
  if (podDeletion === undefined || volumeAttachmentRecovery === undefined) return undefined;
  const uses = usesOf(spec);
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    generation: metadata.generation ?? 0,
    ...choice,
    mode,
    podDeletion,
    provisioners: release.provisioners ?? [],
    owners: (release.owners ?? []).flatMap((owner): OwnerKind | [] => ownerOf(owner) ?? []),
    volumeAttachmentRecovery,
    safeDetach: release.safeDetach ?? [],
    assertions: release.assertions ?? [],
    budgets: release.budgets ?? REMEDY_DEFAULTS.release.budgets,
    riskAfterFailedFence: release.riskAfterFailedFence ?? REMEDY_DEFAULTS.release.riskAfterFailedFence,
    soakMs,
    backoff: spec.return?.backoff ?? DEFAULT_SOAK.backoff,
    maxSoakMs: msOf(spec.return?.maxSoak) ?? DEFAULT_SOAK.maxSoakMs,
    alarms: (spec.alarms ?? []).flatMap((alarm): AlarmFacts | [] => alarmOf(alarm) ?? []),
    podsPerMinute: spec.storm?.podsPerMinute ?? REMEDY_DEFAULTS.storm.podsPerMinute,
    ...kdumpOf(spec.fence?.kdump),
    ...remedyOf(spec),
    ...(uses.length === 0 ? {} : { uses }),
  };
}

type Part<Name extends keyof WrittenPolicy> = NonNullable<WrittenPolicy[Name]>;
type WrittenThreshold = Part<'thresholds'>[number];
type WrittenRemedy = Part<'remedies'>[number];

function ownerOf({ group, kind }: NonNullable<Part<'release'>['owners']>[number]): OwnerKind | undefined {
  return group === undefined || kind === undefined ? undefined : { group, kind };
}

function alarmOf({ condition, count, within }: Part<'alarms'>[number]): AlarmFacts | undefined {
  const withinMs = msOf(within);
  if (condition === undefined || count === undefined || withinMs === undefined) return undefined;
  return { condition, count, withinMs };
}

function kdumpOf(kdump: Part<'fence'>['kdump']): Pick<PolicyFacts, 'kdump'> {
  const timeoutMs = msOf(kdump?.timeout);
  return kdump?.enabled === true && timeoutMs !== undefined ? { kdump: { timeoutMs } } : {};
}

/** Nothing, where the policy has no ladder, or lacks what the CRD fills in. */
export function remedyOf({ thresholds = [], remedies = [], fence, storm }: WrittenPolicy): Pick<PolicyFacts, 'remedy'> {
  const [limits, brakes] = [fenceOf(fence), stormOf(storm)];
  if (thresholds.length === 0 || limits === undefined || brakes === undefined) return {};
  const kinds = Object.fromEntries(remedies.map((remedy) => [remedy.name ?? '', actionOf(remedy) ?? '']));
  const ladders = thresholds.flatMap((threshold): LadderThreshold | [] => ladderOf(threshold, kinds) ?? []);
  const namesOf = ({ remedies: rungs, recovery }: LadderThreshold): string[] => [
    ...rungs.map(({ name }) => name),
    ...recovery,
  ];
  const canRun = (name: string): boolean => (ownOf(kinds, name) ?? '') !== '';
  return {
    remedy: {
      thresholds: ladders.filter((ladder) => namesOf(ladder).every(canRun)),
      kinds,
      templates: Object.fromEntries(
        remedies.flatMap(({ name = '', podTemplate }) =>
          podTemplate === undefined ? [] : [[name, templateHash(podTemplate)]],
        ),
      ),
      fence: limits,
      storm: brakes,
      unsupported: [...new Set(ladders.flatMap(namesOf).filter((name) => !canRun(name)))],
    },
  };
}

/** The templates from which the Jobs of remedies are made, as users wrote them, by their hash. */
export function templatesOf({ remedies = [] }: WrittenPolicy): Map<string, object> {
  return new Map(
    remedies.flatMap(({ podTemplate }) =>
      podTemplate === undefined ? [] : [[templateHash(podTemplate), podTemplate]],
    ),
  );
}

function templateHash(template: object): string {
  return hash(JSON.stringify(template));
}

/** Undefined: it is of a version that can do more than this one. */
export function actionOf(remedy: WrittenRemedy): (typeof REMEDY_ACTIONS)[number] | undefined {
  return REMEDY_ACTIONS.find((action) => remedy[action] !== undefined);
}

function fenceOf(fence: WrittenPolicy['fence']): RemedyFacts['fence'] | undefined {
  const { retries, restarts, machineRemoved = DEFAULT_FENCE.machineRemoved } = fence ?? {};
  const { powerOnFoundOff = DEFAULT_FENCE.powerOnFoundOff } = fence ?? {};
  const { markOutOfService = DEFAULT_FENCE.markOutOfService } = fence ?? {};
  const isolateAfterMs = msOf(fence?.isolateAfter);
  const powerManagementAfterMs = msOf(fence?.powerManagementAfter);
  const bootTimeoutMs = msOf(fence?.bootTimeout);
  if (isolateAfterMs === undefined || powerManagementAfterMs === undefined || bootTimeoutMs === undefined) {
    return undefined;
  }
  if (retries === undefined || restarts === undefined) return undefined;
  const limits = { isolateAfterMs, powerManagementAfterMs, bootTimeoutMs };
  const everyMs = msOf(fence?.powerWatch?.every);
  const watch = everyMs === undefined ? {} : { powerWatch: { everyMs } };
  return { ...limits, retries, restarts, machineRemoved, powerOnFoundOff, markOutOfService, ...watch };
}

function stormOf(storm: WrittenPolicy['storm']): RemedyFacts['storm'] | undefined {
  const { maxUnresponsive, maxConcurrent, skipWhen = [] } = storm ?? {};
  if (maxUnresponsive === undefined || maxConcurrent === undefined) return undefined;
  return {
    maxUnresponsive,
    maxConcurrent,
    // A policy that was stored before there was a cooldown has none written.
    cooldownMs: msOf(storm?.cooldown) ?? DEFAULT_STORM.cooldownMs,
    skipWhen: skipWhen.flatMap(({ type, status }) =>
      type === undefined || status === undefined ? [] : [{ type, status }],
    ),
  };
}

/** Undefined: a period is missing, or nothing says when it begins; what was meant is not known. */
function ladderOf(threshold: WrittenThreshold, kinds: RemedyFacts['kinds']): LadderThreshold | undefined {
  const { condition, lease, remedies = [], recovery = [] } = threshold;
  const steps = remedies.flatMap(({ name = '', period, cleanResources }) => {
    const periodMs = msOf(period);
    // A power cut that frees nothing helps nobody; a Job says nothing about pods unless somebody says so for it.
    const cleans = cleanResources ?? ownOf(kinds, name) === 'fence';
    return periodMs === undefined ? [] : [{ name, periodMs, cleanResources: cleans }];
  });
  if (steps.length !== remedies.length) return undefined;
  const rest = { key: thresholdKey(threshold), remedies: steps, recovery: recovery.map(({ name = '' }) => name) };
  const [forMs, staleForMs] = [msOf(condition?.for), msOf(lease?.staleFor)];
  if (condition?.type !== undefined && condition.status !== undefined && forMs !== undefined) {
    return { ...rest, condition: { type: condition.type, status: condition.status, forMs } };
  }
  return condition !== undefined || staleForMs === undefined ? undefined : { ...rest, lease: { staleForMs } };
}

/** Undefined: it is not in force. */
export function drainPolicyFacts({
  metadata,
  spec = {},
}: StoredObject<WrittenDrainPolicy>): DrainPolicyFacts | undefined {
  const { policy, storage, namespace, enforcement } = spec;
  // One of before `selector` guards nobody, and must not go on saying that it does.
  const choice = choiceOf(spec, metadata) ?? { selector: NOBODY, priority: 0, createdAt: '' };
  const isKnown = storage !== undefined && STORAGE_SYSTEMS.includes(storage);
  if (!isKnown || policy === undefined) return undefined;
  if (namespace === undefined || enforcement === undefined) return undefined;
  const { name, uid = '', generation = 0 } = metadata;
  return { name, uid, generation, ...choice, policy, namespace, enforcement };
}
