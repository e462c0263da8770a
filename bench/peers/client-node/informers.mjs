/**
 * The stock way in JavaScript: informers of Nodes and of the Leases of kube-node-lease, and a note of when each Lease was
 * last seen to change. Prints "synced" when both caches are complete.
 */
import { CoordinationV1Api, CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node';

const namespace = 'kube-node-lease';
const config = new KubeConfig();
config.loadFromFile(process.argv[2]);
const core = config.makeApiClient(CoreV1Api);
const coordination = config.makeApiClient(CoordinationV1Api);

const nodes = makeInformer(config, '/api/v1/nodes', () => core.listNode());
const leases = makeInformer(config, `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, () =>
  coordination.listNamespacedLease({ namespace }),
);

const seen = new Map();
const note = (lease) => seen.set(lease.metadata.name, performance.now());
leases.on('add', note);
leases.on('update', note);
for (const informer of [nodes, leases]) informer.on('error', (error) => console.error('error', error));

await Promise.all([nodes.start(), leases.start()]);
console.log('synced', nodes.list().length, leases.list().length);
setInterval(() => {
  let stale = 0;
  for (const at of seen.values()) if (performance.now() - at > 12_000) stale += 1;
  return stale;
}, 1000);
