/** Asks `explain` about a node in the middle of a run, as a person with a kubeconfig would. */
import type { Explanation } from '../../../src/report/explanation.ts';
import { explainNode } from '../../../src/cli/explain.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { administrator } from '../../../src/scenario/operator-user.ts';
import { nodeOfVictim } from './victim.ts';
import { run } from '../run-file.ts';
import type { Situation } from './situations.ts';

export async function explained({ scenario, atMs, node }: Situation): Promise<Explanation> {
  let asked: Promise<Explanation> | undefined;
  let begin: (() => void) | undefined;
  const runFor = { ...scenario, expectations: [], runForMs: atMs + 1000 };
  await run(runFor, {
    onWorld: (world, clock) => {
      const transport = world.server.transport(administrator, { shares: true });
      const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
      begin = () => {
        const whose = node === undefined ? nodeOfVictim(client) : Promise.resolve(node);
        clock.after(atMs, () => {
          asked = whose.then((name) => explainNode(client, name));
        });
      };
    },
    onZero: () => begin?.(),
  });
  if (asked === undefined) throw new Error('nobody asked');
  return asked;
}
