/**
 * Leads, and while it leads counts up in a ConfigMap, twenty times a second. For tests that stop it in the middle.
 *
 *   leading-writer.ts KUBECONFIG IDENTITY [--naive]
 *
 * With --naive it looks whether it leads and then writes, as most programs do. On SIGUSR2 it stops itself, as SIGSTOP
 * would, at the worst moment: when it has looked, and before it writes.
 */
import { readFileSync } from 'node:fs';
import { realClock } from '../../../src/clock.ts';
import type { CallOptions } from '../../../src/kube/client.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { fixedCredential } from '../../../src/kube/credentials.ts';
import { HttpTransport } from '../../../src/kube/http-transport.ts';
import { LeaderElector } from '../../../src/kube/leader.ts';
import { configMaps } from '../../../src/kube/resources.ts';
import type { Term } from '../../../src/kube/term.ts';

interface Kubeconfig {
  clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
  users: [{ user: { token: string } }];
}

const [kubeconfigPath = '', identity = '', mode] = process.argv.slice(2);
const naive = mode === '--naive';
const {
  clusters: [{ cluster }],
  users: [{ user }],
} = JSON.parse(readFileSync(kubeconfigPath, 'utf8')) as Kubeconfig;

const transport = new HttpTransport(
  {
    endpoint: {
      url: new URL(cluster.server),
      ca: Buffer.from(cluster['certificate-authority-data'], 'base64').toString('utf8'),
      insecureSkipTlsVerify: false,
    },
    credentials: fixedCredential({ authorization: `Bearer ${user.token}` }),
    impersonation: {},
    namespace: 'default',
    contextName: 'test',
  },
  realClock,
);
const client = new KubeClient({ transport, clock: realClock, userAgent: identity, fieldManager: identity });
const counter = { resource: configMaps, namespace: 'default', name: 'counter' };

function say(what: string, details: object = {}): void {
  console.log(JSON.stringify({ what, ...details }));
}

async function write(uid: string, count: number, options: CallOptions): Promise<void> {
  const value = { by: identity, count: String(count) };
  const result = await client.patch(counter, { uid }, [{ op: 'add', path: '/data', value }], options);
  if (!result.ok) say('not written', { error: result.error.message });
}

async function lead(term: Term): Promise<void> {
  const read = await client.get(counter);
  if (!read.ok) throw new Error(read.error.message);
  const uid = read.value.metadata.uid ?? '';
  say('leading', { epoch: term.epoch });
  await new Promise<void>((resolve) => {
    const tick = (count: number): void => {
      if (!term.isLeading()) {
        say('lost', { epoch: term.epoch });
        resolve();
        return;
      }
      realClock.after(50, () => tick(count + 1));
      if (stopHere) {
        stopHere = false;
        process.kill(process.pid, 'SIGSTOP');
      }
      void write(uid, count, naive ? {} : { guard: term.isLeading });
    };
    tick(0);
  });
}

let stopHere = false;
process.on('SIGUSR2', () => {
  stopHere = true;
});
const elector = new LeaderElector({
  client,
  clock: realClock,
  random: Math.random,
  lease: { namespace: 'default', name: 'leading-writer' },
  identity,
  timings: { leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 400 },
  onProblem: (problem) => say('problem', { problem }),
});
const shutdown = new AbortController();
process.once('SIGTERM', () => shutdown.abort());
say('started');
await elector.run(shutdown.signal, lead);
client.close();
