/**
 * Which HTTP client to talk to the API server with: Node's own HTTP/2 and HTTP/1.1 as the product uses them, undici and
 * the built-in fetch, each in a process of its own against the same real server.
 *
 *     node bench/http-client.ts [--rounds 3]
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ControlPlane, startControlPlane } from '../test/support/control-plane.ts';
import { FaultProxy } from '../test/support/fault-proxy.ts';
import type { Orders, WorkFindings } from './children/http-client.ts';
import { candidates, type Candidate, type Target } from './lib/http-clients.ts';
import { leaseNamespace, nodeEntries, nodeName } from './lib/node-objects.ts';
import { podEntries } from './lib/objects.ts';
import { bundleChild, ensureNpmPeer } from './lib/packages.ts';
import { nodeFlags } from '../build/bundle.ts';
import { Child } from './lib/process.ts';
import { keep, machine, say, type Report } from './lib/report.ts';
import { markdownTable, ratio } from './lib/table.ts';

const reads = 2000;
const podsPerNode = 110;
const batchCount = 2;
const silenceLimitMs = 60_000;

interface Findings extends WorkFindings {
  candidate: Candidate;
  /** Undefined: not within the limit. */
  noticedSeconds: number | undefined;
}

export async function httpClientBench(rounds: number): Promise<Report> {
  const undiciDir = await ensureNpmPeer('undici');
  const program = await bundleChild(join(import.meta.dirname, 'children', 'http-client.ts'));
  await using controlPlane = await startControlPlane({ name: 'bench-http-client' });
  await controlPlane.etcdPut(nodeEntries(2));
  const caFile = join(controlPlane.dir, 'bench-ca.pem');
  await writeFile(caFile, controlPlane.caCert);
  const target: Target = { url: controlPlane.url, caFile, token: controlPlane.token, undiciDir };
  const worked = new Map<Candidate, WorkFindings[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const candidate of candidates) {
      const found = await work(controlPlane, program, { candidate, target });
      worked.set(candidate, [...(worked.get(candidate) ?? []), found]);
      say(`${candidate}: ${JSON.stringify(found)}`);
    }
  }
  const noticed = await Promise.all(
    candidates.map((candidate) => silence(controlPlane, program, { candidate, target })),
  );
  const findings = candidates.map((candidate, index): Findings => {
    const best = bestOf(worked.get(candidate) ?? []);
    return { candidate, ...best, noticedSeconds: noticed[index] };
  });
  return keep({ name: 'http-client', text: render(findings) }, findings);
}

interface Who {
  candidate: Candidate;
  target: Target;
}

async function work(controlPlane: ControlPlane, program: string, who: Who): Promise<WorkFindings> {
  await controlPlane.etcdPut(podEntries(podsPerNode * batchCount, batchCount));
  const path = (index: number): string => `/api/v1/namespaces/workloads/pods/web-${index}`;
  const batches = Array.from({ length: batchCount }, (_, batch) =>
    Array.from({ length: podsPerNode }, (_unused, index) => path(batch * podsPerNode + index)),
  );
  const readPath = `/apis/coordination.k8s.io/v1/namespaces/${leaseNamespace}/leases/${nodeName(0)}`;
  await using child = start(program, { ...who, readPath, reads, batches });
  return await child.line(
    'its findings',
    (line) => (line.startsWith('{') ? (JSON.parse(line) as WorkFindings) : undefined),
    120_000,
  );
}

/** How long an idle watch takes to notice that nothing comes through any more, in either direction. */
async function silence(
  controlPlane: ControlPlane,
  program: string,
  { candidate, target }: Who,
): Promise<number | undefined> {
  await using proxy = await FaultProxy.start(controlPlane.port);
  const watchPath =
    '/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=600&fieldSelector=metadata.name%3Dnone';
  const through = { ...target, url: `https://127.0.0.1:${proxy.port}` };
  await using child = start(program, { candidate, target: through, readPath: '', reads: 0, batches: [], watchPath });
  await child.line('watching', (line) => line === 'watching' || undefined, 30_000);
  const startedAt = performance.now();
  proxy.blackhole();
  const noticed = await child
    .line('noticed', (line) => line.startsWith('noticed') || undefined, silenceLimitMs)
    .catch(() => false);
  const seconds = (performance.now() - startedAt) / 1000;
  say(`${candidate}: ${noticed ? `noticed after ${seconds.toFixed(1)} s` : 'noticed nothing'}`);
  return noticed ? seconds : undefined;
}

function start(program: string, orders: Orders): Child {
  return new Child(orders.candidate, {
    file: process.execPath,
    // The same for all, and as the product runs: otherwise the size of the young generation is all that is seen.
    args: [...nodeFlags, program, JSON.stringify(orders)],
    env: orders.candidate === 'fetch' ? { NODE_EXTRA_CA_CERTS: orders.target.caFile } : {},
  });
}

/** Of times the least, which is what the machine's other work disturbs least; of memory the most. */
function bestOf(all: WorkFindings[]): WorkFindings {
  const least = (pick: (one: WorkFindings) => number): number => Math.min(...all.map(pick));
  const most = (pick: (one: WorkFindings) => number): number => Math.max(...all.map(pick));
  return {
    importedMb: most((one) => one.importedMb),
    workedMb: most((one) => one.workedMb),
    p50Ms: least((one) => one.p50Ms),
    p99Ms: least((one) => one.p99Ms),
    batchesMs: least((one) => one.batchesMs),
    connections: most((one) => one.connections),
  };
}

function render(findings: Findings[]): string {
  const [reference] = findings;
  const heads = [
    'client',
    'MB loaded',
    'MB after work',
    '',
    'GET p50 ms',
    '',
    'p99 ms',
    `${2 * podsPerNode * batchCount} writes ms`,
    '',
    'connections',
    'silence noticed after',
  ];
  const rows = findings.map((one) => [
    one.candidate,
    one.importedMb.toFixed(0),
    one.workedMb.toFixed(0),
    ratio(one.workedMb, reference?.workedMb ?? 0),
    one.p50Ms.toFixed(2),
    ratio(one.p50Ms, reference?.p50Ms ?? 0),
    one.p99Ms.toFixed(2),
    one.batchesMs.toFixed(0),
    ratio(one.batchesMs, reference?.batchesMs ?? 0),
    String(one.connections),
    one.noticedSeconds === undefined ? `not in ${silenceLimitMs / 1000} s` : `${one.noticedSeconds.toFixed(1)} s`,
  ]);
  return markdownTable(heads, rows);
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { type: 'string' } } });
  console.log(machine());
  console.log(`\n${(await httpClientBench(Number(values.rounds ?? '3'))).text}`);
}
