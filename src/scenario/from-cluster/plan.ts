/** What is rehearsed: a failure of a cluster as it was read, under the policies in force and, where there are any, under proposed ones. */
import type { Snapshot, SnapshotObject } from '../../api/snapshot.ts';
import type { Clock } from '../../clock.ts';
import { invariants } from '../checkers/index.ts';
import { parseScenarios } from '../parse.ts';
import { ScenarioError } from '../reader.ts';
import { clockText } from '../report.ts';
import { runScenario } from '../runner.ts';
import type { ScenarioDocument } from './document.ts';
import { limitsOf, proposing, scenarioOf } from './document.ts';
import type { Failure } from './failure.ts';
import { strike } from './failure.ts';
import type { Outcome } from './outcome.ts';
import { OutcomeWatch } from './outcome.ts';
import { partOf } from './part.ts';

export interface Wish {
  failure: Failure;
  /** Policies that are not in force yet: they take the place of those of the same name. */
  proposed?: readonly SnapshotObject[];
  runFor?: string;
  featureGates?: Readonly<Record<string, boolean>>;
}

export interface Plan {
  struck: ReadonlySet<string>;
  /** Not Ready in the cluster itself. */
  unwell: ReadonlySet<string>;
  notes: readonly string[];
  /** What is run: under the policies in force, and under the proposed ones where there are any. */
  documents: readonly { policies: string; document: ScenarioDocument }[];
}

export const defaultRunFor = '1h';

/** Throws a ScenarioError where the wish makes no sense for this cluster. */
export function planFor(snapshot: Snapshot, { failure, proposed, runFor, featureGates }: Wish): Plan {
  if (snapshot.nodes.length === 0) throw new ScenarioError(['the cluster has no nodes']);
  const { nodes, events, problems } = strike(failure, snapshot);
  if (problems.length > 0) throw new ScenarioError([...problems]);
  if (events.length === 0) {
    throw new ScenarioError(['what is to fail? Write --node NAME, --zone NAME, --switch LABEL=VALUE or --events FILE']);
  }
  const part = partOf(snapshot, nodes);
  const document = scenarioOf({
    name: 'from-cluster',
    snapshot,
    part,
    events,
    policies: snapshot.policies.map(asCarriedOut),
    runFor: runFor ?? defaultRunFor,
    featureGates: featureGates ?? {},
  });
  return {
    struck: nodes,
    unwell: new Set(part.nodes.flatMap(({ name, ready }) => (ready === 'True' ? [] : [name]))),
    notes: [...refusals(snapshot, proposed), ...limitsOf(snapshot, part)],
    documents: [
      { policies: 'in force', document },
      ...(proposed === undefined ? [] : [{ policies: 'proposed', document: proposing(document, proposed) }]),
    ],
  };
}

/** By one that the operator refuses nothing is done, as by one that is paused; nor does another one take its place. */
function asCarriedOut({ refused, ...policy }: Snapshot['policies'][number]): SnapshotObject {
  return refused === undefined ? policy : { ...policy, spec: { ...policy.spec, mode: 'Paused' } };
}

/** What is forbidden is not known from here: of a policy that is only proposed nobody has said yet whether it is refused. */
function refusals({ policies }: Snapshot, proposed: Wish['proposed']): string[] {
  const told = policies.flatMap(({ metadata, refused }) =>
    refused === undefined ? [] : [`policy ${metadata.name} is taken as one that does nothing: ${refused}`],
  );
  const isOpen = told.length > 0 && proposed !== undefined;
  return [...told, ...(isOpen ? ['whether what is proposed would be refused as well is not known'] : [])];
}

export interface DocumentRun {
  struck: ReadonlySet<string>;
  /** Milliseconds of this machine, from anywhere. */
  wallNow: () => number;
  seed?: number | undefined;
  /** How much simulated time is over, after every moment. */
  onMoment?: (virtualMs: number) => void;
}

/** Times by the clock of the simulation, which is nobody's, as times since the failure. */
function sinceZero(text: string, zeroAtMs: number): string {
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => clockText(Math.max(0, Date.parse(at) - zeroAtMs)).trim());
}

export async function runDocument(document: ScenarioDocument, run: DocumentRun): Promise<Outcome> {
  const [scenario] = parseScenarios('the cluster', JSON.stringify(document));
  if (scenario === undefined) throw new Error('a document is one scenario');
  const watch = new OutcomeWatch(run.struck);
  let time: Clock | undefined;
  let zeroMs: number | undefined;
  let zeroAtMs = 0;
  const report = await runScenario({ ...scenario, seed: run.seed ?? scenario.seed }, run.wallNow, {
    invariants: [...invariants, watch.invariant],
    onWorld: (_world, clock) => (time = clock),
    onZero: () => {
      zeroMs = time?.monotonic();
      zeroAtMs = time?.now() ?? 0;
      watch.begin();
    },
    abandon: () => {
      if (zeroMs !== undefined) run.onMoment?.((time?.monotonic() ?? 0) - zeroMs);
      return undefined;
    },
  });
  return watch.outcome(report, (text) => sinceZero(text, zeroAtMs));
}
