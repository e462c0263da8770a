/**
 * `fenceline check`: asks every fence device how it is, from where the command runs, and says which nodes could not be
 * fenced today (EXP-3). Nothing is switched. Nodes count that a policy would fence, and those for which a configuration is
 * written: whoever sets fencing up wants to know before switching it on.
 */
import { Command, Option } from 'commander';
import type { DeviceProvider } from '../devices/provider.ts';
import type { NamedData } from '../api/fence-config.ts';
import { isFenceConfig } from '../api/fence-names.ts';
import type { DoubtAbout } from '../api/power.ts';
import { deviceHash } from '../api/power.ts';
import type { LiveNode, PolicyFacts } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import { inTurns, realClock } from '../clock.ts';
import { doubtAbout } from '../fence/belief.ts';
import { learn, withMemory } from '../fence/memory.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import { configMaps, fenceDevices } from '../kube/resources.ts';
import type { CheckedAnswer } from '../act/device-check.ts';
import { checkNode } from '../act/device-check.ts';
import type { StoredDevice } from '../act/device-records.ts';
import type { Hear } from '../act/device-tasks.ts';
import { ClusterDevices } from '../devices/cluster-devices.ts';
import { projectDevice } from '../observe/project-device.ts';
import { listNodes } from '../observe/list-nodes.ts';
import { configFor, fencesBy } from '../decide/policy-nodes.ts';
import type { CheckReason } from '../api/node-check.ts';
import type { AgentFlags } from './agent-flags.ts';
import { addAgentFlags, agentSettings } from './agent-flags.ts';
import { addKubeFlags, clientOf, connect } from './kube-flags.ts';
import { taken, whoAmI } from './node-fence.ts';
import { renderTable } from './table.ts';
import { readPolicies } from './policy-of.ts';
import { UserError } from './user-error.ts';

const formats = ['wide', 'json', 'yaml'] as const;

interface CheckFlags extends Overrides, AgentFlags {
  clear?: boolean;
  output?: (typeof formats)[number];
}

const nodesAtATime = 8;

export interface CheckedNode {
  node: string;
  /** The policy that would fence it; absent: none does. */
  policy?: string;
  /** The ConfigMap, or where else it comes from. */
  configuration: string;
  fenceable: boolean;
  /** What each of its devices said, whether it is believed, and the line that would make it so. */
  answers: readonly CheckedAnswer[];
  reason?: CheckReason;
  message?: string;
}

export interface CheckContext {
  client: KubeClient;
  provider: DeviceProvider;
  clock: Clock;
  namespace: string;
}

export function checkCommand(): Command {
  const command = new Command('check').description('ask every fence device, and say which nodes could not be fenced');
  return addAgentFlags(addKubeFlags(command))
    .argument('[node...]', 'only these nodes')
    .option('--clear', 'say that what was found wrong of the devices of these nodes is mended: you have looked')
    .addOption(new Option('-o, --output <format>', 'instead of the table').choices(formats))
    .action(check);
}

async function check(names: string[], flags: CheckFlags): Promise<void> {
  const context = await checkContext(flags);
  try {
    if (flags.clear === true) {
      const by = await whoAmI(context.client);
      for (const line of await clearDevices(context, names, by)) process.stderr.write(`${line}\n`);
    }
    const checked = await checkDevices(context, names);
    process.stdout.write(await render(checked, flags.output));
    process.exitCode = checked.every(({ fenceable }) => fenceable) ? 0 : 1;
  } finally {
    context.client.close();
  }
}

/** Devices as the operator uses them, but from here. */
export async function checkContext(flags: Overrides & AgentFlags): Promise<CheckContext> {
  const connection = await connect(flags);
  const client = clientOf(connection);
  const { namespace } = connection;
  const provider = new ClusterDevices({ client, clock: realClock, namespace, agents: agentSettings(flags) });
  return { client, provider, clock: realClock, namespace };
}

export async function checkDevices(context: CheckContext, names: readonly string[]): Promise<CheckedNode[]> {
  const { client, provider, clock, namespace } = context;
  const policies = await readPolicies(client);
  const maps = await readConfigs(client, namespace);
  const devices = await readDevices(client, namespace);
  const written = devices.flatMap((device) => projectDevice(device) ?? []);
  const nodes = taken(await listNodes(client, new AbortController().signal));
  const missing = names.filter((name) => nodes.every((node) => node.name !== name));
  if (missing.length > 0) throw new UserError(`no such node: ${missing.join(', ')}`);
  const chosen = nodes.filter(({ name }) => names.length === 0 || names.includes(name));
  const checked: CheckedNode[] = [];
  await inTurns(chosen, nodesAtATime, async (node) => {
    const policy = fencingPolicy(policies, node);
    const config = configFor(node, {
      maps,
      devices: written,
      unwritten: (one) => provider.defaultConfig?.(one),
      allowed: provider.allowed,
    });
    const isWritten = !config.ok || config.config.source !== undefined;
    if (policy === undefined && !isWritten && names.length === 0) return;
    const answers: CheckedAnswer[] = [];
    const { problem } = await checkNode(node, config, {
      provider,
      clock,
      doubt,
      hear: hearing(devices),
      onAnswer: (_, answer) => answers.push(answer),
    });
    checked.push({
      node: node.name,
      ...(policy === undefined ? {} : { policy }),
      configuration: (config.ok ? config.config.source : config.problems[0]?.file) ?? '<none>',
      fenceable: problem === undefined,
      answers,
      ...problem,
    });
  });
  return checked.sort((one, other) => one.node.localeCompare(other.node, 'en', { numeric: true }));
}

/** Says of what is wrong with the devices of these nodes that it is mended; answers with what that was. */
export async function clearDevices(
  { client, namespace }: Pick<CheckContext, 'client' | 'namespace'>,
  names: readonly string[],
  by: string,
): Promise<string[]> {
  if (names.length === 0) throw new UserError('name the nodes whose devices you have looked at: check --clear NODE');
  const wrong = (await readDevices(client, namespace)).flatMap(({ metadata, spec, status }) =>
    names.includes(spec.node ?? '') && status?.wrong !== undefined ? [{ metadata, wrong: status.wrong }] : [],
  );
  if (wrong.length === 0) throw new UserError(`no device of ${names.join(', ')} is known to be wrong`);
  for (const {
    metadata,
    wrong: { since },
  } of wrong) {
    const ref = { resource: fenceDevices, namespace, name: metadata.name };
    const cleared = { by, wrongSince: since };
    taken(await client.patch(ref, { uid: metadata.uid ?? '' }, [{ op: 'add', path: '/spec/cleared', value: cleared }]));
  }
  const next = 'cleared when the next check of the operator finds it on while its node is alive';
  return wrong.map(({ metadata, wrong: { reason, message } }) => `${metadata.name}: ${reason}: ${message}; ${next}`);
}

/** Nobody watches Leases here: what Kubernetes says of the node has to do. */
const doubt: DoubtAbout = ({ ready }, answer, about) => doubtAbout(answer, { ...about, ready });

/** What is on record of the device, and what is seen just now. */
function hearing(devices: readonly StoredDevice[]): Hear {
  return (node, { method }, said) => {
    const configuration = deviceHash(method);
    const { status = {} } =
      devices.find((one) => one.spec.node === node.name && one.status?.configuration === configuration) ?? {};
    const at = new Date().toISOString();
    const isAlive = node.ready === 'True';
    return withMemory(
      said,
      learn(status, {
        device: method.driver,
        configuration,
        said,
        at,
        by: 'check',
        isAlive,
        isContradicted: false,
        bootId: node.bootId,
      }),
    );
  };
}

function fencingPolicy(policies: readonly PolicyFacts[], { labels }: LiveNode): string | undefined {
  const match = matchPolicy(policies, labels);
  return match.kind === 'one' && fencesBy(match.policy) ? match.policy.name : undefined;
}

async function readConfigs(client: KubeClient, namespace: string): Promise<NamedData[]> {
  const { items } = taken(await client.list<KubeObject & { data?: Record<string, string> }>(configMaps, { namespace }));
  return items
    .filter(({ metadata }) => isFenceConfig(metadata.name))
    .map(({ metadata, data = {} }) => ({ name: metadata.name, data }));
}

async function readDevices(client: KubeClient, namespace: string): Promise<StoredDevice[]> {
  const read = await client.list<StoredDevice>(fenceDevices, { namespace });
  return !read.ok && read.error.kind === 'notFound' ? [] : taken(read).items;
}

async function render(checked: readonly CheckedNode[], format: CheckFlags['output']): Promise<string> {
  if (format === 'json') return `${JSON.stringify(checked, null, 2)}\n`;
  if (format === 'yaml') return (await import('./yaml.ts')).toYaml(checked);
  if (checked.length === 0) {
    return 'No node has a fence configuration, and no policy fences one. Configurations are read from one namespace: -n\n';
  }
  const isWide = format === 'wide';
  const wide = isWide ? ['CONFIGURATION', 'DEVICE'] : [];
  const heads = ['NAME', 'POLICY', ...wide, 'FENCEABLE', 'ANSWER', 'REASON', 'WHY'];
  const rows = checked.map((one) => [
    one.node,
    one.policy ?? '<none>',
    ...(isWide ? [one.configuration, one.answers.map(({ device }) => device).join('; ') || '<none>'] : []),
    one.fenceable ? 'yes' : 'no',
    one.answers
      .map(({ method, power, believed }) => `${method}: ${power}${believed ? '' : ', not believed'}`)
      .join('; ') || '<none>',
    one.reason ?? '<none>',
    (one.message ?? '').replaceAll(/\s+/g, ' '),
  ]);
  return renderTable(heads, rows);
}
