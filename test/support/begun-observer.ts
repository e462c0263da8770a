/** An observer that has seen everything once, and its watches. */
import { KubeClient } from '../../src/kube/client.ts';
import type { KubeObject } from '../../src/kube/client.ts';
import { Observer } from '../../src/observe/observer.ts';
import { manualClock } from './manual-clock.ts';
import { ScriptedServer, type WatchStream } from './scripted-server.ts';

export function node(name: string, resourceVersion: string, lastHeartbeatTime = 'then'): KubeObject {
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: 'then' };
  const conditions = [{ ...ready, lastHeartbeatTime }];
  return { metadata: { name, uid: `uid-${name}`, resourceVersion }, status: { conditions } } as KubeObject;
}

export function lease(name: string, resourceVersion: string, renewTime: string, more: object = {}): KubeObject {
  const metadata = { name, namespace: 'kube-node-lease', uid: `lease-${name}`, resourceVersion };
  return { metadata, spec: { renewTime, ...more } } as KubeObject;
}

export async function begin() {
  const server = new ScriptedServer();
  const clock = manualClock();
  const transport = { send: server.send, close: () => {} };
  const touched: string[] = [];
  const problems: string[] = [];
  const observer = new Observer({
    client: new KubeClient({ transport, clock, userAgent: 't', fieldManager: 't' }),
    clock,
    random: () => 1,
    onNode: (name, what) => touched.push(`${what} ${name}`),
    onProblem: (watch, error) => problems.push(`${watch} ${error.kind}`),
  });
  const stop = new AbortController();
  const running = observer.run(stop.signal);
  await server.list('10', [node('a', '5')], undefined, '/nodes');
  await server.list('10', [lease('a', '6', 'one')], undefined, '/leases');
  await observer.firstSync;
  const watches: Record<'nodes' | 'leases', WatchStream> = {
    nodes: await server.watch('/nodes'),
    leases: await server.watch('/leases'),
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { server, clock, observer, touched, problems, watches, end };
}
