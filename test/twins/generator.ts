/** From a seed to a scenario. The same seed gives the same one. */
import { Random } from '../../src/world/random.ts';
import { Chance } from './chance.ts';
import { faultChoices } from './fault-choices.ts';
import { Outlook } from './outlook.ts';
import type { Fault, NodeAt, Place, Scenario, Step, Workload, WorkloadKind } from './scenario.ts';
import { times } from './scenario.ts';

const allNodes: readonly NodeAt[] = [0, 1, 2, 3];
/** Steps are thought up until this is used, so that a scenario takes about two minutes in real time. */
const stepsMs = 75_000;
const firstAfterMs = 4000;
const { graceMs, tolerationMs, podGcMs, quarantineMs } = times;

/** All that a silent node leads to has happened: the eviction, and the replacement of what was evicted. */
const throughMs = graceMs + tolerationMs + 14_000;

/** Seeds from here on are of scenarios in which every node there is falls silent. */
export const firstBlackoutSeed = 1000;

export function generate(seed: number): Scenario {
  const chance = new Chance(new Random(seed).stream('twins'));
  const name = `s${seed}`;
  const workloads = makeWorkloads(chance);
  const steps = seed >= firstBlackoutSeed ? blackoutSteps(chance) : makeSteps(chance, workloads);
  const deletes = steps.some(({ fault }) => fault.do === 'deleteNode');
  const restMs = deletes ? quarantineMs + 2 * podGcMs + 5000 : throughMs;
  return { seed, name, workloads, steps, restMs };
}

function makeWorkloads(chance: Chance): Workload[] {
  const replicas = chance.between(1, 2);
  const database = make(chance, 'StatefulSet', 'db', { volumes: true, count: replicas, parallel: chance.maybe(0.3) });
  const others: Workload[] = [
    make(chance, 'Deployment', 'web', { volumes: false, count: 1 }),
    make(chance, 'Deployment', 'shop', { volumes: true, count: 1 }),
    // Two that must not share a node, with no third to go to.
    { ...make(chance, 'Deployment', 'pair', { count: 0 }), places: chance.some(allNodes, 2).map((home) => ({ home })) },
    make(chance, 'StatefulSet', 'queue', { volumes: false, count: 1 }),
    make(chance, 'DaemonSet', 'agent', { count: 0 }),
    make(chance, 'Job', 'work', { count: 1 }),
    { ...make(chance, 'Pod', 'loner', { count: 0 }), places: [{ home: chance.one(allNodes) }] },
  ];
  const chosen = [database, ...chance.some(others, chance.between(2, 4))];
  return chosen.map((workload) => {
    const budgeted = workload.kind === 'StatefulSet' && chance.maybe(0.5);
    return budgeted ? { ...workload, budget: chance.between(0, 1) } : workload;
  });
}

function make(
  chance: Chance,
  kind: WorkloadKind,
  name: string,
  { volumes = false, count, parallel = false }: { volumes?: boolean; count: number; parallel?: boolean },
): Workload {
  const homes = chance.some(allNodes, count);
  const places = homes.map((home): Place => {
    const rest = allNodes.filter((node) => !homes.includes(node));
    return chance.maybe(0.7) ? { home, spare: chance.one(rest) } : { home };
  });
  return { kind, name, places, volumes, parallel };
}

function makeSteps(chance: Chance, workloads: Workload[]): Step[] {
  const outlook = new Outlook({ workloads });
  const steps: Step[] = [];
  let afterMs = firstAfterMs;
  while (outlook.nowMs + afterMs < stepsMs) {
    outlook.nowMs += afterMs;
    const fault = chance.weighted(faultChoices(outlook, workloads));
    if (fault === undefined) break;
    outlook.take(fault);
    steps.push({ afterMs, fault });
    afterMs = pauseAfter(fault, chance, outlook);
  }
  return steps;
}

/** Either while nobody has noticed yet, or when all has come to rest: never in the middle of something. */
function pauseAfter(fault: Fault, chance: Chance, outlook: Outlook): number {
  switch (fault.do) {
    case 'powerOff':
    case 'hang':
    case 'partition':
    case 'kubeletStop':
      return outlook.detach === 'none' && chance.maybe(0.35)
        ? chance.between(5200, 5800)
        : chance.maybe(0.3)
          ? graceMs + 6000
          : throughMs + chance.between(0, 2000);
    case 'taint':
      return fault.key.includes('out-of-service') ? podGcMs + 6000 : chance.between(8000, 10_000);
    case 'deleteNode':
      return chance.maybe(0.5) ? chance.between(15_000, 20_000) : quarantineMs + 2 * podGcMs + 5000;
    case 'powerOn':
    case 'reboot':
    case 'resume':
    case 'heal':
    case 'kubeletStart':
    case 'zoneHeal':
    case 'lightsOn':
      return chance.between(12_000, 14_000);
    case 'zonePartition':
    case 'blackout':
      return throughMs;
    default:
      return chance.between(6000, 9000);
  }
}

/** One is first, and has the one taint that its zone gets in twelve seconds; see `zoneChoices`. */
function blackoutSteps(chance: Chance): Step[] {
  return [
    { afterMs: firstAfterMs, fault: { do: 'partition', node: chance.one(allNodes) } },
    { afterMs: 5500, fault: { do: 'blackout' } },
    { afterMs: throughMs + chance.between(0, 3000), fault: { do: 'lightsOn' } },
    { afterMs: 16_000, fault: { do: 'powerOff', node: chance.one(allNodes) } },
  ];
}
