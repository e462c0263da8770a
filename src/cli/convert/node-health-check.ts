/** A NodeHealthCheck of medik8s as a RemedyPolicy. */
import type { NodeSelector } from '../../api/common.ts';
import { formatDuration } from '../../api/duration.ts';
import type { Place, Read } from '../../scenario/reader.ts';
import { list, problem, record, scalar, text } from '../../scenario/reader.ts';
import type { Reference, Unhealthy } from './health-check.ts';
import {
  documentOf,
  labelSelector,
  noteOfCount,
  policyOf,
  reference,
  share,
  thresholdsOf,
  unhealthyOf,
  time,
} from './health-check.ts';
import { valueAt } from './documents.ts';
import type { FenceTemplate } from './fence-template.ts';
import { ladderOf } from './remediations.ts';
import type { Manifest, Nodes, Notes, Settings } from './result.ts';
import { isEmpty } from './result.ts';

interface Written {
  selector?: NodeSelector;
  unhealthyConditions?: Unhealthy[];
  minHealthy?: number | string;
  maxUnhealthy?: number | string;
  stormCooldownDuration?: number;
  remediationTemplate?: Reference;
  escalatingRemediations?: (Reference & { order: number })[];
  pauseRequests?: string[];
  healthyDelay?: number;
}

const escalation: Read<Reference & { order: number }> = (place) => {
  const { remediationTemplate, order, timeout } = record<{
    remediationTemplate: Reference;
    order: number;
    timeout: number;
  }>({ remediationTemplate: reference, order: (at) => Number(text(at)), timeout: time }, [
    'remediationTemplate',
    'order',
    'timeout',
  ])(place);
  return { ...remediationTemplate, order, periodMs: timeout };
};

const read = documentOf<Written>(
  record<Written>(
    {
      selector: labelSelector,
      unhealthyConditions: list(unhealthyOf('duration', time)),
      minHealthy: share,
      maxUnhealthy: share,
      stormCooldownDuration: time,
      remediationTemplate: reference,
      escalatingRemediations: list(escalation),
      pauseRequests: list(text),
      healthyDelay: (place) => {
        if (!String(scalar(place)).startsWith('-')) return time(place);
        return problem(
          place,
          'a node that is well comes back by itself: remove it, and use kubectl cordon where needed',
        );
      },
    },
    [],
  ),
);

export interface HealthCheck {
  policy: Manifest;
  nodes: Nodes;
  templates: readonly FenceTemplate[];
  /** Where the nodes are chosen. */
  place: Place;
}

/** What the API server writes where nothing is written. */
const usual: readonly Pick<Unhealthy, 'type' | 'status' | 'forMs'>[] = [
  { type: 'Ready', status: 'False', forMs: 300_000 },
  { type: 'Ready', status: 'Unknown', forMs: 300_000 },
];

export function convertNodeHealthCheck(
  place: Place,
  known: ReadonlyMap<string, FenceTemplate>,
  settings: Settings,
  notes: Notes,
): HealthCheck {
  const written = read(place);
  const specPlace = valueAt(place, 'spec') ?? place;
  const unhealthy = written.unhealthyConditions ?? usual.map((one) => ({ ...one, place: specPlace }));
  if (unhealthy.length === 0) problem(specPlace, 'nothing counts as trouble: write unhealthyConditions');
  const { steps, remedies, templates } = ladderOf(referencesOf(written, specPlace), known, notes);
  const nodes = nodesOf(written.selector ?? {}, specPlace, notes);
  const isPaused = (written.pauseRequests ?? []).length > 0;
  if (isPaused) {
    const at = valueAt(specPlace, 'pauseRequests') ?? specPlace;
    notes.add(at, 'became mode: Paused: nothing is decided until you write Enforce');
  }
  const retries = Math.max(...templates.map((template) => template.retries ?? -1));
  const policy = policyOf(
    {
      place,
      nodes,
      ...(isPaused ? { mode: 'Paused' } : {}),
      thresholds: thresholdsOf(unhealthy, steps, notes),
      remedies,
      maxUnresponsive: limitOf(written, specPlace, notes),
      ...(written.stormCooldownDuration === undefined
        ? {}
        : { cooldown: formatDuration(written.stormCooldownDuration) }),
      ...(retries < 0 ? {} : { retries }),
      ...(written.healthyDelay === undefined ? {} : { soak: formatDuration(written.healthyDelay) }),
    },
    settings,
    notes,
  );
  const both = 'as long as it is there, two operators switch the same machines';
  notes.add(place, `delete this NodeHealthCheck before the policy may act (mode: Enforce): ${both}`);
  return { policy, nodes, templates, place: valueAt(specPlace, 'selector') ?? specPlace };
}

function referencesOf({ remediationTemplate, escalatingRemediations = [] }: Written, place: Place): Reference[] {
  if (remediationTemplate !== undefined && escalatingRemediations.length > 0) {
    problem(place, 'remediationTemplate and escalatingRemediations exclude each other: remove one of them');
  }
  const all = remediationTemplate === undefined ? [...escalatingRemediations] : [remediationTemplate];
  if (all.length === 0) problem(place, 'nothing is done about it: write remediationTemplate');
  return remediationTemplate === undefined
    ? escalatingRemediations.toSorted((one, other) => one.order - other.order)
    : all;
}

function nodesOf(selector: NodeSelector, place: Place, notes: Notes): Nodes {
  if (!isEmpty(selector)) return { selector };
  notes.add(place, 'the empty selector became allNodes: true, which is every node, the control plane included');
  return { allNodes: true };
}

function limitOf({ minHealthy, maxUnhealthy }: Written, place: Place, notes: Notes): number | string {
  if (minHealthy !== undefined && maxUnhealthy !== undefined) {
    problem(place, 'minHealthy and maxUnhealthy say the same: remove one of them');
  }
  const limit = maxUnhealthy ?? complement(minHealthy ?? '51%', place);
  if (minHealthy === undefined && maxUnhealthy === undefined) {
    notes.add(place, 'without minHealthy and maxUnhealthy, minHealthy was 51%');
  }
  noteOfCount(valueAt(place, 'minHealthy') ?? valueAt(place, 'maxUnhealthy') ?? place, limit, notes);
  return limit;
}

function complement(minHealthy: number | string, place: Place): string {
  if (minHealthy === 0) return '100%';
  if (typeof minHealthy === 'string') return `${100 - Number.parseInt(minHealthy, 10)}%`;
  const at = valueAt(place, 'minHealthy') ?? place;
  const instead = `write maxUnhealthy, the number of nodes less ${minHealthy}, or a percentage`;
  return problem(at, `how many may be silent depends on how many there are: ${instead}`);
}
