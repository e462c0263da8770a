/** Who leads, in which namespace the operator is, and whether somebody has paused everything there. */
import { leaseDurationMs } from '../api/life.ts';
import type { SeenPause } from '../api/seen-pause.ts';
import { PAUSE_NAME, writtenPause } from '../api/seen-pause.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { configMaps, leases, nodeLeaseNamespace } from '../kube/resources.ts';
import type { Leader } from '../report/explanation.ts';
import { UserError } from './user-error.ts';
import { likelyNamespace } from './written.ts';

/** As `run` calls its Lease unless it is told otherwise. */
export const leaderName = 'fenceline';
const usualLeaderMs = 15_000;
/** As deploy/role.yaml makes it. */
export const usualNamespace = 'fenceline';

interface LeaderLease extends KubeObject {
  spec?: { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number };
}

export interface Place {
  /** Absent: nothing of an operator is to be found. */
  namespace?: string;
  operator: Leader;
}

/** By its Lease; where there is none, by what is kept or written for it. */
export async function placeOf(client: KubeClient, nowMs?: number): Promise<Place> {
  const { operator, namespace } = await readLeader(client, nowMs);
  const found = namespace ?? (await likelyNamespace(client));
  return { operator, ...(found === undefined ? {} : { namespace: found }) };
}

async function readLeader(client: KubeClient, nowMs: number | undefined): Promise<Place> {
  const read = await client.list<LeaderLease>(leases, { fieldSelector: `metadata.name=${leaderName}` });
  if (!read.ok) return { operator: { leads: 'unknown', message: read.error.message } };
  const atMs = nowMs ?? read.serverTime ?? 0;
  const found = read.value.items
    .filter(({ metadata }) => metadata.namespace !== nodeLeaseNamespace)
    .toSorted((one, other) => renewedMs(other) - renewedMs(one))[0];
  if (found === undefined) return { operator: { leads: 'nobody' } };
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds } = found.spec ?? {};
  const { namespace } = found.metadata;
  const holder = holderIdentity.replace(/_[^_]*$/, '');
  const aliveMs = 2 * (leaseDurationMs(leaseDurationSeconds) ?? usualLeaderMs);
  const isAlive = holder !== '' && atMs - Date.parse(renewTime) < aliveMs;
  const operator: Leader = isAlive
    ? { leads: 'yes', holder }
    : { leads: 'no', holder: holder === '' ? 'the last one' : holder, since: renewTime };
  return { operator, ...(namespace === undefined ? {} : { namespace }) };
}

function renewedMs({ spec }: LeaderLease): number {
  return Date.parse(spec?.renewTime ?? '') || 0;
}

export function pauseRef(namespace: string): ObjectRef {
  return { resource: configMaps, namespace, name: PAUSE_NAME };
}

/** Undefined: the user may not read it, which is not to say that there is none. */
export async function readPause(client: KubeClient, namespace: string): Promise<SeenPause | undefined> {
  const read = await client.get<KubeObject & { data?: Record<string, string> }>(pauseRef(namespace));
  if (read.ok) return { namespace, written: writtenPause(read.value) };
  return withoutPause(namespace, read.error);
}

function withoutPause(namespace: string, { kind, message }: KubeError): SeenPause | undefined {
  if (kind === 'notFound') return { namespace };
  if (kind === 'forbidden') return undefined;
  throw new UserError(message);
}
