/** Makes a RemedyPolicy of the node remedy proposal's `Configuration`, or says line by line what has no counterpart. */
import { API_VERSION } from '../../api/common.ts';
import { RemedyPolicySchema } from '../../api/remedy-policy.ts';
import type { Place } from '../../scenario/reader.ts';
import { ScenarioError, whereOf } from '../../scenario/reader.ts';
import type { Configuration, WrittenStep, WrittenThreshold } from './configuration.ts';
import { configurationOf } from './configuration.ts';
import type { Manifest, Notes, Settings } from './result.ts';
import { checked, isEmpty, modeOf } from './result.ts';

/** Words that the document uses without defining them. */
const wellKnown: Readonly<Record<string, { remedy: object; meaning: string }>> = {
  recovery: { remedy: { uncordon: {} }, meaning: 'takes our own cordon away (uncordon)' },
  'storage-fence': { remedy: { fence: {} }, meaning: 'runs the fence configuration of the node (fence)' },
};

export function convertConfiguration(written: Place, settings: Settings, notes: Notes): Manifest {
  const configuration = configurationOf(written);
  const { thresholds, remedies, selector, place } = configuration;
  const added = undefinedRemedies(configuration, notes);
  const fences = new Set(added.filter((one) => 'fence' in one).map(({ name }) => name));
  const policy = {
    apiVersion: API_VERSION,
    kind: 'RemedyPolicy',
    metadata: { name: configuration.name ?? settings.name ?? nameFor(selector.matchLabels ?? {}) },
    spec: {
      // A document that says nothing about nodes is about all of them.
      ...(isEmpty(selector) ? { allNodes: true } : { selector }),
      mode: modeOf(place, settings, notes),
      thresholds: thresholds.map((threshold) => thresholdOf(threshold, fences, notes)),
      remedies: [...remedies.map((remedy) => ({ name: remedy.name, podTemplate: remedy.podTemplate })), ...added],
    },
  };
  for (const step of thresholds.flatMap((threshold) => threshold.remedies)) {
    if (step.cleanResources !== true || !remedies.some((remedy) => remedy.name === step.name)) continue;
    notes.add(
      step.place,
      `${step.name} cleans resources: its success counts as your word that nothing runs on the node any more, and is recorded as such`,
    );
  }
  return checked(RemedyPolicySchema, policy, place, (message) => placeOf(message, configuration));
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

function thresholdOf(
  { type, status, period, remedies, recovery, place }: WrittenThreshold,
  fences: ReadonlySet<string>,
  notes: Notes,
): object {
  const isNotReady = type === 'Ready' && status === 'False';
  if (isNotReady) {
    notes.add(place, 'Ready false became NotTrue: a node that is cut off or without power is Unknown, never False');
  }
  return {
    condition: {
      type,
      status: isNotReady ? 'NotTrue' : status,
      ...(period === undefined ? {} : { for: period }),
    },
    remedies: remedies.map(({ name, period: wait, cleanResources, place: at }) => {
      // Unsaid, the document means no, and a fence of ours yes.
      const isKept = cleanResources === undefined && fences.has(name);
      if (isKept) notes.add(at, `${name} does not say clean-resource: it frees nothing, and pods and volumes stay`);
      const clean = isKept ? false : cleanResources;
      return {
        name,
        ...(wait === undefined ? {} : { period: wait }),
        ...(clean === undefined ? {} : { cleanResources: clean }),
      };
    }),
    ...(recovery.length === 0 ? {} : { recovery: recovery.map(({ name }) => ({ name })) }),
  };
}

function undefinedRemedies({ thresholds, remedies }: Configuration, notes: Notes): { name: string }[] {
  const defined = new Set(remedies.map(({ name }) => name));
  const steps = thresholds.flatMap((threshold) => [...threshold.remedies, ...threshold.recovery]);
  const problems: string[] = [];
  const added: { name: string }[] = [];
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
      notes.add(place, `${name} is not defined in the document: it ${known.meaning}`);
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
