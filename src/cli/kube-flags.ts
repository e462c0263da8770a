/** kubectl's own flags, for every command that talks to a cluster. */
import { homedir } from 'node:os';
import type { Command } from 'commander';
import { realClock } from '../clock.ts';
import { KubeClient } from '../kube/client.ts';
import type { Connection } from '../kube/credentials.ts';
import { HttpTransport } from '../kube/http-transport.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import { loadConnection } from '../kube/kubeconfig.ts';
import { version } from '../version.ts';

export function addKubeFlags(command: Command): Command {
  const repeated = (value: string, before: string[] = []): string[] => [...before, value];
  return command
    .option('--kubeconfig <file>', 'kubeconfig to use instead of $KUBECONFIG and ~/.kube/config')
    .option('--context <name>', 'kubeconfig context')
    .option('--cluster <name>', 'kubeconfig cluster')
    .option('--user <name>', 'kubeconfig user')
    .option('-n, --namespace <name>', 'namespace')
    .option('-s, --server <url>', 'address of the API server')
    .option('--tls-server-name <name>', 'name to check the server certificate against')
    .option('--insecure-skip-tls-verify', 'do not check the server certificate')
    .option('--certificate-authority <file>', 'certificate authority of the server')
    .option('--client-certificate <file>', 'client certificate')
    .option('--client-key <file>', 'key of the client certificate')
    .option('--token <token>', 'bearer token')
    .option('--username <name>', 'user for basic authentication')
    .option('--password <password>', 'password for basic authentication')
    .option('--as <name>', 'user to impersonate')
    .option('--as-uid <uid>', 'UID to impersonate')
    .option('--as-group <name>', 'group to impersonate; may be repeated', repeated)
    .option('--as-user-extra <key=value>', 'extra attribute to impersonate; may be repeated', repeated)
    .option('--request-timeout <duration>', 'for a single request, for example 30s');
}

export function connect(overrides: Overrides): Promise<Connection> {
  return loadConnection({
    overrides,
    env: process.env,
    home: homedir(),
    clock: realClock,
    stdinIsTerminal: process.stdin.isTTY,
  });
}

/** However `use` ends, its connections are closed: one that is left open keeps the process, and who typed, waiting. */
export async function withClient<T>(
  overrides: Overrides,
  use: (client: KubeClient, connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connect(overrides);
  const client = clientOf(connection);
  try {
    return await use(client, connection);
  } finally {
    client.close();
  }
}

export function clientOf(connection: Connection): KubeClient {
  return new KubeClient({
    transport: new HttpTransport(connection, realClock),
    clock: realClock,
    userAgent: `fenceline/${version}`,
    fieldManager: 'fenceline',
    ...(connection.requestTimeoutMs !== undefined && { timeoutMs: connection.requestTimeoutMs }),
  });
}
