/** The three races of a force eviction with a kubelet that comes back, and every order in which their steps can happen. */
import type { HttpRequest, Transport } from '../../src/kube/transport.ts';
import type { Report } from '../../src/scenario/report.ts';
import { Random } from '../../src/world/random.ts';
import { StepGate } from '../../src/world/network/step-gate.ts';
import type { Choice, Step } from '../../src/world/network/step-gate.ts';
import type { World } from '../../src/world/world.ts';
import { Abandoned, Explorer } from './explore.ts';
import { run } from './run-file.ts';
import type { Trouble } from './trouble.ts';
import { trouble } from './trouble.ts';

const node = 'node-3';
const kubelet = `system:node:${node}`;
const operator = 'operator-1';
/** Longer than a detach takes, and a start of a pod: what comes later than that comes by itself, not in this race. */
const patienceMs = 400;

/** What a step is about; steps of different kinds make no difference to each other. */
type Subject = 'cluster' | 'lease';

/**
 * Requests that only one of the two parties ever makes a difference with are no steps: records, policies and events are
 * the operator's alone; CSINodes are the kubelet's; claims, volumes and drivers are only read; to register a Node that
 * is there changes nothing. Nodes, pods and attachments are one subject, because a write to one of them makes the
 * controllers write to the others.
 */
export function subjectOf({ path }: HttpRequest): Subject | undefined {
  const [place = '', query = ''] = path.split('?', 2);
  if (query.includes('watch=')) return undefined;
  if (place.endsWith(`/kube-node-lease/leases/${node}`)) return 'lease';
  if (place.startsWith(`/api/v1/nodes/${node}`)) return 'cluster';
  if (/^\/api\/v1\/(namespaces\/[^/]+\/)?pods/.test(place)) return 'cluster';
  if (place.startsWith('/apis/storage.k8s.io/v1/volumeattachments/')) return 'cluster';
  return undefined;
}

export function depend(a: Step, b: Step): boolean {
  const isRead = a.request.method === 'GET' && b.request.method === 'GET';
  return !isRead && subjectOf(a.request) === subjectOf(b.request);
}

export interface Exploration {
  runs: number;
  /** Begun, and found to be the same as another. */
  redundant: number;
  /** The most steps that one of them had. */
  steps: number;
  /** There are no others. */
  complete: boolean;
}

export interface Race {
  name: string;
  what: Trouble;
  /** When the two meet, after time 0. */
  fromMs: number;
  untilMs: number;
}

export interface Outcome {
  report: Report;
  world: World;
  steps: readonly Step[];
}

/** Calls back with the outcome of every order, up to `limit` runs. */
export async function explore(race: Race, limit: number, check: (outcome: Outcome) => void): Promise<Exploration> {
  const explorer = new Explorer({ parties: [operator, kubelet], depend, patienceMs });
  const exploration: Exploration = { runs: 0, redundant: 0, steps: 0, complete: false };
  while (exploration.runs + exploration.redundant < limit) {
    explorer.begin();
    try {
      check(await runOnce(race, explorer));
      exploration.runs += 1;
      exploration.steps = Math.max(exploration.steps, explorer.steps.length);
    } catch (error) {
      if (!(error instanceof Abandoned)) throw error;
      exploration.redundant += 1;
    }
    exploration.complete = !explorer.advance();
    if (exploration.complete) break;
  }
  return exploration;
}

/** So many orders by chance, for when there is no time for all: the first ones of a search are too much alike. */
export async function sample(race: Race, count: number, check: (outcome: Outcome) => void): Promise<void> {
  for (let seed = 1; seed <= count; seed += 1) {
    const random = new Random(seed).stream(race.name);
    const steps: Step[] = [];
    const choose = (heads: ReadonlyMap<string, Step>, late: string | undefined): Choice => {
      const party = random() < 0.5 ? operator : kubelet;
      const [chosen = party] = heads.has(party) || (late === undefined && random() < 0.2) ? [party] : heads.keys();
      const step = heads.get(chosen);
      if (step === undefined) return { await: chosen, forMs: patienceMs };
      steps.push(step);
      return { go: chosen };
    };
    check(await runOnce(race, { choose, abandoned: false, steps }));
  }
}

type Chooser = Pick<Explorer, 'choose' | 'abandoned' | 'steps'>;

async function runOnce(race: Race, explorer: Chooser): Promise<Outcome> {
  let gate: StepGate | undefined;
  let world: World | undefined;
  let startGate: (() => void) | undefined;
  const wire = (user: string, inner: Transport): Transport => {
    if (user !== operator && user !== kubelet) return inner;
    // The gate is there once the world is; what is sent before goes straight through.
    return {
      send: (request) => (gate === undefined ? inner : gate.between(user, inner)).send(request),
      close: () => inner.close(),
    };
  };
  const report = await run(trouble(race.name, race.what), {
    wire,
    onWorld: (built, clock) => {
      world = built;
      const made = new StepGate({
        clock,
        isStep: ({ request }) => subjectOf(request) !== undefined,
        choose: (heads, late) => explorer.choose(heads, late),
      });
      gate = made;
      startGate = () => {
        clock.after(race.fromMs, () => made.close());
        clock.after(race.untilMs, () => made.open());
      };
    },
    onZero: () => startGate?.(),
    abandon: () => (explorer.abandoned ? new Abandoned() : undefined),
  });
  if (world === undefined) throw new Error('there was no world');
  return { report, world, steps: explorer.steps };
}
