/**
 * The workloads of a large cluster: sets of thirty pods, spread over the nodes, each pod with an owner that is there. One set of
 * four is a StatefulSet, whose pods have a volume each.
 */
import type { EtcdEntry } from '../../test/support/control-plane.ts';
import { createdAt, nodeName, uid } from './node-objects.ts';
import { boundClaim, boundVolume, namespace, pod } from './objects.ts';

const podsPerSet = 30;
const setsPerStateful = 4;
const space = 'workloads';

interface PodSet {
  name: string;
  kind: 'StatefulSet' | 'ReplicaSet';
  replicas: number;
}

export function* workloadEntries(pods: number, nodes: number): Generator<EtcdEntry> {
  yield { key: `/registry/namespaces/${space}`, value: namespace(space) };
  for (let first = 0; first < pods; first += podsPerSet) {
    const index = first / podsPerSet;
    const kind = index % setsPerStateful === 0 ? 'StatefulSet' : 'ReplicaSet';
    const name = kind === 'StatefulSet' ? `db-${index}` : `web-${index}-6d4cf56db6`;
    const set: PodSet = { name, kind, replicas: Math.min(podsPerSet, pods - first) };
    yield setEntry(set);
    const template = JSON.stringify(podOf(set));
    for (let ordinal = 0; ordinal < set.replicas; ordinal += 1) {
      const of = kind === 'StatefulSet' ? `${name}-${ordinal}` : `${name}-${uid(`${name}-${ordinal}`).slice(0, 5)}`;
      yield* podEntries(of, template.replaceAll('@node', nodeName((first + ordinal) % nodes)), kind);
    }
  }
}

function* podEntries(name: string, template: string, kind: PodSet['kind']): Generator<EtcdEntry> {
  const value = template.replaceAll('@name', name).replaceAll('@uid', uid(name));
  yield { key: `/registry/pods/${space}/${name}`, value };
  if (kind !== 'StatefulSet') return;
  const [claim, volume] = [`data-${name}`, `pv-${name}`];
  yield { key: `/registry/persistentvolumeclaims/${space}/${claim}`, value: boundClaim(claim, volume) };
  yield { key: `/registry/persistentvolumes/${volume}`, value: boundVolume(claim, volume) };
}

function podOf(set: PodSet): object {
  const { name, kind } = set;
  const { metadata, spec, ...rest } = pod();
  const controller = { apiVersion: 'apps/v1', kind, name, uid: uid(name), controller: true };
  return {
    ...rest,
    metadata: { ...metadata, generateName: `${name}-`, labels: labelsOf(set), ownerReferences: [controller] },
    spec: { ...spec, volumes: volumesOf(set) },
  };
}

function labelsOf({ name }: PodSet): Record<string, string> {
  return { app: name, 'app.kubernetes.io/instance': name };
}

/** The volume of a pod of a StatefulSet comes from a template of the set. */
function volumesOf({ kind }: PodSet): { name: string }[] {
  return pod().spec.volumes.filter(({ name }) => kind === 'StatefulSet' || name !== 'data');
}

function setEntry(set: PodSet): EtcdEntry {
  const { name, kind, replicas } = set;
  const { nodeName: _, ...podSpec } = pod().spec;
  const labels = labelsOf(set);
  const claims = [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } } },
    },
  ];
  const template = {
    metadata: { labels },
    spec: { ...podSpec, volumes: pod().spec.volumes.filter((one) => one.name !== 'data') },
  };
  const plural = kind === 'StatefulSet' ? 'statefulsets' : 'replicasets';
  return {
    key: `/registry/${plural}/${space}/${name}`,
    value: {
      apiVersion: 'apps/v1',
      kind,
      metadata: { name, namespace: space, uid: uid(name), creationTimestamp: createdAt, labels },
      spec: {
        replicas,
        selector: { matchLabels: { app: name } },
        template,
        ...(kind === 'StatefulSet' ? { serviceName: name, volumeClaimTemplates: claims } : {}),
      },
      status: { replicas, readyReplicas: replicas, availableReplicas: replicas, observedGeneration: 1 },
    },
  };
}
