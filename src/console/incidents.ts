/** Incidents, as lines of a list and as a page each. */
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { FENCED, RELEASED } from '../api/reasons.ts';
import type { StoredFence } from '../cli/node-fence.ts';
import { explain } from '../report/explain.ts';
import { explanationText } from '../report/explain-text.ts';
import type { Known } from '../report/explanation.ts';
import { releasedIn, timelineOf } from '../report/timeline-of.ts';
import type { Chronicle, Spell, Timeline, Workload } from '../report/timeline.ts';
import { spellsOf } from '../report/timeline.ts';
import type { ClusterWatch } from './cluster-watch.ts';
import type { IncidentLine, NodeAct, NodePage, PodPicture } from './picture.ts';
import type { SeenPod } from './seen.ts';

/** Of all nodes, those that are open first, then the latest. */
export function incidentLines(cluster: ClusterWatch): IncidentLine[] {
  const { pods } = cluster;
  return cluster.records
    .flatMap((record) => linesOf(cluster, record, pods))
    .toSorted(
      (a, b) =>
        Number(a.endedAt !== undefined) - Number(b.endedAt !== undefined) ||
        Date.parse(b.startedAt) - Date.parse(a.startedAt),
    );
}

function linesOf(cluster: ClusterWatch, record: StoredFence, pods: readonly SeenPod[]): IncidentLine[] {
  const { node } = record.spec;
  const status = { ...EMPTY_STATUS, ...record.status };
  return spellsOf(node, status).map((spell, at) => {
    // What is on record beside the history is about the latest.
    const total =
      at === 0 ? timelineOf(chronicleOf(cluster, record, { spell, pods, devices: [] }), spell.id)?.total : undefined;
    return {
      id: spell.id,
      node,
      trouble: spell.trouble === 'lease' ? 'its Lease was not renewed' : spell.trouble,
      startedAt: spell.startedAt,
      ...(spell.endedAt === undefined ? {} : { endedAt: spell.endedAt }),
      outcome: outcomeOf(spell),
      ...(total === undefined ? {} : { awayMs: total.ms }),
    };
  });
}

/** The farthest that it came, in words. */
function outcomeOf({ entries, endedAt }: Spell): string {
  const has = (reason: string): boolean => entries.some((entry) => entry.reason === reason);
  const end = endedAt === undefined ? '' : ', back in service';
  const released = has(RELEASED.reason.Complete) || has(RELEASED.reason.Releasing);
  if (has(FENCED.reason.FenceFailed)) return `its fence failed${end}`;
  if (released && has(FENCED.reason.PoweredOff)) return `off, released${end}`;
  if (released) return `released${end}`;
  if (has(FENCED.reason.PoweredOff)) return `off${end}`;
  return endedAt === undefined ? 'nothing was done to it yet' : 'came back by itself';
}

interface Beside {
  spell: Pick<Spell, 'id' | 'startedAt' | 'endedAt'>;
  pods: readonly SeenPod[];
  devices: Known['devices'];
}

function chronicleOf(cluster: ClusterWatch, record: StoredFence, { spell, pods, devices }: Beside): Chronicle {
  const { node } = record.spec;
  const status = { ...EMPTY_STATUS, ...record.status };
  const remembered = cluster.memory.of(spell.id);
  return {
    node,
    status,
    nowMs: cluster.nowMs,
    devices,
    workloads: cluster.memory.workloads(node, spell.id, releasedIn(status, spell), pods),
    ...(remembered.silentSince === undefined ? {} : { silentSince: remembered.silentSince }),
    ...(remembered.clearedAt === undefined ? {} : { clearedAt: remembered.clearedAt }),
    holds: remembered.holds,
  };
}

/** What was on a node when its incident began, with where it is now. */
export function workloadsOf(cluster: ClusterWatch, node: string): readonly Workload[] {
  const record = cluster.record(node);
  const [spell] = record === undefined ? [] : spellsOf(node, { ...EMPTY_STATUS, ...record.status });
  if (record === undefined || spell === undefined) return [];
  return chronicleOf(cluster, record, { spell, pods: cluster.pods, devices: [] }).workloads;
}

/** `incident`: absent, the one that is open or was last. Undefined: there is no such node. */
export function nodePage(cluster: ClusterWatch, node: string, incident?: string): NodePage | undefined {
  const known = cluster.known(node);
  if (known === undefined) return undefined;
  const record = cluster.record(node);
  const explanation = explain(known);
  const { pods } = cluster;
  const timeline = record && timelineFor(cluster, record, { known, incident, pods });
  const stuck = new Map((record?.status?.stuck ?? []).map((one) => [`${one.namespace}/${one.name}`, one.message]));
  return {
    node,
    explanation,
    text: explanationText(explanation),
    ...(timeline === undefined ? {} : { timeline }),
    incidents: record === undefined ? [] : linesOf(cluster, record, pods),
    pods: pods.filter((pod) => pod.node === node).map((pod) => podPicture(pod, stuck.get(pod.key))),
    acts: actsFor(known),
  };
}

function timelineFor(
  cluster: ClusterWatch,
  record: StoredFence,
  { known, incident, pods }: { known: Known; incident: string | undefined; pods: readonly SeenPod[] },
): Timeline | undefined {
  const spells = spellsOf(record.spec.node, { ...EMPTY_STATUS, ...record.status });
  const spell = incident === undefined ? spells[0] : spells.find(({ id }) => id === incident);
  if (spell === undefined) return undefined;
  return timelineOf(chronicleOf(cluster, record, { spell, pods, devices: known.devices }), spell.id);
}

export function podPicture(pod: SeenPod, stuck?: string): PodPicture {
  const { namespace, name, phase, ready, terminating, claims } = pod;
  return { namespace, name, phase, ready, terminating, volumes: claims, ...(stuck === undefined ? {} : { stuck }) };
}

/** What makes sense to be done to it now. */
function actsFor({ record, policy, judgement }: Known): NodeAct[] {
  if (record?.spec.stop === true) return ['resume'];
  const isAwaited = record?.status.hold?.reason === 'AwaitingApproval';
  const isOpen = record?.status.incident !== undefined;
  const mayFence = policy !== undefined && judgement.reason !== 'NodeGone';
  return [
    ...(isAwaited ? (['approve'] as const) : []),
    ...(isOpen ? (['stop'] as const) : []),
    ...(mayFence ? (['fence'] as const) : []),
  ];
}
