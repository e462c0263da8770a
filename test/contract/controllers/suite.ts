/** Runs the contract of the controllers against some of them: all behaviours side by side, each in a place of its own. */
import { after, before, describe, test } from 'node:test';
import * as resources from '../../../src/world/controllers/resources.ts';
import type { Node } from '../../../src/world/controllers/types.ts';
import { isReady } from '../../../src/world/controllers/types.ts';
import type { FleetNode } from '../../../src/world/fleet.ts';
import { behaviours } from './behaviours/index.ts';
import type { Behaviour } from './scene.ts';
import { idOf, poolLabel, Scene, valueOf } from './scene.ts';
import type { ContractWorld } from './world.ts';

const poolSize = 4;

export interface Subject {
  world: ContractWorld;
  stop: () => Promise<void>;
}

/** The nodes that a run of these behaviours needs. */
export function nodesFor(chosen: readonly Behaviour[]): FleetNode[] {
  const group = (name: string, count: number): FleetNode[] =>
    Array.from({ length: count }, (_, at) => ({
      name: `${name}-${at + 1}`,
      zone: name,
      labels: { 'contract-test': name },
    }));
  return [
    ...group(poolLabel, poolSize),
    ...chosen.flatMap((behaviour) => group(idOf(behaviour), behaviour.nodes ?? 0)),
  ];
}

/** Those of which every set of controllers has to be capable in reasonable time. */
export function chosen(options: { slow: boolean }): Behaviour[] {
  const only = process.env['CONTRACT_ONLY'];
  return behaviours
    .filter(({ slow = false }) => options.slow || !slow)
    .filter(({ name }) => only === undefined || new RegExp(only).test(name));
}

export function controllerContract(
  title: string,
  options: { behaviours: readonly Behaviour[]; concurrency?: number },
  start: (nodes: FleetNode[]) => Promise<Subject>,
): void {
  const together = options.behaviours.filter(({ alone }) => alone !== true);
  const alone = options.behaviours.filter((behaviour) => behaviour.alone === true);
  describe(title, { timeout: 15 * 60_000 }, () => {
    let subject: Subject | undefined;
    const run = async (behaviour: Behaviour): Promise<void> => {
      if (subject === undefined) throw new Error('nothing to try it on');
      const scene = new Scene(subject.world, behaviour);
      const { client } = subject.world;
      valueOf(await client.create(resources.namespaces, { metadata: { name: scene.namespace } }));
      await behaviour.run(scene);
    };
    before(async () => {
      subject = await start(nodesFor(options.behaviours));
      const { world } = subject;
      const names = [...world.fleet.kubelets.keys()];
      await world.until('all nodes to be ready', () => {
        const seen = world.seen.of<Node>(resources.nodes);
        return names.every((name) => isFit(seen.get(name)));
      });
    });
    after(() => subject?.stop());

    describe('side by side', { concurrency: options.concurrency ?? together.length }, () => {
      for (const behaviour of together) test(behaviour.name, () => run(behaviour));
    });
    describe('alone', () => {
      for (const behaviour of alone) test(behaviour.name, () => run(behaviour));
    });
  });
}

function isFit(node: Node | undefined): boolean {
  return isReady(node) && (node?.spec?.taints ?? []).length === 0;
}
