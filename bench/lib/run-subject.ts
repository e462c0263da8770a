/** One program under load: how long until its caches are complete, what it then weighs and burns. */
import * as http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { Child, type Command, cpuSecondsOf, memoryOf } from './process.ts';
import { mean } from './table.ts';

export interface Subject {
  name: string;
  command: (kubeconfig: string) => Command;
  synced: (line: string) => boolean;
  /** Port of its health server, from the line that names it. */
  port?: (line: string) => number | undefined;
}

export interface Figures {
  name: string;
  syncedSeconds: number;
  readySeconds?: number;
  peakMb: number;
  settledMb: number;
  settledAnonymousMb: number;
  cpuSecondsPerMinute: number;
  /** Heartbeats that the server took in the settled window: what the CPU figure has to be seen with. */
  renewalsPerSecond: number;
  startCpuSeconds: number;
}

const syncTimeoutMs = 180_000;

/** Runs for `seconds` after it was started; the last third, 20 s at the most, is the settled window. */
export async function runSubject(subject: Subject, cluster: Cluster, seconds: number): Promise<Figures> {
  await using child = new Child(subject.name, subject.command(cluster.controlPlane.kubeconfigPath));
  const since = (): number => (performance.now() - child.startedAt) / 1000;
  const { port } = subject;
  const ready =
    port === undefined
      ? Promise.resolve(undefined)
      : child.line('its port', port, syncTimeoutMs).then(async (found) => {
          await untilReady(found, child);
          return since();
        });
  // Observed in any case, so that a failure elsewhere leaves no rejection behind.
  ready.catch(() => {});
  await child.line('synced', (line) => subject.synced(line) || undefined, syncTimeoutMs);
  const syncedSeconds = since();
  const startCpuSeconds = cpuSecondsOf(child.pid);
  const readySeconds = await ready;
  const windowSeconds = Math.min(20, seconds / 3);
  await delay(Math.max(0, seconds - windowSeconds - since()) * 1000);
  const settled = await window(child.pid, windowSeconds, cluster.renewed);
  return {
    name: subject.name,
    syncedSeconds,
    ...(readySeconds !== undefined && { readySeconds }),
    startCpuSeconds,
    peakMb: memoryOf(child.pid).peakMb,
    ...settled,
  };
}

type Settled = Pick<Figures, 'settledMb' | 'settledAnonymousMb' | 'cpuSecondsPerMinute' | 'renewalsPerSecond'>;

async function window(pid: number, seconds: number, renewed: () => number): Promise<Settled> {
  const samples: { rssMb: number; anonymousMb: number }[] = [];
  const startedAt = performance.now();
  const cpuBefore = cpuSecondsOf(pid);
  const renewedBefore = renewed();
  while (performance.now() - startedAt < seconds * 1000) {
    await delay(500);
    samples.push(memoryOf(pid));
  }
  const minutes = (performance.now() - startedAt) / 60_000;
  return {
    settledMb: mean(samples.map(({ rssMb }) => rssMb)),
    settledAnonymousMb: mean(samples.map(({ anonymousMb }) => anonymousMb)),
    cpuSecondsPerMinute: (cpuSecondsOf(pid) - cpuBefore) / minutes,
    renewalsPerSecond: (renewed() - renewedBefore) / minutes / 60,
  };
}

async function untilReady(port: number, child: Child): Promise<void> {
  const deadline = performance.now() + syncTimeoutMs;
  while (performance.now() < deadline) {
    if (child.ended) throw new Error('ended before it was ready');
    if ((await statusOf(port)) === 200) return;
    await delay(20);
  }
  throw new Error('not ready in time');
}

function statusOf(port: number): Promise<number> {
  return new Promise((resolve) => {
    const request = http.get({ host: '127.0.0.1', port, path: '/readyz', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.once('error', () => resolve(0));
  });
}
