/** The cluster of `make run` in virtual time: what a newcomer sees after pulling a plug, whichever it is and however early. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DemoCluster } from '../../src/console/demo-cluster.ts';
import type { MachineAction } from '../../src/console/snapshot.ts';
import { Random } from '../../src/world/random.ts';
import { VirtualClock } from '../../src/world/time/virtual-clock.ts';

const nodes = ['node-1', 'node-2', 'node-3', 'node-4', 'node-5', 'node-6'];

interface Told {
  /** Seconds since the plug was pulled. */
  at: number;
  text: string;
}

/** What is told from when something is done to a node of a new cluster. */
async function told(node: string, action: MachineAction, times: { afterMs: number; forMs: number }): Promise<Told[]> {
  const clock = new VirtualClock();
  const demo = new DemoCluster(clock, new Random(1));
  const stop = new AbortController();
  const running = demo.start().then(() => demo.run(stop.signal));
  await clock.runFor(times.afterMs);
  const pulledAt = clock.now();
  demo.source.act(node, action);
  await clock.runFor(times.forMs);
  const { story } = demo.source.snapshot();
  stop.abort();
  await running;
  await demo.world.stop();
  return story
    .map(({ at, text }) => ({ at: (Date.parse(at) - pulledAt) / 1000, text }))
    .filter(({ at }) => at >= 0)
    .toReversed();
}

describe('the plug of a node of the demo is pulled', () => {
  for (const node of nodes) {
    test(`[EVD-2] ${node}, in the first minute: suspected by its Lease, before Kubernetes says a word`, async () => {
      for (const afterMs of [15_000, 45_000]) {
        const verdicts = (await told(node, 'power-off', { afterMs, forMs: 15_000 })).filter(({ text }) =>
          text.includes('→'),
        );
        assert.deepEqual(
          verdicts.map(({ text }) => text),
          [`${node}: healthy → suspect (LeaseStale)`],
        );
        assert.ok((verdicts[0]?.at ?? Infinity) <= 13, `suspected after ${verdicts[0]?.at} s`);
      }
    });
  }
});
