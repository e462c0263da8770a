/**
 * `fenceline explain NODE`: why a node is judged as it is, why nothing happens yet, what comes next and when, what would change
 * that, and what to type now (EXP-1). It reads what the operator has put on record and judges nothing by itself, so that it
 * cannot say something else than what will happen.
 */
import { Command, Option } from 'commander';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { FenceDevice } from '../api/fence-device.ts';
import { isShown } from '../api/learnt.ts';
import type { NodeFacts } from '../api/view.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { drainPolicies, fenceDevices, leases, nodeLeaseNamespace, nodes } from '../kube/resources.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import { projectLease, projectNode } from '../observe/project.ts';
import type { DrainPolicyStatus } from '../report/drain-status.ts';
import { drainsByNode } from '../report/drain-status.ts';
import { explain } from '../report/explain.ts';
import { explanationText } from '../report/explain-text.ts';
import type { Explanation, Known, KnownDevice, Leader } from '../report/explanation.ts';
import { addKubeFlags, clientOf, connect } from './kube-flags.ts';
import { leftAloneBy, meaningless } from './node-annotations.ts';
import { nodeArgument } from './node-argument.ts';
import { noSuchNode } from './no-such-node.ts';
import type { StoredFence } from './node-fence.ts';
import { refOf } from './node-fence.ts';
import type { Place } from './operator-place.ts';
import { leaderName, pauseText, placeOf, readPause, rivalsText } from './operator-place.ts';
import { readPolicies } from './policy-of.ts';
import { judged } from './status.ts';
import { apiFailure } from './taken.ts';
import { UserError } from './user-error.ts';
import { usualNamespace } from './written.ts';

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
  const connection = await connect(flags);
  const client = clientOf(connection);
  try {
    const explanation = await explainNode(client, node, flags.namespace);
    process.stdout.write(await render(withFlags(explanation, flags), flags.output));
  } finally {
    client.close();
  }
}

export async function render(explanation: Explanation, format: ExplainFlags['output']): Promise<string> {
  if (format === 'json') return `${JSON.stringify(explanation, null, 2)}\n`;
  if (format === 'yaml') return (await import('./yaml.ts')).toYaml(explanation);
  return explanationText(explanation);
}

/** Which cluster was meant is meant by what is typed next as well; these are kubectl's own flags. */
const carried = ['kubeconfig', 'context', 'cluster', 'user', 'server', 'as'] as const;

export function withFlags(explanation: Explanation, flags: Overrides): Explanation {
  const given = carried.flatMap((name) => (flags[name] === undefined ? [] : [`--${name}=${quoted(flags[name])}`]));
  if (given.length === 0) return explanation;
  const commands = explanation.commands.map(({ to, command }) => ({ to, command: `${command} ${given.join(' ')}` }));
  return { ...explanation, commands };
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
  const live = await readNode(client, node);
  const record = await optional(client, refOf(node));
  if (live.facts === undefined && record.value === undefined) {
    const all = await client.list<KubeObject>(nodes);
    throw noSuchNode([node], all.ok ? all.value.items.map(({ metadata }) => metadata.name) : []);
  }
  const policies = await readPolicies(client);
  const lease = await optional(client, { resource: leases, namespace: nodeLeaseNamespace, name: node });
  const atMs = lease.serverTime ?? record.serverTime ?? live.serverTime;
  if (atMs === undefined) throw new UserError('the API server does not say what time it is');
  const seen = lease.value === undefined ? undefined : projectLease(lease.value);
  const { devices, wasKept } = await readDevices(client, node);
  const place = await placeOf(client, { given: namespace, nowMs: atMs });
  const pause = place && (await readPause(client, place));
  const isWorking = wasKept || (record.value as StoredFence | undefined)?.status?.holder !== undefined;
  const policy = policyFor(policies, live.labels, (record.value as StoredFence | undefined)?.spec.policy);
  return {
    node,
    atMs,
    judgement: judged(node, live.facts, seen, atMs),
    ...(live.facts === undefined ? {} : { facts: live.facts }),
    ...(policy === undefined ? {} : { policy }),
    ...recordOf(record.value as StoredFence | undefined),
    devices,
    ...operatorIn(place, isWorking),
    ...(live.facts?.unschedulable === true ? await drainOf(client, node) : {}),
    ...(pause === undefined ? {} : { pause }),
    leftAlone: live.object === undefined ? [] : leftAloneBy(live.object, atMs),
    meaningless: live.object === undefined ? [] : meaningless(live.object),
    unread: place === undefined || pause !== undefined ? [] : [pauseText(place)],
  };
}

/** Of one that is nowhere to be found, it is said what it would be run as. */
function operatorIn(place: Place | undefined, isWorking: boolean): Pick<Known, 'operator' | 'namespace' | 'rivals'> {
  const { namespace = usualNamespace, operator = nobody } = place ?? {};
  const rivals = place && rivalsText(place);
  return {
    operator: isWorking && operator.leads === 'nobody' ? withoutLease : operator,
    namespace,
    ...(rivals === undefined ? {} : { rivals }),
  };
}

function policyFor(
  policies: Awaited<ReturnType<typeof readPolicies>>,
  labels: Record<string, string> | undefined,
  recorded: string | undefined,
): Known['policy'] {
  // Of a node that is gone, the one that was in force when its trouble began.
  if (labels === undefined) return policies.find(({ name }) => name === recorded);
  const match = matchPolicy(policies, labels);
  return match.kind === 'one' ? match.policy : undefined;
}

function recordOf(stored: StoredFence | undefined): Pick<Known, 'record'> {
  if (stored === undefined) return {};
  return { record: { spec: stored.spec, status: { ...EMPTY_STATUS, ...stored.status } } };
}

interface LiveNode {
  facts?: NodeFacts;
  object?: KubeObject;
  labels?: Record<string, string>;
  serverTime?: number | undefined;
}

async function readNode(client: KubeClient, node: string): Promise<LiveNode> {
  const { value, serverTime } = await optional(client, { resource: nodes, name: node });
  if (value === undefined) return { serverTime };
  return {
    facts: projectNode(value),
    labels: value.metadata.labels ?? {},
    serverTime,
    object: value,
  };
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
async function readDevices(client: KubeClient, node: string): Promise<{ devices: KnownDevice[]; wasKept: boolean }> {
  const read = await client.list<KubeObject & Partial<Pick<FenceDevice, 'spec' | 'status'>>>(fenceDevices);
  if (!read.ok) return { devices: [], wasKept: false };
  // What is left over from an earlier configuration says nothing of how it is fenced.
  const own = read.value.items.filter(({ spec, status }) => spec?.node === node && status?.unnamedSince === undefined);
  const wasKept = read.value.items.some(({ status }) => status?.configuration !== undefined);
  const known = own.map(({ metadata, spec, status = {} }) => ({
    name: metadata.name,
    status,
    isShown: isShown(spec?.shown, status),
  }));
  return { devices: known, wasKept };
}

const nobody: Leader = { leads: 'nobody' };

/** Somebody keeps records all the same: without an election, or by another name. */
const withoutLease: Leader = { leads: 'unknown', message: `there is no Lease ${leaderName}` };
