/**
 * `fenceline status`: what is thought of each node, judged by the same rules as in the operator, from one live look.
 *
 * The operator measures how long it has not seen a Lease change. A command that looks once can only compare what the
 * node's clock wrote with the API server's clock; a node whose clock is wrong shows up as such.
 */
import { Command, Option } from 'commander';
import { EMPTY_STATUS } from '../api/fence-names.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import type { Judgement, NodeFacts, NodeView } from '../api/view.ts';
import { VERDICT_REASONS } from '../api/view.ts';
import { defaultLimits, judgeNode } from '../judge/judge-node.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import type { Result } from '../kube/errors.ts';
import { readList } from '../kube/json-stream.ts';
import type { Resource } from '../kube/resources.ts';
import { collectionPath, drainPolicies, leases, nodeFences, nodeLeaseNamespace, nodes } from '../kube/resources.ts';
import { projectLease, projectNode } from '../observe/project.ts';
import { addKubeFlags, clientOf, connect } from './kube-flags.ts';
import { renderTable } from './table.ts';
import { UserError } from './user-error.ts';

const formats = ['wide', 'json', 'yaml'] as const;
type Format = (typeof formats)[number];

export interface NodeStatus {
  node: string;
  verdict: Judgement['verdict'];
  reason: Judgement['reason'];
  explanation: string;
  zone: string;
  unschedulable: boolean;
  evidence: Judgement['evidence'];
  /** What is being done about it; absent where there is nothing to do. */
  recovery?: Recovery;
  /** Of a cordoned node under a DrainPolicy: what its drain waits for. */
  drain?: DrainState;
}

/** From the status of the DrainPolicy, which the operator keeps. */
export interface DrainState {
  blocked: boolean;
  /** Replicas are leaving the node because of the policy. */
  autoEvicting: boolean;
  reason?: string;
  message?: string;
}

/** From the NodeFence of the node, which the operator keeps. */
export interface Recovery {
  trouble: string;
  hold?: string;
  waitsFor?: string;
  releases: { basis: string; by?: string; pods: number; ended: boolean }[];
  stuck: NodeFenceStatus['stuck'];
}

export function statusCommand(): Command {
  const command = new Command('status').description('show the verdict on each node and what it rests on');
  return addKubeFlags(command)
    .argument('[node...]', 'only these nodes')
    .addOption(new Option('-o, --output <format>', 'instead of the table').choices(formats))
    .action(status);
}

async function status(names: string[], flags: Overrides & { output?: Format }): Promise<void> {
  const client = clientOf(await connect(flags));
  try {
    const all = await readStatus(client);
    const missing = names.filter((name) => all.every(({ node }) => node !== name));
    if (missing.length > 0) throw new UserError(`no such node: ${missing.join(', ')}`);
    const chosen = names.length === 0 ? all : all.filter(({ node }) => names.includes(node));
    process.stdout.write(await render(chosen, flags.output));
  } finally {
    client.close();
  }
}

export async function readStatus(client: KubeClient): Promise<NodeStatus[]> {
  const facts = new Map<string, NodeFacts>();
  const renewals = new Map<string, string>();
  await readAll(client, nodes, undefined, (object) => facts.set(object.metadata.name, projectNode(object)));
  const serverTime = await readAll(client, leases, nodeLeaseNamespace, (object) =>
    renewals.set(object.metadata.name, projectLease(object)),
  );
  const recoveries = await readRecoveries(client);
  const drains = await readDrains(client);
  return [...facts.values()]
    .map((node) => statusOf(node, renewals.get(node.name), serverTime))
    .map((one) => ({ ...one, ...recoveries.get(one.node), ...drains.get(one.node) }))
    .sort((a, b) => a.node.localeCompare(b.node, 'en', { numeric: true }));
}

function statusOf(node: NodeFacts, renewTime: string | undefined, serverTime: number): NodeStatus {
  const view: NodeView = { name: node.name, node, ageMs: 0, silentMs: 0 };
  const renewedAt = Date.parse(renewTime ?? '');
  if (renewTime !== undefined && !Number.isNaN(renewedAt)) {
    view.lease = { renewTime, unchangedForMs: Math.max(0, serverTime - renewedAt), confirmed: true };
  }
  const { verdict, reason, evidence } = judgeNode(view, defaultLimits);
  const { name, zone, unschedulable } = node;
  return { node: name, verdict, reason, explanation: VERDICT_REASONS[reason], zone, unschedulable, evidence };
}

/** A cluster in which Fenceline is not installed, or whose records the user may not read, has verdicts all the same. */
async function readRecoveries(client: KubeClient): Promise<Map<string, { recovery: Recovery }>> {
  const read = await client.list<NodeFence & KubeObject>(nodeFences);
  if (!read.ok) {
    if (read.error.kind === 'notFound' || read.error.kind === 'forbidden') return new Map();
    throw new UserError(read.error.message);
  }
  const open = read.value.items.filter(({ status }) => status?.incident !== undefined);
  return new Map(open.map(({ spec, status }) => [spec.node, { recovery: recoveryOf({ ...EMPTY_STATUS, ...status }) }]));
}

async function readDrains(client: KubeClient): Promise<Map<string, { drain: DrainState }>> {
  const read = await client.list<KubeObject & { status?: { draining?: (DrainState & { node: string })[] } }>(
    drainPolicies,
  );
  if (!read.ok) {
    if (read.error.kind === 'notFound' || read.error.kind === 'forbidden') return new Map();
    throw new UserError(read.error.message);
  }
  const draining = read.value.items.flatMap(({ status }) => status?.draining ?? []);
  return new Map(
    draining.map(({ node, blocked, autoEvicting, reason, message }) => [
      node,
      { drain: { blocked, autoEvicting, ...(reason && { reason }), ...(message && { message }) } },
    ]),
  );
}

function recoveryOf({ incident, hold, return: back, releases, stuck }: NodeFenceStatus): Recovery {
  return {
    trouble: incident?.trouble ?? '',
    ...(hold && { hold: hold.message }),
    ...(back?.waitsFor !== undefined && { waitsFor: back.waitsFor }),
    releases: releases.map(({ basis, by, pods, endedAt }) => ({
      basis,
      ...(by !== undefined && { by }),
      pods: pods.length,
      ended: endedAt !== undefined,
    })),
    stuck,
  };
}

/** Answers the server's clock. */
async function readAll(
  client: KubeClient,
  resource: Resource,
  namespace: string | undefined,
  onItem: (object: KubeObject) => void,
): Promise<number> {
  const path = collectionPath(resource, namespace);
  const opened = await client.stream(path, 'call', { signal: new AbortController().signal });
  const { value, serverTime } = taken(opened);
  try {
    await readList(value.body, (item) => onItem(item as KubeObject));
  } catch (error) {
    throw new UserError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (serverTime === undefined) throw new UserError(`${path}: the API server sent no Date`);
  return serverTime;
}

function taken<T>(result: Result<T>): Extract<Result<T>, { ok: true }> {
  if (!result.ok) throw new UserError(result.error.message);
  return result;
}

async function render(statuses: NodeStatus[], format: Format | undefined): Promise<string> {
  switch (format) {
    case 'json':
      return `${JSON.stringify(statuses, null, 2)}\n`;
    case 'yaml':
      return (await import('yaml')).stringify(statuses);
    case 'wide':
    case undefined: {
      const withRecovery = statuses.some(({ recovery }) => recovery !== undefined);
      const heads = [
        'NAME',
        'VERDICT',
        'REASON',
        'ZONE',
        'SCHEDULABLE',
        ...(withRecovery ? ['RECOVERY'] : []),
        ...(format === 'wide' ? ['EVIDENCE'] : []),
      ];
      const rows = statuses.map((one) => [
        one.node,
        one.verdict,
        one.reason,
        one.zone || '<none>',
        schedulableOf(one),
        ...(withRecovery ? [summaryOf(one.recovery)] : []),
        ...(format === 'wide' ? [one.evidence.map(({ detail }) => detail).join('; ')] : []),
      ]);
      return statuses.length === 0 ? 'No nodes found\n' : renderTable(heads, rows) + renderStuck(statuses);
    }
  }
}

/** A node from which replicas leave by themselves is told from one that is only cordoned (DRN-14). */
function schedulableOf({ unschedulable, drain }: NodeStatus): string {
  if (!unschedulable) return 'yes';
  if (drain?.autoEvicting === true) return 'no, auto-evicting';
  return drain?.blocked === true ? 'no, drain waits' : 'no';
}

/** The one thing that matters most just now. */
function summaryOf(recovery: Recovery | undefined): string {
  if (recovery === undefined) return '<none>';
  const { hold, stuck, releases, waitsFor, trouble } = recovery;
  if (hold !== undefined) return `held: ${hold}`;
  if (stuck.length > 0) return `${stuck.length} ${stuck.length === 1 ? 'pod' : 'pods'} stuck`;
  const open = releases.filter(({ ended }) => !ended);
  const released = open.length > 0 ? open : releases;
  const last = released.at(-1);
  if (last === undefined) return trouble;
  const what = `${last.ended ? 'released' : 'releasing'} ${last.pods} (${last.basis})`;
  return waitsFor === undefined ? what : `${what}; ${waitsFor}`;
}

function renderStuck(statuses: NodeStatus[]): string {
  const rows = statuses.flatMap(({ node, recovery }) =>
    (recovery?.stuck ?? []).map(({ namespace, name, reason, message, until }) => [
      `${namespace}/${name}`,
      node,
      reason,
      until ?? '<none>',
      message,
    ]),
  );
  return rows.length === 0 ? '' : `\n${renderTable(['STUCK POD', 'NODE', 'REASON', 'UNTIL', 'WHY'], rows)}`;
}
