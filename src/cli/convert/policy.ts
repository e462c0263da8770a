/** Makes a RemedyPolicy of the node remedy proposal's `Configuration`, or says line by line what has no counterpart. */
import { API_VERSION } from '../../api/common.ts';
import { parseObject } from '../../api/parse.ts';
import type { RemedyPolicyInput } from '../../api/remedy-policy.ts';
import { RemedyPolicySchema } from '../../api/remedy-policy.ts';
import type { Place } from '../../scenario/reader.ts';
import { File, isNothing, problem, ScenarioError, whereOf } from '../../scenario/reader.ts';
import type { Configuration, WrittenStep, WrittenThreshold } from './configuration.ts';
import { configurationOf } from './configuration.ts';

export interface Converted {
  policy: RemedyPolicyInput;
  /** What was understood otherwise than it is written, for the reader to confirm. */
  notes: string[];
}

/** Words that the document uses without defining them. */
const wellKnown: Readonly<Record<string, { remedy: object; meaning: string }>> = {
  recovery: { remedy: { uncordon: {} }, meaning: 'takes our own cordon away (uncordon)' },
  'storage-fence': { remedy: { fence: {} }, meaning: 'runs the fence configuration of the node (fence)' },
};

/** One policy for each document. `name`: of the policy, where the document does not give one. */
export function convert(fileName: string, text: string, name?: string): Converted[] {
  const file = new File(fileName, text);
  const places = file.documents
    .map((document): Place => ({ file, document, node: document.contents, path: '' }))
    .filter((place) => !isNothing(place));
  if (places.length === 0) throw new ScenarioError([`${fileName}: there is no document: write kind: Configuration`]);
  const converted = places.map((place) => convertOne(configurationOf(place), name));
  const taken = new Map<string, number>();
  for (const [index, { policy }] of converted.entries()) {
    const before = taken.get(policy.metadata.name);
    const place = places[index];
    if (before !== undefined && place !== undefined) {
      const called = `this and the document at ${whereOf(places[before] ?? place)} would both be called ${policy.metadata.name}`;
      problem(place, `${called}: write metadata: {name: …} into each`);
    }
    taken.set(policy.metadata.name, index);
  }
  return converted;
}

function convertOne(configuration: Configuration, name: string | undefined): Converted {
  const { thresholds, remedies, selector, place } = configuration;
  const notes: string[] = [];
  const policy = {
    apiVersion: API_VERSION,
    kind: 'RemedyPolicy' as const,
    metadata: { name: configuration.name ?? name ?? nameFor(selector.matchLabels ?? {}) },
    spec: {
      ...(isEmpty(selector) ? { allNodes: true } : { selector }),
      thresholds: thresholds.map((threshold) => thresholdOf(threshold, notes)),
      remedies: [
        ...remedies.map((remedy) => ({ name: remedy.name, podTemplate: remedy.podTemplate })),
        ...undefinedRemedies(configuration, notes),
      ],
    },
  };
  for (const step of thresholds.flatMap((threshold) => threshold.remedies)) {
    if (step.cleanResources !== true || !remedies.some((remedy) => remedy.name === step.name)) continue;
    notes.push(
      `${whereOf(step.place)}: ${step.name} cleans resources: its success counts as your word that nothing runs on the node any more, and is recorded as such`,
    );
  }
  const parsed = parseObject(RemedyPolicySchema, policy);
  if (!parsed.ok) {
    throw new ScenarioError(
      parsed.problems.map((message) => `${whereOf(placeOf(message, configuration) ?? place)}: ${message}`),
    );
  }
  return { policy: policy as RemedyPolicyInput, notes };
}

/** The document says nothing about which nodes: it is about all of them. */
function isEmpty({ matchLabels = {}, matchExpressions = [] }: Configuration['selector']): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/** The policies of several node types stand side by side, so each is named after the nodes that it is about. */
function nameFor(labels: Readonly<Record<string, string>>): string {
  const words = Object.values(labels)
    .join('-')
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-');
  const name = words.slice(0, 63).replaceAll(/^-+|-+$/g, '');
  return name === '' ? 'all-nodes' : name;
}

function thresholdOf({ type, status, period, remedies, recovery, place }: WrittenThreshold, notes: string[]): object {
  const isNotReady = type === 'Ready' && status === 'False';
  if (isNotReady) {
    notes.push(
      `${whereOf(place)}: Ready false became NotTrue: a node that is cut off or without power is Unknown, never False`,
    );
  }
  return {
    condition: {
      type,
      status: isNotReady ? 'NotTrue' : status,
      ...(period === undefined ? {} : { for: period }),
    },
    remedies: remedies.map(({ name, period: wait, cleanResources }) => ({
      name,
      ...(wait === undefined ? {} : { period: wait }),
      ...(cleanResources === undefined ? {} : { cleanResources }),
    })),
    ...(recovery.length === 0 ? {} : { recovery: recovery.map(({ name }) => ({ name })) }),
  };
}

function undefinedRemedies({ thresholds, remedies }: Configuration, notes: string[]): object[] {
  const defined = new Set(remedies.map(({ name }) => name));
  const steps = thresholds.flatMap((threshold) => [...threshold.remedies, ...threshold.recovery]);
  const problems: string[] = [];
  const added: object[] = [];
  for (const { name, place } of steps) {
    if (defined.has(name)) continue;
    const known = Object.hasOwn(wellKnown, name) ? wellKnown[name] : undefined;
    defined.add(name);
    if (known?.remedy !== undefined && 'fence' in known.remedy && isRecovery(place, thresholds)) {
      problems.push(
        `${whereOf(place)}: ${place.path}: ${name} is a fence, and recovery runs when the node is well again: write recovery there`,
      );
    } else if (known === undefined) {
      const words = Object.keys(wellKnown).join(' and ');
      problems.push(
        `${whereOf(place)}: ${place.path}: there is no remedy ${name}: add it to remedyConfigs, or correct the name (${words} need no entry)`,
      );
    } else {
      notes.push(`${whereOf(place)}: ${name} is not defined in the document: it ${known.meaning}`);
      added.push({ name, ...known.remedy });
    }
  }
  if (problems.length > 0) throw new ScenarioError(problems);
  return added;
}

function isRecovery(place: Place, thresholds: readonly WrittenThreshold[]): boolean {
  return thresholds.some(({ recovery }) => recovery.some((step) => step.place === place));
}

/** Where in the document that stands which the message is about, as near as is known. */
function placeOf(message: string, { thresholds, remedies }: Configuration): Place | undefined {
  const [, list, index, inner, position] =
    /^spec\.(thresholds|remedies)\[(\d+)\](?:\.(remedies|recovery)\[(\d+)\])?/.exec(message) ?? [];
  if (list === 'remedies') return remedies[Number(index)]?.place;
  if (list !== 'thresholds') return undefined;
  const threshold = thresholds[Number(index)];
  const steps: WrittenStep[] | undefined = inner === undefined ? undefined : threshold?.[inner as 'remedies'];
  return steps?.[Number(position)]?.place ?? threshold?.place;
}
