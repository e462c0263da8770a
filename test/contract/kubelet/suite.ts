/** Runs the contract of the kubelet against one: what leaves the node alone side by side, the rest one after the other. */
import { after, afterEach, before, describe, test } from 'node:test';
import { namespaces } from '../../../src/kube/resources.ts';
import { behaviours } from './behaviours/index.ts';
import { Eye } from './eye.ts';
import type { Behaviour } from './scene.ts';
import { Scene, valueOf } from './scene.ts';
import type { Subject } from './subject.ts';

export function kubeletContract(
  title: string,
  { concurrency, thorough }: { concurrency: number; thorough: boolean },
  start: () => Promise<Subject>,
): void {
  const only = new RegExp(process.env['CONTRACT_ONLY'] ?? '');
  const chosen = behaviours.filter((one) => only.test(one.name) && (thorough || one.thorough !== true));
  describe(title, { timeout: 10 * 60_000 }, () => {
    let subject: Subject | undefined;
    let eye: Eye | undefined;
    let failed = false;
    const run = async (behaviour: Behaviour): Promise<void> => {
      if (subject === undefined || eye === undefined) throw new Error('nothing to try it on');
      const scene = new Scene(subject, eye, behaviour);
      valueOf(await subject.client.create(namespaces, { metadata: { name: scene.namespace } }));
      try {
        await behaviour.run(scene);
      } catch (error) {
        failed = true;
        throw error;
      } finally {
        await scene.tidyUp();
      }
    };
    before(async () => {
      subject = await start();
      eye = new Eye(subject);
      await eye.open();
      await new Scene(subject, eye, { name: 'start', run: none }).nodeReady();
    });
    after(async () => {
      await eye?.close();
      await subject?.stop(failed);
    });

    describe('side by side', { concurrency }, () => {
      for (const behaviour of chosen.filter(({ alone }) => alone !== true)) test(behaviour.name, () => run(behaviour));
    });
    describe('alone', () => {
      // One that failed half-way must not leave a node that makes all others fail.
      afterEach(async () => {
        if (subject !== undefined && eye !== undefined)
          await settle(new Scene(subject, eye, { name: 'end', run: none }));
      });
      for (const behaviour of chosen.filter(({ alone }) => alone === true)) test(behaviour.name, () => run(behaviour));
    });
  });
}

/** As the behaviours expect to find the node. What is there already is not done again. */
async function settle(scene: Scene): Promise<void> {
  await scene.node.powerOn();
  await scene.node.heal();
  await scene.node.startKubelet();
  await scene.nodeReady();
  await scene.patchNode(({ spec }) => [
    { op: 'add', path: '/spec', value: { ...spec, taints: [], unschedulable: false } },
  ]);
}

const none = (): Promise<void> => Promise.resolve();
