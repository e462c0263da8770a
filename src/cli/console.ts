/**
 * `fenceline console`: the console of a real cluster, in a process of its own. On loopback it is that of one person, who looks with the
 * identity of their kubeconfig; elsewhere everybody signs in with a token of their own. It never has the operator's rights.
 */
import { Command, Option } from 'commander';
import { parseFeatureGates } from '../api/feature-gates.ts';
import { realClock } from '../clock.ts';
import { actAs } from '../console/acts.ts';
import { loadAssets } from '../console/assets.ts';
import { ClusterWatch } from '../console/cluster-watch.ts';
import type { ConsoleServerOptions } from '../console/console-server.ts';
import { ConsoleServer } from '../console/console-server.ts';
import { OwnGate } from '../console/own-gate.ts';
import { allowedActs } from '../console/rights.ts';
import type { RehearsalsOptions } from '../console/rehearsals.ts';
import { Rehearsals } from '../console/rehearsals.ts';
import { ClusterSource } from '../console/source.ts';
import { TokenGate } from '../console/token-gate.ts';
import type { Connection } from '../kube/credentials.ts';
import { fixedCredential, bearer } from '../kube/credentials.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import { readPair } from '../operator/certificate.ts';
import { parseBindAddress } from '../operator/health-server.ts';
import { checked } from './checked.ts';
import { addKubeFlags, clientOf, connect } from './kube-flags.ts';
import { whoAmI } from './node-fence.ts';
import { rehearsalMiB, startRehearsal } from './rehearsal-start.ts';
import { shutdownSignal } from './shutdown.ts';
import { wholeCluster } from './snapshot-of.ts';
import { UserError } from './user-error.ts';

interface ConsoleFlags extends Overrides {
  bindAddress: { host?: string; port: number };
  host?: string[];
  signIn?: boolean;
  tlsCertFile?: string;
  tlsKeyFile?: string;
  behindProxy?: boolean;
  featureGates?: Readonly<Record<string, boolean>>;
}

const usual = '127.0.0.1:8089';

export function consoleCommand(): Command {
  const repeated = (value: string, before: string[] = []): string[] => [...before, value];
  const command = new Command('console').description('serve the web console of a cluster, with your own rights');
  return addKubeFlags(command)
    .addOption(
      new Option(
        '--bind-address <host:port>',
        'where it is served; on loopback for you alone, elsewhere everybody signs in',
      )
        .argParser(checked(parseBindAddress))
        .default(parseBindAddress(usual), usual),
    )
    .option(
      '--host <name>',
      'answer under this name only; may be repeated; default: those of loopback, or any',
      repeated,
    )
    .option('--sign-in', 'everybody signs in, on loopback too')
    .option('--tls-cert-file <file>', 'certificate, in PEM')
    .option('--tls-key-file <file>', 'key of that certificate, in PEM')
    .option('--behind-proxy', 'TLS ends in a proxy before it: tokens are taken in the clear')
    .option('--feature-gates <list>', 'as the operator is started with, for rehearsals', checked(parseFeatureGates))
    .action(run);
}

async function run(flags: ConsoleFlags): Promise<void> {
  const connection = await connect(flags);
  const { host = '0.0.0.0', port } = flags.bindAddress;
  const isLoopback = loopback.test(host);
  const tls = await tlsOf(flags, isLoopback);
  const shutdown = shutdownSignal(() => process.stdout.write('\nending…\n'));
  const isOwn = isLoopback && flags.signIn !== true;
  const door = isOwn ? await ownDoor(connection, flags, shutdown) : tokenDoor(connection, flags, tls !== undefined);
  const server = new ConsoleServer({
    clock: realClock,
    gate: door.gate,
    assets: await loadAssets(),
    rehearsals: new Rehearsals({ clock: realClock, start: startRehearsal, memoryMiB: rehearsalMiB, ...gatesOf(flags) }),
    ...(tls === undefined ? {} : { tls }),
    ...hostsOf(flags, isLoopback),
  });
  const at = await server.listen(port, host);
  const scheme = tls === undefined ? 'http' : 'https';
  process.stdout.write(`console ${scheme}://${host === '::' ? '[::]' : host}:${at}/${door.query}\n`);
  await new Promise<void>((resolve) => {
    if (shutdown.aborted) resolve();
    shutdown.addEventListener('abort', () => resolve(), { once: true });
  });
  door.close();
  await server.close();
}

const loopback = /^(127\.\d+\.\d+\.\d+|localhost|::1|\[::1\])$/;

interface Door {
  gate: ConsoleServerOptions['gate'];
  /** Behind the address that is printed. */
  query: string;
  close: () => void;
}

/** For who has started it. */
async function ownDoor(connection: Connection, { namespace }: ConsoleFlags, signal: AbortSignal): Promise<Door> {
  const client = clientOf(connection);
  const user = await whoAmI(client);
  const watch = new ClusterWatch({
    client,
    clock: realClock,
    random: Math.random,
    ...(namespace === undefined ? {} : { namespace }),
  });
  const source = new ClusterSource(watch, { user, can: await allowedActs(client) });
  const gate = new OwnGate({
    source,
    act: (asked) => actAs(client, asked),
    read: (asked) => wholeCluster(client, namespace, asked),
  });
  const watching = watch.run(signal);
  return { gate, query: `?key=${gate.key}`, close: () => void watching.then(() => client.close()) };
}

/** For everybody who has a token. */
function tokenDoor(connection: Connection, { namespace, behindProxy }: ConsoleFlags, isTls: boolean): Door {
  const reviewer = clientOf(connection);
  const gate = new TokenGate({
    clock: realClock,
    random: Math.random,
    reviewer,
    clientFor: (token) => {
      const authorization = bearer(token, 'the token of the sign-in');
      return clientOf({ ...connection, credentials: fixedCredential({ authorization }), impersonation: {} });
    },
    isSecure: isTls || behindProxy === true,
    ...(namespace === undefined ? {} : { namespace }),
  });
  const close = (): void => {
    gate.close();
    reviewer.close();
  };
  return { gate, query: '', close };
}

function gatesOf({ featureGates }: ConsoleFlags): Pick<RehearsalsOptions, 'featureGates'> {
  return featureGates === undefined ? {} : { featureGates };
}

function hostsOf({ host }: ConsoleFlags, isLoopback: boolean): Pick<ConsoleServerOptions, 'hosts'> {
  if (host !== undefined) return { hosts: host };
  // Elsewhere nothing is shown without a token, whatever the name.
  return isLoopback ? {} : { hosts: ['*'] };
}

/** A token in the clear is everybody's on the way. */
async function tlsOf(
  { tlsCertFile: certFile, tlsKeyFile: keyFile, behindProxy }: ConsoleFlags,
  isLoopback: boolean,
): Promise<{ cert: string; key: string } | undefined> {
  if (certFile !== undefined && keyFile !== undefined) {
    return readPair({ certFile, keyFile }).catch((error: unknown) => {
      throw new UserError(`the certificate: ${error instanceof Error ? error.message : String(error)}`, 2);
    });
  }
  if (certFile !== undefined || keyFile !== undefined) {
    throw new UserError('--tls-cert-file and --tls-key-file belong together', 2);
  }
  if (isLoopback || behindProxy === true) return undefined;
  throw new UserError(
    'beyond loopback tokens would be sent in the clear: write --tls-cert-file and --tls-key-file, or --behind-proxy where TLS ends before it',
    2,
  );
}
