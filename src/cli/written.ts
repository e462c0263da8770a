/** How nodes are fenced, as it is written in one namespace; and where else something is written, should that be the wrong one. */
import type { NamedData } from '../api/fence-config.ts';
import { isFenceConfig } from '../api/fence-names.ts';
import { likeliest } from '../api/nearest.ts';
import type { StoredDevice } from '../act/device-records.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';
import { configMaps, fenceDevices, namespaces } from '../kube/resources.ts';
import { projectDevice } from '../observe/project-device.ts';
import { taken } from './taken.ts';
import { UserError } from './user-error.ts';

/** As deploy/role.yaml makes it. */
export const usualNamespace = 'fenceline';

export interface WhereWritten {
  client: KubeClient;
  namespace: string;
}

export interface Written {
  maps: NamedData[];
  devices: StoredDevice[];
}

/** A namespace that is not there is a mistake: to the API server it is an empty one. */
export async function mustExist({ client, namespace }: WhereWritten): Promise<void> {
  const there = await client.get({ resource: namespaces, name: namespace });
  if (there.ok || there.error.kind !== 'notFound') return;
  throw new UserError(`there is no namespace ${namespace}: ${await instead(client, namespace)}`);
}

export async function readWritten({ client, namespace }: WhereWritten): Promise<Written> {
  await mustExist({ client, namespace });
  const { items } = taken(await client.list<KubeObject & { data?: Record<string, string> }>(configMaps, { namespace }));
  const maps = items
    .filter(({ metadata }) => isFenceConfig(metadata.name))
    .map(({ metadata, data = {} }) => ({ name: metadata.name, data }));
  return { maps, devices: await readDevices(client, namespace) };
}

export async function readDevices(client: KubeClient, namespace: string): Promise<StoredDevice[]> {
  const read = await client.list<StoredDevice>(fenceDevices, { namespace });
  return !read.ok && read.error.kind === 'notFound' ? [] : taken(read).items;
}

/** Undefined: something is written in this namespace, or nowhere. */
export async function elsewhere({ client, namespace }: WhereWritten): Promise<string | undefined> {
  if (await isWrittenIn({ client, namespace })) return undefined;
  const found = await writtenNamespaces(client);
  const where = found.names.length > 0 ? thereIs(found.names) : unread('one is written elsewhere', found);
  return where && nothingIn(namespace, where);
}

export async function isWrittenIn(where: WhereWritten): Promise<boolean> {
  const { maps, devices } = await readWritten(where);
  return maps.length > 0 || devices.some(isWritten);
}

/** Of a namespace in which nothing is written. Undefined: nor is it elsewhere, as far as could be read. */
export async function writtenElsewhere({ client, namespace }: WhereWritten): Promise<string | undefined> {
  const { names } = await writtenNamespaces(client);
  return names.length === 0 ? undefined : nothingIn(namespace, thereIs(names));
}

function nothingIn(namespace: string, where: string): string {
  return `in namespace ${namespace} no fence configuration is written; ${where}`;
}

/** The operator keeps in others what it knows of a device that is written elsewhere. */
function isWritten(device: KubeObject): boolean {
  return projectDevice(device) !== undefined;
}

/** What is called so, as far as it could be read; `why`: why not all of it was. */
interface Names {
  names: string[];
  why?: string;
}

function thereIs(names: readonly string[]): string {
  return `there is one in ${names.join(', ')}: write -n ${names[0]}`;
}

/** That nothing was seen says nothing where nobody could look. */
function unread(what: string, { why }: Names): string | undefined {
  return why && `whether ${what} could not be read (${why})`;
}

async function instead(client: KubeClient, namespace: string): Promise<string> {
  const written = await writtenNamespaces(client);
  if (written.names.length > 0) return `of fence configurations ${thereIs(written.names)}`;
  if (namespace === usualNamespace) return 'kubectl apply -f deploy/role.yaml makes it';
  const all = await namesOf(client, namespaces, ({ metadata }) => metadata.name);
  const near = likeliest(namespace, all.names);
  const advice = near === undefined ? 'write -n and the one that the operator runs in' : `did you mean ${near}?`;
  return [advice, unread('one is written elsewhere', written), unread('there is one like it', all)]
    .filter((part) => part !== undefined)
    .join('; ');
}

const of = ({ metadata }: KubeObject): string | undefined => metadata.namespace;

/** Where an operator is, by what it keeps of devices, or by what is written for it. */
export async function likelyNamespace(client: KubeClient): Promise<string | undefined> {
  const kept = await namesOf(client, fenceDevices, of);
  return kept.names[0] ?? (await writtenNamespaces(client)).names[0];
}

/** Where somebody has written how nodes are fenced, in whichever of the two ways. */
async function writtenNamespaces(client: KubeClient): Promise<Names> {
  const found = [
    await namesOf(client, fenceDevices, (device) => (isWritten(device) ? of(device) : undefined)),
    await namesOf(client, configMaps, (map) => (isFenceConfig(map.metadata.name) ? of(map) : undefined)),
  ];
  const why = found.flatMap((one) => one.why ?? []).join('; ');
  return { names: distinct(found.flatMap(({ names }) => names)), ...(why === '' ? {} : { why }) };
}

async function namesOf(
  client: KubeClient,
  resource: Resource,
  nameOf: (object: KubeObject) => string | undefined,
): Promise<Names> {
  const read = await client.list<KubeObject>(resource);
  if (read.ok) return { names: distinct(read.value.items.flatMap((object) => nameOf(object) ?? [])) };
  // Of a kind that the cluster does not know there are none.
  return { names: [], ...(read.error.kind === 'notFound' ? {} : { why: read.error.message }) };
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}
