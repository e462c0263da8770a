/** How nodes are fenced, as it is written in one namespace; and where else something is written, should that be the wrong one. */
import type { NamedData } from '../api/fence-config.ts';
import { CONFIG_PREFIX, isFenceConfig } from '../api/fence-names.ts';
import { nearest } from '../api/nearest.ts';
import type { StoredDevice } from '../act/device-records.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';
import { configMaps, fenceDevices, namespaces } from '../kube/resources.ts';
import { taken } from './node-fence.ts';
import { UserError } from './user-error.ts';

export interface WhereWritten {
  client: KubeClient;
  namespace: string;
}

export interface Written {
  maps: NamedData[];
  devices: StoredDevice[];
}

/** A namespace that is not there is a mistake: to the API server it is an empty one. */
export async function readWritten({ client, namespace }: WhereWritten): Promise<Written> {
  const there = await client.get({ resource: namespaces, name: namespace });
  if (!there.ok && there.error.kind === 'notFound') {
    throw new UserError(`there is no namespace ${namespace}: ${await instead(client, namespace)}`);
  }
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

/** Undefined: something is written in this namespace, or nowhere that we may look. */
export async function elsewhere({ client, namespace }: WhereWritten): Promise<string | undefined> {
  const names = await writtenNamespaces(client);
  if (names.length === 0 || names.includes(namespace)) return undefined;
  return `in namespace ${namespace} no fence configuration is written; ${thereIs(names)}`;
}

function thereIs(names: readonly string[]): string {
  return `there is one in ${names.join(', ')}: write -n ${names[0]}`;
}

async function instead(client: KubeClient, namespace: string): Promise<string> {
  const written = await writtenNamespaces(client);
  if (written.length > 0) return thereIs(written);
  const all = await namesOf(client, namespaces, ({ metadata }) => metadata.name);
  return all.length === 0
    ? 'write -n and the one that the operator runs in'
    : `did you mean ${nearest(namespace, all)}?`;
}

/** Where somebody has written how nodes are fenced. Who may not look everywhere learns nothing by this. */
export async function writtenNamespaces(client: KubeClient): Promise<string[]> {
  const of = ({ metadata }: KubeObject): string | undefined => metadata.namespace;
  const devices = await namesOf(client, fenceDevices, of);
  if (devices.length > 0) return devices;
  return namesOf(client, configMaps, (map) => (map.metadata.name.startsWith(CONFIG_PREFIX) ? of(map) : undefined));
}

async function namesOf(
  client: KubeClient,
  resource: Resource,
  nameOf: (object: KubeObject) => string | undefined,
): Promise<string[]> {
  const read = await client.list<KubeObject>(resource);
  const found = read.ok ? read.value.items.flatMap((object) => nameOf(object) ?? []) : [];
  return [...new Set(found)].sort();
}
