/**
 * How fast the embedded API server is: `node bench/api-server.ts [nodes]`. The simulator's speed rests on it. Prints
 * JSON: requests per second of CPU time by kind of request, through the client as everybody uses it, and events
 * delivered. CPU time, because the machine may be busy with other things, and the server does nothing but compute.
 */
import { KubeClient } from '../src/kube/client.ts';
import { leases, nodes, pods } from '../src/kube/resources.ts';
import { realClock } from '../src/clock.ts';
import { ApiServer } from '../src/world/api-server/server.ts';
import type { Feature } from '../src/world/api-server/kind.ts';

const nodeCount = Number(process.argv[2] ?? 500);
const without = (process.argv[3] ?? '').split(',').filter((name) => name !== '') as Feature[];
let state = 1;
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const server = new ApiServer({ clock: realClock, random, without });
const client = new KubeClient({
  transport: server.transport('bench'),
  clock: realClock,
  userAgent: 'bench',
  fieldManager: 'bench',
});

async function measure(work: (index: number) => Promise<{ ok: boolean }>, count: number): Promise<number> {
  const before = process.cpuUsage();
  for (let index = 0; index < count; index += 1) {
    const result = await work(index);
    if (!result.ok) throw new Error(JSON.stringify(result));
  }
  const { user, system } = process.cpuUsage(before);
  return Math.round((count / (user + system)) * 1e6);
}

/** Reads a watch as fast as it comes, and counts its lines. */
function follow(path: string): { count: () => number; stop: () => void } {
  let lines = 0;
  const abort = new AbortController();
  void (async () => {
    const { body } = await server.handle({ method: 'GET', path, user: 'watcher', signal: abort.signal });
    for await (const _chunk of body) lines += 1;
  })().catch(() => {});
  return { count: () => lines, stop: () => abort.abort() };
}

const names = Array.from({ length: nodeCount }, (_, index) => `node-${index}`);
const nameAt = (index: number): string => names[index % nodeCount] as string;
const condition = (type: string): object => ({
  type,
  status: 'True',
  reason: 'R',
  message: 'kubelet is posting ready status',
});
const status = {
  conditions: ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map(condition),
  capacity: { cpu: '8', memory: '32Gi' },
};
const result: Record<string, number> = { nodes: nodeCount };

result['createNode'] = await measure(
  (index) => client.create(nodes, { metadata: { name: nameAt(index) }, status } as never),
  nodeCount,
);
const podSpec = { containers: [{ name: 'c', image: 'example/c:1' }] };
result['createPod'] = await measure(
  (index) =>
    client.create(pods, {
      metadata: { name: `pod-${index}`, namespace: 'default' },
      spec: { ...podSpec, nodeName: nameAt(index) },
    } as never),
  nodeCount * 10,
);
result['createLease'] = await measure(
  (index) =>
    client.create(leases, {
      metadata: { name: nameAt(index), namespace: 'kube-node-lease' },
      spec: { holderIdentity: 'x' },
    } as never),
  nodeCount,
);
const watches = [
  follow('/apis/coordination.k8s.io/v1/leases?watch=1&resourceVersion=' + server.revision),
  follow('/api/v1/nodes?watch=1&resourceVersion=' + server.revision),
  ...names.map((name) =>
    follow(`/api/v1/pods?watch=1&resourceVersion=${server.revision}&fieldSelector=spec.nodeName%3D${name}`),
  ),
];
const rounds = 20_000;
const ref = (index: number): { resource: typeof leases; namespace: string; name: string } => ({
  resource: leases,
  namespace: 'kube-node-lease',
  name: nameAt(index),
});
const versions = new Map<string, { uid: string }>();
for (const name of names) {
  const read = await client.get({ resource: leases, namespace: 'kube-node-lease', name });
  if (read.ok) versions.set(name, { uid: read.value.metadata.uid ?? '' });
}
result['getLease'] = await measure((index) => client.get(ref(index)), rounds);
result['renewLease'] = await measure(
  (index) =>
    client.patch(ref(index), versions.get(nameAt(index)) as { uid: string }, [
      { op: 'add', path: '/spec/renewTime', value: new Date(index * 1000).toISOString().replace('Z', '000Z') },
    ]),
  rounds,
);
const uids = new Map<string, string>();
for (const name of names) {
  const read = await client.get({ resource: nodes, name });
  if (read.ok) uids.set(name, read.value.metadata.uid ?? '');
}
result['patchNodeStatus'] = await measure(
  (index) =>
    client.patch(
      { resource: nodes, name: nameAt(index) },
      { uid: uids.get(nameAt(index)) ?? '' },
      [{ op: 'replace', path: '/status/conditions/0/message', value: `seen ${index}` }],
      { subresource: 'status' },
    ),
  rounds / 2,
);
const readPod = await client.get({ resource: pods, namespace: 'default', name: 'pod-0' });
if (!readPod.ok) throw new Error('no pod');
result['listPodsOfNode'] = await measure(
  (index) => client.list(pods, { fieldSelector: `spec.nodeName=${nameAt(index)}` }),
  500,
);
result['listAllPods'] = await measure(() => client.list(pods), 20);
await new Promise((resolve) => {
  setImmediate(resolve);
});
result['eventsDelivered'] = watches.reduce((sum, watch) => sum + watch.count(), 0);
for (const watch of watches) watch.stop();
console.log(JSON.stringify(result, null, 2));
