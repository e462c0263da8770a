/**
 * Reads the `Configuration` document of the node remedy proposal as it is written there: numbered keys for the rungs of a
 * ladder, lists of maps with one key each, two spellings of clean-resource, `env` and `configmaps` by name alone.
 */
import type { NodeSelector } from '../../api/common.ts';
import { nearest } from '../../api/nearest.ts';
import type { Entry, Place, Read } from '../../scenario/reader.ts';
import {
  duration,
  entriesOf,
  flag,
  isNothing,
  list,
  plain,
  problem,
  record,
  resolved,
  scalar,
  ScenarioError,
  text,
  unknownKey,
} from '../../scenario/reader.ts';
import { isMap, isSeq } from 'yaml';
import { parseSelector } from './selector.ts';

export interface WrittenStep {
  name: string;
  period?: string;
  cleanResources?: boolean;
  place: Place;
}

export interface WrittenThreshold {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  period?: string;
  remedies: WrittenStep[];
  recovery: WrittenStep[];
  place: Place;
}

export interface WrittenRemedy {
  name: string;
  podTemplate: object;
  place: Place;
}

export interface Configuration {
  name?: string;
  selector: NodeSelector;
  thresholds: WrittenThreshold[];
  remedies: WrittenRemedy[];
  place: Place;
}

const rung = /^remedy([1-9]\d*)$/;
const cleanings = ['clean-resource', 'clean-resourece'];

export const configurationOf: Read<Configuration> = (place) => {
  const read = record<{
    apiVersion: string;
    kind: string;
    metadata?: { name?: string };
    nodeSelector?: NodeSelector;
    thresholdConfigs: WrittenThreshold[];
    remedyConfigs?: WrittenRemedy[];
  }>(
    {
      apiVersion: beginning('node-remedy/'),
      kind: exactly('Configuration'),
      metadata: (at) =>
        typeof plain(at) === 'object' ? (plain(at) as { name?: string }) : problem(at, 'write name: …'),
      nodeSelector: selectorOf,
      thresholdConfigs: list(thresholdOf),
      remedyConfigs: list(remedyOf),
    },
    ['apiVersion', 'kind', 'thresholdConfigs'],
  )(place);
  const { metadata, nodeSelector = {}, thresholdConfigs, remedyConfigs = [] } = read;
  return {
    ...(metadata?.name === undefined ? {} : { name: metadata.name }),
    selector: nodeSelector,
    thresholds: thresholdConfigs,
    remedies: remedyConfigs,
    place,
  };
};

function beginning(group: string): Read<string> {
  return (place) => (text(place).startsWith(group) ? text(place) : problem(place, `write ${group}v1alpha`));
}

function exactly(value: string): Read<string> {
  return (place) => (scalar(place) === value ? value : problem(place, `write ${value}`));
}

function selectorOf(place: Place): NodeSelector {
  if (isMap(resolved(place).node)) {
    return { matchLabels: Object.fromEntries(entriesOf(place).map(({ key, value }) => [key, text(value)])) };
  }
  const parsed = parseSelector(text(place));
  return parsed.ok ? parsed.selector : problem(place, parsed.problem);
}

function thresholdOf(place: Place): WrittenThreshold {
  const entries = entriesOf(place);
  const valid = ['nodeConditionType', 'nodeConditionStatus', 'nodeConditionPeriod', 'remedy1', 'recovery'];
  const unknown = entries.filter(({ key }) => !valid.includes(key) && !rung.test(key));
  if (unknown.length > 0) {
    throw new ScenarioError(unknown.map(({ key, keyPlace }) => unknownKey(keyPlace, key, place.path, valid)));
  }
  const valueOf = (name: string): Place | undefined =>
    entries.find(({ key, value }) => key === name && !isNothing(value))?.value;
  const [type, status, period] = valid.slice(0, 3).map(valueOf);
  if (type === undefined) problem(place, 'which condition? Write nodeConditionType: Ready');
  if (status === undefined) problem(place, 'which status means trouble? Write nodeConditionStatus: false');
  const rungs = entries.filter(({ key, value }) => rung.test(key) && !isNothing(value));
  if (rungs.length === 0) problem(place, 'nothing is done about it: write remedy1 with the name of a remedy');
  const recovery = valueOf('recovery');
  return {
    type: text(type),
    status: statusOf(status),
    ...(period === undefined ? {} : { period: durationOf(period) }),
    remedies: rungs.sort((one, other) => numberOf(one) - numberOf(other)).map(({ value }) => stepOf(value)),
    recovery: recovery === undefined ? [] : recoveryOf(recovery),
    place,
  };
}

function numberOf({ key }: Entry): number {
  return Number(rung.exec(key)?.[1]);
}

/** Unquoted, YAML reads true and false as booleans. */
function statusOf(place: Place): WrittenThreshold['status'] {
  const written = String(scalar(place)).toLowerCase();
  if (written === 'true') return 'True';
  if (written === 'false') return 'False';
  return written === 'unknown' ? 'Unknown' : problem(place, 'write true, false or unknown');
}

/** As it was written, so that it is found again. */
function durationOf(place: Place): string {
  duration(place);
  return scalar(place) === 0 ? '0s' : text(place);
}

/** The document writes one map for each key; one map for all of them means the same. */
function entriesOfStep(place: Place): Entry[] {
  return isSeq(resolved(place).node) ? list(entriesOf)(place).flat() : entriesOf(place);
}

function stepOf(place: Place): WrittenStep {
  const step: WrittenStep = { name: '', place };
  const valid = ['name', 'period', ...cleanings];
  const seen = new Set<string>();
  for (const { key, keyPlace, value } of entriesOfStep(place)) {
    const known = cleanings.includes(key) ? 'clean-resource' : key;
    if (!valid.includes(key)) throw new ScenarioError([unknownKey(keyPlace, key, place.path, valid)]);
    if (seen.has(known)) {
      problem(keyPlace, `${known} is there twice: a rung has one remedy, write the other one as remedy2, remedy3, …`);
    }
    seen.add(known);
    if (key === 'name') step.name = text(value);
    else if (key === 'period') step.period = durationOf(value);
    else step.cleanResources = flag(value);
  }
  return step.name === '' ? problem(place, 'which remedy? Write - name: repair') : step;
}

function recoveryOf(place: Place): WrittenStep[] {
  return entriesOfStep(place).map(({ key, keyPlace, value }) =>
    key === 'name'
      ? { name: text(value), place: value }
      : problem(keyPlace, `a recovery has a name alone: remove ${key}, it has no meaning once the node is well`),
  );
}

function remedyOf(place: Place): WrittenRemedy {
  const { name, podTemplate } = record<{ name: string; podTemplate: object }>({ name: text, podTemplate: templateOf }, [
    'name',
    'podTemplate',
  ])(place);
  return { name, podTemplate, place };
}

function templateOf(place: Place): object {
  const { metadata, spec } = record<{ metadata?: object; spec: object }>(
    { metadata: (at) => plain(at) as object, spec: podSpecOf },
    ['spec'],
  )(place);
  return { ...(metadata === undefined ? {} : { metadata }), spec };
}

function podSpecOf(place: Place): object {
  const entries = entriesOf(place).map(({ key, value }) =>
    key === 'containers' || key === 'initContainers' ? [key, list(containerOf)(value)] : [key, plain(value)],
  );
  return Object.fromEntries(entries) as object;
}

/** Names alone become references: the values stay in the Secret and the ConfigMap, and out of the policy. */
function containerOf(place: Place): object {
  const container: Record<string, unknown> = {};
  const sources: object[] = [];
  for (const { key, keyPlace, value } of entriesOf(place)) {
    if (key === 'env') {
      const variables = list((item) => (scalar(item) === undefined ? plain(item) : text(item)))(value);
      for (const name of variables) if (typeof name === 'string') sources.push({ secretRef: { name } });
      const written = variables.filter((one) => typeof one !== 'string');
      if (written.length > 0) container['env'] = written;
    } else if (key === 'configmaps') {
      sources.push(...list(text)(value).map((name) => ({ configMapRef: { name } })));
    } else if (key === 'envFrom') sources.push(...(plain(value) as object[]));
    else if (containerKeys.includes(key)) container[key] = plain(value);
    else problem(keyPlace, `"${key}" is no field of a container; did you mean "${nearest(key, containerKeys)}"?`);
  }
  return sources.length === 0 ? container : { ...container, envFrom: sources };
}

/** Of Kubernetes. What is none of these the API server would refuse, when a node is in trouble and the Job is made. */
const containerKeys = [
  'args',
  'command',
  'env',
  'envFrom',
  'configmaps',
  'image',
  'imagePullPolicy',
  'lifecycle',
  'livenessProbe',
  'name',
  'ports',
  'readinessProbe',
  'resizePolicy',
  'resources',
  'restartPolicy',
  'restartPolicyRules',
  'securityContext',
  'startupProbe',
  'stdin',
  'stdinOnce',
  'terminationMessagePath',
  'terminationMessagePolicy',
  'tty',
  'volumeDevices',
  'volumeMounts',
  'workingDir',
];
