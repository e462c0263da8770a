/** From a seed to a scenario, by nothing but the seed: a cluster, what runs in it, what befalls it, and then quiet. */
import { Random } from '../../src/world/random.ts';
import { Chance } from '../twins/chance.ts';
import type { Size, SwarmCluster } from './cluster.ts';
import { cluster, longhorn } from './cluster.ts';
import type { Happening, Manifest, ScenarioDocument } from './document.ts';
import { documentOf } from './document.ts';
import type { Drama } from './drama.ts';
import { drama } from './dramas.ts';
import type { Stage } from './faults.ts';
import { complication, portFaults, troubles } from './faults.ts';
import { deed } from './people.ts';
import { configurations, configurationsOf } from './configurations.ts';
import { drainPolicies, policies, policyObject } from './policies.ts';
import { driverObjects, workloads } from './workloads.ts';

/** Nothing new befalls the cluster after this; then it has as long again to come to rest. */
export const quietAt = { small: 270, large: 600 } as const;
/** How many seeds play one. */
const dramatic = 0.65;
const runFor = { small: '10m', large: '25m' } as const;

export function generate(seed: number, size: Size = 'small'): ScenarioDocument {
  const random = new Random(seed);
  const of = (name: string): Chance => new Chance(random.stream(`swarm/${size}/${name}`));
  const made = cluster(of('cluster'), size);
  const plays = of('drama');
  const operatorsOf = (one: SwarmCluster): number => (typeof one['operators'] === 'number' ? one['operators'] : 2);
  const setting = { nodes: made.nodes, operators: operatorsOf(made), quietAt: quietAt[size] };
  const played = plays.maybe(dramatic) ? drama(plays, setting) : undefined;
  const set = played === undefined ? made : staged(made, played);
  const { nodes } = set;
  const drains = of('drains');
  const withDrains = played === undefined && drains.maybe(0.25);
  const objects = [
    ...driverObjects(of('drivers')),
    ...(played === undefined || plays.maybe(0.3) ? workloads(of('workloads'), nodes) : []),
    ...(played === undefined ? rules(of, nodes) : requisites(played, nodes)),
    ...(withDrains ? drainPolicies(drains) : []),
  ];
  const stage: Stage = { chance: of('faults'), nodes, operators: operatorsOf(set), quietAt: quietAt[size] };
  // Many a drama is spoilt by what else happens.
  const others = played === undefined || plays.maybe(0.5) ? happenings(stage, of('people'), objects) : [];
  const events = [...(played?.events ?? []), ...others, ...portFaults(of('ports'), stage, objects), ...endings(stage)];
  const spec = {
    seed,
    cluster: { ...set, ...(withDrains ? { longhorn: longhorn(drains, nodes) } : {}) },
    objects,
    events: events.toSorted((a, b) => atOf(a) - atOf(b)),
    runFor: runFor[size],
  };
  return documentOf(`swarm-${size}-${seed}`, spec);
}

function rules(of: (name: string) => Chance, nodes: Stage['nodes']): Manifest[] {
  return [...policies(of('policies'), nodes), ...configurations(of('configurations'), nodes)];
}

/** What a drama needs; all nodes have devices. */
function staged(made: SwarmCluster, { node, kubernetes, operators, gates }: Drama): SwarmCluster {
  return {
    ...made,
    nodes: made.nodes.map(({ name, zone = 'z1', labels = {} }) => ({ name, zone, labels, ...node })),
    kubernetes: { ...(made['kubernetes'] as object), ...kubernetes },
    ...(operators === undefined ? {} : { operators }),
    featureGates: { ...(made['featureGates'] as object), ...gates },
  };
}

function requisites({ policy, shape, objects }: Drama, nodes: Stage['nodes']): Manifest[] {
  return [
    ...objects,
    ...(policy === undefined ? [] : [policyObject({ allNodes: true, ...policy })]),
    ...(shape === undefined ? [] : configurationsOf(nodes, shape)),
  ];
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
      const done = deed({ chance: people, nodes, objects, node: whom.name, at: near(people) });
      found.push(...done.map((event) => inTime(event, stage)));
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

/** What people come back to, they come back to in time. */
function inTime(event: Happening, stage: Stage): Happening {
  return atOf(event) > stage.quietAt ? { ...event, at: `${stage.quietAt}s` } : event;
}

function atOf({ at }: Happening): number {
  return Number.parseFloat(at);
}
