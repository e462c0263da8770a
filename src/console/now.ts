/** The page Now: must I do anything? All nodes as marks, what needs a person, the brake, and what happened lately. */
import { hasCut, holdsSlot, isUnderFence } from '../api/facts.ts';
import { pauseOf } from '../api/pause.ts';
import { ALARM } from '../api/reasons.ts';
import { QUARANTINE_KEY } from '../api/release-view.ts';
import { shareOf } from '../api/share.ts';
import type { NodeFacts, Verdict } from '../api/view.ts';
import { judged } from '../cli/status.ts';
import type { CountedNode } from '../judge/storm.ts';
import { countTrouble, lifeOf } from '../judge/storm.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import { explain } from '../report/explain.ts';
import { isLed } from '../report/explanation.ts';
import type { Known, Leader } from '../report/explanation.ts';
import { needsOf } from '../report/needs.ts';
import type { ClusterWatch, Shared } from './cluster-watch.ts';
import { incidentLines, workloadsOf } from './incidents.ts';
import type { BrakePicture, HeadPicture, NeedPicture, NodeAct, NodeMark, NodePicture } from './picture.ts';
import type { SeenNode, SeenPod } from './seen.ts';
import { isMovable } from './seen.ts';

const maxNamed = 60;
const maxRuns = 4;
const maxLines = 5;
const maxMoved = 2;
const maxNeeds = 50;
const maxIncidents = 30;

export interface Looker {
  user?: string;
  can: readonly NodeAct[];
}

/** All parts of the page, by name. */
export function nowParts(cluster: ClusterWatch, looker: Looker): Map<string, unknown> {
  const shared = cluster.shared();
  const podsOf = Map.groupBy(cluster.pods, ({ node }) => node);
  const seen = cluster.nodes.toSorted((a, b) => byName(a.facts.name, b.facts.name));
  const looked = seen.map((node) => lookAt(cluster, shared, node));
  const isSmall = seen.length <= maxNamed;
  const parts = new Map<string, unknown>();
  for (const one of looked) {
    const pods = podsOf.get(one.name) ?? [];
    parts.set(`node/${one.name}`, { ...pictureOf(one), ...loadOf(pods, isSmall) } satisfies NodePicture);
  }
  parts.set('head', headOf(cluster, shared, { looked, looker }));
  return parts;
}

/** Made once: thousands of names are sorted every second. */
const names = new Intl.Collator('en', { numeric: true });

export function byName(a: string, b: string): number {
  return names.compare(a, b);
}

interface Looked {
  name: string;
  facts: NodeFacts;
  verdict: Verdict;
  reason: string;
  policy: string | undefined;
  life: CountedNode['life'];
  /** Of one that is not quiet; of the others there is nothing to say. */
  known?: Known;
}

/** Of a node that is well, with nothing written about it, one look is enough. */
function lookAt(cluster: ClusterWatch, shared: Shared, { facts, labels, annotated }: SeenNode): Looked {
  const { name } = facts;
  const lease = cluster.lease(name);
  const judgement = judged(name, facts, lease, shared.atMs);
  const record = cluster.record(name);
  const { incident, conditions = [] } = record?.status ?? {};
  const match = matchPolicy(shared.policies, labels);
  const isAlarmed = conditions.some(({ type, status }) => type === ALARM.of && status === 'True');
  const isUnsure = (shared.devices.get(name) ?? []).some(
    ({ status }) => status?.wrong !== undefined || status?.fenceable === false,
  );
  const isQuiet =
    judgement.verdict === 'healthy' &&
    incident === undefined &&
    record?.spec.stop !== true &&
    annotated === undefined &&
    !facts.unschedulable &&
    !isAlarmed &&
    !isUnsure;
  const known = isQuiet ? undefined : cluster.known(name, shared);
  const told = incident === undefined ? undefined : record?.status;
  return {
    name,
    facts,
    verdict: told?.verdict ?? judgement.verdict,
    reason: told?.verdictReason ?? judgement.reason,
    policy: match.kind === 'one' ? match.policy.name : undefined,
    life: lifeOf(judgement),
    ...(known === undefined ? {} : { known }),
  };
}

function pictureOf({ name, facts, verdict, reason, policy, known }: Looked): Omit<NodePicture, 'pods' | 'runs'> {
  const status = known?.record?.status;
  const isQuarantined = facts.marks.includes(QUARANTINE_KEY);
  return {
    name,
    zone: facts.zone,
    mark: markOf(verdict, status, isQuarantined),
    verdict,
    reason,
    ready: facts.conditions.find(({ type }) => type === 'Ready')?.status ?? 'Unknown',
    cordoned: facts.unschedulable,
    schedulable: !facts.unschedulable && !isQuarantined,
    ...(known?.drain === undefined ? {} : { drain: known.drain }),
    ...(policy === undefined ? {} : { policy }),
    ...(status?.incident === undefined
      ? {}
      : { incident: { id: status.incident.id, since: status.incident.startedAt } }),
    ...(known === undefined ? {} : { summary: explain(known).summary }),
  };
}

/** What is held is told from what is only down: somebody may have to do something. */
function markOf(
  verdict: Verdict,
  status: NonNullable<Known['record']>['status'] | undefined,
  isQuarantined: boolean,
): NodeMark {
  if (isUnderFence(status?.fence) && verdict !== 'healthy') return 'fenced';
  if (status?.hold !== undefined && verdict !== 'healthy') return 'held';
  if (verdict === 'healthy' && isQuarantined) return 'quarantined';
  return verdict;
}

function loadOf(pods: readonly SeenPod[], isNamed: boolean): Pick<NodePicture, 'pods' | 'runs'> {
  const named = pods.filter((pod) => isMovable(pod)).map(({ name }) => name);
  return { pods: pods.length, runs: isNamed ? named.toSorted(byName).slice(0, maxRuns) : [] };
}

function headOf(
  cluster: ClusterWatch,
  shared: Shared,
  { looked, looker }: { looked: readonly Looked[]; looker: Looker },
): HeadPicture {
  const known = looked.flatMap((one) => one.known ?? []);
  const operator: Leader = cluster.place?.operator ?? { leads: 'nobody' };
  const needs = [
    ...wholeNeeds(cluster, operator),
    ...known.flatMap((one) => needsOf(one).map((need) => ({ ...need, ...actOf(need.reason) }))),
  ].toSorted((a, b) => Number(b.isUrgent ?? false) - Number(a.isUrgent ?? false));
  const open = known.filter(({ record }) => record?.status.incident !== undefined);
  const brake = brakeOf(looked, cluster, shared);
  return {
    ...firstLine(cluster, needs, open.length),
    lines: open.slice(0, maxLines).map((one) => ({ node: one.node, text: lineOf(cluster, one) })),
    needs: needs.slice(0, maxNeeds),
    operator,
    warnings: warningsOf(cluster, known),
    ...(brake === undefined ? {} : { brake }),
    incidents: incidentLines(cluster).slice(0, maxIncidents),
    hasPolicy: shared.policies.length > 0,
    ...(looker.user === undefined ? {} : { user: looker.user }),
    can: [...looker.can],
  };
}

/** How the node is, and where what ran there runs by now. */
function lineOf(cluster: ClusterWatch, known: Known): string {
  const moved = workloadsOf(cluster, known.node).flatMap(({ pod, runs }) =>
    runs === undefined ? [] : [{ pod, runs }],
  );
  const told = moved
    .slice(0, maxMoved)
    .map(({ pod, runs }) => `${pod.replace(/^[^/]*\//, '')} runs on ${runs.node} since ${runs.since}`);
  const more = moved.length > maxMoved ? [`${moved.length - maxMoved} more run elsewhere`] : [];
  return [explain(known).summary, ...told, ...more].join('; ');
}

function firstLine(
  cluster: ClusterWatch,
  needs: readonly NeedPicture[],
  open: number,
): Pick<HeadPicture, 'tone' | 'text'> {
  if (!cluster.synced) return { tone: 'unknown', text: 'Nothing is known of the cluster yet.' };
  const urgent = needs.filter(({ isUrgent }) => isUrgent === true).length;
  const going =
    open === 0 ? 'All nodes are well.' : `${count(open, 'node')} ${open === 1 ? 'is' : 'are'} being looked after.`;
  if (urgent > 0)
    return { tone: 'needs', text: `${count(urgent, 'thing')} ${urgent === 1 ? 'needs' : 'need'} you now.` };
  if (needs.length > 0) {
    return {
      tone: open > 0 ? 'busy' : 'calm',
      text: `Nothing needs you now; ${count(needs.length, 'thing')} to look at by day. ${going}`,
    };
  }
  return { tone: open > 0 ? 'busy' : 'calm', text: `Nothing needs you. ${going}` };
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

/** What concerns all nodes at once: nothing would be done about any of them. */
function wholeNeeds(cluster: ClusterWatch, operator: Leader): NeedPicture[] {
  const pause = cluster.pause && pauseOf(cluster.pause, cluster.nowMs);
  return [
    ...(isLed({ operator }) || (cluster.place === undefined && !cluster.synced)
      ? []
      : [
          {
            reason: 'NobodyLeads',
            message: leaderText(operator),
            ends: 'an operator leads',
            isUrgent: true as const,
          },
        ]),
    ...(pause === undefined
      ? []
      : [
          {
            reason: 'PausedForAll',
            message: pause.message,
            ends: 'the pause is over',
            command: {
              to: 'when nobody needs it any more',
              command: `fenceline pause --end -n ${cluster.pause?.namespace}`,
            },
          },
        ]),
  ];
}

function leaderText(operator: Leader): string {
  if (operator.leads === 'no')
    return `no operator leads: ${operator.unable ?? `${operator.holder} was last heard of at ${operator.since}`}; nothing is done about any node`;
  return 'no operator was ever seen here: nothing is done about any node';
}

function actOf(reason: string): Pick<NeedPicture, 'act'> {
  if (reason === 'AwaitingApproval') return { act: 'approve' };
  return reason === 'Stopped' ? { act: 'resume' } : {};
}

function warningsOf(cluster: ClusterWatch, known: readonly Known[]): string[] {
  const unread = [...cluster.unreadable].map(
    ([what, why]) => `${what} cannot be read, so what they say is not shown: ${why}`,
  );
  const rivals = known[0]?.rivals;
  return [...unread, ...(rivals === undefined ? [] : [rivals]), ...known.flatMap(({ meaningless }) => meaningless)];
}

/** By the same count as that of the operator, from one look. The policy that allows least is shown. */
function brakeOf(looked: readonly Looked[], cluster: ClusterWatch, { policies }: Shared): BrakePicture | undefined {
  const records = cluster.records;
  const nameIf = (is: (record: (typeof records)[number]) => boolean): Set<string> =>
    new Set(records.flatMap((record) => (is(record) ? [record.spec.node] : [])));
  const counted = looked.map(({ name, facts, life }) => ({ name, zone: facts.zone, life, conditions: [] }));
  const ongoing = {
    fenced: nameIf(({ status }) => hasCut(status?.fence)),
    fencing: nameIf((record) => holdsSlot('fence', record)),
    remedying: nameIf((record) => holdsSlot('remedy', record)),
  };
  const { nodes, troubled, fencing } = countTrouble('', counted, ongoing, []);
  const limits = policies.flatMap(({ name, remedy }) =>
    remedy?.storm === undefined
      ? []
      : [{ policy: name, ...remedy.storm, allowed: shareOf(remedy.storm.maxUnresponsive, nodes) }],
  );
  const [least] = limits.toSorted((a, b) => a.allowed - b.allowed);
  if (least === undefined) return undefined;
  const braking = new Set(['StormLimit', 'ZoneStormLimit', 'Cooldown', 'ConcurrencyLimit', 'ControlPlaneQuorum']);
  return {
    nodes,
    troubled,
    allowed: least.allowed,
    policy: least.policy,
    limit: String(least.maxUnresponsive),
    fencing: [...fencing],
    maxConcurrent: least.maxConcurrent,
    isOn: records.some(({ status }) => braking.has(status?.hold?.reason ?? '')),
  };
}
