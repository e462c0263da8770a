/** From a seed to a scenario, by nothing but the seed: a cluster, what runs in it, what befalls it, and then quiet. */
import { Random } from '../../src/world/random.ts';
import { Chance } from '../twins/chance.ts';
import type { Size } from './cluster.ts';
import { cluster, longhorn } from './cluster.ts';
import type { Happening, ScenarioDocument } from './document.ts';
import { documentOf } from './document.ts';
import type { Stage } from './faults.ts';
import { complication, troubles } from './faults.ts';
import { deed } from './people.ts';
import { configurations, drainPolicies, policies } from './policies.ts';
import { driverObjects, workloads } from './workloads.ts';

/** Nothing new befalls the cluster after this; then it has as long again to come to rest. */
const quietAt = { small: 270, large: 600 } as const;
const runFor = { small: '10m', large: '25m' } as const;

export function generate(seed: number, size: Size = 'small'): ScenarioDocument {
  const random = new Random(seed);
  const of = (name: string): Chance => new Chance(random.stream(`swarm/${size}/${name}`));
  const made = cluster(of('cluster'), size);
  const { nodes } = made;
  const drains = of('drains');
  const withDrains = drains.maybe(0.2);
  const objects = [
    ...driverObjects(of('drivers')),
    ...workloads(of('workloads'), nodes),
    ...policies(of('policies'), nodes),
    ...configurations(of('configurations'), nodes),
    ...(withDrains ? drainPolicies(drains) : []),
  ];
  const operators = typeof made['operators'] === 'number' ? made['operators'] : 2;
  const stage: Stage = { chance: of('faults'), nodes, operators, quietAt: quietAt[size] };
  const events = [...happenings(stage, of('people'), objects), ...endings(stage)];
  const spec = {
    seed,
    cluster: { ...made, ...(withDrains ? { longhorn: longhorn(drains, nodes) } : {}) },
    objects,
    events: events.toSorted((a, b) => atOf(a) - atOf(b)),
    runFor: runFor[size],
  };
  return documentOf(`swarm-${size}-${seed}`, spec);
}

function happenings(stage: Stage, people: Chance, objects: ScenarioDocument['spec']['objects']): Happening[] {
  const { chance, nodes } = stage;
  const found: Happening[] = [];
  const rounds = stage.quietAt > 300 ? chance.between(2, 4) : chance.one([1, 1, 2]);
  for (let round = 0; round < rounds; round += 1) {
    const firstAt = round === 0 ? chance.between(0, 20) : chance.between(60, stage.quietAt - 60);
    found.push(...troubles(stage, firstAt));
    const node = nameOf(found, nodes) ?? chance.one(nodes);
    const near = (source: Chance): number =>
      Math.max(
        0,
        Math.min(
          stage.quietAt - 5,
          firstAt + source.one([-5, 1, 5, 10, 14, 16, 20, 25, 30, 40, 60, 90]) + source.between(0, 9) / 2,
        ),
      );
    for (let index = chance.one([0, 1, 1, 2, 3]); index > 0; index -= 1) {
      found.push(...complication(stage, near(chance), node));
    }
    for (let index = people.one([0, 0, 1, 1, 2, 3]); index > 0; index -= 1) {
      const whom = people.maybe(0.75) ? node : people.one(nodes);
      found.push(...deed({ chance: people, nodes, objects, node: whom.name, at: near(people) }));
    }
  }
  return found;
}

/** Whom the first trouble hit, so that the rest hits the same. */
function nameOf(events: readonly Happening[], nodes: Stage['nodes']): Stage['nodes'][number] | undefined {
  const names = events.flatMap((event) => Object.values(event));
  return nodes.find(({ name }) => names.includes(name));
}

/**
 * What may have been lost meanwhile, because one fault kept the end of another from taking effect. Nobody switches machines on: what
 * operators have switched off is theirs to switch on.
 */
function endings({ nodes, quietAt: at }: Stage): Happening[] {
  return ['heal', 'resume', 'kubeletStart'].flatMap((act) => nodes.map(({ name }) => ({ at: `${at}s`, [act]: name })));
}

function atOf({ at }: Happening): number {
  return Number.parseFloat(at);
}
