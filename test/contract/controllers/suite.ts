/** Runs the contract of the controllers against some of them: all behaviours side by side, each in a place of its own. */
import { after, before, describe, test } from 'node:test';
import * as resources from '../../../src/world/controllers/resources.ts';
import type { FleetNode } from '../../../src/world/fleet.ts';
import { isReady } from '../../../src/world/objects/meta.ts';
import type { Node } from '../../../src/world/objects/nodes.ts';
import type { CsiDriver } from '../../../src/world/objects/volumes.ts';
import { behaviours } from './behaviours/index.ts';
import type { Behaviour } from './scene.ts';
import { idOf, poolLabel, Scene, valueOf } from './scene.ts';
import type { ContractWorld } from './world.ts';
import { attachlessDriver } from './world.ts';

const poolSize = 4;
/** All at once would start with a rush in which seconds are lost. */
const atOnce = 20;

export interface Subject {
  world: ContractWorld;
  stop: () => Promise<void>;
}

function group(name: string, count: number): FleetNode[] {
  return Array.from({ length: count }, (_, at) => ({
    name: `${name}-${at + 1}`,
    zone: name,
    labels: { 'contract-test': name },
  }));
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
  options: { behaviours: readonly Behaviour[] },
  start: (nodes: FleetNode[]) => Promise<Subject>,
): void {
  const together = options.behaviours.filter(({ alone }) => alone !== true);
  const alone = options.behaviours.filter((behaviour) => behaviour.alone === true);
  describe(title, { timeout: 15 * 60_000 }, () => {
    let subject: Subject | undefined;
    const run = async (behaviour: Behaviour): Promise<void> => {
      if (subject === undefined) throw new Error('nothing to try it on');
      const scene = new Scene(subject.world, behaviour);
      const { client, fleet } = subject.world;
      valueOf(await client.create(resources.namespaces, { metadata: { name: scene.namespace } }));
      // Its machines are there only as long as it runs: those of all would be most of the load.
      subject.world.join(group(idOf(behaviour), behaviour.nodes ?? 0));
      try {
        await allFit(subject.world, scene.nodes);
        await behaviour.run(scene);
      } catch (error) {
        throw new Error(`${error instanceof Error ? error.message : String(error)}\n${scene.told()}`, { cause: error });
      } finally {
        for (const name of scene.nodes) fleet.machine(name).powerOff();
      }
    };
    before(async () => {
      subject = await start(group(poolLabel, poolSize));
      const { world } = subject;
      const metadata = { name: attachlessDriver };
      valueOf(
        await world.client.create<CsiDriver>(resources.csiDrivers, { metadata, spec: { attachRequired: false } }),
      );
      await allFit(world, [...world.fleet.kubelets.keys()]);
    });
    after(() => subject?.stop());

    describe('side by side', { concurrency: atOnce }, () => {
      for (const behaviour of together) test(behaviour.name, () => run(behaviour));
    });
    describe('alone', () => {
      for (const behaviour of alone) test(behaviour.name, () => run(behaviour));
    });
  });
}

async function allFit(world: ContractWorld, names: readonly string[]): Promise<void> {
  const seen = world.seen.of<Node>(resources.nodes);
  await world.until(`${names.join()} to be ready`, () => names.every((name) => isFit(seen.get(name))));
}

function isFit(node: Node | undefined): boolean {
  return isReady(node) && (node?.spec?.taints ?? []).length === 0;
}
