/**
 * Which part of a cluster is simulated. What fails is taken whole, with everything that belongs to it: its pods, the sets that
 * they belong to, and nodes on which these could run. Of other pods only what they take up on their nodes counts, and of other
 * nodes only that they are there, because the brake counts them.
 */
import { isOver } from '../../api/facts.ts';
import type { Snapshot, SnapshotNode, SnapshotPod, SnapshotSet } from '../../api/snapshot.ts';

/** Up to so many nodes and pods a cluster is simulated as a whole. */
const smallCluster = { nodes: 60, pods: 600 };
/** So many nodes are taken beside those that fail. */
const roomNodes = 60;

export interface Part {
  nodes: readonly SnapshotNode[];
  /** Nodes that only count, by zone. */
  others: readonly { zone: string; count: number }[];
  pods: readonly SnapshotPod[];
  sets: readonly SnapshotSet[];
  /** What was left behind, in sentences. */
  notes: readonly string[];
}

export function partOf(snapshot: Snapshot, struck: ReadonlySet<string>): Part {
  const claims = new Set(snapshot.claims.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  const left = (pod: SnapshotPod): string | undefined => reasonToLeave(pod, claims);
  const running = snapshot.pods.filter((pod) => left(pod) === undefined);
  const isSmall = snapshot.nodes.length <= smallCluster.nodes && running.length <= smallCluster.pods;
  const owners = new Set(running.flatMap(({ node = '', owner }) => (struck.has(node) ? (owner?.uid ?? []) : [])));
  const wanted = isSmall
    ? running
    : running.filter(({ node = '', owner }) => struck.has(node) || owners.has(owner?.uid ?? ''));
  const nodes = isSmall ? snapshot.nodes : nodesFor(snapshot.nodes, struck, wanted);
  const names = new Set(nodes.map(({ name }) => name));
  const pods = wanted.filter(({ node = '' }) => names.has(node));
  const taken = new Set(pods.map(({ owner }) => owner?.uid ?? ''));
  const others = snapshot.nodes.filter(({ name }) => !names.has(name));
  const byZone = Map.groupBy(others, ({ zone }) => zone);
  return {
    nodes,
    others: [...byZone].map(([zone, all]) => ({ zone, count: all.length })),
    pods,
    sets: snapshot.sets.filter(({ kind, uid }) => (kind === 'StatefulSet' || kind === 'ReplicaSet') && taken.has(uid)),
    notes: [...leftBehind(snapshot.pods, left), ...(isSmall ? [] : [sizeNote(snapshot, { nodes, pods })])],
  };
}

/** Of a pod that is not simulated: why. Absent: it is. */
function reasonToLeave(pod: SnapshotPod, claims: ReadonlySet<string>): string | undefined {
  if (isOver(pod)) return 'have ended';
  if (pod.node === undefined) return 'are on no node yet';
  if (pod.deletionAtMs !== undefined) return 'are being deleted';
  if (pod.mirror) return 'are static, and stay with their nodes';
  if (pod.owner?.kind === 'DaemonSet') return 'belong to DaemonSets, and stay with their nodes';
  if (pod.owner?.kind === 'Job') return 'belong to Jobs';
  // They would wait for it for ever, and the simulation for them.
  if (pod.claims.some(({ claim }) => !claims.has(`${pod.namespace}/${claim}`))) return 'use a claim that is not there';
  return undefined;
}

function leftBehind(pods: readonly SnapshotPod[], left: (pod: SnapshotPod) => string | undefined): string[] {
  const reasons = Map.groupBy(pods, left);
  return [...reasons].flatMap(([reason, of]) =>
    reason === undefined ? [] : [`${of.length} pods are not simulated, because they ${reason}`],
  );
}

function sizeNote(snapshot: Snapshot, { nodes, pods }: Pick<Part, 'nodes' | 'pods'>): string {
  const whole = `${snapshot.nodes.length} nodes and ${snapshot.pods.length} pods`;
  return `of ${whole}, ${nodes.length} nodes and ${pods.length} pods are simulated; the rest is counted`;
}

/**
 * Those that fail, those where the rest of the same StatefulSets run, then neighbours of the same zones, then others: as many as
 * there is room for, those first on which something can be placed.
 */
function nodesFor(
  all: readonly SnapshotNode[],
  struck: ReadonlySet<string>,
  pods: readonly SnapshotPod[],
): SnapshotNode[] {
  const bound = pods.filter(({ owner }) => owner?.kind === 'StatefulSet').map(({ node }) => node);
  const needed = new Set([...struck, ...bound]);
  const zones = new Set(all.flatMap(({ name, zone }) => (struck.has(name) ? zone : [])));
  const hosts = new Set(pods.map(({ node }) => node));
  const rank = (node: SnapshotNode): number =>
    (isUsable(node) ? 0 : 4) + (zones.has(node.zone) ? 0 : 2) + (hosts.has(node.name) ? 0 : 1);
  const spare = all.filter(({ name }) => !needed.has(name)).toSorted((a, b) => rank(a) - rank(b));
  // A whole zone that fails needs room elsewhere, and there may be none in it.
  const near = spare.filter(({ zone }) => zones.has(zone)).slice(0, roomNodes / 2);
  const rest = spare.filter((node) => !near.includes(node));
  const elsewhere = rest.filter(({ zone }) => !zones.has(zone));
  const far = [...elsewhere, ...rest.filter(({ zone }) => zones.has(zone))].slice(0, roomNodes - near.length);
  const taken = new Set([...needed, ...near.map(({ name }) => name), ...far.map(({ name }) => name)]);
  return all.filter(({ name }) => taken.has(name));
}

function isUsable({ ready, isCordoned }: SnapshotNode): boolean {
  return ready === 'True' && isCordoned !== true;
}
