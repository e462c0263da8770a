/**
 * Twenty random scenarios on the embedded cluster and on the stock control plane, with the same machines, kubelets and
 * attacher: the histories of pods, nodes and attachments must be the same. Where they differ, the embedded one is wrong.
 *
 * One of them alone, or one that is not among the twenty: TWINS_SEED=7 node --test test/control-plane/random-faults.test.ts
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sleep, realClock } from '../../src/clock.ts';
import { describeDivergence } from '../twins/compare.ts';
import { runEmbedded } from '../twins/embedded.ts';
import { generate } from '../twins/generator.ts';
import type { RealCluster } from '../twins/real.ts';
import { follow, startRealCluster } from '../twins/real.ts';
import type { Scenario } from '../twins/scenario.ts';
import { describeFault } from '../twins/scenario.ts';
import { isBlackout, theTwenty } from '../twins/seeds.ts';

const only = process.env['TWINS_SEED'];
const chosen = only === undefined ? theTwenty : only.split(',').map((seed) => generate(Number(seed)));
/** Between the beginnings of two scenarios: twenty at once would be a rush. */
const apartMs = 700;

function twins(title: string, scenarios: readonly Scenario[]): void {
  if (scenarios.length === 0) return;
  describe(title, { concurrency: scenarios.length, timeout: 10 * 60_000 }, () => {
    let cluster: RealCluster | undefined;
    let passed = 0;
    before(async () => {
      cluster = await startRealCluster(title.replaceAll(' ', '-'), scenarios);
    });
    after(() => cluster?.stop({ keepLogs: passed < scenarios.length }));
    for (const [at, scenario] of scenarios.entries()) {
      test(`seed ${scenario.seed} has one history`, async () => {
        const expected = await runEmbedded(scenario);
        await sleep(realClock, at * apartMs);
        assert.ok(cluster);
        const differences = await follow(cluster, scenario, expected);
        assert.equal(differences.length, 0, report(scenario, differences));
        passed += 1;
      });
    }
  });
}

function report(scenario: Scenario, differences: Awaited<ReturnType<typeof follow>>): string {
  return [
    'the two clusters part:',
    ...differences.map((difference) => `  ${describeDivergence(difference, ['embedded', 'real'])}`),
    'where this happened:',
    ...scenario.workloads.map((workload) => `  ${JSON.stringify(workload)}`),
    ...scenario.steps.map(({ afterMs, fault }, at) => `  step ${at + 1}, ${afterMs} ms later: ${describeFault(fault)}`),
    `alone: TWINS_SEED=${scenario.seed} node --test test/control-plane/random-faults.test.ts`,
  ].join('\n');
}

describe('twins', { concurrency: 2 }, () => {
  const ordinary = chosen.filter((scenario) => !isBlackout(scenario));
  twins('random faults', ordinary);
  for (const scenario of chosen.filter(isBlackout)) twins(`blackout ${scenario.seed}`, [scenario]);
});
