/**
 * The connection of a pod: the service's address from the environment, the service account from its mounted files.
 * The operator's usual way in, so nothing here loads more than it needs.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { type Connection, CredentialError, type Endpoint, errorCode, readNamedFile, tokenFile } from './credentials.ts';
import { proxyFor } from './proxy.ts';

export const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface InCluster {
  env: Record<string, string | undefined>;
  clock: Clock;
  /** Where the service account's files are mounted. */
  directory?: string;
}

export async function inClusterPossible(options: InCluster): Promise<boolean> {
  const { env, directory = serviceAccountDirectory } = options;
  if (!env['KUBERNETES_SERVICE_HOST'] || !env['KUBERNETES_SERVICE_PORT']) return false;
  try {
    return !(await stat(join(directory, 'token'))).isDirectory();
  } catch {
    return false;
  }
}

/** The pod's own namespace; POD_NAMESPACE is the downward API's usual name and goes first. */
export async function inClusterNamespace(options: InCluster): Promise<string> {
  const { env, directory = serviceAccountDirectory } = options;
  const named = env['POD_NAMESPACE'];
  if (named) return named;
  try {
    return (await readFile(join(directory, 'namespace'), 'utf8')).trim() || 'default';
  } catch {
    return 'default';
  }
}

export async function inClusterConnection(options: InCluster): Promise<Connection> {
  const { env, clock, directory = serviceAccountDirectory } = options;
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) {
    throw new CredentialError(
      'not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; pass --kubeconfig, or set KUBECONFIG',
    );
  }
  const url = URL.parse(`https://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`);
  if (!url) {
    throw new CredentialError(
      `KUBERNETES_SERVICE_HOST=${host} and KUBERNETES_SERVICE_PORT=${port} are not an address and a port`,
    );
  }
  const endpoint: Endpoint = { url, insecureSkipTlsVerify: false };
  const caFile = join(directory, 'ca.crt');
  const ca = await optionalFile(caFile);
  if (ca !== undefined) Object.assign(endpoint, { ca, caFile });
  const proxy = proxyFor(url, env);
  if (proxy) endpoint.proxyUrl = proxy;

  const credentials = tokenFile({ path: join(directory, 'token'), where: 'service account', clock });
  await credentials.current();
  return {
    endpoint,
    credentials,
    impersonation: {},
    namespace: await inClusterNamespace(options),
    contextName: 'in-cluster',
  };
}

/** Without ca.crt the system's authorities decide: still verified, and right where the API server has a public name. */
async function optionalFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    return readNamedFile(path, 'service account: certificate authority');
  }
}
