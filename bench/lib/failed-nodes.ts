/** Nodes that have failed, with pods that hang in Terminating on them and a volume in use for each. */
import type { EtcdEntry } from '../../test/support/control-plane.ts';
import { nodeEntries, nodeName } from './node-objects.ts';
import { podEntries } from './objects.ts';

export const driver = 'driver.longhorn.io';
export const podNamespace = 'workloads';
export const setName = 'web';

interface StoredNode {
  metadata: { name: string };
  status: {
    conditions: { type: string; status: string; reason?: string }[];
    volumesInUse: string[];
    volumesAttached: { name: string; devicePath: string }[];
  };
}

interface StoredPod {
  metadata: { name: string; uid: string; ownerReferences: object[] } & Record<string, unknown>;
}

export function* failedNodeEntries(nodes: number, podsPerNode: number): Generator<EtcdEntry> {
  const indexesOf = (node: number): number[] => Array.from({ length: podsPerNode }, (_, pod) => node + pod * nodes);
  let index = 0;
  for (const { key, value } of nodeEntries(nodes)) {
    if (!key.startsWith('/registry/minions/')) {
      yield { key, value };
      continue;
    }
    const node = structuredClone(value) as StoredNode;
    const ready = node.status.conditions.find(({ type }) => type === 'Ready');
    if (ready !== undefined) Object.assign(ready, { status: 'Unknown', reason: 'NodeStatusUnknown' });
    const volumesInUse = indexesOf(index).map((pod) => `kubernetes.io/csi/${driver}^${volumeName(pod)}`);
    const volumesAttached = volumesInUse.map((name) => ({ name, devicePath: '' }));
    Object.assign(node.status, { volumesInUse, volumesAttached });
    index += 1;
    yield { key, value: node };
  }
  yield* stuckPodEntries(nodes, podsPerNode);
}

function* stuckPodEntries(nodes: number, podsPerNode: number): Generator<EtcdEntry> {
  let index = 0;
  for (const { key, value } of podEntries(nodes * podsPerNode, nodes)) {
    if (!key.startsWith('/registry/pods/')) {
      yield { key, value };
      continue;
    }
    const pod = JSON.parse(value as string) as StoredPod;
    const controller = { kind: 'StatefulSet', name: setName, uid: pod.metadata.uid, controller: true };
    pod.metadata.ownerReferences = [{ apiVersion: 'apps/v1', ...controller }];
    Object.assign(pod.metadata, { deletionTimestamp: '2026-01-06T08:00:00Z', deletionGracePeriodSeconds: 30 });
    yield { key, value: pod };
    yield* volumeEntries(index, pod.metadata.uid);
    index += 1;
  }
}

function* volumeEntries(index: number, uid: string): Generator<EtcdEntry> {
  const name = volumeName(index);
  const createdAt = '2026-01-05T08:00:00Z';
  const accessModes = ['ReadWriteOnce'];
  const storage = '1Gi';
  yield {
    key: `/registry/persistentvolumeclaims/${podNamespace}/${name}`,
    value: {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: podNamespace, uid: `c${uid.slice(1)}`, creationTimestamp: createdAt },
      spec: { accessModes, resources: { requests: { storage } }, volumeName: name },
      status: { phase: 'Bound', accessModes, capacity: { storage } },
    },
  };
  yield {
    key: `/registry/persistentvolumes/${name}`,
    value: {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name, uid: `d${uid.slice(1)}`, creationTimestamp: createdAt },
      spec: {
        accessModes,
        capacity: { storage },
        csi: { driver, volumeHandle: name },
        persistentVolumeReclaimPolicy: 'Retain',
        claimRef: { kind: 'PersistentVolumeClaim', namespace: podNamespace, name, uid: `c${uid.slice(1)}` },
      },
      status: { phase: 'Bound' },
    },
  };
}

/** As the pods of podEntries call their claims. */
function volumeName(index: number): string {
  return `data-web-${index}`;
}

/** Pods are dealt out to the nodes in turn. */
export function nodeOfPod(pod: string, nodes: number): string {
  return nodeName(Number(pod.slice('web-'.length)) % nodes);
}
