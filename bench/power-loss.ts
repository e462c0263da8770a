/**
 * From the loss of power to the pod that runs elsewhere, on the real control plane with the settings that Kubernetes has by itself: with
 * Fenceline under a policy that says nothing but a fence and a threshold, with its power watch, with two machines at once; beside a
 * person with the out-of-service taint, Kubernetes alone, and the floor, where the cut is known in the moment in which it happens.
 *
 *     node bench/power-loss.ts [--runs 20] [--only redfish,ipmi,watch,two,person,alone,floor,told,untold] [--alone-minutes 5]
 *
 * Tables and bars go to dist/bench/power-loss.md, the picture to dist/bench/power-loss.svg. Twenty runs of each take
 * about three quarters of an hour.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { renderBars, renderPicture, renderStages, renderTelling } from './lib/power-loss-report.ts';
import { measureSubject, subjects, type Measured, type Plan } from './lib/power-loss-runs.ts';
import { keep, machine, resultsDir, say, type Report } from './lib/report.ts';

export interface PowerLossOptions {
  runs: number;
  only: readonly string[];
  aloneMinutes: number;
}

export const fullPowerLoss: PowerLossOptions = { runs: 20, only: subjects.map(({ name }) => name), aloneMinutes: 5 };

export async function powerLossBench({ runs, only, aloneMinutes }: PowerLossOptions): Promise<Report> {
  const chosen = subjects.filter(({ name }) => only.includes(name));
  const runsOf = new Map<string, Measured[]>();
  const inTurn = async (plans: readonly Plan[]): Promise<void> => {
    for (const plan of plans) {
      say(`${plan.title}: ${runs} runs, ${plan.atMost ?? 'as many'} at most`);
      try {
        runsOf.set(plan.name, await measureSubject(plan, runs, aloneMinutes));
      } catch (error) {
        // What was measured before is still worth having.
        process.exitCode = 1;
        console.error(error);
      }
    }
  };
  const { beside = [], alone = [] } = Object.groupBy(chosen, ({ atMost }) =>
    atMost === undefined ? 'alone' : 'beside',
  );
  await Promise.all([inTurn(alone), inTurn(beside)]);
  const measured = chosen.flatMap(({ name, title }) => {
    const done = runsOf.get(name);
    return done === undefined ? [] : [{ name, title, runs: done }];
  });
  await mkdir(resultsDir, { recursive: true });
  await writeFile(join(resultsDir, 'power-loss.svg'), renderPicture(measured));
  const text = [renderStages(measured), renderBars(measured), renderTelling(measured)].join('\n\n');
  return keep({ name: 'power-loss', text }, measured);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { runs: { type: 'string' }, only: { type: 'string' }, 'alone-minutes': { type: 'string' } },
  });
  console.log(machine());
  const report = await powerLossBench({
    runs: Number(values.runs ?? fullPowerLoss.runs),
    only: values.only?.split(',') ?? fullPowerLoss.only,
    aloneMinutes: Number(values['alone-minutes'] ?? fullPowerLoss.aloneMinutes),
  });
  console.log(`\n${report.text}`);
}
