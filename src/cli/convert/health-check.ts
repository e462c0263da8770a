/** What the health checks of other operators have in common: conditions with times, limits, selectors, references. */
import { API_VERSION } from '../../api/common.ts';
import type { NodeSelector } from '../../api/common.ts';
import { formatDuration } from '../../api/duration.ts';
import { RemedyPolicySchema } from '../../api/remedy-policy.ts';
import type { Place, Read } from '../../scenario/reader.ts';
import { duration, fields, list, oneOf, plain, problem, record, scalar, text, textMap } from '../../scenario/reader.ts';
import { nameOf } from './documents.ts';
import type { Manifest, Nodes, Notes, Settings } from './result.ts';
import { checked, modeOf } from './result.ts';

export interface Unhealthy {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  forMs: number;
  place: Place;
}

export interface Reference {
  kind: string;
  name: string;
  namespace?: string;
  periodMs?: number;
  place: Place;
}

export interface Step {
  name: string;
  period?: string;
  cleanResources?: boolean;
}

/** Milliseconds. A bare 0 is a duration to Go, and the usual way to switch a check off. */
export const time: Read<number> = (place) => (scalar(place) === '0' ? 0 : duration(place));

/** A scalar as text, the empty one too. */
export const anyText: Read<string> = (place) => {
  const value = scalar(place);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return problem(place, 'expected a text');
};

/** The whole object; metadata and status are read elsewhere or not at all. */
export function documentOf<T extends object>(spec: Read<T>): Read<T> {
  const read = record<{ apiVersion: string; kind: string; metadata?: unknown; spec: T; status?: unknown }>(
    { apiVersion: text, kind: text, metadata: plain, spec, status: plain },
    ['spec'],
  );
  return (place) => read(place).spec;
}

export const labelSelector: Read<NodeSelector> = fields<{
  matchLabels?: Record<string, string>;
  matchExpressions?: NonNullable<NodeSelector['matchExpressions']>;
}>({
  matchLabels: textMap(anyText),
  matchExpressions: list(
    record({ key: text, operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist']), values: list(anyText) }, [
      'key',
      'operator',
    ]),
  ),
});

/** `timeField`: how this operator calls the time, and how it writes it. */
export function unhealthyOf(timeField: string, time: Read<number>): Read<Unhealthy> {
  return (place) => {
    const read = record<Record<string, unknown>>(
      { type: text, status: oneOf(['True', 'False', 'Unknown']), [timeField]: time },
      ['type', 'status', timeField],
    )(place);
    return { type: read['type'], status: read['status'], forMs: read[timeField], place } as Unhealthy;
  };
}

export const reference: Read<Reference> = (place) => {
  const read = record<{ kind: string; name: string; namespace?: string; apiVersion?: string; uid?: unknown }>(
    { kind: text, name: text, namespace: text, apiVersion: text, uid: plain },
    ['kind', 'name'],
  )(place);
  const { kind, name, namespace } = read;
  return { kind, name, ...(namespace === undefined ? {} : { namespace }), place };
};

/** A number of nodes or a percentage. */
export const share: Read<number | string> = (place) => {
  const value = anyText(place);
  if (/^\d{1,9}$/.test(value)) return Number(value);
  return /^(?:100|\d{1,2})%$/.test(value)
    ? value
    : problem(place, 'write a number of nodes, or a percentage up to 100%');
};

/** False and Unknown for the same time are one ladder, or a node that goes from one to the other would climb two. */
export function thresholdsOf(unhealthy: readonly Unhealthy[], remedies: readonly Step[], notes: Notes): object[] {
  const isTwin = (one: Unhealthy, other: Unhealthy): boolean =>
    one.type === other.type && one.forMs === other.forMs && one.status !== 'True' && other.status !== 'True';
  return unhealthy.flatMap((one, index) => {
    const twins = unhealthy.filter((other) => isTwin(one, other));
    if (twins.length > 1 && unhealthy.findIndex((other) => isTwin(one, other)) !== index) return [];
    const isBoth = twins.length > 1;
    if (one.type === 'Ready' && one.status === 'False' && !unhealthy.some(isReadyUnknown)) {
      notes.add(
        one.place,
        'a node without power is Unknown and never False, so that this overlooks it: write status: NotTrue',
      );
    }
    if (one.forMs === 0) notes.add(one.place, '0s became 1s: what has not lasted at all is no trouble yet');
    const condition = {
      type: one.type,
      status: isBoth ? 'NotTrue' : one.status,
      for: one.forMs === 0 ? '1s' : formatDuration(one.forMs),
    };
    return [{ condition, remedies: remedies.map((step) => ({ ...step })) }];
  });
}

function isReadyUnknown({ type, status }: Unhealthy): boolean {
  return type === 'Ready' && status === 'Unknown';
}

export interface PolicyParts {
  place: Place;
  nodes: Nodes;
  mode?: string;
  thresholds: readonly object[];
  remedies: readonly object[];
  retries?: number;
  maxUnresponsive?: number | string;
  cooldown?: string;
  soak?: string;
}

/** Health checks act as soon as the time of a condition is over; a fence of ours would wait once more. */
const atOnce = { isolateAfter: '0s', powerManagementAfter: '0s' };

export function policyOf(parts: PolicyParts, settings: Settings, notes: Notes): Manifest {
  const { place, nodes, thresholds, remedies, retries, maxUnresponsive, cooldown, soak } = parts;
  const name = nameOf(place) ?? settings.name ?? problem(place, 'it has no name: write metadata: {name: …}');
  const policy = {
    apiVersion: API_VERSION,
    kind: 'RemedyPolicy',
    metadata: { name },
    spec: {
      ...nodes,
      mode: modeOf(place, settings, notes, parts.mode),
      thresholds,
      remedies,
      fence: { ...atOnce, ...(retries === undefined ? {} : { retries }) },
      ...(maxUnresponsive === undefined
        ? {}
        : { storm: { maxUnresponsive, ...(cooldown === undefined ? {} : { cooldown }) } }),
      ...(soak === undefined ? {} : { return: { soak } }),
    },
  };
  return checked(RemedyPolicySchema, policy, place);
}

export function noteOfCount(place: Place, limit: number | string, notes: Notes): void {
  const counted = `storm.maxUnresponsive: ${limit} counts every node of the cluster, and those of each zone`;
  notes.add(place, `${counted}, not only the nodes of this policy; a percentage is rounded down`);
}
