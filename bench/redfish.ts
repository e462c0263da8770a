/**
 * What it costs to ask management controllers for their power again and again, by our driver over kept connections, and by the
 * agent for a few. The controllers are on loopback in another process and answer at once; what is counted is the asking process,
 * and what it starts.
 *
 *     node bench/redfish.ts [--seconds 30] [--rows driver:100:5,agent:4:5]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { nodeEnv, nodeFlags } from '../build/bundle.ts';
import type { Orders, Progress } from './children/redfish-asker.ts';
import { bundleChild } from './lib/packages.ts';
import { Child, cpuSecondsOf, memoryOf } from './lib/process.ts';
import { keep, machine, say, type Report } from './lib/report.ts';
import { markdownTable, mean } from './lib/table.ts';

/** By whom, how many controllers, every how many seconds. */
const allRows = [
  'driver:0:5',
  'driver:100:5',
  'driver:100:1',
  'driver:1000:5',
  'driver:1000:1',
  'driver:4:5',
  'agent:4:5',
  'watch:100:5',
  'watch:100:1',
  'watch:1000:5',
  'watch:1000:1',
];

export interface RedfishBenchOptions {
  seconds: number;
  rows: readonly string[];
}

export const fullRedfish: RedfishBenchOptions = { seconds: 30, rows: allRows };

interface Figures {
  by: string;
  bmcs: number;
  everyS: number;
  answersPerS: number;
  p50Ms: number;
  p99Ms: number;
  cpuPercent: number;
  rssMb: number;
}

export async function redfishBench({ seconds, rows }: RedfishBenchOptions): Promise<Report> {
  const program = await bundleChild(join(import.meta.dirname, 'children', 'redfish-asker.ts'));
  const dir = await mkdtemp(join(tmpdir(), 'fenceline-bench-redfish-'));
  try {
    const figures: Figures[] = [];
    for (const row of rows) {
      const one = await measure(row, { program, dir, seconds });
      say(`redfish ${JSON.stringify(one)}`);
      figures.push(one);
    }
    return await keep({ name: 'redfish', text: render(figures) }, figures);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

interface Surroundings {
  program: string;
  dir: string;
  seconds: number;
}

async function measure(row: string, { program, dir, seconds }: Surroundings): Promise<Figures> {
  const [by = 'driver', bmcs = 0, everyS = 5] = row
    .split(':')
    .map((part, index) => (index === 0 ? part : Number(part)));
  const server = join(import.meta.dirname, 'children', 'redfish-bmcs.ts');
  await using controllers = new Child('the controllers', {
    file: process.execPath,
    args: [server, String(bmcs), dir],
  });
  const { ports, trustFile } = await controllers.line('its ports', parsed<Pick<Orders, 'ports' | 'trustFile'>>, 60_000);
  const orders = { by, ports, trustFile, everyMs: Number(everyS) * 1000 } as Orders;
  await using asker = new Child(row, {
    file: process.execPath,
    args: [...nodeFlags, program, JSON.stringify(orders)],
    env: nodeEnv,
  });
  await asker.line('warm', (line) => line === 'warm' || undefined, 120_000);
  // What was made for the handshakes has gone by then.
  await delay(5000);
  const before = cpuSecondsOf(asker.pid, { withChildren: true });
  const startedAt = performance.now();
  const heard: Progress[] = [];
  while (performance.now() - startedAt < seconds * 1000) {
    heard.push(await asker.line('how it goes', parsed<Progress>, 10_000));
  }
  const wallS = (performance.now() - startedAt) / 1000;
  const others = heard.at(-1)?.others ?? 0;
  if (others > 0) throw new Error(`${row}: ${others} questions without an answer`);
  const told = heard.filter(({ answers }) => answers > 0);
  return {
    by: String(by),
    bmcs: Number(bmcs),
    everyS: Number(everyS),
    answersPerS: heard.reduce((sum, { answers }) => sum + answers, 0) / wallS,
    p50Ms: mean(told.map(({ p50Ms }) => p50Ms)),
    p99Ms: mean(told.map(({ p99Ms }) => p99Ms)),
    cpuPercent: ((cpuSecondsOf(asker.pid, { withChildren: true }) - before) / wallS) * 100,
    rssMb: memoryOf(asker.pid).rssMb,
  };
}

function parsed<T>(line: string): T | undefined {
  return line.startsWith('{') ? (JSON.parse(line) as T) : undefined;
}

function render(figures: Figures[]): string {
  const heads = ['asked by', 'controllers', 'every s', 'answers/s', 'P50 ms', 'P99 ms', '% of a core', 'MB'];
  const rows = figures.map((one) => [
    { agent: '`fence_redfish`', watch: 'the watch' }[one.by] ?? 'our driver',
    one.bmcs.toLocaleString('en'),
    one.bmcs === 0 ? '' : String(one.everyS),
    one.bmcs === 0 ? '' : one.answersPerS.toFixed(1),
    one.bmcs === 0 ? '' : one.p50Ms.toFixed(1),
    one.bmcs === 0 ? '' : one.p99Ms.toFixed(1),
    one.cpuPercent.toFixed(1),
    one.rssMb.toFixed(0),
  ]);
  return markdownTable(heads, rows);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '30' }, rows: { type: 'string', default: allRows.join() } },
  });
  const { text } = await redfishBench({ seconds: Number(values.seconds), rows: values.rows.split(',') });
  console.log(`${machine()}\n\n${text}`);
}
