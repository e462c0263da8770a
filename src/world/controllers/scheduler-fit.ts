/** Which nodes a pod fits on, and in the words of the stock scheduler why it does not fit on the others. */
import type { Node } from '../objects/nodes.ts';
import type { Pod, PodAffinityTerm } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import { tolerates, untolerated } from '../objects/tolerations.ts';
import type { Informer } from './informer.ts';
import { unschedulableTaint } from './node-taints.ts';
import type { PodIndexes } from './pod-indexes.ts';
import type { NodeLoads } from './scheduler-nodes.ts';
import { factsOf, requestsOf } from './scheduler-nodes.ts';
import { matchesLabels, matchesNodeTerms } from './selectors.ts';

/** Undefined when it fits. */
export type NodeFilter = (node: Node) => string | undefined;

export interface FitSources {
  nodes: Informer<Node>;
  loads: NodeLoads;
  indexes: PodIndexes;
  /** Pods that keep others away, by namespace/name. */
  repelling: ReadonlyMap<string, Pod>;
}

/** In the order in which the stock scheduler asks: the first reason is the one that is told. */
export function filtersFor(pod: Pod, sources: FitSources): NodeFilter[] {
  return [
    (node) => unschedulableReason(pod, node),
    (node) =>
      untolerated(node.spec?.taints, pod.spec.tolerations, ['NoSchedule', 'NoExecute']) === undefined
        ? undefined
        : 'node(s) had untolerated taint(s)',
    (node) => (matchesAffinity(pod, node) ? undefined : "node(s) didn't match Pod's node affinity/selector"),
    resourceFilter(pod, sources.loads),
    ...podAffinityFilters(pod, sources),
  ];
}

/** The only nodes that come into question, where the pod names them; undefined: all. */
export function namedNodes(pod: Pod): string[] | undefined {
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (terms === undefined || terms.length === 0) return undefined;
  const names: string[] = [];
  for (const { matchFields } of terms) {
    const named = matchFields?.find(({ key, operator }) => key === 'metadata.name' && operator === 'In');
    if (named === undefined) return undefined;
    names.push(...(named.values ?? []));
  }
  return names;
}

export function matchesAffinity(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const { nodeSelector = {}, affinity } = pod.spec;
  if (!Object.entries(nodeSelector).every(([key, value]) => labels[key] === value)) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeTerms(required.nodeSelectorTerms, node);
}

function unschedulableReason(pod: Pod, node: Node): string | undefined {
  if (node.spec?.unschedulable !== true) return undefined;
  const taint = { key: unschedulableTaint, effect: 'NoSchedule' };
  const tolerated = (pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint));
  return tolerated ? undefined : 'node(s) were unschedulable';
}

function resourceFilter(pod: Pod, loads: NodeLoads): NodeFilter {
  const { cpu, memory } = requestsOf(pod);
  return (node) => {
    const load = loads.of(node.metadata.name);
    const facts = factsOf(node);
    if (load.pods + 1 > facts.pods) return 'Too many pods';
    if (cpu > 0 && load.cpu + cpu > facts.cpu + 1e-9) return 'Insufficient cpu';
    if (memory > 0 && load.memory + memory > facts.memory) return 'Insufficient memory';
    return undefined;
  };
}

function podAffinityFilters(pod: Pod, sources: FitSources): NodeFilter[] {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const filters: NodeFilter[] = [];
  for (const term of podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
    filters.push(affinityFilter(pod, term, sources));
  }
  for (const term of podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
    const taken = placesOf(pod, term, sources);
    filters.push((node) =>
      taken.has(placeOf(node, term)) ? "node(s) didn't match pod anti-affinity rules" : undefined,
    );
  }
  const repelled = repelledPlaces(pod, sources);
  if (repelled.length > 0) {
    filters.push((node) =>
      repelled.some(({ topologyKey, value }) => node.metadata.labels?.[topologyKey] === value)
        ? "node(s) didn't satisfy existing pods anti-affinity rules"
        : undefined,
    );
  }
  return filters;
}

function affinityFilter(pod: Pod, term: PodAffinityTerm, sources: FitSources): NodeFilter {
  const places = placesOf(pod, term, sources);
  // The first pod of a group that wants to be together has to be allowed to start it.
  const first = places.size === 0 && matchesLabels(term.labelSelector, pod.metadata.labels);
  return (node) => {
    const place = placeOf(node, term);
    if (place !== undefined && (first || places.has(place))) return undefined;
    return "node(s) didn't match pod affinity rules";
  };
}

function placeOf(node: Node | undefined, { topologyKey }: PodAffinityTerm): string | undefined {
  return node?.metadata.labels?.[topologyKey];
}

/** Values of the term's topology where pods are that it means. */
function placesOf(pod: Pod, term: PodAffinityTerm, { indexes, loads, nodes }: FitSources): Set<string | undefined> {
  const places = new Set<string | undefined>();
  for (const namespace of term.namespaces ?? [pod.metadata.namespace ?? '']) {
    for (const other of indexes.podsByNamespace.of(namespace).values()) {
      if (other.metadata.uid === pod.metadata.uid || isFinished(other)) continue;
      if (!matchesLabels(term.labelSelector, other.metadata.labels)) continue;
      const place = placeOf(nodes.get(loads.nodeOf(other) ?? ''), term);
      if (place !== undefined) places.add(place);
    }
  }
  return places;
}

function repelledPlaces(pod: Pod, { repelling, loads, nodes }: FitSources): { topologyKey: string; value: string }[] {
  return [...repelling.values()].flatMap((other) => {
    if (other.metadata.uid === pod.metadata.uid || isFinished(other)) return [];
    const node = nodes.get(loads.nodeOf(other) ?? '');
    return antiAffinityOf(other).flatMap((term) => {
      const namespaces = term.namespaces ?? [other.metadata.namespace ?? ''];
      if (!namespaces.includes(pod.metadata.namespace ?? '')) return [];
      if (!matchesLabels(term.labelSelector, pod.metadata.labels)) return [];
      const value = placeOf(node, term);
      return value === undefined ? [] : [{ topologyKey: term.topologyKey, value }];
    });
  });
}

export function antiAffinityOf(pod: Pod): PodAffinityTerm[] {
  return pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
}
