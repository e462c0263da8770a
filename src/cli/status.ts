/**
 * `fenceline status`: what is thought of each node, judged by the same rules as in the operator, from one live look.
 *
 * The operator measures how long it has not seen a Lease change. A command that looks once can only compare what the
 * node's clock wrote with the API server's clock; a node whose clock is wrong shows up as such.
 */
import { Command, Option } from 'commander';
import type { Judgement, NodeFacts, NodeView } from '../api/view.ts';
import { VERDICT_REASONS } from '../api/view.ts';
import { defaultLimits, judgeNode } from '../judge/judge-node.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import type { Result } from '../kube/errors.ts';
import { readList } from '../kube/json-stream.ts';
import type { Resource } from '../kube/resources.ts';
import { collectionPath, leases, nodes } from '../kube/resources.ts';
import { leaseNamespace } from '../observe/observer.ts';
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
  const serverTime = await readAll(client, leases, leaseNamespace, (object) =>
    renewals.set(object.metadata.name, projectLease(object)),
  );
  return [...facts.values()]
    .map((node) => statusOf(node, renewals.get(node.name), serverTime))
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
      const heads = ['NAME', 'VERDICT', 'REASON', 'ZONE', 'SCHEDULABLE', ...(format === 'wide' ? ['EVIDENCE'] : [])];
      const rows = statuses.map((one) => [
        one.node,
        one.verdict,
        one.reason,
        one.zone || '<none>',
        one.unschedulable ? 'no' : 'yes',
        one.evidence.map(({ detail }) => detail).join('; '),
      ]);
      return statuses.length === 0
        ? 'No nodes found\n'
        : renderTable(
            heads,
            rows.map((row) => row.slice(0, heads.length)),
          );
    }
  }
}
