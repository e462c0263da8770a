/**
 * `fenceline check`: asks every fence device how it is, from where the command runs, and says which nodes could not be
 * fenced today (EXP-3). Nothing is switched. Nodes count that a policy would fence, and those for which a configuration is
 * written: whoever sets fencing up wants to know before switching it on.
 */
import { Command, Option } from 'commander';
import type { DeviceProvider } from '../devices/provider.ts';
import type { ConfigResult } from '../api/fence-config.ts';
import { placeOf } from '../api/fence-config.ts';
import { plugOf, secretPlace } from '../api/plug.ts';
import { parseFeatureGates } from '../api/feature-gates.ts';
import { isShown } from '../api/learnt.ts';
import type { Rival } from '../api/machine.ts';
import { rivalsAmong } from '../api/machine.ts';
import { ofAnother } from '../api/named-machine.ts';
import type { DoubtAbout } from '../api/power.ts';
import { deviceHash } from '../api/power.ts';
import type { LiveNode, PolicyFacts } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import { inTurns, realClock } from '../clock.ts';
import { doubtAbout } from '../fence/belief.ts';
import { learn, withMemory } from '../fence/memory.ts';
import { placesOf } from '../fence/places.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import { fenceDevices } from '../kube/resources.ts';
import type { CheckedAnswer } from '../act/device-check.ts';
import { checkNode } from '../act/device-check.ts';
import type { StoredDevice } from '../act/device-records.ts';
import type { Hear } from '../act/device-tasks.ts';
import { ClusterDevices } from '../devices/cluster-devices.ts';
import { projectDevice } from '../observe/project-device.ts';
import { listNodes } from '../observe/list-nodes.ts';
import { SecretStates } from '../observe/secret-states.ts';
import type { WrittenConfigs } from '../decide/policy-nodes.ts';
import { configFindings, configFor, fencesBy, methodsOf, secretsOf, sharedDevices } from '../decide/policy-nodes.ts';
import type { CheckReason } from '../api/node-check.ts';
import type { AgentFlags } from './agent-flags.ts';
import { addAgentFlags, agentSettings } from './agent-flags.ts';
import type { Others } from './check-others.ts';
import { renderOthers, renderUnread } from './check-others.ts';
import { readSetUp, tellGroups, tellSetUp } from '../observe/others-set-up.ts';
import { writtenProblems } from './check-written.ts';
import type { WorkloadFlags } from './check-workloads.ts';
import { checkWorkloads } from './check-workloads.ts';
import { addKubeFlags, withClient } from './kube-flags.ts';
import { whoAmI } from './node-fence.ts';
import { nodesArgument } from './node-argument.ts';
import { noSuchNode } from './no-such-node.ts';
import { configuredIn } from './operator-place.ts';
import { taken } from './taken.ts';
import { renderTable } from './table.ts';
import { cannotSay, notesOf, recordOf, statusOf, togetherOf } from './check-notes.ts';
import { readPolicies } from './policy-of.ts';
import { showPorts } from './show-ports.ts';
import { UserError } from './user-error.ts';
import type { Written } from './written.ts';
import { elsewhere, readDevices, readWritten } from './written.ts';

const formats = ['wide', 'json', 'yaml'] as const;

interface CheckFlags extends WorkloadFlags {
  shown?: boolean;
  workloads?: boolean;
}

const nodesAtATime = 8;
/** Then somebody wonders whether anything happens. */
const patienceMs = 2000;
const asking = 'asking the devices: one that does not answer is waited for, up to a minute and twice\n';

export interface CheckedNode {
  node: string;
  /** The policy that would fence it; absent: none does. */
  policy?: string;
  /** The operator that runs does nothing by that policy: see `notes`. */
  isRefused?: true;
  /** The ConfigMap, or where else it comes from. */
  configuration: string;
  fenceable: boolean;
  /** What each of its devices said, whether it is believed, and the line that would make it so. */
  answers: readonly CheckedAnswer[];
  /** What is worth knowing of a node that could be fenced. */
  notes?: readonly string[];
  reason?: CheckReason;
  message?: string;
  /** Everything that is wrong with its configuration. */
  problems?: readonly string[];
}

export interface CheckContext {
  client: KubeClient;
  provider: DeviceProvider;
  clock: Clock;
  namespace: string;
}

export function checkCommand(): Command {
  const command = new Command('check').description('ask every fence device, and say which nodes could not be fenced');
  return nodesArgument(addAgentFlags(addKubeFlags(command)), '[node...]', 'only these nodes')
    .option('--clear', 'say that what was found wrong of the devices of these nodes is mended: you have looked')
    .option(
      '--shown',
      'say that the switch ports of these nodes are theirs: you have closed each, and seen its node lose its storage',
    )
    .option('--workloads', 'ask no device: say which stateful pods would not fail over today, and why')
    .option('--feature-gates <list>', 'as the operator is started with', parseFeatureGates)
    .addOption(new Option('-o, --output <format>', 'instead of the table').choices(formats))
    .action((names: string[], flags: CheckFlags) => (flags.workloads === true ? checkWorkloads : check)(names, flags));
}

async function check(names: string[], flags: CheckFlags): Promise<void> {
  await withDevices(flags, async (context) => {
    if (flags.clear === true) {
      const by = await whoAmI(context.client);
      for (const line of await clearDevices(context, names, by)) process.stderr.write(`${line}\n`);
    }
    if (flags.shown === true) {
      const by = await whoAmI(context.client);
      for (const line of await showPorts(context, names, by)) process.stderr.write(`${line}\n`);
    }
    const waiting = setTimeout(() => process.stderr.write(asking), patienceMs);
    const checked = await checkDevices(context, names).finally(() => clearTimeout(waiting));
    process.stdout.write(await render(checked, flags.output));
    // Who has none may be meant by one that has a mistake.
    const isUnmeant = checked.some(({ reason }) => reason === 'NoConfiguration');
    const problems = names.length === 0 || isUnmeant ? await problemsIn(context) : [];
    const isForPrograms = flags.output === 'json' || flags.output === 'yaml';
    const others = await othersFor(context, checked);
    const below = renderProblems(context.namespace, problems) + renderOthers(others);
    (isForPrograms ? process.stderr : process.stdout).write(below);
    process.stderr.write(renderUnread(others));
    const hint = await elsewhere(context);
    if (hint !== undefined) process.stderr.write(`fenceline: ${hint}\n`);
    // Where nothing was looked at, nothing was found to be right.
    process.exitCode =
      checked.length > 0 && checked.every(({ fenceable, isRefused }) => fenceable && isRefused !== true) ? 0 : 1;
  });
}

/** Devices as the operator uses them, but from here. */
export function withDevices(
  flags: Overrides & AgentFlags,
  use: (context: CheckContext) => Promise<void>,
): Promise<void> {
  return withClient(flags, async (client, connection) => {
    const namespace = await configuredIn(client, { given: flags.namespace, usual: connection.namespace });
    const provider = new ClusterDevices({ client, clock: realClock, namespace, agents: agentSettings(flags) });
    await use({ client, provider, clock: realClock, namespace });
  });
}

/** `isForNow`: they are about to be fenced while they live. */
export async function checkDevices(
  context: CheckContext,
  names: readonly string[],
  { isForNow = false }: { isForNow?: boolean } = {},
): Promise<CheckedNode[]> {
  const { client, provider, clock } = context;
  const policies = await readPolicies(client);
  const { maps, devices, nodes, configs } = await readConfigs(context);
  const missing = names.filter((name) => nodes.every((node) => node.name !== name));
  if (missing.length > 0)
    throw noSuchNode(
      missing,
      nodes.map(({ name }) => name),
    );
  // Of all nodes, whoever is asked about: which of them share a device shows only then.
  const all = nodes.map((node) => ({ node, policy: fencingPolicy(policies, node), config: configFor(node, configs) }));
  const targets = await withSecrets(context, all, configs);
  const shared = await sharedOf(context, targets);
  const rivalOf = rivalsAmong(nodes);
  const refused = new Map(policies.map((policy) => [policy.name, policy.refused]));
  const chosen = targets.filter(({ node, policy, config }) => {
    const isWritten = !config.ok || config.config.source !== undefined;
    return names.length === 0 ? policy !== undefined || isWritten : names.includes(node.name);
  });
  const checked: CheckedNode[] = [];
  await inTurns(chosen, nodesAtATime, async ({ node, policy, config }) => {
    const answers: CheckedAnswer[] = [];
    const why = refused.get(policy ?? '');
    const notes = new Set(why === undefined ? [] : [`not fenced by policy ${policy}: ${why}`]);
    const { problem } = await checkNode(node, config, {
      provider,
      clock,
      doubt,
      hear: hearing(config, { devices, shared, rivalOf }),
      isForNow,
      places: placesOf(node.name, config, maps),
      onAnswer: (_, answer, method) => {
        answers.push(answer);
        for (const note of notesOf(node, method, { answer, devices, config })) notes.add(note);
      },
    });
    checked.push({
      node: node.name,
      ...(policy === undefined ? {} : { policy }),
      ...(why === undefined ? {} : { isRefused: true as const }),
      configuration: (config.ok ? config.config.source : config.problems[0]?.file) ?? '<none>',
      fenceable: problem === undefined,
      answers,
      ...(notes.size === 0 ? {} : { notes: [...notes] }),
      ...problem,
      ...(config.ok ? {} : { problems: [...new Set(config.problems.map((one) => `${placeOf(one)}: ${one.reason}`))] }),
    });
  });
  return checked.sort((one, other) => one.node.localeCompare(other.node, 'en', { numeric: true }));
}

/** What is wrong with what is written, whomever it is about. */
export async function problemsIn(context: CheckContext): Promise<string[]> {
  const { nodes, configs } = await readConfigs(context);
  return writtenProblems(context, nodes, configs);
}

/** Who else is set up to act on those of them that a policy fences. */
async function othersFor({ client }: CheckContext, checked: readonly CheckedNode[]): Promise<Others> {
  const fenced = new Set(checked.flatMap(({ node, policy }) => (policy === undefined ? [] : node)));
  if (fenced.size === 0) return { findings: [], unread: [] };
  const all = taken(await listNodes(client, new AbortController().signal));
  const own = all.filter(({ name }) => fenced.has(name));
  const setUp = await readSetUp(client);
  return { findings: [...tellSetUp(setUp, own), ...tellGroups(own)], unread: setUp.unread };
}

interface Configs extends Written {
  nodes: LiveNode[];
  configs: WrittenConfigs;
}

async function readConfigs(context: CheckContext): Promise<Configs> {
  const { client, provider } = context;
  const { maps, devices } = await readWritten(context);
  const configs: WrittenConfigs = {
    maps,
    devices: devices.flatMap((device) => projectDevice(device) ?? []),
    unwritten: (one) => provider.defaultConfig?.(one),
    allowed: provider.allowed,
    namespace: context.namespace,
  };
  return { maps, devices, nodes: taken(await listNodes(client, new AbortController().signal)), configs };
}

interface Target {
  node: LiveNode;
  policy: string | undefined;
  config: ConfigResult;
}

/** Read again with what is known of the Secrets, as the operator does: a missing one is told with the place that names it. */
async function withSecrets(
  { client, clock, namespace }: CheckContext,
  all: readonly Target[],
  configs: WrittenConfigs,
): Promise<Target[]> {
  const named = new Set(all.flatMap(({ config }) => [...secretsOf(config)]));
  const states = await new SecretStates({ client, clock, namespace, knownForMs: 0 }).of(named);
  const fenced = all.map(({ policy = '', ...one }) => ({ policy, ...one }));
  const { targets } = configFindings({ fenced }, configs, states);
  return targets.map(({ node, config }, index) => ({ node, config, policy: all[index]?.policy }));
}

/** Which devices two nodes are configured with, also where the address is in a Secret. */
async function sharedOf({ provider }: CheckContext, targets: readonly Target[]): Promise<Map<string, string>> {
  const plugs = new Map<string, string | undefined>();
  await inTurns(targets, nodesAtATime, async ({ node, config }) => {
    for (const method of methodsOf(config)) {
      const key = `${node.name} ${deviceHash(method)}`;
      if (method.secrets.length === 0 || plugs.has(key)) continue;
      const found = await provider.device(node, method);
      plugs.set(key, found.ok ? found.plug : undefined);
    }
  });
  return sharedDevices(
    targets,
    (node, method) => plugs.get(`${node.name} ${deviceHash(method)}`) ?? plugOf(method.driver, method.parameters),
  );
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
function hearing(config: ConfigResult, { devices, shared, rivalOf }: OnRecord): Hear {
  return (node, { method, what }, answer) => {
    const { shown } = recordOf(devices, node.name, deviceHash(method))?.spec ?? {};
    const said = ofAnother(node, method, { said: answer, rival: rivalOf(node.name) });
    const configuration = deviceHash(method);
    const learnt = learn(statusOf(devices, node.name, configuration), {
      device: method.driver,
      configuration,
      place: secretPlace(method, said.plug),
      what,
      said,
      at: new Date().toISOString(),
      by: 'check',
      isAlive: node.ready === 'True',
      isContradicted: false,
      bootId: node.bootId,
      machine: node.machineId,
      sharedWith: shared.get(`${node.name} ${configuration}`),
    });
    const together = what === 'power' ? { together: togetherOf(node, method, { config, devices }) } : {};
    return withMemory(said, learnt, { ...together, isShown: isShown(shown, learnt) });
  };
}

interface OnRecord {
  devices: readonly StoredDevice[];
  shared: ReadonlyMap<string, string>;
  rivalOf: (name: string) => Rival;
}

function fencingPolicy(policies: readonly PolicyFacts[], { labels }: LiveNode): string | undefined {
  const match = matchPolicy(policies, labels);
  return match.kind === 'one' && fencesBy(match.policy) ? match.policy.name : undefined;
}

function renderProblems(namespace: string, problems: readonly string[]): string {
  return problems.length === 0 ? '' : `\nIN NAMESPACE ${namespace}\n${problems.map((one) => `  ${one}\n`).join('')}`;
}

async function render(checked: readonly CheckedNode[], format: CheckFlags['output']): Promise<string> {
  if (format === 'json') return `${JSON.stringify(checked, null, 2)}\n`;
  if (format === 'yaml') return (await import('./yaml.ts')).toYaml(checked);
  if (checked.length === 0) return 'No node has a fence configuration, and no policy fences one\n';
  const isWide = format === 'wide';
  const wide = isWide ? ['CONFIGURATION', 'DEVICE'] : [];
  const heads = ['NAME', 'POLICY', ...wide, 'FENCEABLE', 'ANSWER', 'REASON', 'WHY'];
  const rows = checked.map((one) => [
    one.node,
    one.policy ?? '<none>',
    ...(isWide ? [one.configuration, one.answers.map(({ device }) => device).join('; ') || '<none>'] : []),
    one.fenceable ? 'yes' : 'no',
    one.answers
      .map(
        (answer) =>
          `${answer.method}: ${answer.power}${answer.believed ? '' : ', not believed'}${cannotSay(answer) ? ', cannot say whose power it is' : ''}`,
      )
      .join('; ') || '<none>',
    one.reason ?? '<none>',
    (one.message ?? (one.notes ?? []).join('; ')).replaceAll(/\s+/g, ' '),
  ]);
  return renderTable(heads, rows);
}
