/**
 * How much faster than life the simulator is: virtual time ÷ wall time, for clusters of several sizes in which a node
 * fails every minute and returns. On a machine that is busy with other things wall time says more about those, so CPU
 * time is given too.
 *
 *     node bench/simulator.ts [--sizes 20:200,500:5000]
 */
import { parseArgs } from 'node:util';
import { runScenario } from '../src/scenario/runner.ts';
import { keep, machine, say, type Report } from './lib/report.ts';
import { simulatedCluster } from './lib/simulated-cluster.ts';
import { markdownTable } from './lib/table.ts';

const allSizes = ['3:10', '20:200', '50:500', '100:1000', '200:2000', '500:5000'];
/** Virtual ÷ wall time, from time 0 on. */
const targets: Record<string, number> = { '20:200': 1000, '500:5000': 20 };

interface Figures {
  nodes: number;
  pods: number;
  virtualMs: number;
  wallMs: number;
  cpuMs: number;
  setUpCpuMs: number;
  target: number | undefined;
}

export async function simulatorBench(sizes: string[] = allSizes): Promise<Report> {
  const figures: Figures[] = [];
  for (const size of sizes) {
    const one = await measure(size);
    say(`simulator ${JSON.stringify(one)}`);
    figures.push(one);
  }
  return keep({ name: 'simulator', text: render(figures) }, figures);
}

async function measure(size: string): Promise<Figures> {
  const [nodes = 0, pods = 0] = size.split(':').map(Number);
  // Long enough for the just-in-time compiler, short enough for the large ones.
  const minutes = Math.max(10, Math.min(240, Math.round(4800 / nodes)));
  const before = cpuMs();
  let zero = { wall: 0, cpu: 0 };
  const report = await runScenario(simulatedCluster({ nodes, pods, minutes }), () => performance.now(), {
    onZero: () => (zero = { wall: performance.now(), cpu: cpuMs() }),
  });
  const wallMs = performance.now() - zero.wall;
  if (report.violations.length > 0) throw new Error(`${size}: ${JSON.stringify(report.violations[0])}`);
  const { virtualMs } = report;
  return {
    nodes,
    pods,
    virtualMs,
    wallMs,
    cpuMs: cpuMs() - zero.cpu,
    setUpCpuMs: zero.cpu - before,
    target: targets[size],
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function render(figures: Figures[]): string {
  const heads = [
    'nodes',
    'pods',
    'virtual min',
    'wall s',
    'CPU s',
    'virtual ÷ wall',
    'virtual ÷ CPU',
    'target',
    'set-up CPU s',
  ];
  const rows = figures.map(({ nodes, pods, virtualMs, wallMs, cpuMs, setUpCpuMs, target }) => [
    nodes.toLocaleString('en'),
    pods.toLocaleString('en'),
    (virtualMs / 60_000).toFixed(0),
    (wallMs / 1000).toFixed(1),
    (cpuMs / 1000).toFixed(1),
    (virtualMs / wallMs).toFixed(0),
    (virtualMs / cpuMs).toFixed(0),
    target === undefined ? '' : `≥ ${target.toLocaleString('en')}`,
    (setUpCpuMs / 1000).toFixed(1),
  ]);
  return markdownTable(heads, rows);
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { sizes: { type: 'string', default: allSizes.join() } } });
  const { text } = await simulatorBench(values.sizes.split(','));
  console.log(`${machine()}\n\n${text}`);
}
