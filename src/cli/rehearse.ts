/**
 * `fenceline simulate --from-cluster`: what would happen if this node, zone or switch failed now, under the policies in force
 * and under others beside them (EXP-2). The cluster is read once, by lists, as the user; it is never written to.
 */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { Option } from 'commander';
import { parseAllDocuments } from 'yaml';
import { parseFeatureGates } from '../api/feature-gates.ts';
import type { Snapshot, SnapshotObject } from '../api/snapshot.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import type { Blow, Failure, RawEvent } from '../scenario/from-cluster/failure.ts';
import { blows } from '../scenario/from-cluster/failure.ts';
import type { Plan } from '../scenario/from-cluster/plan.ts';
import { defaultRunFor, planFor, runDocument } from '../scenario/from-cluster/plan.ts';
import { readPolicies } from '../scenario/from-cluster/policies.ts';
import type { Rehearsal } from '../scenario/from-cluster/tell.ts';
import { rowsOf, warningsOf } from '../scenario/from-cluster/tell.ts';
import { ScenarioError } from '../scenario/reader.ts';
import type { BmcFault } from '../world/machines/bmc.ts';
import { bmcFaults } from '../world/machines/bmc.ts';
import { addKubeFlags, withClient } from './kube-flags.ts';
import { configuredIn } from './operator-place.ts';
import { snapshotOf } from './snapshot-of.ts';
import { renderTable } from './table.ts';
import { elsewhere } from './written.ts';
import { toYaml } from './yaml.ts';

export interface RehearsalFlags extends Overrides {
  fromCluster?: boolean;
  node?: string[];
  zone?: string[];
  switch?: string[];
  how?: Blow;
  bmc?: BmcFault;
  endsAfter?: string;
  events?: string;
  policy?: string;
  runFor?: string;
  featureGates?: Readonly<Record<string, boolean>>;
  printScenario?: boolean;
  seed?: number;
  output?: 'json';
}

export function addRehearsalFlags(command: Command): Command {
  const repeated = (value: string, before: string[] = []): string[] => [...before, value];
  return addKubeFlags(command)
    .option('--from-cluster', 'simulate a failure of the cluster of your kubeconfig, which is only read')
    .option('--node <name>', 'this node fails; may be repeated', repeated)
    .option('--zone <name>', 'all nodes of this zone fail; may be repeated', repeated)
    .option('--switch <label=value>', 'the nodes with this label lose their network; may be repeated', repeated)
    .addOption(new Option('--how <what>', 'what befalls these nodes (default: powerOff)').choices(blows))
    .addOption(new Option('--bmc <fault>', 'what their power devices do from then on').choices(bmcFaults))
    .option('--ends-after <duration>', 'the failure is mended after so long')
    .option('--events <file>', 'more that happens, as `events` of a scenario file')
    .option('--policy <file>', 'RemedyPolicies that are not in force yet: both outcomes side by side')
    .option('--run-for <duration>', `how long to look (default: ${defaultRunFor})`)
    .option('--feature-gates <list>', 'as the operator is started with', parseFeatureGates)
    .option('--print-scenario', 'print the scenario instead of running it, to keep or to change');
}

export async function rehearse(flags: RehearsalFlags): Promise<void> {
  const snapshot = await withClient(flags, async (client, connection) => {
    const namespace = await configuredIn(client, { given: flags.namespace, usual: connection.namespace });
    const read = await snapshotOf(client, namespace);
    const hint = await elsewhere({ client, namespace });
    if (hint !== undefined) process.stderr.write(`fenceline: ${hint}\n`);
    return read;
  });
  const plan = planOf(snapshot, flags);
  const { documents, notes, struck } = plan;
  if (flags.printScenario === true) {
    for (const note of notes) process.stderr.write(`note: ${note}\n`);
    process.stdout.write(toYaml(documents.at(-1)?.document));
    return;
  }
  const rehearsals: Rehearsal[] = [];
  for (const { policies, document } of documents) {
    const run = { struck, wallNow: () => performance.now(), seed: flags.seed };
    rehearsals.push({ policies, outcome: await runDocument(document, run) });
  }
  process.stdout.write(flags.output === 'json' ? jsonOf(plan, rehearsals) : textOf(plan, rehearsals));
  process.exitCode = rehearsals.every(({ outcome }) => outcome.violations.length === 0) ? 0 : 1;
}

/** Throws a ScenarioError where the wish makes no sense for this cluster. */
export function planOf(snapshot: Snapshot, flags: RehearsalFlags): Plan {
  const { policy, runFor, featureGates } = flags;
  return planFor(snapshot, {
    failure: failureOf(flags),
    ...(policy === undefined ? {} : { proposed: policiesIn(policy) }),
    ...(runFor === undefined ? {} : { runFor }),
    ...(featureGates === undefined ? {} : { featureGates }),
  });
}

function failureOf({
  node = [],
  zone = [],
  switch: switches = [],
  how,
  bmc,
  endsAfter,
  events,
}: RehearsalFlags): Failure {
  return {
    nodes: node,
    zones: zone,
    switches,
    ...(how === undefined ? {} : { how }),
    ...(bmc === undefined ? {} : { bmc }),
    ...(endsAfter === undefined ? {} : { endsAfter }),
    events: events === undefined ? [] : eventsIn(events),
  };
}

function policiesIn(file: string): readonly SnapshotObject[] {
  const read = readPolicies(textIn(file));
  if (read.ok) return read.policies;
  throw new ScenarioError(
    read.mistakes.map(({ policy, text }) => `${file}: ${policy === undefined ? '' : `${policy}: `}${text}`),
  );
}

/** A list of events, or a scenario file, of which only the events count. */
function eventsIn(file: string): RawEvent[] {
  const [first] = documentsIn(file) as [{ spec?: { events?: unknown }; events?: unknown } | undefined];
  const events = Array.isArray(first) ? (first as unknown) : (first?.spec?.events ?? first?.events);
  if (Array.isArray(events)) return events as RawEvent[];
  throw new ScenarioError([`${file}: write a list of events, or a scenario with events`]);
}

function documentsIn(file: string): unknown[] {
  const documents = parseAllDocuments(textIn(file));
  const wrong = 'empty' in documents ? [] : documents.flatMap(({ errors }) => errors);
  if (wrong.length > 0) throw new ScenarioError(wrong.map(({ message }) => `${file}: ${message}`));
  return [...documents].map((document) => document.toJS() as unknown).filter((one) => one !== null);
}

function textIn(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new ScenarioError([`${file}: ${(error as Error).message}`]);
  }
}

export function textOf({ notes, unwell }: Pick<Plan, 'notes' | 'unwell'>, rehearsals: readonly Rehearsal[]): string {
  const { nodes, pods } = rowsOf(rehearsals);
  const table = ([heads = [], ...rows]: string[][], none: string): string =>
    rows.length === 0 ? `${none}\n` : renderTable(heads, rows);
  const took = rehearsals.map(({ outcome: { wallMs } }) => `${(wallMs / 1000).toFixed(1)} s`).join(' and ');
  const hours = (rehearsals[0]?.outcome.virtualMs ?? 0) / 60_000;
  return [
    table(nodes, 'No node is touched.'),
    table(pods, 'No pod is touched.'),
    ...rehearsals.flatMap((one) => warningsOf(one, unwell)).map((line) => `! ${line}\n`),
    ...notes.map((note) => `note: ${note}\n`),
    `${hours} simulated minutes in ${took}; nothing was written to the cluster.\n`,
  ].join('\n');
}

function jsonOf({ notes, struck }: Plan, rehearsals: readonly Rehearsal[]): string {
  const runs = rehearsals.map(({ policies, outcome }) => ({ policies, ...outcome }));
  return `${JSON.stringify({ failed: [...struck], notes, runs }, null, 2)}\n`;
}
