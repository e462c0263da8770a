/** `fenceline run`: the operator. */
import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { hostname } from 'node:os';
import type { Command } from 'commander';
import { Command as Subcommand, InvalidArgumentError, Option } from 'commander';
import { pino } from 'pino';
import type { FeatureGates } from '../api/feature-gates.ts';
import { FEATURE_GATES, featureGates, parseFeatureGates } from '../api/feature-gates.ts';
import type { Forbiddable } from '../api/forbidden.ts';
import { FORBIDDABLE, parseForbidden } from '../api/forbidden.ts';
import { parseDuration } from '../api/duration.ts';
import { REMEDY_NAMESPACE } from '../api/fence-names.ts';
import { realClock } from '../clock.ts';
import { defaultLimits } from '../judge/judge-node.ts';
import type { KubeClient } from '../kube/client.ts';
import { remedyPolicies } from '../kube/resources.ts';
import type { LeaderTimings } from '../kube/leader.ts';
import { defaultLeaderTimings } from '../kube/leader.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import { KDUMP_PORT, KdumpListener } from '../devices/kdump.ts';
import { ClusterDevices } from '../devices/cluster-devices.ts';
import { parseBindAddress } from '../operator/health-server.ts';
import type { Log } from '../report/log.ts';
import { Operator } from '../operator/operator.ts';
import { version } from '../version.ts';
import type { AgentFlags } from './agent-flags.ts';
import { addAgentFlags, agentSettings } from './agent-flags.ts';
import { checked } from './checked.ts';
import { addKubeFlags, withClient } from './kube-flags.ts';
import type { MetricsFlags } from './metrics-flags.ts';
import { addMetricsFlags, metricsDoorOf } from './metrics-flags.ts';
import { readLeaders, rivalsText } from './operator-place.ts';
import { PassTrace } from './pass-trace.ts';
import { shutdownSignal } from './shutdown.ts';
import { UserError } from './user-error.ts';

interface RunFlags extends Overrides, AgentFlags, MetricsFlags {
  bindAddress: { host?: string; port: number };
  leaderElect: boolean;
  leaderElectNamespace?: string;
  remedyNamespace: string;
  tracePasses?: string;
  leaderElectName: string;
  leaderElectLeaseDuration: number;
  leaderElectRenewDeadline: number;
  leaderElectRetryPeriod: number;
  leaseStaleFor: number;
  featureGates: FeatureGates;
  forbid: readonly Forbiddable[];
  kdumpBindAddress?: { host?: string; port: number };
  nodeName?: string;
  logLevel: string;
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'];

export function runCommand(): Command {
  const command = new Subcommand('run').description('run the operator');
  return addMetricsFlags(addAgentFlags(addKubeFlags(command)))
    .addOption(
      new Option('--bind-address <host:port>', 'where /healthz, /readyz and /metrics are served')
        .argParser(checked(parseBindAddress))
        .default({ port: 8080 }, ':8080'),
    )
    .addOption(
      new Option(
        '--kdump-bind-address <host:port>',
        `where crashed kernels report themselves by fence_kdump_send, such as :${KDUMP_PORT}; default: nobody listens`,
      ).argParser(checked(parseBindAddress)),
    )
    .option('--no-leader-elect', 'lead without asking: only where a single instance can ever run')
    .option('--leader-elect-namespace <name>', 'namespace of the Lease; default: the namespace of the connection')
    .option(
      '--remedy-namespace <name>',
      "namespace of the Jobs of remedies, other than the operator's",
      REMEDY_NAMESPACE,
    )
    .option('--leader-elect-name <name>', 'name of the Lease', 'fenceline')
    .addOption(
      durationOption(
        '--leader-elect-lease-duration',
        'how long others wait for a silent leader',
        defaultLeaderTimings.leaseDurationMs,
      ),
    )
    .addOption(
      durationOption(
        '--leader-elect-renew-deadline',
        'how long a leader that cannot renew goes on',
        defaultLeaderTimings.renewDeadlineMs,
      ),
    )
    .addOption(
      durationOption(
        '--leader-elect-retry-period',
        'how often the Lease is renewed or tried for',
        defaultLeaderTimings.retryPeriodMs,
      ),
    )
    .addOption(
      durationOption(
        '--lease-stale-for',
        'a node whose Lease has not been renewed for so long is suspect; at least 1.2 of the intervals at which it is renewed',
        defaultLimits.leaseStaleForMs,
      ),
    )
    .addOption(
      new Option('--feature-gates <list>', `such as ${Object.keys(FEATURE_GATES)[0]}=true; ${gateHelp()}`)
        .argParser(checked(parseFeatureGates))
        .default(featureGates(), 'all off'),
    )
    .addOption(forbidOption())
    .addOption(
      new Option(
        '--node-name <name>',
        'the node that this instance runs on: it is the last to be cut, and by another instance; spec.nodeName by the downward API',
      ).env('FENCELINE_NODE_NAME'),
    )
    .option('--trace-passes <dir>', 'keep the latest passes over nodes in trouble there, for fenceline replay')
    .option('--log-level <level>', `one of ${logLevels.join(', ')}`, checked(logLevel), 'info')
    .action(run);
}

async function run(flags: RunFlags): Promise<void> {
  await withClient(flags, (client, connection) => operate(flags, client, connection.namespace));
}

async function operate(flags: RunFlags, client: KubeClient, usual: string): Promise<void> {
  const log = pino({ level: flags.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime });
  const identity = `${hostname()}_${randomUUID()}`;
  const trace = flags.tracePasses === undefined ? undefined : traceIn(flags.tracePasses, log);
  const namespace = flags.leaderElectNamespace ?? usual;
  if (flags.remedyNamespace === namespace) {
    const why = "who writes a RemedyPolicy could use the operator's account and the Secrets of its devices";
    throw new UserError(`--remedy-namespace has to be another one than the operator's, ${namespace}: ${why}`);
  }
  const metricsDoor = await metricsDoorOf(flags);
  await tellOfCrds(client, log);
  await tellOfOthers(client, flags.leaderElect ? namespace : undefined, log);
  const kdump = flags.kdumpBindAddress && crashListener(() => operator, flags.kdumpBindAddress, log);
  const operator: Operator = new Operator({
    client,
    clock: realClock,
    random: Math.random,
    log,
    version,
    gates: flags.featureGates,
    forbidden: flags.forbid,
    namespace,
    remedyNamespace: flags.remedyNamespace,
    devices: new ClusterDevices({ client, clock: realClock, namespace, agents: agentSettings(flags) }),
    identity,
    limits: { ...defaultLimits, leaseStaleForMs: flags.leaseStaleFor },
    bind: flags.bindAddress,
    ...(metricsDoor && { metricsDoor }),
    ...(kdump && { kdump: kdump.counts }),
    ...(flags.nodeName !== undefined && flags.nodeName !== '' && { nodeName: flags.nodeName }),
    ...(trace && { onPass: (pass) => trace.keep(pass) }),
    ...(flags.leaderElect && {
      election: {
        namespace,
        name: flags.leaderElectName,
        timings: timingsOf(flags),
      },
    }),
  });
  if (kdump !== undefined) log.info({ port: await kdump.start() }, 'listening for crashed kernels');
  try {
    await operator.run(shutdownSignal((name) => log.info({ signal: name }, 'stopping')));
  } finally {
    await kdump?.stop();
  }
}

/** Without them everything that is watched is not found, again and again. */
export async function tellOfCrds(client: KubeClient, log: Pick<Log, 'warn'>): Promise<void> {
  const read = await client.list(remedyPolicies);
  if (read.ok || read.error.kind !== 'notFound') return;
  const toDo = 'fenceline crds | kubectl apply --server-side -f -';
  log.warn(
    { problem: read.error.message, toDo },
    'the CRDs are not installed: nothing is done about any node until they are',
  );
}

/** `own`: the namespace in which whoever leads is an instance of the same operator; undefined: there is no election. */
export async function tellOfOthers(client: KubeClient, own: string | undefined, log: Pick<Log, 'warn'>): Promise<void> {
  const leaders = await readLeaders(client);
  if (typeof leaders === 'string') {
    log.warn({ problem: leaders }, 'whether another operator leads in another namespace is not known');
    return;
  }
  const rivals = leaders.filter(({ namespace, operator }) => namespace !== own && operator.leads === 'yes');
  const told = rivalsText({ rivals });
  if (told !== undefined) log.warn({ namespaces: rivals.map(({ namespace }) => namespace) }, told);
}

function traceIn(dir: string, log: Log): PassTrace {
  return new PassTrace(dir, (error) => log.warn({ problem: error.message }, 'passes are not kept any more'));
}

/** A socket that breaks later is told, and the rest goes on: crashed kernels are then not heard, and fences take longer. */
function crashListener(
  operator: () => Operator,
  { host, port }: { host?: string; port: number },
  log: Log,
): KdumpListener {
  return new KdumpListener({
    createSocket: () => createSocket({ type: 'udp6', ipv6Only: false }),
    clock: realClock,
    port,
    ...(host === undefined ? {} : { address: host }),
    nodesAt: (address) => operator().nodesAt(address),
    onMessage: (message) => operator().crashed(message),
    onBroken: (error) => log.warn({ problem: error.message }, 'crashed kernels are not heard any more'),
  });
}

function forbidOption(): Option {
  const names = Object.keys(FORBIDDABLE).join(', ');
  return new Option('--forbid <list>', `what no policy, request or device may use, whoever writes it: any of ${names}`)
    .argParser(checked(parseForbidden))
    .default([], 'nothing');
}

function gateHelp(): string {
  return Object.entries(FEATURE_GATES)
    .map(([name, gate]) => `${name} (${gate.stage}, default ${gate.default})`)
    .join(', ');
}

function timingsOf(flags: RunFlags): LeaderTimings {
  return {
    leaseDurationMs: flags.leaderElectLeaseDuration,
    renewDeadlineMs: flags.leaderElectRenewDeadline,
    retryPeriodMs: flags.leaderElectRetryPeriod,
  };
}

function durationOption(flag: string, description: string, defaultMs: number): Option {
  return new Option(`${flag} <duration>`, description).argParser(duration).default(defaultMs, `${defaultMs / 1000}s`);
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('write a duration such as 90s, 5m or 1h30m.');
  return ms;
}

function logLevel(text: string): string {
  if (!logLevels.includes(text)) throw new Error(`write one of ${logLevels.join(', ')}`);
  return text;
}
