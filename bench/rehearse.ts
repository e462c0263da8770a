/**
 * A failure of a large cluster behind the real API server, rehearsed: how long `simulate --from-cluster` takes for an hour, and
 * whether anything was written meanwhile.
 *
 *     node bench/rehearse.ts [--nodes 1000] [--pods 30000] [--run-for 1h]
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { Cluster } from './lib/cluster.ts';
import { nodeName } from './lib/node-objects.ts';
import { keep, machine, root, say, type Report } from './lib/report.ts';
import { markdownTable } from './lib/table.ts';
import { workloadEntries } from './lib/workloads.ts';
import { installCrds } from '../test/support/install.ts';

export interface RehearseOptions {
  nodes: number;
  pods: number;
  runFor: string;
}

export const fullRehearsal: RehearseOptions = { nodes: 1000, pods: 30_000, runFor: '1h' };

const policy = {
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'RemedyPolicy',
  metadata: { name: 'workers' },
  spec: {
    allNodes: true,
    thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] }],
    remedies: [{ name: 'fence', fence: {} }],
  },
};

export async function rehearseBench({ nodes, pods, runFor }: RehearseOptions): Promise<Report> {
  await using cluster = await Cluster.start(nodes);
  const { controlPlane } = cluster;
  await installCrds(controlPlane);
  const applied = await controlPlane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(policy) });
  if (applied.code !== 0) throw new Error(applied.stderr);
  await cluster.seed('workloads', pods, workloadEntries(pods, nodes));
  const args = ['simulate', '--from-cluster', '--node', nodeName(7), '--run-for', runFor, '-o', 'json'];
  const startedAt = performance.now();
  // The shell says what its children took of the processor: on a busy machine the time says more about others.
  const { stdout, stderr } = await promisify(execFile)(
    'sh',
    ['-ec', '"$0" "$@"; times >&2', join(root, 'bin', 'fenceline'), ...args],
    { env: { ...process.env, KUBECONFIG: controlPlane.kubeconfigPath }, maxBuffer: 2 ** 28 },
  );
  const totalMs = performance.now() - startedAt;
  const { notes, runs } = JSON.parse(stdout) as { notes: string[]; runs: { wallMs: number; nodes: object[] }[] };
  for (const note of notes) say(note);
  say(JSON.stringify(runs[0]?.nodes));
  const simulatedMs = runs[0]?.wallMs ?? 0;
  const cpuMs = cpuMsOf(stderr);
  const figures = { nodes, pods, runFor, totalMs, simulatedMs, cpuMs };
  const shares = [totalMs - simulatedMs, simulatedMs, totalMs, cpuMs].map(seconds);
  const rows = [[nodes, pods, runFor, ...shares].map(String)];
  const heads = ['nodes', 'pods', 'simulated', 'reading and start, s', 'simulation, s', 'all, s', 'CPU, s'];
  return keep({ name: 'rehearse', text: markdownTable(heads, rows) }, figures);
}

/** User and system time of the children, in the last line of `times`: `0m28.430s 0m1.210s`. */
function cpuMsOf(text: string): number {
  const [last = ''] = text.trim().split('\n').slice(-1);
  const parts = [...last.matchAll(/(\d+)m([\d.]+)s/g)].map(([, minutes, rest]) => Number(minutes) * 60 + Number(rest));
  return 1000 * parts.reduce((sum, one) => sum + one, 0);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string', default: String(fullRehearsal.nodes) },
      pods: { type: 'string', default: String(fullRehearsal.pods) },
      'run-for': { type: 'string', default: fullRehearsal.runFor },
    },
  });
  const options = { nodes: Number(values.nodes), pods: Number(values.pods), runFor: values['run-for'] };
  const { text } = await rehearseBench(options);
  console.log(`${machine()}\n\n${text}`);
}
