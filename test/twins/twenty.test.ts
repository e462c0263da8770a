/** What the twenty are, and that their histories do not depend on how late anything is. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compare, describeDivergence } from './compare.ts';
import { runEmbedded } from './embedded.ts';
import { generate } from './generator.ts';
import type { History } from './history.ts';
import { theTwenty } from './seeds.ts';

async function finalOf(...args: Parameters<typeof runEmbedded>): Promise<History> {
  return (await runEmbedded(...args)).at(-1) ?? new Map();
}

describe('the twenty random scenarios', () => {
  test('there are twenty, each different, with every kind of workload and fault', () => {
    assert.equal(new Set(theTwenty.map(({ steps }) => JSON.stringify(steps))).size, 20);
    const kinds = new Set(theTwenty.flatMap(({ workloads }) => workloads.map(({ kind }) => kind)));
    assert.deepEqual([...kinds].sort(), ['DaemonSet', 'Deployment', 'Job', 'Pod', 'StatefulSet']);
    assert.ok(theTwenty.some(({ workloads }) => workloads.some(({ budget }) => budget !== undefined)));
    const faults = new Set<string>(
      theTwenty.flatMap(({ steps }) =>
        steps.map(({ fault }) => {
          if (fault.do === 'taint') return fault.key.endsWith('out-of-service') ? 'outOfService' : 'taint';
          if (fault.do === 'deletePod') return fault.force ? 'forceDelete' : 'deletePod';
          return fault.do;
        }),
      ),
    );
    const wanted =
      'powerOff powerOn reboot hang resume partition heal kubeletStop kubeletStart cordon uncordon taint untaint outOfService deleteNode ' +
      'deletePod forceDelete evict scale detach zonePartition zoneHeal blackout lightsOn';
    assert.deepEqual(
      wanted.split(' ').filter((fault) => !faults.has(fault)),
      [],
    );
  });

  test('a seed always gives the same scenario, and the same history', async () => {
    const [first] = theTwenty;
    assert.ok(first);
    assert.deepEqual(generate(first.seed), first);
    assert.deepEqual([...(await finalOf(first))], [...(await finalOf(first))]);
  });

  for (const scenario of theTwenty) {
    test(`seed ${scenario.seed} keeps its history when everything is late`, async () => {
      const steady = await finalOf(scenario);
      const shaken = await finalOf(scenario, { shake: scenario.seed + 1 });
      assert.deepEqual(
        compare(steady, shaken).map((one) => describeDivergence(one, ['steady', 'shaken'])),
        [],
      );
    });
  }
});
