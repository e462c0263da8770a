/**
 * The guard of drains in a large cluster: how long after a cordon the first of its writes leaves, the last one that a drain
 * waits for, and the report of it in the status of the policy; and how many calls it makes. The API server is the embedded one, in the same process: what it needs itself is part of the figures.
 *
 *     node bench/drain.ts [--nodes 1000] [--replicas 20000] [--rounds 100]
 */
import { parseArgs } from 'node:util';
import { customResourceDefinitions } from '../src/api/crds.ts';
import { realClock } from '../src/clock.ts';
import type { KubeObject } from '../src/kube/client.ts';
import { KubeClient } from '../src/kube/client.ts';
import { EventRecorder } from '../src/kube/events.ts';
import { customResourceDefinitions as definitions, drainPolicies, namespaces, nodes } from '../src/kube/resources.ts';
import type { Resource } from '../src/kube/resources.ts';
import type { HttpRequest, Transport } from '../src/kube/transport.ts';
import { Draining } from '../src/operator/draining.ts';
import { ApiServer } from '../src/world/api-server/server.ts';
import * as o from '../src/world/longhorn/objects.ts';
import { keep, machine, say, type Report } from './lib/report.ts';
import { markdownTable, percentile } from './lib/table.ts';

export interface DrainBenchOptions {
  nodes: number;
  replicas: number;
  rounds: number;
}

export const fullDrain: DrainBenchOptions = { nodes: 1000, replicas: 20_000, rounds: 100 };

interface Figures {
  policy: string;
  firstMs: number[];
  answeredMs: number[];
  reportedMs: number[];
  calls: number[];
}

interface Seen {
  at: number;
  kind: 'read' | 'write' | 'report';
}

const namespace = o.longhornNamespace;
const copies = 2;
const quietMs = 300;

export async function drainBench(options: DrainBenchOptions): Promise<Report> {
  const figures: Figures[] = [];
  for (const policy of ['block-for-eviction', 'block-if-contains-last-replica']) {
    figures.push(await measure(policy, options));
    say(`${policy}: ${JSON.stringify(summary(figures.at(-1)))}`);
  }
  const times = ['first write', 'answered', 'reported'].flatMap((what) => [`${what} P50 ms`, 'P99']);
  const heads = ['policy', ...times, 'calls per cordon, most'];
  const rows = figures.map((one) => [one.policy, ...summary(one)]);
  return keep({ name: 'drain', text: markdownTable(heads, rows) }, figures);
}

function summary(figures: Figures | undefined): string[] {
  const { firstMs = [], answeredMs = [], reportedMs = [], calls = [] } = figures ?? {};
  const at = (values: readonly number[], share: number): string =>
    percentile(
      values.toSorted((a, b) => a - b),
      share,
    ).toFixed(0);
  const times = [firstMs, answeredMs, reportedMs].flatMap((values) => [at(values, 0.5), at(values, 0.99)]);
  return [...times, String(Math.max(...calls))];
}

async function measure(policy: string, { nodes: count, replicas, rounds }: DrainBenchOptions): Promise<Figures> {
  const server = new ApiServer({ clock: realClock, random: Math.random });
  const admin = clientOf(server.transport('admin', { shares: true }));
  await seed(admin, { count, replicas, policy });
  const seen: Seen[] = [];
  const client = clientOf(counted(server.transport('operator', { shares: true }), seen));
  const stop = new AbortController();
  const log = { info: () => {}, warn: () => {} };
  const base = { client, clock: realClock, random: Math.random };
  const events = new EventRecorder({
    ...base,
    client: clientOf(server.transport('operator', { shares: true })),
    reportingController: 'fenceline.dev/operator',
    reportingInstance: 'bench',
    onProblem: () => {},
  });
  const draining = new Draining({
    ...base,
    events,
    isLeading: () => true,
    log,
    onProblem: (source, error) => say(`${source}: ${error.message}`),
  });
  const running = [draining.run(stop.signal), draining.serve(stop.signal)];
  await quiet(seen, 5000);
  const figures: Figures = { policy, firstMs: [], answeredMs: [], reportedMs: [], calls: [] };
  for (let round = 0; round < rounds; round += 1) {
    const name = nodeName((round * 7) % count);
    seen.length = 0;
    const at = performance.now();
    await cordon(admin, name, true);
    await quiet(seen, quietMs);
    const timesOf = (kind: Seen['kind']): number[] => seen.filter((one) => one.kind === kind).map((one) => one.at - at);
    figures.firstMs.push(timesOf('write')[0] ?? Infinity);
    figures.answeredMs.push(timesOf('write').at(-1) ?? Infinity);
    figures.reportedMs.push(timesOf('report').at(-1) ?? Infinity);
    figures.calls.push(seen.length);
    await cordon(admin, name, false);
    await quiet(seen, quietMs);
  }
  stop.abort();
  await Promise.all(running);
  await events.close(0);
  return figures;
}

/** Reads of watches and their probes go on all the time, and are not counted. */
function counted(inner: Transport, seen: Seen[]): Transport {
  const isProbe = ({ method, path }: HttpRequest): boolean => method === 'GET' && /[?&](watch|limit)=/.test(path);
  return {
    send(request) {
      if (!isProbe(request)) seen.push({ at: performance.now(), kind: kindOf(request) });
      return inner.send(request);
    },
    close: () => inner.close(),
  };
}

function kindOf({ method, path }: HttpRequest): Seen['kind'] {
  if (method === 'GET') return 'read';
  return path.includes(`/${drainPolicies.plural}/`) ? 'report' : 'write';
}

/** Until it has said nothing for so long. */
async function quiet(seen: readonly { at: number }[], forMs: number): Promise<void> {
  const sinceMs = performance.now();
  for (;;) {
    await new Promise((resolve) => realClock.after(20, () => resolve(undefined)));
    const last = Math.max(sinceMs, seen.at(-1)?.at ?? 0);
    if (performance.now() - last > forMs) return;
  }
}

function clientOf(transport: Transport): KubeClient {
  return new KubeClient({ transport, clock: realClock, userAgent: 'bench', fieldManager: 'bench' });
}

async function cordon(admin: KubeClient, name: string, unschedulable: boolean): Promise<void> {
  const ref = { resource: nodes, name };
  const read = await admin.get(ref);
  if (!read.ok) throw new Error(read.error.message);
  const only = { uid: read.value.metadata.uid ?? '' };
  const done = await admin.patch(ref, only, [{ op: 'add', path: '/spec/unschedulable', value: unschedulable }]);
  if (!done.ok) throw new Error(done.error.message);
}

const nodeName = (index: number): string => `node-${String(index).padStart(4, '0')}`;

async function seed(admin: KubeClient, what: { count: number; replicas: number; policy: string }): Promise<void> {
  // A status is not taken with the rest of an object.
  const create = async (resource: Resource, object: object): Promise<void> => {
    const made = await admin.create(resource, object as KubeObject);
    if (!made.ok) throw new Error(made.error.message);
    const { status } = object as { status?: object };
    if (status === undefined) return;
    const { name } = made.value.metadata;
    const ref = resource.namespaced ? { resource, name, namespace } : { resource, name };
    const told = await admin.replace(ref, { ...made.value, status } as KubeObject, 'status');
    if (!told.ok) throw new Error(told.error.message);
  };
  for (const definition of [...customResourceDefinitions(), ...o.longhornDefinitions()]) {
    await create(definitions, definition);
  }
  await create(namespaces, { metadata: { name: namespace } });
  for (let index = 0; index < what.count; index += 1) await seedNode(create, nodeName(index));
  for (let volume = 0; volume < what.replicas / copies; volume += 1) {
    const on = Array.from({ length: copies }, (_, copy) => nodeName((volume + copy * 7) % what.count));
    await seedVolume(create, `volume-${volume}`, on);
  }
  await create(drainPolicies, { metadata: { name: 'default' }, spec: { allNodes: true, policy: what.policy } });
}

type Create = (resource: Resource, object: object) => Promise<void>;

async function seedNode(create: Create, name: string): Promise<void> {
  const metadata = { name, namespace };
  const disk = { allowScheduling: true, evictionRequested: false, storageReserved: 0 };
  const room = { storageMaximum: 2 ** 44, storageAvailable: 2 ** 44, storageScheduled: 0 };
  await create(nodes, { metadata: { name, labels: { 'kubernetes.io/hostname': name } }, spec: {} });
  await create(o.storageNodes, {
    metadata,
    spec: { allowScheduling: true, disks: { disk } },
    status: { conditions: [{ type: 'Ready', status: 'True' }], diskStatus: { disk: { diskUUID: name, ...room } } },
  });
  await create(o.instanceManagers, {
    metadata: { ...metadata, name: o.instanceManagerName(name), labels: o.instanceManagerLabels(name) },
    spec: o.instanceManagerSpec(name),
  });
}

async function seedVolume(create: Create, name: string, on: readonly string[]): Promise<void> {
  const spec = { size: String(2 ** 30), numberOfReplicas: copies };
  const names = on.map((node) => `${name}-on-${node}`);
  await create(o.volumes, { metadata: { name, namespace }, spec, status: { state: 'attached' } });
  await create(o.engines, {
    metadata: { name: `${name}-e-0`, namespace },
    spec: { volumeName: name },
    status: { currentState: 'running', replicaModeMap: Object.fromEntries(names.map((one) => [one, 'RW'])) },
  });
  for (const [index, node] of on.entries()) {
    await create(o.replicas, {
      metadata: { name: names[index], namespace },
      spec: { volumeName: name, nodeID: node, diskID: node, desireState: 'running', healthyAt: '2026-01-01T00:00:00Z' },
      status: { currentState: 'running' },
    });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { nodes: { type: 'string' }, replicas: { type: 'string' }, rounds: { type: 'string' } },
  });
  console.log(machine());
  const report = await drainBench({
    nodes: Number(values.nodes ?? fullDrain.nodes),
    replicas: Number(values.replicas ?? fullDrain.replicas),
    rounds: Number(values.rounds ?? fullDrain.rounds),
  });
  console.log(`\n${report.text}`);
}
