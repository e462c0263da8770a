/**
 * The console with thousands of nodes: what a picture costs the server, how soon a change is on the page, and whether the page stays
 * smooth while somebody scrolls. The cluster is in memory; the browser is Debian's Chromium.
 *
 *     node bench/console.ts [--nodes 5000] [--changes 20]
 */
import { parseArgs } from 'node:util';
import { loadAssets } from '../src/console/assets.ts';
import { ClusterWatch } from '../src/console/cluster-watch.ts';
import { ConsoleServer } from '../src/console/console-server.ts';
import { ClusterSource } from '../src/console/source.ts';
import { realClock } from '../src/clock.ts';
import type { KubeObject } from '../src/kube/client.ts';
import { KubeClient } from '../src/kube/client.ts';
import { leases, nodeLeaseNamespace, nodes as nodeResource } from '../src/kube/resources.ts';
import { launchBrowser } from '../test/browser/browser.ts';
import { waitFor } from '../test/support/wait.ts';
import { Random } from '../src/world/random.ts';
import { World } from '../src/world/world.ts';
import { keep, machine, say, type Report } from './lib/report.ts';
import { markdownTable } from './lib/table.ts';

export interface ConsoleBenchOptions {
  nodes: number;
  changes: number;
}

export const fullConsole: ConsoleBenchOptions = { nodes: 5000, changes: 20 };

const nameOf = (index: number): string => `node-${index + 1}`;

async function seed(client: KubeClient, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const now = new Date(realClock.now()).toISOString();
    const labels = { 'topology.kubernetes.io/zone': `z${(index % 3) + 1}` };
    const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: now }];
    const metadata = { name: nameOf(index), labels };
    await client.create(nodeResource, { metadata, status: { conditions } } as unknown as KubeObject);
    const renewTime = new Date(realClock.now() + 3_600_000).toISOString().replace('Z', '000Z');
    const lease = { metadata: { name: nameOf(index), namespace: nodeLeaseNamespace }, spec: { renewTime } };
    await client.create(leases, lease);
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

export async function consoleBench({ nodes, changes }: ConsoleBenchOptions): Promise<Report> {
  const clock = realClock;
  const world = new World({ clock, random: new Random(1), nodes: [] });
  const clientOf = (user: string): KubeClient =>
    new KubeClient({ transport: world.server.transport(user), clock, userAgent: user, fieldManager: user });
  const admin = clientOf('admin');
  await seed(admin, nodes);
  say(`${nodes} nodes are there`);
  const watch = new ClusterWatch({ client: clientOf('console'), clock, random: () => 0.5 });
  const stop = new AbortController();
  const watching = watch.run(stop.signal);
  await waitFor('the nodes', () => watch.nodes.length === nodes, { timeoutMs: 60_000 });
  const source = new ClusterSource(watch, { can: [] });
  const made = Array.from({ length: 10 }, () => {
    const startedMs = clock.monotonic();
    const parts = new ClusterSource(watch, { can: [] }).parts('now');
    return { ms: clock.monotonic() - startedMs, bytes: JSON.stringify([...parts]).length };
  });
  const session = {
    source,
    act: async () => ({ ok: false, text: '' }),
    read: () => Promise.reject(new Error('nothing is rehearsed here')),
  };
  const server = new ConsoleServer({ clock, gate: { admit: async () => session }, assets: await loadAssets() });
  const port = await server.listen(0);
  const browser = await launchBrowser();
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const openedMs = clock.monotonic();
  await page.goto(`http://127.0.0.1:${port}/`);
  await page
    .locator('a.node')
    .nth(nodes - 1)
    .waitFor({ state: 'attached' });
  const shownMs = clock.monotonic() - openedMs;
  const delays: number[] = [];
  for (let index = 0; index < changes; index += 1) {
    const name = nameOf(index * 7);
    const conditions = [
      { type: 'Ready', status: 'False', reason: 'KubeletNotReady', lastTransitionTime: new Date().toISOString() },
    ];
    const read = await admin.get<KubeObject>({ resource: nodeResource, name });
    if (!read.ok) throw new Error(read.error.message);
    const startedMs = clock.monotonic();
    await admin.patch(
      { resource: nodeResource, name },
      { uid: read.value.metadata.uid ?? '' },
      [{ op: 'add', path: '/status/conditions', value: conditions }],
      { subresource: 'status' },
    );
    await page.locator(`a.node.m-down[data-node="${name}"]`).waitFor({ state: 'attached' });
    delays.push(clock.monotonic() - startedMs);
  }
  const frames = (await page.evaluate(`new Promise((resolve) => {
    const times = []; let last = performance.now(); let y = 0;
    const step = (now) => { times.push(now - last); last = now; y += 40; scrollTo(0, y % document.body.scrollHeight);
      if (times.length < 120) requestAnimationFrame(step); else resolve(times); };
    requestAnimationFrame(step);
  })`)) as number[];
  const heap = (await page.evaluate('performance.memory.usedJSHeapSize')) as number;
  await browser.close();
  await server.close();
  stop.abort();
  await watching;
  await world.stop();
  const figures = {
    nodes,
    pictureMs: median(made.map(({ ms }) => ms)),
    pictureBytes: made[0]?.bytes ?? 0,
    shownMs,
    delayMs: { median: median(delays), worst: Math.max(...delays) },
    frameMs: { median: median(frames), worst: Math.max(...frames) },
    heapMb: heap / 1e6,
  };
  const row = [
    nodes,
    figures.pictureMs.toFixed(0),
    Math.round(figures.pictureBytes / 1000),
    Math.round(shownMs),
    `${Math.round(figures.delayMs.median)} / ${Math.round(figures.delayMs.worst)}`,
    `${figures.frameMs.median.toFixed(1)} / ${figures.frameMs.worst.toFixed(1)}`,
    figures.heapMb.toFixed(0),
  ].map(String);
  const heads = [
    'nodes',
    'a picture, ms',
    'whole picture, kB',
    'first page, ms',
    'change to page, ms',
    'frame while scrolling, ms',
    'JS heap, MB',
  ];
  return keep({ name: 'console', text: markdownTable(heads, [row]) }, figures);
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { nodes: { type: 'string' }, changes: { type: 'string' } } });
  const options = {
    nodes: Number(values.nodes ?? fullConsole.nodes),
    changes: Number(values.changes ?? fullConsole.changes),
  };
  console.log(`${machine()}\n\n${(await consoleBench(options)).text}`);
}
