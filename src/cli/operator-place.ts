/** Who leads, in which namespace the operator is, and whether somebody has paused everything there. */
import { leaseDurationMs } from '../api/life.ts';
import type { SeenPause } from '../api/seen-pause.ts';
import { PAUSE_NAME, writtenPause } from '../api/seen-pause.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { UNABLE } from '../kube/leader.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { configMaps, leases, nodeLeaseNamespace } from '../kube/resources.ts';
import type { Leader } from '../report/explanation.ts';
import { apiFailure } from './taken.ts';
import { UserError } from './user-error.ts';
import { isWrittenIn, likelyNamespace, mustExist, usualNamespace, writtenElsewhere } from './written.ts';

/** As `run` calls its Lease unless it is told otherwise. */
export const leaderName = 'fenceline';
const usualLeaderMs = 15_000;

interface LeaderLease extends KubeObject {
  spec?: { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number };
}

export interface Place {
  namespace: string;
  operator: Leader;
  /** Others that lead as well, each for itself. */
  rivals: readonly Led[];
  /** The namespace is only likely: that something is not there says nothing. Why no more is known of it. */
  guessed?: string;
}

interface Led {
  namespace: string;
  operator: Leader;
}

/**
 * As said, unless it leads elsewhere: whoever looks, or pauses, in the wrong namespace must not believe that it was the right
 * one. Otherwise by its Lease; where there is none, by what is kept or written for it. Undefined: nothing of one is found.
 */
export async function placeOf(client: KubeClient, { given, nowMs }: Asked = {}): Promise<Place | undefined> {
  if (given !== undefined) await mustExist({ client, namespace: given });
  const leaders = await readLeaders(client, nowMs);
  if (typeof leaders === 'string') {
    const operator: Leader = { leads: 'unknown', message: leaders };
    const namespace = given ?? (await likelyNamespace(client)) ?? usualNamespace;
    return { namespace, operator, rivals: [], ...(given === undefined ? { guessed: leaders } : {}) };
  }
  const found = given === undefined ? leaders[0] : leaders.find(({ namespace }) => namespace === given);
  const rivals = leaders.filter((one) => one !== found && one.operator.leads === 'yes');
  if (found !== undefined) return { ...found, rivals };
  if (given !== undefined && rivals[0] !== undefined) throw elsewhere(given, rivals[0]);
  const namespace = given ?? (await likelyNamespace(client));
  return namespace === undefined ? undefined : { namespace, operator: { leads: 'nobody' }, rivals };
}

/**
 * Where a command that only reads looks for how nodes are fenced: as said, unless nothing is there and something is elsewhere, which is
 * found out before any device is asked; otherwise where the operator is, or something is
 * written for it. In the wrong namespace it would find nothing, and say that of a cluster in which all is well.
 */
export async function configuredIn(
  client: KubeClient,
  { given, usual }: { given?: string | undefined; usual: string },
): Promise<string> {
  if (given !== undefined) {
    if (await isWrittenIn({ client, namespace: given })) return given;
    const { operator } = (await placeOf(client, { given })) ?? {};
    const where = operator?.leads === 'yes' ? undefined : await writtenElsewhere({ client, namespace: given });
    if (where !== undefined) throw new UserError(where);
    return given;
  }
  const place = await placeOf(client);
  if (place !== undefined && place.guessed === undefined) return place.namespace;
  return (await likelyNamespace(client)) ?? usual;
}

interface Asked {
  /** By whoever types. */
  given?: string | undefined;
  nowMs?: number | undefined;
}

function elsewhere(given: string, { namespace, operator }: Led): UserError {
  const who = operator.leads === 'yes' ? operator.holder : 'it';
  return new UserError(`no operator leads in ${given}: ${who} leads in ${namespace}; write -n ${namespace}`);
}

/** The one that leads first. A text: why it is not known. */
export async function readLeaders(client: KubeClient, nowMs?: number): Promise<Led[] | string> {
  const read = await client.list<LeaderLease>(leases, { fieldSelector: `metadata.name=${leaderName}` });
  if (!read.ok) return read.error.message;
  const atMs = nowMs ?? read.serverTime ?? 0;
  const rank = (lease: LeaderLease): number => (leaderOf(lease, atMs).leads === 'yes' ? 1 : 0);
  return read.value.items
    .filter(({ metadata }) => metadata.namespace !== nodeLeaseNamespace)
    .toSorted((one, other) => rank(other) - rank(one) || renewedMs(other) - renewedMs(one))
    .map((lease) => ({ namespace: lease.metadata.namespace ?? '', operator: leaderOf(lease, atMs) }));
}

function leaderOf({ metadata, spec = {} }: LeaderLease, atMs: number): Leader {
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds } = spec;
  const holder = holderIdentity.replace(/_[^_]*$/, '');
  const aliveMs = 2 * (leaseDurationMs(leaseDurationSeconds) ?? usualLeaderMs);
  const isAlive = holder !== '' && atMs - Date.parse(renewTime) < aliveMs;
  if (isAlive) return { leads: 'yes', holder };
  const unable = metadata.annotations?.[UNABLE];
  const why = unable === undefined ? {} : { unable };
  return { leads: 'no', holder: holder === '' ? 'the last one' : holder, since: renewTime, ...why };
}

function renewedMs({ spec }: LeaderLease): number {
  return Date.parse(spec?.renewTime ?? '') || 0;
}

/** Undefined: no other one leads. Two would each keep a storm within its limits, and both together would not. */
export function rivalsText({ rivals }: Pick<Place, 'rivals'>): string | undefined {
  if (rivals.length === 0) return undefined;
  const where = rivals.map(
    ({ namespace, operator }) => `${operator.leads === 'yes' ? operator.holder : '?'} in ${namespace}`,
  );
  return `another operator leads as well: ${where.join(', ')}; each keeps to the limits and the pause of its own namespace only: end one of them`;
}

export function pauseRef(namespace: string): ObjectRef {
  return { resource: configMaps, namespace, name: PAUSE_NAME };
}

/** Undefined: it could not be read, which is not to say that there is none. */
export async function readPause(client: KubeClient, place: Place): Promise<SeenPause | undefined> {
  const { namespace, guessed } = place;
  const read = await client.get<KubeObject & { data?: Record<string, string> }>(pauseRef(namespace));
  if (read.ok) return { namespace, written: writtenPause(read.value) };
  const { kind } = read.error;
  if (kind === 'notFound' && guessed === undefined) return { namespace };
  if (kind === 'notFound' || kind === 'forbidden') return undefined;
  throw apiFailure(read.error);
}

/** What could not be read, where `readPause` answers nothing. */
export function pauseText({ namespace, guessed }: Place): string {
  return guessed === undefined
    ? `ConfigMap ${PAUSE_NAME} in ${namespace}`
    : `ConfigMap ${PAUSE_NAME} in the namespace of the operator, which is not known (${guessed}; -n says it)`;
}
