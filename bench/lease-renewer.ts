/**
 * Plays the kubelets' part, in a process of its own so that it is not counted: every Lease is renewed every 10 s, and
 * every Node's heartbeat is written every 5 minutes, as kubelets do when nothing changes. Both are spread evenly.
 * Prints `running`, and then every second how many renewals were really made: a busy machine makes fewer.
 *
 * Renewals are put into etcd, from where the API server tells its watchers of them as of any other: 500 requests a
 * second take it more than one core, and where it has but two, with whoever is measured, nodes would fall silent that
 * nobody has silenced.
 *
 * At SIGUSR2 every other node falls silent, and some time later is said to be Ready=Unknown, as the node controller does it and
 * no faster than its client lets it. At the next SIGUSR2 they come back, each when its renewal is due; then it prints `back`.
 *
 *     node bench/lease-renewer.ts KUBECONFIG ETCD NODES
 */
import { homedir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { realClock } from '../src/clock.ts';
import { HttpTransport } from '../src/kube/http-transport.ts';
import { loadConnection } from '../src/kube/kubeconfig.ts';
import type { HttpRequest, Transport } from '../src/kube/transport.ts';
import { etcdPut } from '../test/support/control-plane/etcd.ts';
import { leaseKey, leaseNamespace } from './lib/node-objects.ts';

const renewEveryMs = 10_000;
const heartbeatEveryMs = 300_000;
const tickMs = 20;
/** How long the node controller waits before it speaks of a silent node, and how many it then speaks of. */
const unknownAfterMs = 50_000;
const unknownPerSecond = 20;
/** Beyond this the server is behind; what is due then is left out, and the printed rate shows it. */
const maxInFlight = 200;
const leasesPath = `/apis/coordination.k8s.io/v1/namespaces/${leaseNamespace}/leases`;

interface Lease {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec: { renewTime: string };
}

class Renewer {
  readonly #transport: Transport;
  readonly #etcd: string;
  readonly #nodes: number;
  readonly #leases: Lease[];
  #inFlight = 0;
  #renewed = 0;
  /** By index of the node: silent, and of them those that are said to be Ready=Unknown. */
  readonly #silent = new Set<number>();
  readonly #unknown = new Set<number>();
  #silentSince: number | undefined;

  constructor(transport: Transport, etcd: string, leases: Lease[]) {
    this.#transport = transport;
    this.#etcd = etcd;
    this.#leases = leases;
    this.#nodes = leases.length;
  }

  /** Every other node falls silent, or is about to come back. */
  toggle(): void {
    if (this.#silentSince !== undefined) {
      this.#silentSince = undefined;
      return;
    }
    this.#silentSince = performance.now();
    for (let index = 1; index < this.#nodes; index += 2) this.#silent.add(index);
  }

  async run(): Promise<void> {
    const startedAt = performance.now();
    let [leasesDone, heartbeatsDone, saidAt] = [0, 0, startedAt];
    for (;;) {
      const now = performance.now();
      const leasesDue = Math.floor(((now - startedAt) / renewEveryMs) * this.#nodes);
      const heartbeatsDue = Math.floor(((now - startedAt) / heartbeatEveryMs) * this.#nodes);
      for (; leasesDone < leasesDue; leasesDone += 1) {
        if (this.#inFlight < maxInFlight) this.#due(leasesDone % this.#nodes);
      }
      for (; heartbeatsDone < heartbeatsDue; heartbeatsDone += 1) {
        if (!this.#silent.has(heartbeatsDone % this.#nodes)) void this.#report(heartbeatsDone % this.#nodes);
      }
      this.#speakOfSilent(now);
      if (now - saidAt > 1000) {
        console.log(`renewed ${this.#renewed}`);
        saidAt = now;
      }
      await delay(tickMs);
    }
  }

  #due(index: number): void {
    if (this.#silent.has(index)) {
      if (this.#silentSince !== undefined) return;
      this.#silent.delete(index);
      if (this.#unknown.delete(index)) void this.#report(index, 'True');
      if (this.#silent.size === 0) console.log('back');
    }
    void this.#renew(this.#leases[index]);
  }

  #speakOfSilent(now: number): void {
    if (this.#silentSince === undefined) return;
    const due = ((now - this.#silentSince - unknownAfterMs) / 1000) * unknownPerSecond;
    for (const index of this.#silent) {
      if (this.#unknown.size >= due) return;
      if (this.#unknown.has(index)) continue;
      this.#unknown.add(index);
      void this.#report(index, 'Unknown');
    }
  }

  async #renew(lease: Lease | undefined): Promise<void> {
    if (lease === undefined) return;
    lease.spec.renewTime = new Date().toISOString().replace('Z', '000Z');
    const isDone = await this.#counted(etcdPut(this.#etcd, [{ key: leaseKey(lease.metadata.name), value: lease }]));
    if (isDone) this.#renewed += 1;
  }

  /** `ready`: where it changes. */
  async #report(index: number, ready?: 'True' | 'Unknown'): Promise<void> {
    const now = new Date().toISOString().replace(/\.\d+/, '');
    const types = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'];
    const reason = ready === 'True' ? 'KubeletReady' : 'NodeStatusUnknown';
    const changed = ready === undefined ? {} : { status: ready, reason, lastTransitionTime: now };
    // The node controller leaves the kubelet's own time as it is.
    const seen = ready === 'Unknown' ? {} : { lastHeartbeatTime: now };
    const conditions = types.map((type) => ({ type, ...seen, ...(type === 'Ready' ? changed : {}) }));
    const asked = answerTo(this.#transport, {
      method: 'PATCH',
      path: `/api/v1/nodes/${this.#leases[index]?.metadata.name}/status`,
      headers: { 'content-type': 'application/strategic-merge-patch+json', accept: 'application/json' },
      body: JSON.stringify({ status: { conditions } }),
      purpose: 'call',
      timeoutMs: 20_000,
    });
    await this.#counted(asked);
  }

  /** Whether it went well. */
  async #counted(asked: Promise<unknown>): Promise<boolean> {
    this.#inFlight += 1;
    try {
      await asked;
      return true;
    } catch {
      return false;
    } finally {
      this.#inFlight -= 1;
    }
  }
}

async function answerTo(transport: Transport, request: HttpRequest): Promise<string> {
  const response = await transport.send(request);
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  if (response.status >= 300) throw new Error(`${request.path}: ${response.status}`);
  return Buffer.concat(chunks).toString('utf8');
}

const [kubeconfig = '', etcd = '', nodes = '0'] = process.argv.slice(2);
const connection = await loadConnection({
  overrides: { kubeconfig },
  env: {},
  home: homedir(),
  clock: realClock,
  stdinIsTerminal: false,
});
const transport = new HttpTransport(connection, realClock);
const listed = await answerTo(transport, { method: 'GET', path: leasesPath, purpose: 'call', timeoutMs: 60_000 });
const { items } = JSON.parse(listed) as { items: Omit<Lease, 'apiVersion' | 'kind'>[] };
const leases = items.map((item) => ({ ...item, apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }));
if (leases.length !== Number(nodes)) throw new Error(`there are ${leases.length} leases instead of ${nodes}`);
const renewer = new Renewer(transport, etcd, leases);
process.on('SIGUSR2', () => renewer.toggle());
console.log('running');
await renewer.run();
