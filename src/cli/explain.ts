/**
 * `fenceline explain NODE`: why a node is judged as it is, why nothing happens yet, what comes next and when, what would change
 * that, and what to type now (EXP-1). It reads what the operator has put on record and judges nothing by itself, so that it
 * cannot say something else than what will happen.
 */
import { Command, Option } from 'commander';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { drainPolicies, fenceDevices, leases, nodeFences, nodeLeaseNamespace, nodes } from '../kube/resources.ts';
import { projectLease, projectNode } from '../observe/project.ts';
import type { DrainPolicyStatus } from '../report/drain-status.ts';
import { drainsByNode } from '../report/drain-status.ts';
import { explain } from '../report/explain.ts';
import { explanationText } from '../report/explain-text.ts';
import type { Explanation, Known } from '../report/explanation.ts';
import { knownFrom } from './known.ts';
import { addKubeFlags, withClient } from './kube-flags.ts';
import { nodeArgument } from './node-argument.ts';
import { noSuchNode } from './no-such-node.ts';
import type { StoredFence } from './node-fence.ts';
import { refOf } from './node-fence.ts';
import { placeOf, readPause } from './operator-place.ts';
import { readPolicies } from './policy-of.ts';
import type { ReadDevice } from './status-devices.ts';
import { apiFailure } from './taken.ts';
import { UserError } from './user-error.ts';

const formats = ['json', 'yaml'] as const;

interface ExplainFlags extends Overrides {
  output?: (typeof formats)[number];
}

export function explainCommand(): Command {
  const command = new Command('explain').description(
    'say in plain words why a node is judged as it is, what comes next, and what you can do',
  );
  return nodeArgument(addKubeFlags(command), '<node>', 'the name of the node')
    .addOption(new Option('-o, --output <format>', 'instead of the text').choices(formats))
    .action(run);
}

async function run(node: string, flags: ExplainFlags): Promise<void> {
  const explanation = await withClient(flags, (client) => explainNode(client, node, flags.namespace));
  process.stdout.write(await render(withFlags(explanation, flags), flags.output));
}

export async function render(explanation: Explanation, format: ExplainFlags['output']): Promise<string> {
  if (format === 'json') return `${JSON.stringify(explanation, null, 2)}\n`;
  if (format === 'yaml') return (await import('./yaml.ts')).toYaml(explanation);
  return explanationText(explanation);
}

/** Which cluster was meant is meant by what is typed next as well; these are kubectl's own flags. */
const carried = ['kubeconfig', 'context', 'cluster', 'user', 'server', 'as'] as const;

export function withFlags(explanation: Explanation, flags: Overrides): Explanation {
  const commands = explanation.commands.map(({ to, command }) => ({ to, command: withOwn(command, flags) }));
  return { ...explanation, commands };
}

/** What a command says by itself stays: it is to be run as that account, whoever has asked. */
function withOwn(command: string, flags: Overrides): string {
  const given = carried.flatMap((name) =>
    flags[name] === undefined || command.includes(` --${name} `) ? [] : [`--${name}=${quoted(flags[name])}`],
  );
  return [command, ...given].join(' ');
}

/** As a shell reads it back. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** `namespace`: of the operator; absent: where its devices and its Lease are. */
export async function explainNode(client: KubeClient, node: string, namespace?: string): Promise<Explanation> {
  return explain(await readKnown(client, node, namespace));
}

async function readKnown(client: KubeClient, node: string, namespace: string | undefined): Promise<Known> {
  const live = await optional(client, { resource: nodes, name: node });
  const record = await optional(client, refOf(node));
  if (live.value === undefined && record.value === undefined) {
    const all = await client.list<KubeObject>(nodes);
    throw noSuchNode([node], all.ok ? all.value.items.map(({ metadata }) => metadata.name) : []);
  }
  const policies = await readPolicies(client);
  const lease = await optional(client, { resource: leases, namespace: nodeLeaseNamespace, name: node });
  const atMs = lease.serverTime ?? record.serverTime ?? live.serverTime;
  if (atMs === undefined) throw new UserError('the API server does not say what time it is');
  const place = await placeOf(client, { given: namespace, nowMs: atMs });
  const pause = place && (await readPause(client, place));
  const object = live.value;
  const isCordoned = object !== undefined && projectNode(object).unschedulable;
  return knownFrom({
    node,
    atMs,
    ...(object === undefined
      ? {}
      : { live: { facts: projectNode(object), labels: object.metadata.labels ?? {}, annotated: object } }),
    ...(lease.value === undefined ? {} : { lease: projectLease(lease.value) }),
    ...(record.value === undefined ? {} : { record: record.value as StoredFence }),
    ...(isOnRecord(record.value) ? {} : { records: await readRecords(client) }),
    policies,
    devices: await readDevices(client),
    ...(isCordoned ? await drainOf(client, node) : {}),
    ...(place === undefined ? {} : { place }),
    ...(pause === undefined ? {} : { pause }),
  });
}

function isOnRecord(record: KubeObject | undefined): boolean {
  return (record as StoredFence | undefined)?.status?.incident !== undefined;
}

/** In a storm that of another node says why nothing is done; who may not read it is told less. */
async function readRecords(client: KubeClient): Promise<StoredFence[]> {
  const read = await client.list<StoredFence>(nodeFences);
  return read.ok ? read.value.items : [];
}

/** Who may not read the policies is told less. */
async function drainOf(client: KubeClient, node: string): Promise<Pick<Known, 'drain'>> {
  const read = await client.list<KubeObject & { status?: DrainPolicyStatus }>(drainPolicies);
  const drain = read.ok ? drainsByNode(read.value.items.map(({ status }) => status)).get(node) : undefined;
  return drain === undefined ? {} : { drain };
}

/** Absent is an answer; whatever else goes wrong is not. */
async function optional(
  client: KubeClient,
  ref: ObjectRef,
): Promise<{ value?: KubeObject; serverTime?: number | undefined }> {
  const read = await client.get<KubeObject>(ref);
  if (read.ok) return { value: read.value, serverTime: read.serverTime };
  if (read.error.kind === 'notFound') return {};
  throw apiFailure(read.error);
}

/** They are in the namespace of the operator, wherever that is; who may not read them is told less. */
async function readDevices(client: KubeClient): Promise<ReadDevice[]> {
  const read = await client.list<ReadDevice>(fenceDevices);
  return read.ok ? read.value.items : [];
}
