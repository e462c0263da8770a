/**
 * The operator beside the stock informers of client-node and client-go, on the same server, under the same heartbeats,
 * one after the other: cold start, peak and settled memory, and CPU, by nodes and by pods in the cluster.
 *
 *     node bench/operator.ts [--nodes 100,1000,5000] [--pods 0,30000] [--seconds 90]
 */
import { parseArgs } from 'node:util';
import { Cluster } from './lib/cluster.ts';
import { keep, machine, say, type Report } from './lib/report.ts';
import { runSubject, type Figures } from './lib/run-subject.ts';
import { bundledOperator, clientGoInformers, clientNodeInformers } from './lib/subjects.ts';
import { markdownTable, ratio } from './lib/table.ts';

export interface OperatorBenchOptions {
  nodes: number[];
  pods: number[];
  seconds: number;
}

interface Case {
  nodes: number;
  pods: number;
  figures: Figures[];
}

export const fullRun: OperatorBenchOptions = { nodes: [100, 1000, 5000], pods: [0, 30_000], seconds: 90 };

export async function operatorBench(options: OperatorBenchOptions): Promise<Report> {
  const subjects = [
    await bundledOperator(),
    await clientNodeInformers('stock'),
    await clientNodeInformers('ours'),
    await clientGoInformers(),
  ];
  const cases: Case[] = [];
  for (const nodes of options.nodes) {
    await using cluster = await Cluster.start(nodes);
    let seeded = 0;
    for (const pods of [...options.pods].sort((a, b) => a - b)) {
      if (seeded > 0 && pods !== seeded) throw new Error('pods can be seeded once per cluster');
      if (pods > 0) await cluster.seedPods(pods);
      seeded = pods;
      const figures: Figures[] = [];
      for (const subject of subjects) {
        const one = await runSubject(subject, cluster, options.seconds);
        figures.push(one);
        say(`${nodes} nodes, ${pods} pods: ${JSON.stringify(one)}`);
      }
      cases.push({ nodes, pods, figures });
    }
  }
  return keep({ name: 'operator', text: render(cases) }, cases);
}

function render(cases: Case[]): string {
  const heads = [
    'subject',
    'nodes',
    'pods',
    'renewals/s',
    'synced s',
    'ready s',
    'peak MB',
    '',
    'settled MB',
    '',
    'CPU s/min',
    '',
  ];
  const rows = cases.flatMap(({ nodes, pods, figures }) => {
    const [reference] = figures;
    return figures.map((one) => [
      one.name,
      nodes.toLocaleString('en'),
      pods.toLocaleString('en'),
      one.renewalsPerSecond.toFixed(0),
      one.syncedSeconds.toFixed(2),
      one.readySeconds?.toFixed(2) ?? '',
      one.peakMb.toFixed(0),
      ratio(one.peakMb, reference?.peakMb ?? 0),
      one.settledMb.toFixed(0),
      ratio(one.settledMb, reference?.settledMb ?? 0),
      one.cpuSecondsPerMinute.toFixed(1),
      ratio(one.cpuSecondsPerMinute, reference?.cpuSecondsPerMinute ?? 0),
    ]);
  });
  return markdownTable(heads, rows);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { nodes: { type: 'string' }, pods: { type: 'string' }, seconds: { type: 'string' } },
  });
  const numbers = (text: string): number[] => text.split(',').map(Number);
  console.log(machine());
  const report = await operatorBench({
    nodes: values.nodes === undefined ? fullRun.nodes : numbers(values.nodes),
    pods: values.pods === undefined ? fullRun.pods : numbers(values.pods),
    seconds: values.seconds === undefined ? fullRun.seconds : Number(values.seconds),
  });
  console.log(`\n${report.text}`);
}
