/**
 * `fenceline plan-drain NODE…`: what a drain would wait for, what would move and for how long, whether it can end, and in
 * which order several nodes should go (DRN-13). It reads once, and touches nothing.
 */
import { Command, Option } from 'commander';
import type { DrainPolicyFacts, DrainView } from '../api/drain-view.ts';
import type { NodePlan } from '../decide/plan-drain.ts';
import { planDrain } from '../decide/plan-drain.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import type { Resource } from '../kube/resources.ts';
import { drainPolicies, nodes, podDisruptionBudgets } from '../kube/resources.ts';
import { drainPolicyFacts } from '../api/policy-facts.ts';
import { projectCordon } from '../observe/project-drain.ts';
import { drainViewOf } from '../decide/drain-view.ts';
import { budgetFacts } from '../storage/budgets.ts';
import { longhorn } from '../storage/longhorn.ts';
import { addKubeFlags, withClient } from './kube-flags.ts';
import { noSuchNode } from './no-such-node.ts';
import { taken } from './taken.ts';
import { renderTable } from './table.ts';
import { nodesArgument } from './node-argument.ts';
import { UserError } from './user-error.ts';

const formats = ['wide', 'json', 'yaml'] as const;
const defaultNamespace = 'longhorn-system';
const mib = 2 ** 20;
const gib = 2 ** 30;

interface PlanFlags extends Overrides {
  output?: (typeof formats)[number];
  rebuildRate: string;
}

type TimedPlan = NodePlan & { seconds: number };

export function planDrainCommand(): Command {
  const command = new Command('plan-drain').description(
    'say what drains of nodes would wait for, move and put at risk',
  );
  return nodesArgument(addKubeFlags(command), '<node...>', 'the nodes to be drained')
    .option('--rebuild-rate <MiB/s>', 'how fast replicas are rebuilt, for the estimate of time', '100')
    .addOption(new Option('-o, --output <format>', 'instead of the table').choices(formats))
    .action(plan);
}

async function plan(names: string[], flags: PlanFlags): Promise<void> {
  const rate = Number(flags.rebuildRate);
  if (!(rate > 0)) throw new UserError(`--rebuild-rate: ${flags.rebuildRate} is not a number of MiB a second`);
  await withClient(flags, async (client) => {
    const { text, isSafe } = await planText(client, names, rate, flags.output);
    process.stdout.write(text);
    process.exitCode = isSafe ? 0 : 1;
  });
}

/** What is printed, and whether every drain would end and put nothing at risk. */
export async function planText(
  client: KubeClient,
  names: readonly string[],
  rebuildMiBps: number,
  format: PlanFlags['output'],
): Promise<{ text: string; isSafe: boolean }> {
  const plans = (await readPlans(client, names)).map((one) => ({ ...one, seconds: one.bytes / (rebuildMiBps * mib) }));
  const isSafe = plans.every(({ finishes, warnings }) => finishes === 'yes' && warnings.length === 0);
  return { text: await render(plans, format), isSafe };
}

export async function readPlans(client: KubeClient, names: readonly string[]): Promise<NodePlan[]> {
  const kubeNodes = taken(await client.list(nodes)).items.map(projectCordon);
  const missing = names.filter((name) => kubeNodes.every((node) => node.name !== name));
  if (missing.length > 0)
    throw noSuchNode(
      missing,
      kubeNodes.map(({ name }) => name),
    );
  const policies = await readPolicies(client);
  const namespaces = new Set(policies.map(({ namespace }) => namespace));
  if (namespaces.size === 0) namespaces.add(defaultNamespace);
  const plans: NodePlan[] = [];
  for (const namespace of namespaces) {
    const view = await readView(client, namespace, { policies, nodes: kubeNodes });
    const left = names.filter((name) => plans.every((one) => one.node !== name || one.policy === undefined));
    const found = planDrain(view, left);
    for (const one of found) {
      const known = plans.findIndex(({ node }) => node === one.node);
      if (known === -1) plans.push(one);
      else if (one.policy !== undefined) plans[known] = one;
    }
  }
  return plans;
}

async function readPolicies(client: KubeClient): Promise<DrainPolicyFacts[]> {
  const read = await client.list<KubeObject>(drainPolicies);
  // Without the CRDs there are no policies, and a plan says just that.
  if (!read.ok && read.error.kind === 'notFound') return [];
  return taken(read).items.flatMap((policy): DrainPolicyFacts | [] => drainPolicyFacts(policy) ?? []);
}

async function readView(
  client: KubeClient,
  namespace: string,
  known: Pick<Parameters<typeof drainViewOf>[0], 'policies' | 'nodes'>,
): Promise<DrainView> {
  const lists = new Map<Resource, KubeObject[]>();
  for (const resource of longhorn.resources) {
    const read = await client.list<KubeObject>(resource, { namespace });
    if (!read.ok && read.error.kind === 'notFound') {
      throw new UserError(
        `the API server knows no ${resource.plural}.${resource.group}: Longhorn is not installed, and no replica is at risk`,
        0,
      );
    }
    lists.set(resource, taken(read).items);
  }
  const storage = longhorn.facts((resource) => lists.get(resource) ?? []);
  if (storage.nodes.length === 0) {
    throw new UserError(`no storage node is in namespace ${namespace}: does Longhorn run in another one?`);
  }
  const budgets = taken(await client.list(podDisruptionBudgets, { namespace })).items.map(budgetFacts);
  return drainViewOf({ ...known, namespace, storage, budgets });
}

async function render(plans: readonly TimedPlan[], format: PlanFlags['output']): Promise<string> {
  if (format === 'json') return `${JSON.stringify(plans, null, 2)}\n`;
  if (format === 'yaml') return (await import('./yaml.ts')).toYaml(plans);
  const heads = ['TURN', 'NODE', 'POLICY', 'FINISHES', 'WAITS FOR', 'MOVES', 'TIME'];
  const rows = plans.map((one) => [
    String(one.turn),
    one.node,
    one.rule ?? '<none>',
    one.finishes,
    one.blocks[0]?.reason ?? '<nothing>',
    one.moves.length === 0 ? '<nothing>' : `${one.moves.length} (${gibOf(one.bytes)} GiB)`,
    estimateOf(one),
  ]);
  return renderTable(heads, rows) + detailsOf(plans, format === 'wide');
}

function detailsOf(plans: readonly TimedPlan[], isWide: boolean): string {
  const lines = plans.flatMap(({ node, blocks, together, warnings }) => [
    ...warnings.map((text) => `warning: ${text}`),
    ...blocks.map(({ reason, message }) => `${node}: ${reason}: ${message}`),
    ...(plans.length > 1
      ? together.map(({ message }) => `${node}, drained at the same time as the others: ${message}`)
      : []),
  ]);
  const moves = plans.flatMap(({ node, moves: own }) =>
    own.map(({ volume, bytes, to }) => [
      volume,
      node,
      bytes === undefined ? '<unknown>' : `${gibOf(bytes)} GiB`,
      to.length === 0 ? '<nowhere>' : to.slice(0, isWide ? to.length : 3).join(','),
    ]),
  );
  const table = moves.length === 0 ? '' : `\n${renderTable(['VOLUME', 'LEAVES', 'SIZE', 'COULD GO TO'], moves)}`;
  return (lines.length === 0 ? '' : `\n${lines.join('\n')}\n`) + table;
}

function gibOf(bytes: number): string {
  return (bytes / gib).toFixed(1);
}

function estimateOf({ finishes, bytes, seconds }: TimedPlan): string {
  if (finishes === 'no') return '<never>';
  if (bytes === 0) return '<none>';
  return seconds < 120 ? `about ${Math.ceil(seconds)}s` : `about ${Math.ceil(seconds / 60)}m`;
}
