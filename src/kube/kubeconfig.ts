/**
 * From flags, environment and kubeconfig to a connection, with kubectl's precedence: --kubeconfig, else the files of
 * $KUBECONFIG, else ~/.kube/config, else the pod's service account.
 *
 * Where kubectl quietly falls back to localhost or asks for a name at the prompt, this says what is missing.
 */
import { resolve } from 'node:path';
import { type Connection, CredentialError, type Endpoint, readNamedFile, staticToken } from './credentials.ts';
import { inClusterConnection, inClusterNamespace, inClusterPossible } from './in-cluster.ts';
import { Fields, type Kubeconfig, readKubeconfig } from './kubeconfig-file.ts';
import { type ConnectionInput, credentialsOf, type Overrides } from './kubeconfig-user.ts';
import { parseProxyUrl, proxyFor } from './proxy.ts';

export type { ConnectionInput, Overrides } from './kubeconfig-user.ts';

/** What flags and the chosen context come to. */
interface Chosen {
  contextName: string;
  cluster: Fields;
  user: Fields;
  namespace: string | undefined;
}

export async function loadConnection(input: ConnectionInput): Promise<Connection> {
  const { overrides, env, home } = input;
  const explicit = overrides.kubeconfig;
  const kubeconfig = await readKubeconfig({ env, home, ...(explicit && { explicit }) });
  const requestTimeoutMs = parseTimeout(overrides.requestTimeout);
  const contextName = overrides.context || kubeconfig.currentContext;
  const inCluster = {
    env,
    clock: input.clock,
    ...(input.serviceAccountDirectory !== undefined && { directory: input.serviceAccountDirectory }),
  };
  let connection: Connection;
  if (contextName || overrides.cluster || overrides.server) {
    const chosen = choose(kubeconfig, overrides, contextName);
    connection = await fromKubeconfig(chosen, input);
    // As kubectl has it: in a pod, a context without a namespace means the pod's.
    if (chosen.namespace === undefined && (await inClusterPossible(inCluster))) {
      connection.namespace = await inClusterNamespace(inCluster);
    }
  } else if (!explicit && (await inClusterPossible(inCluster))) {
    connection = await overrideInCluster(await inClusterConnection(inCluster), overrides);
  } else {
    throw new CredentialError(nothingChosen(kubeconfig, input));
  }
  if (requestTimeoutMs > 0) connection.requestTimeoutMs = requestTimeoutMs;
  return connection;
}

function nothingChosen(kubeconfig: Kubeconfig, { overrides, env, home }: ConnectionInput): string {
  const places = overrides.kubeconfig || env['KUBECONFIG'] || `${home}/.kube/config`;
  if (kubeconfig.files.length === 0) {
    return `no kubeconfig at ${places} and not in a cluster; pass --kubeconfig FILE, set KUBECONFIG, or pass --server URL`;
  }
  const files = kubeconfig.files.join(', ');
  if (kubeconfig.contexts.size === 0)
    return `${files}: has no contexts; pass another --kubeconfig FILE, or --server URL`;
  return `${files}: no current-context; pass --context NAME; ${listed(kubeconfig.contexts)}`;
}

function listed(entries: Map<string, Fields>): string {
  const names = [...entries.keys()].sort();
  return names.length === 0 ? 'there are none' : `there are: ${names.join(', ')}`;
}

function choose(kubeconfig: Kubeconfig, overrides: Overrides, contextName: string): Chosen {
  const where = kubeconfig.files.join(', ') || 'kubeconfig';
  const context = kubeconfig.contexts.get(contextName);
  if (contextName && !context) {
    const flag = overrides.context ? '--context' : 'current-context';
    const exist = listed(kubeconfig.contexts);
    throw new CredentialError(`${where}: ${flag} names "${contextName}", which does not exist; ${exist}`);
  }
  const pick = (item: 'cluster' | 'user', dispensable: boolean): Fields => {
    const flag = overrides[item];
    const name = flag || context?.text(item);
    const entries = kubeconfig[`${item}s`];
    const found = name === undefined ? undefined : entries.get(name);
    if (found) return found;
    if (flag || (name !== undefined && !dispensable)) {
      const source = flag ? `${where}: --${item}` : context?.where;
      throw new CredentialError(`${source} names the ${item} "${name}", which does not exist; ${listed(entries)}`);
    }
    return new Fields(context?.where ?? 'the command line', process.cwd(), {});
  };
  const namespace = overrides.namespace || context?.text('namespace');
  return {
    contextName,
    cluster: pick('cluster', Boolean(overrides.server)),
    user: pick('user', Boolean(overrides.token)),
    namespace,
  };
}

async function fromKubeconfig(chosen: Chosen, input: ConnectionInput): Promise<Connection> {
  const { cluster, user, contextName, namespace } = chosen;
  const { overrides } = input;
  const server = overrides.server || cluster.text('server');
  if (server === undefined) {
    throw new CredentialError(`${cluster.where}: no server; write for example "server: https://api.example.com:6443"`);
  }
  const endpoint = await endpointOf(server, cluster, input);
  return {
    endpoint,
    credentials: await credentialsOf({ user, overrides, endpoint, server, cluster, input }),
    impersonation: impersonationOf(user, overrides),
    namespace: namespace ?? 'default',
    contextName,
  };
}

async function endpointOf(server: string, cluster: Fields, { overrides, env }: ConnectionInput): Promise<Endpoint> {
  const endpoint: Endpoint = { url: serverUrl(server, cluster), insecureSkipTlsVerify: false };
  const { url } = endpoint;
  const named = cluster.text('proxy-url');
  const proxy = named === undefined ? proxyFor(url, env) : parseProxyUrl(named, `${cluster.where}: proxy-url`);
  if (proxy) endpoint.proxyUrl = proxy;

  Object.assign(endpoint, await trustOf(cluster, overrides));
  // A name for the kubeconfig's server says nothing of another one.
  const tlsServerName = overrides.tlsServerName || (overrides.server ? undefined : cluster.text('tls-server-name'));
  if (tlsServerName) endpoint.tlsServerName = tlsServerName;
  return endpoint;
}

function serverUrl(server: string, cluster: Fields): URL {
  // Without a scheme it is plain http, which surprises but is what kubectl does.
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(server) ? server : `http://${server}`);
  const advice = 'write for example https://api.example.com:6443';
  if (!url || url.hostname === '' || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new CredentialError(`${cluster.where}: server is not an https:// URL; ${advice}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new CredentialError(
      `${cluster.where}: server must not hold a login; put username and password into the user`,
    );
  }
  url.search = '';
  url.hash = '';
  return url;
}

/** A flag about trust replaces all that the kubeconfig says of it. */
async function trustOf(cluster: Fields, overrides: Overrides): Promise<Partial<Endpoint>> {
  const flag = overrides.certificateAuthority;
  const flagged = Boolean(flag) || overrides.insecureSkipTlsVerify === true;
  const where = flagged ? 'command line' : cluster.where;
  const insecureSkipTlsVerify = flagged
    ? overrides.insecureSkipTlsVerify === true
    : cluster.flag('insecure-skip-tls-verify');
  const data = flagged ? undefined : cluster.decoded('certificate-authority-data');
  const caFile = flagged ? flag && resolve(flag) : cluster.path('certificate-authority');
  if (data !== undefined && caFile) {
    throw new CredentialError(`${where}: has certificate-authority and certificate-authority-data; remove one of them`);
  }
  if (insecureSkipTlsVerify && (data !== undefined || caFile)) {
    throw new CredentialError(
      `${where}: has a certificate authority and insecure-skip-tls-verify; remove insecure-skip-tls-verify`,
    );
  }
  const ca = data ?? (caFile ? await readNamedFile(caFile, `${where}: certificate-authority`) : undefined);
  if (ca === undefined) return { insecureSkipTlsVerify };
  if (!ca.includes('-----BEGIN CERTIFICATE-----')) {
    throw new CredentialError(`${where}: the certificate authority is not a certificate in PEM form`);
  }
  return { insecureSkipTlsVerify, ca, ...(caFile && { caFile }) };
}

async function overrideInCluster(connection: Connection, overrides: Overrides): Promise<Connection> {
  const none = new Fields('command line', process.cwd(), {});
  const result = { ...connection, impersonation: impersonationOf(none, overrides) };
  if (overrides.namespace) result.namespace = overrides.namespace;
  if (overrides.token) result.credentials = staticToken(overrides.token, '--token');
  if (overrides.certificateAuthority || overrides.insecureSkipTlsVerify) {
    const { ca: _ca, caFile: _caFile, ...endpoint } = connection.endpoint;
    result.endpoint = { ...endpoint, ...(await trustOf(none, overrides)) };
  }
  if (overrides.tlsServerName) result.endpoint = { ...result.endpoint, tlsServerName: overrides.tlsServerName };
  return result;
}

function impersonationOf(user: Fields, overrides: Overrides): Connection['impersonation'] {
  const headers: Connection['impersonation'] = {};
  const name = overrides.as || user.text('as');
  const uid = overrides.asUid || user.text('as-uid');
  const groups = overrides.asGroup?.length ? overrides.asGroup : user.texts('as-groups');
  const extra = overrides.asUserExtra?.length ? extraFlags(overrides.asUserExtra) : extraFields(user);
  if (name) headers['Impersonate-User'] = name;
  if (uid) headers['Impersonate-Uid'] = uid;
  if (groups.length > 0) headers['Impersonate-Group'] = groups;
  for (const [key, values] of extra) headers[`Impersonate-Extra-${escapeHeaderKey(key)}`] = values;
  if (!name && Object.keys(headers).length > 0) {
    throw new CredentialError(`${user.where}: impersonating a group, uid or extra needs a user as well; add --as USER`);
  }
  return headers;
}

function extraFlags(flags: string[]): Map<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const flag of flags) {
    const at = flag.indexOf('=');
    if (at <= 0) throw new CredentialError(`--as-user-extra ${flag}: write KEY=VALUE`);
    const key = flag.slice(0, at);
    extra.set(key, [...(extra.get(key) ?? []), flag.slice(at + 1)]);
  }
  return extra;
}

function extraFields(user: Fields): Map<string, string[]> {
  const fields = user.child('as-user-extra');
  return new Map((fields?.keys() ?? []).map((key) => [key, fields?.texts(key) ?? []]));
}

/** Extra keys such as example.com/scope have characters that a header's name may not have. */
function escapeHeaderKey(key: string): string {
  const bytes = [...Buffer.from(key)];
  return bytes
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z0-9!#$&'*+.^_`|~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

const unitMs: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 3.6e6 };

/** Seconds as a number, or a duration as Go writes it (1m30s). Zero means no limit. */
function parseTimeout(text: string | undefined): number {
  if (!text) return 0;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!/^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/.test(text)) {
    throw new CredentialError(`--request-timeout ${text}: write a number of seconds, or a time such as 30s, 2m or 1h`);
  }
  const parts = [...text.matchAll(/([\d.]+)([a-zµ]+)/g)];
  return parts.reduce((sum, [, amount = '', unit = '']) => sum + Number(amount) * (unitMs[unit] ?? 0), 0);
}
