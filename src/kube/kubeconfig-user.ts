/** Who we are: a kubeconfig's user entry and the flags that replace parts of it, as a source of credentials. */
import { resolve } from 'node:path';
import type { Clock } from '../clock.ts';
import {
  anonymous,
  basicAuth,
  clientCertificate,
  combined,
  CredentialError,
  type CredentialSource,
  type Endpoint,
  type Pem,
  staticToken,
  tokenFile,
} from './credentials.ts';
import {
  execApiVersions,
  type ExecCluster,
  type ExecConfig,
  execCredential,
  interactiveModes,
} from './exec-credential.ts';
import type { Fields } from './kubeconfig-file.ts';

/** kubectl's flags of the same names. An empty text counts as not given. */
export interface Overrides {
  kubeconfig?: string;
  context?: string;
  cluster?: string;
  user?: string;
  namespace?: string;
  server?: string;
  tlsServerName?: string;
  insecureSkipTlsVerify?: boolean;
  certificateAuthority?: string;
  token?: string;
  clientCertificate?: string;
  clientKey?: string;
  username?: string;
  password?: string;
  as?: string;
  asUid?: string;
  asGroup?: string[];
  /** Each `key=value`. */
  asUserExtra?: string[];
  requestTimeout?: string;
}

export interface ConnectionInput {
  overrides: Overrides;
  env: Record<string, string | undefined>;
  home: string;
  clock: Clock;
  /** Whether an exec plugin may talk to a person. */
  stdinIsTerminal: boolean;
  /** Where an exec plugin's stderr goes; absent: to our own. */
  stderr?: NodeJS.WritableStream;
  /** Where the service account's files are mounted. */
  serviceAccountDirectory?: string;
}

interface Identity {
  user: Fields;
  overrides: Overrides;
  endpoint: Endpoint;
  /** As written, for the exec plugin. */
  server: string;
  cluster: Fields;
  input: ConnectionInput;
}

/**
 * Flags go before fields; a token, a login or a certificate goes before an exec plugin. Over plain http nothing is sent,
 * as kubectl has it: anyone on the way could read it.
 */
export async function credentialsOf(identity: Identity): Promise<CredentialSource> {
  if (identity.endpoint.url.protocol === 'http:') return anonymous;
  const certificate = certificateSource(identity);
  const authorization = authorizationSource(identity);
  const found = [authorization, certificate].filter((source) => source !== undefined);
  if (found.length === 0) return execSource(identity) ?? anonymous;
  const source = combined(found);
  // Files are read now: a wrong path is a matter of the configuration, not of the first request.
  await source.current();
  return source;
}

function authorizationSource({ user, overrides, input }: Identity): CredentialSource | undefined {
  if (overrides.token) return staticToken(overrides.token, '--token');
  if (overrides.username) return basicAuth(overrides.username, overrides.password ?? '');
  const token = user.text('token');
  const path = user.path('tokenFile');
  const username = user.text('username');
  const password = overrides.password || user.text('password');
  if (username !== undefined || password !== undefined) {
    if (token !== undefined) throw new CredentialError(`${user.where}: has a token and a username; remove one of them`);
    if (username === undefined) throw new CredentialError(`${user.where}: has a password but no username`);
    if (path === undefined) return basicAuth(username, password ?? '');
  }
  if (path !== undefined) {
    const fallback = token !== undefined && { fallback: token };
    return tokenFile({ path, where: `${user.where}: tokenFile`, clock: input.clock, ...fallback });
  }
  return token === undefined ? undefined : staticToken(token, `${user.where}: token`);
}

function certificateSource({ user, overrides, input }: Identity): CredentialSource | undefined {
  const cert = pemOf(user, 'client-certificate', overrides.clientCertificate);
  const key = pemOf(user, 'client-key', overrides.clientKey);
  if (!cert) {
    if (overrides.clientKey) throw new CredentialError('--client-key needs --client-certificate as well');
    return undefined;
  }
  if (!key) {
    throw new CredentialError(
      `${user.where}: has a client certificate but no key; add client-key with the key file's path, or client-key-data`,
    );
  }
  return clientCertificate({ cert, key, where: user.where, clock: input.clock });
}

function pemOf(user: Fields, field: string, flag: string | undefined): Pem | undefined {
  if (flag) return { path: resolve(flag) };
  const path = user.path(field);
  const data = user.decoded(`${field}-data`);
  if (path !== undefined && data !== undefined) {
    throw new CredentialError(`${user.where}: has ${field} and ${field}-data; remove one of them`);
  }
  if (data !== undefined) return { data };
  return path === undefined ? undefined : { path };
}

function execSource({ user, cluster, endpoint, server, input }: Identity): CredentialSource | undefined {
  const exec = user.child('exec');
  if (!exec) {
    if (user.raw('auth-provider') === undefined) return undefined;
    const provider = user.child('auth-provider')?.text('name') ?? '';
    throw new CredentialError(
      `${user.where}: auth-provider ${provider} no longer exists in Kubernetes clients; use the provider's exec plugin ` +
        `(for example gke-gcloud-auth-plugin, kubelogin or kubectl oidc-login) under "exec"`,
    );
  }
  const config = execConfigOf(exec, user.where);
  if (exec.flag('provideClusterInfo')) config.cluster = execClusterOf(server, cluster, endpoint);
  const { clock, env, stdinIsTerminal, stderr } = input;
  return execCredential(config, { clock, env, stdinIsTerminal, ...(stderr && { stderr }) });
}

function execConfigOf(exec: Fields, where: string): ExecConfig {
  const written = exec.text('apiVersion');
  const apiVersion = execApiVersions.find((version) => version === written);
  if (!apiVersion) {
    const problem = written === undefined ? 'has no apiVersion' : `has apiVersion ${written}, which is not supported`;
    throw new CredentialError(`${exec.where}: ${problem}; write ${execApiVersions.join(' or ')}`);
  }
  const mode = exec.text('interactiveMode') ?? (apiVersion.endsWith('/v1beta1') ? 'IfAvailable' : undefined);
  const interactiveMode = interactiveModes.find((known) => known === mode);
  if (!interactiveMode) {
    throw new CredentialError(`${exec.where}: interactiveMode has to be one of ${interactiveModes.join(', ')}`);
  }
  const command = exec.text('command');
  if (command === undefined) throw new CredentialError(`${exec.where}: has no command`);
  const env: Record<string, string> = {};
  for (const variable of exec.children('env')) {
    const name = variable.text('name');
    if (name === undefined) throw new CredentialError(`${variable.where}: has no name`);
    env[name] = variable.text('value') ?? '';
  }
  const installHint = exec.text('installHint');
  return {
    apiVersion,
    interactiveMode,
    // A bare name is looked up in PATH; anything with a separator is a path like the others.
    command: /[/\\]/.test(command) ? (exec.path('command') ?? command) : command,
    args: exec.texts('args'),
    env,
    where,
    ...(installHint !== undefined && { installHint }),
  };
}

function execClusterOf(server: string, cluster: Fields, endpoint: Endpoint): ExecCluster {
  const proxyUrl = cluster.text('proxy-url');
  const config = cluster
    .children('extensions')
    .find((item) => item.text('name') === 'client.authentication.k8s.io/exec');
  return {
    server,
    ...(endpoint.tlsServerName !== undefined && { 'tls-server-name': endpoint.tlsServerName }),
    ...(endpoint.insecureSkipTlsVerify && { 'insecure-skip-tls-verify': true }),
    ...(endpoint.ca !== undefined && { 'certificate-authority-data': Buffer.from(endpoint.ca).toString('base64') }),
    ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
    ...(cluster.flag('disable-compression') && { 'disable-compression': true }),
    config: config?.raw('extension') ?? null,
  };
}
