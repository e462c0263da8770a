/**
 * What the settings of Node and of the C library change in the operator's memory. The same bundle runs once per setting,
 * all at the same time on the same server, so that whatever disturbs one disturbs all. It takes minutes: memory goes on
 * climbing long after the views are complete, and figures of the first half minute have misled us before.
 *
 *     node bench/flags.ts [--nodes 1000] [--seconds 300] [--only 'none;optimize for size']
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Cluster } from './lib/cluster.ts';
import { Child, cpuSecondsOf, memoryOf } from './lib/process.ts';
import { keep, machine, say, type Report } from './lib/report.ts';
import type { Subject } from './lib/run-subject.ts';
import { bundledOperator, operatorFromSource, type Tuning } from './lib/subjects.ts';
import { markdownTable, mean, ratio } from './lib/table.ts';

const small = '--max-semi-space-size=1';

const tunings: Record<string, Tuning> = {
  none: {},
  'semi-space 1 MB': { flags: [small] },
  'optimize for size': { flags: ['--optimize-for-size'] },
  'semi-space 1 MB, growth 20 %': { flags: [small, '--heap-growing-percent=20'] },
  'semi-space 1 MB, memory saver': { flags: [small, '--memory-saver-mode'] },
  'semi-space 1 MB, optimize for size': { flags: [small, '--optimize-for-size'] },
  'the same, one arena': { flags: [small, '--optimize-for-size'], env: { MALLOC_ARENA_MAX: '1' } },
  'lite mode': { flags: ['--lite-mode'] },
};
const fromSource = 'none, from source';

export interface FlagsBenchOptions {
  nodes: number[];
  seconds: number;
  only?: string[];
}

interface Course {
  name: string;
  nodes: number;
  syncedSeconds: number;
  /** One sample every five seconds since the views were complete. */
  rssMb: number[];
  peakMb: number;
  cpuSecondsPerMinute: number;
  renewalsPerSecond: number;
}

const sampleEveryMs = 5000;

export async function flagsBench(options: FlagsBenchOptions): Promise<Report> {
  const wanted = (name: string): boolean => options.only?.includes(name) ?? true;
  const chosen = Object.entries(tunings).filter(([name]) => wanted(name));
  const subjects = await Promise.all(chosen.map(([name, tuning]) => bundledOperator(name, tuning)));
  if (wanted(fromSource)) subjects.push(operatorFromSource(fromSource));
  const courses: Course[] = [];
  for (const nodes of options.nodes) {
    await using cluster = await Cluster.start(nodes);
    const outcomes = await Promise.allSettled(subjects.map((subject) => follow(subject, cluster, options.seconds)));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') throw outcome.reason;
      courses.push(outcome.value);
    }
  }
  return keep({ name: 'flags', text: render(courses) }, courses);
}

async function follow(subject: Subject, cluster: Cluster, seconds: number): Promise<Course> {
  await using child = new Child(subject.name, subject.command(cluster.controlPlane.kubeconfigPath));
  await child.line('synced', (line) => subject.synced(line) || undefined, 180_000);
  const syncedAt = performance.now();
  const before = { cpu: cpuSecondsOf(child.pid), renewed: cluster.renewed() };
  const rssMb: number[] = [];
  while (performance.now() - syncedAt < seconds * 1000) {
    await delay(sampleEveryMs);
    rssMb.push(memoryOf(child.pid).rssMb);
  }
  const minutes = (performance.now() - syncedAt) / 60_000;
  say(`${subject.name}: ${rssMb.map((one) => one.toFixed(0)).join(' ')}`);
  return {
    name: subject.name,
    nodes: cluster.nodes,
    syncedSeconds: (syncedAt - child.startedAt) / 1000,
    rssMb,
    peakMb: memoryOf(child.pid).peakMb,
    cpuSecondsPerMinute: (cpuSecondsOf(child.pid) - before.cpu) / minutes,
    renewalsPerSecond: (cluster.renewed() - before.renewed) / minutes / 60,
  };
}

function render(courses: Course[]): string {
  const heads = [
    'setting',
    'nodes',
    'renewals/s',
    'synced s',
    'MB at 30 s',
    'MB at the end',
    '',
    'peak MB',
    '',
    'CPU s/min',
    '',
  ];
  const atTheEnd = ({ rssMb }: Course): number => mean(rssMb.slice(-6));
  const rows = courses.map((one) => {
    const reference = courses.find(({ nodes }) => nodes === one.nodes) ?? one;
    return [
      one.name,
      one.nodes.toLocaleString('en'),
      one.renewalsPerSecond.toFixed(0),
      one.syncedSeconds.toFixed(1),
      (one.rssMb[5] ?? NaN).toFixed(0),
      atTheEnd(one).toFixed(0),
      ratio(atTheEnd(one), atTheEnd(reference)),
      one.peakMb.toFixed(0),
      ratio(one.peakMb, reference.peakMb),
      one.cpuSecondsPerMinute.toFixed(1),
      ratio(one.cpuSecondsPerMinute, reference.cpuSecondsPerMinute),
    ];
  });
  return markdownTable(heads, rows);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { nodes: { type: 'string' }, seconds: { type: 'string' }, only: { type: 'string' } },
  });
  console.log(machine());
  const report = await flagsBench({
    nodes: (values.nodes ?? '1000').split(',').map(Number),
    seconds: Number(values.seconds ?? '300'),
    ...(values.only !== undefined && { only: values.only.split(';') }),
  });
  console.log(`\n${report.text}`);
}
