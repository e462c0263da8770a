/** Whether anybody decides at all: said by every command that shows or writes what only an operator carries out. */
import type { FenceDevice } from '../api/fence-device.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { fenceDevices, nodeFences } from '../kube/resources.ts';
import { readLeaders } from './operator-place.ts';

/** Undefined: somebody leads, or that could not be found out. */
export async function nobodyLeads(client: KubeClient, nowMs?: number): Promise<string | undefined> {
  const leaders = await readLeaders(client, nowMs);
  if (typeof leaders === 'string') return undefined;
  const [first] = leaders;
  if (first === undefined) return (await isKept(client)) ? undefined : 'no operator leads (none was ever seen here)';
  const { operator } = first;
  if (operator.leads !== 'no') return undefined;
  const { holder, since, unable } = operator;
  return `no operator leads (${unable === undefined ? `${holder} was last heard of at ${since}` : `${unable}; at ${since}`})`;
}

/** What was just written waits for one. */
export async function unheard(client: KubeClient): Promise<string[]> {
  const nobody = await nobodyLeads(client);
  return nobody === undefined ? [] : [`${nobody}: this takes effect when one does`];
}

/** Before somebody asks for what only an operator does. */
export async function unheeded(client: KubeClient): Promise<string[]> {
  const nobody = await nobodyLeads(client);
  return nobody === undefined ? [] : [`${nobody}: nothing is fenced until one does`];
}

/** Somebody keeps records all the same: without an election, or by another name. */
async function isKept(client: KubeClient): Promise<boolean> {
  const devices = await client.list<KubeObject & Partial<Pick<FenceDevice, 'status'>>>(fenceDevices);
  if (devices.ok && devices.value.items.some(({ status }) => status?.configuration !== undefined)) return true;
  const records = await client.list<KubeObject & Partial<Pick<NodeFence, 'status'>>>(nodeFences);
  return records.ok && records.value.items.some(({ status }) => status?.holder !== undefined);
}
