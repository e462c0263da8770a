/** What was read of a node, put together for an explanation: by one command that looks once, and by the console that watches. */
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { isShown } from '../api/learnt.ts';
import type { PolicyFacts } from '../api/release-view.ts';
import type { SeenPause } from '../api/seen-pause.ts';
import type { NodeFacts } from '../api/view.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { KubeObject } from '../kube/client.ts';
import type { SeenLease } from '../observe/project.ts';
import type { DrainState } from '../report/drain-status.ts';
import type { Known, KnownDevice, Leader } from '../report/explanation.ts';
import { stormWitness } from '../report/storm-witness.ts';
import { leftAloneBy, meaningless, outOfServiceBy, unpauseOf } from './node-annotations.ts';
import type { StoredFence } from './node-fence.ts';
import type { Place } from './operator-place.ts';
import { leaderName, pauseText, rivalsText } from './operator-place.ts';
import { judged } from './status.ts';
import type { ReadDevice } from './status-devices.ts';
import { usualNamespace } from './written.ts';

export interface Read {
  node: string;
  /** By the API server's clock. */
  atMs: number;
  /** Absent: there is no Node object. `annotated`: as it is, if anything is written on it that is for us. */
  live?: { facts: NodeFacts; labels: Record<string, string>; annotated?: KubeObject };
  lease?: SeenLease;
  record?: StoredFence;
  /** Those of other nodes, where this one has none that says why nothing is done; absent: nobody may read them. */
  records?: readonly StoredFence[];
  policies: readonly PolicyFacts[];
  /** Those of all nodes. */
  devices: readonly ReadDevice[];
  drain?: DrainState;
  place?: Place;
  pause?: SeenPause;
}

export function knownFrom(read: Read): Known {
  const { node, atMs, live, lease, record, place, pause, drain } = read;
  const policy = policyFor(read.policies, live?.labels, record?.spec.policy);
  const wasKept = read.devices.some(({ status }) => status?.configuration !== undefined);
  const isWorking = wasKept || record?.status?.holder !== undefined;
  const object = live?.annotated;
  const judgement = judged(node, live?.facts, lease, atMs);
  const own = { judgement, ...(policy === undefined ? {} : { policy }), ...recordOf(record) };
  return {
    node,
    atMs,
    ...own,
    ...stormWitness(own, live?.facts.zone ?? '', read.records ?? []),
    ...(live === undefined ? {} : { facts: live.facts }),
    devices: devicesOf(node, read.devices),
    ...operatorIn(place, isWorking),
    ...(drain === undefined || live?.facts.unschedulable !== true ? {} : { drain }),
    ...(pause === undefined ? {} : { pause }),
    leftAlone: object === undefined ? [] : leftAloneBy(object, atMs),
    unpause: object === undefined ? undefined : unpauseOf(object),
    meaningless: object === undefined ? [] : meaningless(object),
    outOfService: object === undefined ? undefined : outOfServiceBy(object),
    unread: place === undefined || pause !== undefined ? [] : [pauseText(place)],
  };
}

/** Of one that is nowhere to be found, it is said what it would be run as. */
function operatorIn(place: Place | undefined, isWorking: boolean): Pick<Known, 'operator' | 'namespace' | 'rivals'> {
  const { namespace = usualNamespace, operator = nobody } = place ?? {};
  const rivals = place && rivalsText(place);
  return {
    operator: isWorking && operator.leads === 'nobody' ? withoutLease : operator,
    namespace,
    ...(rivals === undefined ? {} : { rivals }),
  };
}

function policyFor(
  policies: readonly PolicyFacts[],
  labels: Record<string, string> | undefined,
  recorded: string | undefined,
): Known['policy'] {
  // Of a node that is gone, the one that was in force when its trouble began.
  if (labels === undefined) return policies.find(({ name }) => name === recorded);
  const match = matchPolicy(policies, labels);
  return match.kind === 'one' ? match.policy : undefined;
}

function recordOf(stored: StoredFence | undefined): Pick<Known, 'record'> {
  if (stored === undefined) return {};
  return { record: { spec: stored.spec, status: { ...EMPTY_STATUS, ...stored.status } } };
}

function devicesOf(node: string, devices: readonly ReadDevice[]): KnownDevice[] {
  // What is left over from an earlier configuration says nothing of how it is fenced.
  const own = devices.filter(({ spec, status }) => spec?.node === node && status?.unnamedSince === undefined);
  return own.map(({ metadata, spec, status = {} }) => ({
    name: metadata.name,
    status,
    isShown: isShown(spec?.shown, status),
  }));
}

const nobody: Leader = { leads: 'nobody' };

/** Somebody keeps records all the same: without an election, or by another name. */
const withoutLease: Leader = { leads: 'unknown', message: `there is no Lease ${leaderName}` };
