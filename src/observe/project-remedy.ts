/** What is kept of the ladders of a policy. */
import { parseDuration } from '../api/duration.ts';
import { hash } from '../api/hash.ts';
import type { LadderThreshold, RemedyFacts } from '../api/release-view.ts';

export interface WireRemedies {
  thresholds?: {
    condition?: { type: string; status: string; for?: string };
    lease?: { staleFor?: string };
    remedies?: { name: string; period?: string; cleanResources?: boolean }[];
    recovery?: { name: string }[];
  }[];
  remedies?: ({ name: string } & Record<string, unknown>)[];
  fence?: {
    isolateAfter?: string;
    powerManagementAfter?: string;
    bootTimeout?: string;
    retries?: number;
    restarts?: number;
    machineRemoved?: boolean;
    kdump?: { enabled?: boolean; timeout?: string };
  };
  storm?: {
    maxUnresponsive?: number | string;
    maxConcurrent?: number;
    podsPerMinute?: number;
    skipWhen?: { type: string; status: string }[];
  };
}

/** Those that this version can run. */
const supported = ['fence', 'cordon', 'uncordon', 'drain', 'podTemplate', 'deleteMachine'];

/** Nothing, where the policy has no ladder, or lacks what the CRD fills in: then what was meant is not known. */
export function remedyOf({ thresholds = [], remedies = [], fence, storm }: WireRemedies): { remedy?: RemedyFacts } {
  const [isolateAfterMs, powerManagementAfterMs, bootTimeoutMs] = [
    fence?.isolateAfter,
    fence?.powerManagementAfter,
    fence?.bootTimeout,
  ].map((text) => parseDuration(text ?? ''));
  const { retries, restarts } = fence ?? {};
  const { maxUnresponsive, maxConcurrent, skipWhen = [] } = storm ?? {};
  if (thresholds.length === 0 || isolateAfterMs === undefined || powerManagementAfterMs === undefined) return {};
  if (bootTimeoutMs === undefined || retries === undefined || restarts === undefined) return {};
  if (maxUnresponsive === undefined || maxConcurrent === undefined) return {};
  const kinds = Object.fromEntries(
    remedies.map(({ name, ...rest }) => [name, Object.keys(rest).find((key) => rest[key] !== undefined) ?? '']),
  );
  const ladders = thresholds.flatMap((threshold) => thresholdOf(threshold, kinds) ?? []);
  const namesOf = (ladder: LadderThreshold): string[] => [
    ...ladder.remedies.map(({ name }) => name),
    ...ladder.recovery,
  ];
  const isSupported = (name: string): boolean => supported.includes(kinds[name] ?? '');
  return {
    remedy: {
      thresholds: ladders.filter((ladder) => namesOf(ladder).every(isSupported)),
      kinds,
      templates: Object.fromEntries(
        remedies.flatMap(({ name, podTemplate }) => (isObject(podTemplate) ? [[name, templateHash(podTemplate)]] : [])),
      ),
      fence: {
        isolateAfterMs,
        powerManagementAfterMs,
        bootTimeoutMs,
        retries,
        restarts,
        machineRemoved: fence?.machineRemoved ?? false,
      },
      storm: { maxUnresponsive, maxConcurrent, skipWhen },
      unsupported: [...new Set(ladders.flatMap(namesOf).filter((name) => !isSupported(name)))],
    },
  };
}

/** The templates from which the Jobs of remedies are made, as users wrote them, by their hash. */
export function templatesOf({ remedies = [] }: WireRemedies): Map<string, object> {
  return new Map(
    remedies.flatMap(({ podTemplate }) => (isObject(podTemplate) ? [[templateHash(podTemplate), podTemplate]] : [])),
  );
}

function templateHash(template: object): string {
  return hash(JSON.stringify(template));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

type WireThreshold = NonNullable<WireRemedies['thresholds']>[number];

function thresholdOf(
  { condition, lease, remedies = [], recovery = [] }: WireThreshold,
  kinds: RemedyFacts['kinds'],
): LadderThreshold | undefined {
  const forMs = parseDuration(condition?.for ?? '');
  const staleForMs = parseDuration(lease?.staleFor ?? '');
  const steps = remedies.map(({ name, period, cleanResources }) => ({
    name,
    periodMs: parseDuration(period ?? ''),
    // A power cut that frees nothing helps nobody; a Job says nothing about pods unless somebody says so for it.
    cleanResources: cleanResources ?? kinds[name] === 'fence',
  }));
  const known = steps.flatMap(({ periodMs, ...rest }) => (periodMs === undefined ? [] : [{ ...rest, periodMs }]));
  if (known.length !== steps.length) return undefined;
  const rest = { remedies: known, recovery: recovery.map(({ name }) => name) };
  if (condition !== undefined && forMs !== undefined) {
    const { type, status } = condition;
    return { key: `${type}=${status}`, condition: { type, status, forMs }, ...rest };
  }
  return lease === undefined || staleForMs === undefined ? undefined : { key: 'lease', lease: { staleForMs }, ...rest };
}
