/** From the text of a file to scenarios: strict about what it does not know, lenient about what is left out. */
import { basename } from 'node:path';
import type { Forbiddable } from '../api/forbidden.ts';
import { FORBIDDABLE } from '../api/forbidden.ts';
import type { ClusterSpec, KubernetesSpec, NodeSpec, Scenario } from './format.ts';
import { manifest } from './manifest.ts';
import type { Taint } from '../world/objects/nodes.ts';
import { eventReader, TAINT_EFFECTS } from './parse-events.ts';
import { expectationReader } from './parse-expectations.ts';
import type { LonghornFields } from './parse-longhorn.ts';
import { longhornFields, longhornOf } from './parse-longhorn.ts';
import type { Place, Read } from './reader.ts';
import {
  duration,
  entriesOf,
  fields,
  File,
  flag,
  isNothing,
  kindOf,
  list,
  oneOf,
  plain,
  problem,
  record,
  scalar,
  ScenarioError,
  text,
  textMap,
  whole,
} from './reader.ts';

const apiVersion = 'fenceline.dev/v1alpha1';
/** Those of Kubernetes 1.36. */
const defaults = {
  seed: 1,
  nodes: 3,
  operators: 1,
  kubernetes: {
    nodeMonitorGracePeriodMs: 50_000,
    forceDetachAfterMs: 360_000,
    bootTimeMs: 90_000,
    leaseDurationMs: 40_000,
  },
  runForMs: 600_000,
};
const zones = ['z1', 'z2', 'z3'];
/** What can be played in a process: as many nodes as Kubernetes supports, and some more that only count. */
const most = { nodes: 5000, others: 20_000, operators: 20 };

/** One per document of the file. Throws a ScenarioError that says all that is wrong. */
export function parseScenarios(fileName: string, content: string): Scenario[] {
  const file = new File(fileName, content);
  const filled = file.documents.filter(({ contents }) => contents !== null);
  if (filled.length === 0) throw new ScenarioError([`${fileName}:1: the file is empty`]);
  const problems: string[] = [];
  const scenarios = filled.flatMap((document, index) => {
    try {
      return [
        readScenario({ file, document, node: document.contents, path: '' }, nameFrom(fileName, index, filled.length)),
      ];
    } catch (error) {
      if (!(error instanceof ScenarioError)) throw error;
      problems.push(...error.problems);
      return [];
    }
  });
  if (problems.length > 0) throw new ScenarioError(problems);
  return scenarios;
}

function nameFrom(fileName: string, index: number, count: number): string {
  const name = basename(fileName).replace(/\.[^.]*$/, '');
  return count === 1 ? name : `${name}-${index + 1}`;
}

function readScenario(place: Place, defaultName: string): Scenario {
  const { metadata, spec } = record<{ apiVersion: string; kind: string; metadata: { name?: string }; spec: Place }>(
    {
      apiVersion: exactly(apiVersion),
      kind: exactly('Scenario'),
      metadata: fields<{ name: string; labels: unknown; annotations: unknown }>({
        name: text,
        labels: plain,
        annotations: plain,
      }),
      spec: (inner) => inner,
    },
    ['apiVersion', 'kind', 'spec'],
  )(place);
  return readSpec(spec, metadata?.name ?? defaultName);
}

function readSpec(place: Place, name: string): Scenario {
  // The cluster first, whatever the order in the file: events and expectations name its nodes.
  const clusterPlace = entriesOf(place).find(({ key, value }) => key === 'cluster' && !isNothing(value))?.value;
  const problems: string[] = [];
  let cluster = clusterOf({});
  try {
    if (clusterPlace !== undefined) cluster = readCluster(clusterPlace);
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    problems.push(...error.problems);
  }
  const known = problems.length === 0 ? { cluster } : {};
  type Fields = Pick<Scenario, 'seed' | 'objects' | 'events' | 'expectations'> & {
    cluster: unknown;
    runFor: number;
    expect: Scenario['expectations'];
  };
  const read = fields<Omit<Fields, 'expectations'>>({
    seed: whole(0),
    cluster: () => undefined,
    objects: list(manifest),
    events: list(eventReader(known)),
    runFor: duration,
    expect: list(expectationReader(known)),
  });
  try {
    const { seed, objects, events = [], runFor, expect = [] } = read(place);
    if (problems.length > 0) throw new ScenarioError([]);
    const needed = [...events.map(({ atMs }) => atMs), ...expect.map(({ when }) => ('atMs' in when ? when.atMs : 0))];
    return {
      name,
      seed: seed ?? defaults.seed,
      cluster,
      objects: objects ?? [],
      // Those of one moment stay in the order of the file.
      events: events.toSorted((a, b) => a.atMs - b.atMs),
      // What is asked for after the end is waited for.
      runForMs: Math.max(runFor ?? defaults.runForMs, ...needed),
      expectations: expect,
    };
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    throw new ScenarioError([...problems, ...error.problems]);
  }
}

interface ClusterFields {
  nodes: NodeSpec[];
  others: ClusterSpec['others'];
  kubernetes: Partial<KubernetesSpec>;
  operators: ClusterSpec['operators'];
  featureGates: Record<string, boolean>;
  forbid: Forbiddable[];
  longhorn: LonghornFields;
}

function readCluster(place: Place): ClusterSpec {
  const read = fields<ClusterFields>({
    nodes: nodesOf,
    others: othersList,
    kubernetes: kubernetesOf,
    operators: operatorsOf,
    featureGates: textMap(flag),
    forbid: list(oneOf(Object.keys(FORBIDDABLE) as Forbiddable[])),
    longhorn: longhornFields,
  });
  const cluster = clusterOf(read(place));
  if (cluster.operators.onNodes && cluster.nodes.length === 0) problem(place, 'operators on nodes need a node');
  return cluster;
}

const kubernetesOf: Read<Partial<KubernetesSpec>> = (place) => {
  const found = fields<Record<'nodeMonitorGracePeriod' | 'forceDetachAfter' | 'bootTime' | 'leaseDuration', number>>({
    nodeMonitorGracePeriod: duration,
    forceDetachAfter: duration,
    bootTime: duration,
    leaseDuration: wholeSeconds,
  })(place);
  return withoutUndefined({
    nodeMonitorGracePeriodMs: found.nodeMonitorGracePeriod,
    forceDetachAfterMs: found.forceDetachAfter,
    bootTimeMs: found.bootTime,
    leaseDurationMs: found.leaseDuration,
  });
};

/** A Lease has no other. */
const wholeSeconds: Read<number> = (place) => {
  const ms = duration(place);
  return ms > 0 && ms % 1000 === 0 ? ms : problem(place, 'write whole seconds, such as 40s');
};

function clusterOf(found: Partial<ClusterFields>): ClusterSpec {
  const nodes = found.nodes ?? numbered(defaults.nodes);
  return {
    nodes,
    others: found.others ?? [],
    kubernetes: { ...defaults.kubernetes, ...found.kubernetes },
    operators: found.operators ?? { count: defaults.operators, onNodes: false },
    featureGates: found.featureGates ?? {},
    ...(found.forbid === undefined ? {} : { forbid: found.forbid }),
    ...(found.longhorn === undefined ? {} : { longhorn: longhornOf(found.longhorn, nodes) }),
  };
}

const nodesOf: Read<NodeSpec[]> = (place) => {
  if (typeof scalar(place) === 'number') return numbered(whole(0, most.nodes)(place));
  if (scalar(place) !== undefined)
    problem(place, `expected a number of nodes, or a list of them, found ${kindOf(place)}`);
  const nodes = list(nodeOf)(place);
  const names = nodes.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) problem(place, `two nodes are called ${twice}`);
  return nodes.map((node, index) => ({ ...node, zone: node.zone ?? zoneOf(index) }));
};

/** `''`: it is in none. */
const zoneText: Read<string> = (place) => (scalar(place) === '' ? '' : text(place));

const othersList: Read<ClusterSpec['others']> = (place) => {
  const others = list(othersOf)(place);
  const total = others.reduce((sum, { count }) => sum + count, 0);
  return total <= most.others ? others : problem(place, `these are ${total} nodes: write ${most.others} at the most`);
};

const othersOf: Read<ClusterSpec['others'][number]> = (place) => {
  const { zone = '', count } = record<{ zone?: string; count: number }>(
    { zone: zoneText, count: whole(0, most.others) },
    ['count'],
  )(place);
  return { zone, count };
};

/** A Node is an object: no API server has one of another name. */
const nodeName: Read<string> = (place) => {
  const name = text(place);
  const isName = name.length <= 253 && name.split('.').every((part) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(part));
  if (isName) return name;
  return problem(
    place,
    `${JSON.stringify(name)} is no name of a node: write small letters, digits, - and ., such as node-1`,
  );
};

const nodeOf: Read<Omit<NodeSpec, 'zone'> & { zone?: string }> = (place) => {
  if (scalar(place) !== undefined) return { name: nodeName(place), labels: {}, bmc: true, identity: true };
  const found = record<{
    name: string;
    zone?: string;
    labels?: Record<string, string>;
    taints?: Taint[];
    capacity?: Record<string, string>;
    bootId?: string;
    bmc?: boolean;
    identity?: boolean;
    feeds?: string[];
    ports?: string[];
  }>(
    {
      name: nodeName,
      zone: zoneText,
      labels: textMap(text),
      taints: list(taint),
      capacity: textMap(text),
      bootId: text,
      bmc: flag,
      identity: flag,
      feeds: list(text),
      ports: list(text),
    },
    ['name'],
  )(place);
  const { name, labels = {}, bmc = true, identity = true, ...rest } = found;
  return { name, labels, bmc, identity, ...rest };
};

const taint: Read<Taint> = (place) =>
  record<Taint>({ key: text, value: text, effect: oneOf(TAINT_EFFECTS), timeAdded: text }, ['key', 'effect'])(place);

function numbered(count: number): NodeSpec[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `node-${index + 1}`,
    zone: zoneOf(index),
    labels: {},
    bmc: true,
    identity: true,
  }));
}

function zoneOf(index: number): string {
  return zones[index % zones.length] ?? '';
}

const operatorsOf: Read<ClusterSpec['operators']> = (place) => {
  if (scalar(place) !== undefined) return { count: whole(0, most.operators)(place), onNodes: false };
  const { count = 1, onNodes = false } = fields<ClusterSpec['operators']>({
    count: whole(0, most.operators),
    onNodes: flag,
  })(place);
  return { count, onNodes };
};

function exactly(value: string): Read<string> {
  return (place) => (scalar(place) === value ? value : problem(place, `write ${value}`));
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept = Object.entries(value).filter(([, one]) => one !== undefined);
  return Object.fromEntries(kept) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
