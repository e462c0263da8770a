/**
 * `fenceline simulate --from-cluster`: what would happen if this node, zone or switch failed now, under the policies in force
 * and under others beside them (EXP-2). The cluster is read once, by lists, as the user; it is never written to.
 */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { Option } from 'commander';
import { parseAllDocuments } from 'yaml';
import { structuralSchemaOf } from '../api/crds.ts';
import { parseFeatureGates } from '../api/feature-gates.ts';
import { KINDS } from '../api/kinds.ts';
import { parseObject } from '../api/parse.ts';
import { RemedyPolicySchema } from '../api/remedy-policy.ts';
import type { Snapshot, SnapshotObject } from '../api/snapshot.ts';
import { unknownFields } from '../api/unknown-fields.ts';
import type { Overrides } from '../kube/kubeconfig.ts';
import { policySpec } from '../observe/project-snapshot.ts';
import { invariants } from '../scenario/checkers/index.ts';
import type { ScenarioDocument } from '../scenario/from-cluster/document.ts';
import { limitsOf, scenarioOf } from '../scenario/from-cluster/document.ts';
import type { Blow, RawEvent } from '../scenario/from-cluster/failure.ts';
import { blows, strike } from '../scenario/from-cluster/failure.ts';
import type { Outcome } from '../scenario/from-cluster/outcome.ts';
import { OutcomeWatch } from '../scenario/from-cluster/outcome.ts';
import { partOf } from '../scenario/from-cluster/part.ts';
import type { Rehearsal } from '../scenario/from-cluster/tell.ts';
import { rowsOf, warningsOf } from '../scenario/from-cluster/tell.ts';
import { parseScenarios } from '../scenario/parse.ts';
import { ScenarioError } from '../scenario/reader.ts';
import { runScenario } from '../scenario/runner.ts';
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

const defaultRunFor = '1h';

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
    rehearsals.push({ policies, outcome: await runDocument(document, struck, flags.seed) });
  }
  process.stdout.write(flags.output === 'json' ? jsonOf(plan, rehearsals) : textOf(plan, rehearsals));
  process.exitCode = rehearsals.every(({ outcome }) => outcome.violations.length === 0) ? 0 : 1;
}

export interface Plan {
  struck: ReadonlySet<string>;
  /** Not Ready in the cluster itself. */
  unwell: ReadonlySet<string>;
  notes: readonly string[];
  /** What is run: under the policies in force, and under the proposed ones where there are any. */
  documents: readonly { policies: string; document: ScenarioDocument }[];
}

/** Throws a ScenarioError where the wish makes no sense for this cluster. */
export function planOf(snapshot: Snapshot, flags: RehearsalFlags): Plan {
  if (snapshot.nodes.length === 0) throw new ScenarioError(['the cluster has no nodes']);
  const { nodes, events, problems } = strike(failureOf(flags), snapshot);
  if (problems.length > 0) throw new ScenarioError([...problems]);
  if (events.length === 0) {
    throw new ScenarioError(['what is to fail? Write --node NAME, --zone NAME, --switch LABEL=VALUE or --events FILE']);
  }
  const part = partOf(snapshot, nodes);
  const of = (policies: string, these: readonly SnapshotObject[]): Plan['documents'][number] => ({
    policies,
    document: scenarioOf({
      name: 'from-cluster',
      snapshot,
      part,
      events,
      policies: these,
      runFor: flags.runFor ?? defaultRunFor,
      featureGates: flags.featureGates ?? {},
    }),
  });
  const proposed = flags.policy === undefined ? [] : policiesIn(flags.policy);
  const kept = snapshot.policies.filter(({ metadata }) => proposed.every((one) => one.metadata.name !== metadata.name));
  return {
    struck: nodes,
    unwell: new Set(part.nodes.flatMap(({ name, ready }) => (ready === 'True' ? [] : [name]))),
    notes: limitsOf(snapshot, part),
    documents: [
      of('in force', snapshot.policies),
      ...(flags.policy === undefined ? [] : [of('proposed', [...kept, ...proposed])]),
    ],
  };
}

function failureOf({
  node = [],
  zone = [],
  switch: switches = [],
  how,
  bmc,
  endsAfter,
  events,
}: RehearsalFlags): Parameters<typeof strike>[0] {
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

export async function runDocument(
  document: ScenarioDocument,
  struck: ReadonlySet<string>,
  seed: number | undefined,
): Promise<Outcome> {
  const [scenario] = parseScenarios('the cluster', JSON.stringify(document));
  if (scenario === undefined) throw new Error('a document is one scenario');
  const watch = new OutcomeWatch(struck);
  const report = await runScenario({ ...scenario, seed: seed ?? scenario.seed }, () => performance.now(), {
    invariants: [...invariants, watch.invariant],
    onZero: () => watch.begin(),
  });
  return watch.outcome(report);
}

function policiesIn(file: string): SnapshotObject[] {
  return documentsIn(file).map((one) => {
    const { kind, metadata } = (one ?? {}) as Partial<SnapshotObject>;
    if (kind !== 'RemedyPolicy' || typeof metadata?.name !== 'string') {
      throw new ScenarioError([`${file}: every document has to be a RemedyPolicy with a name`]);
    }
    const policy = one as SnapshotObject;
    const problems = policyProblems(policy);
    if (problems.length > 0)
      throw new ScenarioError(problems.map((problem) => `${file}: ${metadata.name}: ${problem}`));
    return { ...policy, spec: policySpec(policy['spec'] ?? {}) };
  });
}

/** What the API server would drop, or refuse: a rehearsal of something else than what is written would be worse than none. */
function policyProblems(policy: SnapshotObject): string[] {
  const unknown = KINDS.filter(({ kind }) => kind === policy.kind).flatMap((kind) =>
    unknownFields(structuralSchemaOf(kind), withoutMetadata(policy)),
  );
  const parsed = parseObject(RemedyPolicySchema, policy);
  return [...unknown, ...(parsed.ok ? [] : parsed.problems)];
}

/** Which has fields of Kubernetes' own. */
function withoutMetadata({ metadata: _metadata, ...rest }: SnapshotObject): object {
  return rest;
}

/** A list of events, or a scenario file, of which only the events count. */
function eventsIn(file: string): RawEvent[] {
  const [first] = documentsIn(file) as [{ spec?: { events?: unknown }; events?: unknown } | undefined];
  const events = Array.isArray(first) ? (first as unknown) : (first?.spec?.events ?? first?.events);
  if (Array.isArray(events)) return events as RawEvent[];
  throw new ScenarioError([`${file}: write a list of events, or a scenario with events`]);
}

function documentsIn(file: string): unknown[] {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new ScenarioError([`${file}: ${(error as Error).message}`]);
  }
  const documents = parseAllDocuments(text);
  const wrong = 'empty' in documents ? [] : documents.flatMap(({ errors }) => errors);
  if (wrong.length > 0) throw new ScenarioError(wrong.map(({ message }) => `${file}: ${message}`));
  return [...documents].map((document) => document.toJS() as unknown).filter((one) => one !== null);
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
