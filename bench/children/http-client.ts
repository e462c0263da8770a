/**
 * One candidate at work, in a process of its own. Its orders come as one JSON argument; it prints one JSON line per
 * finding.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { memoryOf } from '../lib/process.ts';
import { type BenchClient, type Candidate, open, type Target } from '../lib/http-clients.ts';
import { percentile } from '../lib/table.ts';

export interface Orders {
  candidate: Candidate;
  target: Target;
  /** Path that is read again and again. */
  readPath: string;
  reads: number;
  /** Paths of pods, one batch per node. */
  batches: string[][];
  /** Instead of all that: an idle watch, through something that will go silent. */
  watchPath?: string;
}

export interface WorkFindings {
  importedMb: number;
  workedMb: number;
  p50Ms: number;
  p99Ms: number;
  batchesMs: number;
  connections: number;
}

async function read(client: BenchClient, orders: Orders): Promise<Pick<WorkFindings, 'p50Ms' | 'p99Ms'>> {
  const took: number[] = [];
  // The first ones pay for the handshake and for compiling.
  for (let round = -200; round < orders.reads; round += 1) {
    const startedAt = performance.now();
    expectOk(await client.call({ method: 'GET', path: orders.readPath }));
    if (round >= 0) took.push(performance.now() - startedAt);
  }
  took.sort((a, b) => a - b);
  return { p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99) };
}

/** What releasing a node amounts to: every pod is marked as failed and then deleted, all pods of a node at once. */
async function release(client: BenchClient, batches: string[][]): Promise<number> {
  const startedAt = performance.now();
  for (const paths of batches) {
    await Promise.all(
      paths.map(async (path) => {
        const body = JSON.stringify({ status: { phase: 'Failed', reason: 'NodeFenced' } });
        const contentType = 'application/merge-patch+json';
        expectOk(await client.call({ method: 'PATCH', path: `${path}/status`, contentType, body }));
      }),
    );
    await Promise.all(
      paths.map(async (path) => {
        const body = JSON.stringify({ apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 });
        expectOk(await client.call({ method: 'DELETE', path, contentType: 'application/json', body }));
      }),
    );
  }
  return performance.now() - startedAt;
}

function expectOk(status: number): void {
  if (status < 200 || status > 299) throw new Error(`the server answered ${status}`);
}

/** Open TCP connections of this process to the server. */
function connectionsTo(port: number): number {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const inodes = new Set<string>();
  for (const line of ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => readFileSync(file, 'utf8').split('\n'))) {
    const fields = line.trim().split(/\s+/);
    if (fields[2]?.endsWith(`:${hexPort}`) && fields[3] === '01') inodes.add(`socket:[${fields[9]}]`);
  }
  return readdirSync('/proc/self/fd').filter((fd) => inodes.has(linkOf(`/proc/self/fd/${fd}`))).length;
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

const orders = JSON.parse(process.argv[2] ?? '') as Orders;
const client = await open(orders.candidate, orders.target);
const importedMb = memoryOf(process.pid).rssMb;
if (orders.watchPath === undefined) {
  const latencies = await read(client, orders);
  const port = Number(new URL(orders.target.url).port);
  let connections = 0;
  const count = setInterval(() => {
    connections = Math.max(connections, connectionsTo(port));
  }, 50);
  const batchesMs = await release(client, orders.batches);
  clearInterval(count);
  const workedMb = memoryOf(process.pid).rssMb;
  const findings: WorkFindings = { importedMb, workedMb, ...latencies, batchesMs, connections };
  console.log(JSON.stringify(findings));
} else {
  const ended = client.watch(orders.watchPath, () => console.log('watching'));
  await ended.then(
    () => console.log('noticed: ended'),
    (error: Error) => console.log(`noticed: ${error.message}`),
  );
}
process.exit(0);
