/**
 * Half of a cluster falls silent and comes back: what that costs the operator, who has nothing to do but to see that it is a
 * storm. Beside what it weighs and burns before the silence: meanwhile, when they return, and a minute later.
 *
 *     node bench/silence.ts [--nodes 5000] [--pods 30000] [--seconds 120] [--release do-nothing] [--against TREE]
 */
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { customResourceDefinitions } from '../src/api/crds.ts';
import type { NodeFence } from '../src/api/node-fence.ts';
import type { KubeObject } from '../src/kube/client.ts';
import { nodeFences, remedyPolicies } from '../src/kube/resources.ts';
import { clientFor } from '../test/support/client.ts';
import { waitFor } from '../test/support/wait.ts';
import { Cluster } from './lib/cluster.ts';
import { Child, cpuSecondsOf, memoryOf } from './lib/process.ts';
import { keep, machine, say, type Report } from './lib/report.ts';
import { bundledOperator, operatorOfTree } from './lib/subjects.ts';
import { markdownTable, mean, ratio } from './lib/table.ts';

export interface SilenceOptions {
  nodes: number;
  pods: number;
  /** How long half of the nodes are silent. */
  seconds: number;
  /** `podDeletion` of the policy. */
  release: string;
  /** Another tree of the project, measured instead of this one. */
  against?: string;
}

export const fullSilence: SilenceOptions = { nodes: 5000, pods: 30_000, seconds: 120, release: 'do-nothing' };

interface Span {
  what: string;
  meanMb: number;
  peakMb: number;
  /** Of one core. */
  cpuShare: number;
}

interface Outcome {
  spans: Span[];
  silent: number;
  /** From the last renewal that was the first of its node to the last verdict that was wrong. */
  rightAfterSeconds: number;
  records: number;
  fenced: number;
}

const windowSeconds = 20;
const settleSeconds = 40;
const settledAfterSeconds = 60;
const startTimeoutMs = 180_000;

export async function silenceBench(options: SilenceOptions): Promise<Report> {
  await using cluster = await Cluster.start(options.nodes);
  await cluster.seedPods(options.pods);
  using client = clientOf(cluster);
  await installPolicy(cluster, client.client, options.release);
  const subject = options.against === undefined ? await bundledOperator() : await operatorOfTree(options.against);
  await using operator = new Child(subject.name, subject.command(cluster.controlPlane.kubeconfigPath));
  await operator.line('synced', (line) => subject.synced(line) || undefined, startTimeoutMs);
  await delay(settleSeconds * 1000);
  const outcome = await goThrough(cluster, operator, options.seconds);
  const listed = await client.client.list<NodeFence & KubeObject>(nodeFences);
  if (!listed.ok) throw new Error(listed.error.message);
  const fences = listed.value.items;
  const fenced = fences.filter(({ status }) => (status?.fence?.switched ?? []).length > 0).length;
  const all = { ...outcome, records: fences.length, fenced };
  return keep({ name: 'silence', text: render(all) }, all);
}

function clientOf(cluster: Cluster): Disposable & { client: ReturnType<typeof clientFor> } {
  const client = clientFor(cluster.controlPlane);
  return { client, [Symbol.dispose]: () => client.close() };
}

async function installPolicy(cluster: Cluster, client: ReturnType<typeof clientFor>, release: string): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: customResourceDefinitions() });
  const applied = await cluster.controlPlane.kubectl(['apply', '-f', '-'], { input });
  if (applied.code !== 0) throw new Error(applied.stderr);
  const spec = {
    allNodes: true,
    thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] }],
    remedies: [{ name: 'fence', fence: {} }],
    release: { podDeletion: release, provisioners: ['driver.longhorn.io'] },
  };
  await waitFor('the policy to be accepted', async () => {
    return (await client.create(remedyPolicies, { metadata: { name: 'bench' }, spec })).ok;
  });
}

async function goThrough(
  cluster: Cluster,
  operator: Child,
  seconds: number,
): Promise<Pick<Outcome, 'spans' | 'silent' | 'rightAfterSeconds'>> {
  const verdicts = new Verdicts();
  const told = operator.line('the end', (line) => verdicts.note(line), startTimeoutMs * 10).catch(() => {});
  const spans = [await span('before', operator, windowSeconds)];
  say(JSON.stringify(spans[0]));
  cluster.silence();
  spans.push(await span(`${seconds} s of silence`, operator, seconds));
  const silent = verdicts.wrong;
  say(`${JSON.stringify(spans[1])}, ${silent} nodes are not well`);
  const back = cluster.back();
  const returning = span('the return and a minute', operator, settledAfterSeconds + 10);
  await back;
  const backAt = performance.now();
  await returning;
  const rightAfterSeconds = verdicts.wrong === 0 ? Math.max(0, (verdicts.lastAt - backAt) / 1000) : Infinity;
  spans.push(await returning, await span('then', operator, windowSeconds));
  say(`${JSON.stringify(spans.slice(2))}, ${verdicts.wrong} nodes are not well`);
  void told;
  return { spans, silent, rightAfterSeconds };
}

/** What the operator says of nodes in its log: it costs nothing to listen. */
class Verdicts {
  readonly #unwell = new Set<string>();
  lastAt = 0;

  get wrong(): number {
    return this.#unwell.size;
  }

  readonly note = (line: string): undefined => {
    if (!line.includes('"msg":"verdict"')) return;
    const { node, verdict } = JSON.parse(line) as { node: string; verdict: string };
    if (verdict === 'healthy') this.#unwell.delete(node);
    else this.#unwell.add(node);
    this.lastAt = performance.now();
  };
}

async function span(what: string, { pid }: Child, seconds: number): Promise<Span> {
  const startedAt = performance.now();
  const cpuBefore = cpuSecondsOf(pid);
  const samples: number[] = [];
  while (performance.now() - startedAt < seconds * 1000) {
    await delay(500);
    samples.push(memoryOf(pid).rssMb);
  }
  const cpuShare = (cpuSecondsOf(pid) - cpuBefore) / ((performance.now() - startedAt) / 1000);
  return { what, meanMb: mean(samples), peakMb: Math.max(...samples), cpuShare };
}

function render({ spans, silent, rightAfterSeconds, records, fenced }: Outcome): string {
  const [before] = spans;
  const table = markdownTable(
    ['', 'MB', '', 'peak MB', '', 'of a core', ''],
    spans.map(({ what, meanMb, peakMb, cpuShare }) => [
      what,
      meanMb.toFixed(0),
      ratio(meanMb, before?.meanMb ?? 0),
      peakMb.toFixed(0),
      ratio(peakMb, before?.peakMb ?? 0),
      `${(100 * cpuShare).toFixed(0)} %`,
      ratio(cpuShare, before?.cpuShare ?? 0),
    ]),
  );
  const right = Number.isFinite(rightAfterSeconds)
    ? `${rightAfterSeconds.toFixed(1)} s after the last was back`
    : 'never';
  const said = `${silent} nodes were silent, all verdicts were right ${right}; ${records} records, ${fenced} nodes fenced.`;
  return `${table}\n\n${said}`;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      nodes: { type: 'string' },
      pods: { type: 'string' },
      seconds: { type: 'string' },
      release: { type: 'string' },
      against: { type: 'string' },
    },
  });
  const number = (text: string | undefined, otherwise: number): number =>
    text === undefined ? otherwise : Number(text);
  console.log(machine());
  const report = await silenceBench({
    nodes: number(values.nodes, fullSilence.nodes),
    pods: number(values.pods, fullSilence.pods),
    seconds: number(values.seconds, fullSilence.seconds),
    release: values.release ?? fullSilence.release,
    ...(values.against === undefined ? {} : { against: resolve(values.against) }),
  });
  console.log(`\n${report.text}`);
}
