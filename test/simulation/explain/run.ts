/** Asks `explain` about a node in the middle of a run, as a person with a kubeconfig would. */
import type { Explanation } from '../../../src/report/explanation.ts';
import { explainNode } from '../../../src/cli/explain.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { administrator } from '../../../src/scenario/operator-user.ts';
import { nodeOfVictim } from './victim.ts';
import { run } from '../run-file.ts';
import type { Situation } from './situations.ts';

export async function explained(situation: Situation): Promise<Explanation> {
  const [only] = await explainedAgain(situation, { times: [situation.atMs] });
  if (only === undefined) throw new Error('nobody asked');
  return only;
}

interface Again {
  /** After time 0. */
  times: readonly number[];
  /** After the first explanation: what somebody does about it. */
  afterwards?: (client: KubeClient, first: Explanation) => Promise<void>;
}

/** The same node at several times. */
export async function explainedAgain(
  { scenario, node }: Situation,
  { times, afterwards }: Again,
): Promise<Explanation[]> {
  const asked: Promise<Explanation>[] = [];
  let begin: (() => void) | undefined;
  const runFor = { ...scenario, expectations: [], runForMs: Math.max(...times) + 1000 };
  await run(runFor, {
    onWorld: (world, clock) => {
      const transport = world.server.transport(administrator, { shares: true });
      const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
      begin = () => {
        const whose = node === undefined ? nodeOfVictim(client) : Promise.resolve(node);
        const ask = async (index: number): Promise<Explanation> => {
          const explanation = await explainNode(client, await whose);
          if (index === 0) await afterwards?.(client, explanation);
          return explanation;
        };
        for (const [index, atMs] of times.entries()) {
          clock.after(atMs, () => {
            asked[index] = ask(index);
          });
        }
      };
    },
    onZero: () => begin?.(),
  });
  return Promise.all(asked);
}
