/**
 * Plays the kubelets' part, in a process of its own so that it is not counted: every Lease is renewed every 10 s by a
 * PUT, and every Node's heartbeat is written every 5 minutes, as kubelets do when nothing changes. Both are spread
 * evenly. Prints `running`, and then every second how many renewals were really made: a busy machine makes fewer.
 *
 *     node bench/lease-renewer.ts KUBECONFIG NODES
 */
import { homedir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { realClock } from '../src/clock.ts';
import { HttpTransport } from '../src/kube/http-transport.ts';
import { loadConnection } from '../src/kube/kubeconfig.ts';
import type { HttpRequest, Transport } from '../src/kube/transport.ts';
import { leaseNamespace, nodeName } from './lib/objects.ts';

const renewEveryMs = 10_000;
const heartbeatEveryMs = 300_000;
const tickMs = 20;
/** Beyond this the server is behind; what is due then is left out, and the printed rate shows it. */
const maxInFlight = 200;
const leasesPath = `/apis/coordination.k8s.io/v1/namespaces/${leaseNamespace}/leases`;

interface Lease {
  metadata: { name: string; resourceVersion?: string };
  spec: { renewTime: string };
}

class Renewer {
  readonly #transport: Transport;
  readonly #nodes: number;
  readonly #leases: Lease[];
  #inFlight = 0;
  #renewed = 0;

  constructor(transport: Transport, leases: Lease[]) {
    this.#transport = transport;
    this.#leases = leases;
    this.#nodes = leases.length;
  }

  async run(): Promise<void> {
    const startedAt = performance.now();
    let [leasesDone, heartbeatsDone, saidAt] = [0, 0, startedAt];
    for (;;) {
      const now = performance.now();
      const leasesDue = Math.floor(((now - startedAt) / renewEveryMs) * this.#nodes);
      const heartbeatsDue = Math.floor(((now - startedAt) / heartbeatEveryMs) * this.#nodes);
      for (; leasesDone < leasesDue; leasesDone += 1) {
        if (this.#inFlight < maxInFlight) void this.#renew(this.#leases[leasesDone % this.#nodes]);
      }
      for (; heartbeatsDone < heartbeatsDue; heartbeatsDone += 1) void this.#heartbeat(heartbeatsDone % this.#nodes);
      if (now - saidAt > 1000) {
        console.log(`renewed ${this.#renewed}`);
        saidAt = now;
      }
      await delay(tickMs);
    }
  }

  async #renew(lease: Lease | undefined): Promise<void> {
    if (lease === undefined) return;
    lease.spec.renewTime = new Date().toISOString().replace('Z', '000Z');
    const text = await this.#send({
      method: 'PUT',
      path: `${leasesPath}/${lease.metadata.name}`,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(lease),
    });
    const version = text?.match(/"resourceVersion":"(\d+)"/)?.[1];
    if (version !== undefined) lease.metadata.resourceVersion = version;
    if (text !== undefined) this.#renewed += 1;
  }

  async #heartbeat(index: number): Promise<void> {
    const lastHeartbeatTime = new Date().toISOString().replace(/\.\d+/, '');
    const types = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'];
    await this.#send({
      method: 'PATCH',
      path: `/api/v1/nodes/${nodeName(index)}/status`,
      headers: { 'content-type': 'application/strategic-merge-patch+json', accept: 'application/json' },
      body: JSON.stringify({ status: { conditions: types.map((type) => ({ type, lastHeartbeatTime })) } }),
    });
  }

  async #send(request: Pick<HttpRequest, 'method' | 'path' | 'headers' | 'body'>): Promise<string | undefined> {
    this.#inFlight += 1;
    try {
      return await answerTo(this.#transport, { ...request, purpose: 'call', timeoutMs: 20_000 });
    } catch {
      return undefined;
    } finally {
      this.#inFlight -= 1;
    }
  }
}

async function answerTo(transport: Transport, request: HttpRequest): Promise<string | undefined> {
  const response = await transport.send(request);
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return response.status < 300 ? Buffer.concat(chunks).toString('utf8') : undefined;
}

const [kubeconfig = '', nodes = '0'] = process.argv.slice(2);
const connection = await loadConnection({
  overrides: { kubeconfig },
  env: {},
  home: homedir(),
  clock: realClock,
  stdinIsTerminal: false,
});
const transport = new HttpTransport(connection, realClock);
const listed = await answerTo(transport, { method: 'GET', path: leasesPath, purpose: 'call', timeoutMs: 60_000 });
const leases = (JSON.parse(listed ?? '{"items":[]}') as { items: Lease[] }).items;
if (leases.length !== Number(nodes)) throw new Error(`there are ${leases.length} leases instead of ${nodes}`);
console.log('running');
await new Renewer(transport, leases).run();
