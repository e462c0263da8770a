/** Policies of ours as they were written before: `nodeSelector`, and fields that did nothing. */
import { API_VERSION } from '../../api/common.ts';
import { DrainPolicySchema } from '../../api/drain-policy.ts';
import { RemedyPolicySchema } from '../../api/remedy-policy.ts';
import type { Place } from '../../scenario/reader.ts';
import { entriesOf, plain, problem } from '../../scenario/reader.ts';
import { nameOf, valueAt } from './documents.ts';
import { labelSelector } from './health-check.ts';
import type { Manifest, Nodes, Notes, Settings } from './result.ts';
import { checked, isEmpty, placeAt } from './result.ts';

type Fields = Record<string, unknown>;

/** Could be written, true or false, and nothing was done on their account. */
const idle = ['fence.powerWatch'];
const applied = 'kubectl.kubernetes.io/last-applied-configuration';

export function convertOwn(kind: string, place: Place, settings: Settings, notes: Notes): Manifest {
  const specPlace = valueAt(place, 'spec') ?? problem(place, 'spec must be given');
  const { nodeSelector, ...rest } = plain(specPlace) as Fields;
  const isOld = nodeSelector !== undefined;
  const spec: Fields = { ...(isOld ? nodesOf(specPlace, notes) : {}), ...rest };
  if (isOld && ('selector' in rest || 'allNodes' in rest)) {
    problem(specPlace, 'nodeSelector is the older name of selector: remove one of them');
  }
  if (kind === 'RemedyPolicy') {
    if (isOld) keepResources(spec, specPlace, notes);
    for (const path of idle) withoutIdle(spec, path, specPlace, notes);
    if (settings.mode !== undefined) spec['mode'] = settings.mode;
  }
  const manifest = { apiVersion: API_VERSION, kind, metadata: metadataOf(place), spec };
  const schema = kind === 'RemedyPolicy' ? RemedyPolicySchema : DrainPolicySchema;
  return checked(schema, manifest, place, (message) => placeAt(place, message.split(': ', 1)[0] ?? ''));
}

function nodesOf(specPlace: Place, notes: Notes): Nodes {
  const place = valueAt(specPlace, 'nodeSelector') ?? problem(specPlace, 'nodeSelector is empty: write selector');
  for (const { key, keyPlace } of entriesOf(place)) {
    if (key === 'matchLabels' || key === 'matchExpressions') continue;
    const what = `${key} was never read, so that the policy was about every node`;
    problem(keyPlace, `${what}: write selector: {matchLabels: {…}}, or allNodes: true if that is wanted`);
  }
  const selector = labelSelector(place);
  if (!isEmpty(selector)) return { selector };
  notes.add(place, 'the empty selector became allNodes: true');
  return { allNodes: true };
}

interface WrittenLadder {
  remedies?: ({ name?: unknown; cleanResources?: boolean } & Fields)[];
}

/** Unsaid it meant no, and means yes now for a fence. */
function keepResources(spec: Fields, place: Place, notes: Notes): void {
  const { thresholds, remedies } = spec as { thresholds?: WrittenLadder[]; remedies?: Fields[] };
  const fences = new Set((remedies ?? []).filter((one) => one['fence'] !== undefined).map((one) => one['name']));
  for (const [index, { remedies: steps = [] }] of (thresholds ?? []).entries()) {
    for (const [position, step] of steps.entries()) {
      if (step.cleanResources !== undefined || !fences.has(step.name)) continue;
      step.cleanResources = false;
      const at = placeAt(place, `thresholds[${index}].remedies[${position}]`);
      notes.add(
        at,
        'cleanResources was false unless it was written, and is written now: true is what a fence is usually for',
      );
    }
  }
}

function withoutIdle(spec: Fields, path: string, place: Place, notes: Notes): void {
  const [outer = '', inner = ''] = path.split('.');
  const group = spec[outer];
  if (typeof group !== 'object' || group === null || !(inner in group)) return;
  const { [inner]: value, ...rest } = group as Fields;
  if (typeof value !== 'boolean') return;
  if (Object.keys(rest).length === 0) Reflect.deleteProperty(spec, outer);
  else spec[outer] = rest;
  notes.add(placeAt(place, path), 'left out: it had no effect, and is written otherwise now');
}

function metadataOf(place: Place): { name: string } {
  const name = nameOf(place) ?? problem(place, 'it has no name: write metadata: {name: …}');
  const metadata = plain(valueAt(place, 'metadata') ?? place) as { labels?: object; annotations?: Fields };
  const { [applied]: _, ...annotations } = metadata.annotations ?? {};
  return {
    name,
    ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}
