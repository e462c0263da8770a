/**
 * All benchmarks, one after the other, with all tables at the end. Takes about two hours; each can be run alone and in
 * part, see docs/benchmarks.md.
 *
 *     node bench/main.ts [--quick]
 */
import { parseArgs } from 'node:util';
import { consoleBench, fullConsole } from './console.ts';
import { drainBench, fullDrain } from './drain.ts';
import { flagsBench } from './flags.ts';
import { footprintBench } from './footprint.ts';
import { httpClientBench } from './http-client.ts';
import { machine, say, type Report } from './lib/report.ts';
import { fullRun, operatorBench } from './operator.ts';
import { fullPowerLoss, powerLossBench } from './power-loss.ts';
import { fullRedfish, redfishBench } from './redfish.ts';
import { fullRehearsal, rehearseBench } from './rehearse.ts';
import { fullRelease, releaseBench } from './release.ts';
import { fullSilence, silenceBench } from './silence.ts';
import { simulatorBench } from './simulator.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const where = machine();
const quickRun = { nodes: [100], pods: [0], seconds: 15 };

const benches: [string, () => Promise<Report>][] = [
  ['What libraries weigh', () => footprintBench(values.quick ? 1 : 3)],
  ['HTTP clients', () => httpClientBench(values.quick ? 1 : 3)],
  [
    'Settings of Node',
    () => flagsBench(values.quick ? { nodes: [100], seconds: 45 } : { nodes: [1000], seconds: 300 }),
  ],
  ['The operator beside stock informers', () => operatorBench(values.quick ? quickRun : fullRun)],
  [
    'Half of the cluster falls silent',
    () => silenceBench(values.quick ? { ...fullSilence, nodes: 200, pods: 1000, seconds: 60 } : fullSilence),
  ],
  ['The console', () => consoleBench(values.quick ? { nodes: 500, changes: 5 } : fullConsole)],
  [
    'Releases',
    () => releaseBench(values.quick ? { ...fullRelease, releases: 5, nodes: 10, rounds: 1, slow: false } : fullRelease),
  ],
  [
    'From a lost power to a pod that runs elsewhere',
    () =>
      powerLossBench(values.quick ? { runs: 1, only: ['floor', 'watch', 'redfish'], aloneMinutes: 1 } : fullPowerLoss),
  ],
  ['Redfish', () => redfishBench(values.quick ? { seconds: 5, rows: ['driver:100:1', 'agent:1:5'] } : fullRedfish)],
  ['Drains', () => drainBench(values.quick ? { nodes: 50, replicas: 500, rounds: 5 } : fullDrain)],
  ['Rehearsals', () => rehearseBench(values.quick ? { nodes: 100, pods: 1000, runFor: '10m' } : fullRehearsal)],
  ['The simulator', () => simulatorBench(values.quick ? ['20:200'] : undefined)],
];

const sections: string[] = [];
for (const [title, run] of benches) {
  say(title);
  try {
    sections.push(`## ${title}\n\n${(await run()).text}`);
  } catch (error) {
    // The others are still worth having.
    process.exitCode = 1;
    console.error(error);
    sections.push(`## ${title}\n\nfailed, see above`);
  }
}
console.log(`${where}\n\n${sections.join('\n\n')}`);
