/** What tests of the simulated fleet say to the API server as its users and administrators. */
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import type { Result } from '../../src/kube/errors.ts';
import type { Resource } from '../../src/kube/resources.ts';
import {
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
} from '../../src/kube/resources.ts';
import type { Fleet } from '../../src/world/fleet.ts';
import type { Machine } from '../../src/world/machines/machine.ts';
import type { Lease, Node, Taint } from '../../src/world/objects/nodes.ts';
import type { Pod } from '../../src/world/objects/pods.ts';
import type { PersistentVolume, VolumeAttachment } from '../../src/world/objects/volumes.ts';
import { clientFor } from './client.ts';
import type { ControlPlane } from './control-plane.ts';
import { waitFor } from './wait.ts';

const statefulSets: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'statefulsets',
  kind: 'StatefulSet',
  namespaced: true,
};
/** A database of one, where it runs, and its volume. */
export interface RunningSet {
  pod: Pod;
  machine: Machine;
  volume: string;
}

const namespace = 'default';
const held = 'test/hold';

export class FleetCluster {
  readonly #client: KubeClient;
  readonly #fleet: Fleet;
  readonly #driver: string;

  constructor(controlPlane: ControlPlane, fleet: Fleet, driver: string) {
    this.#client = clientFor(controlPlane);
    this.#fleet = fleet;
    this.#driver = driver;
  }

  close(): void {
    this.#client.close();
  }

  async allReady(): Promise<void> {
    await waitFor(
      'every node to be Ready and free of taints',
      async () => {
        const { items } = valueOf(await this.#client.list<Node>(nodes));
        const ready = items.filter(({ status, spec }) => spec?.taints === undefined && isReady({ status }));
        return ready.length === this.#fleet.kubelets.size;
      },
      { timeoutMs: 20_000 },
    );
  }

  async node(name: string): Promise<Node> {
    return valueOf(await this.#client.get<Node>({ resource: nodes, name }));
  }

  async hasNode(name: string): Promise<boolean> {
    return presentOf(await this.#client.get<Node>({ resource: nodes, name })) !== undefined;
  }

  async deleteNode(name: string): Promise<void> {
    await this.#remove(nodes, name);
  }

  async lease(name: string): Promise<Lease> {
    return valueOf(await this.#client.get<Lease>({ resource: leases, namespace: 'kube-node-lease', name }));
  }

  async pod(name: string): Promise<Pod | undefined> {
    return presentOf(await this.#client.get<Pod>({ resource: pods, namespace, name }));
  }

  async attachmentOf(volume: string): Promise<VolumeAttachment | undefined> {
    const { items } = valueOf(await this.#client.list<VolumeAttachment>(volumeAttachments));
    return items.find(({ spec }) => spec.source.persistentVolumeName === volume);
  }

  machineOf(pod: Pod): Machine {
    return this.#fleet.machine(pod.spec.nodeName ?? '');
  }

  /** One replica with one volume of its own, Ready; on a node that it would rather be on than elsewhere, if one is named. */
  async statefulSet(name: string, wish: { driver?: string; on?: string } = {}): Promise<RunningSet> {
    const volume = `pv-${name}`;
    const { volumeObject, set } = manifests(name, volume, { driver: this.#driver, ...wish });
    valueOf(await this.#client.create(persistentVolumes, volumeObject));
    valueOf(await this.#client.create(statefulSets, set));
    const pod = await waitFor(`${name}-0 to be Ready`, async () => {
      const now = await this.pod(`${name}-0`);
      return now !== undefined && isReady(now) && now;
    });
    return { pod, machine: this.machineOf(pod), volume };
  }

  /** It runs on another node, as another pod, and has its volume there. */
  async movedFrom({ pod, machine, volume }: RunningSet, timeoutMs = 90_000): Promise<Pod> {
    const { name, uid } = pod.metadata;
    const look = async (): Promise<Pod | undefined> => {
      const now = await this.pod(name);
      return now !== undefined && now.metadata.uid !== uid && isReady(now) ? now : undefined;
    };
    const moved = await waitFor(`${name} to run elsewhere`, look, { timeoutMs });
    const holder = (await this.attachmentOf(volume))?.spec.nodeName;
    if (moved.spec.nodeName === machine.name || holder !== moved.spec.nodeName) {
      throw new Error(`${name} is on ${moved.spec.nodeName}, and its volume on ${holder}`);
    }
    return moved;
  }

  /** Nothing keeps pods away from the node any more. */
  async inService(node: string, timeoutMs = 180_000): Promise<void> {
    const look = async (): Promise<boolean> => {
      const { spec, status } = await this.node(node);
      return isReady({ status }) && spec?.taints === undefined && spec?.unschedulable !== true;
    };
    await waitFor(`${node} to be in service`, look, { timeoutMs });
  }

  async deleteStatefulSet(name: string, { wait = true } = {}): Promise<void> {
    await this.#remove(statefulSets, name, { propagationPolicy: 'Background' });
    if (wait) await waitFor(`${name}-0 to go`, async () => (await this.pod(`${name}-0`)) === undefined);
  }

  /** With a finalizer, so that the pod can be looked at after whoever deletes it. */
  async createPod(
    name: string,
    spec: Partial<Pod['spec']>,
    annotations: Record<string, string> = {},
    labels: Record<string, string> = {},
  ): Promise<void> {
    const containers = [{ name: 'main', image: 'example/main:1' }];
    const metadata = { name, namespace, annotations, labels };
    const finalizers = Object.keys(annotations).length === 0 ? [held] : [];
    valueOf(
      await this.#client.create<Pod>(pods, {
        metadata: { ...metadata, finalizers },
        spec: { terminationGracePeriodSeconds: 2, containers, ...spec },
      }),
    );
  }

  async forceDelete({ metadata: { name, uid = '' } }: Pod): Promise<void> {
    valueOf(await this.#client.delete({ resource: pods, namespace, name }, { uid }, { gracePeriodSeconds: 0 }));
  }

  async taint(name: string, taint: Taint): Promise<void> {
    await this.#changeTaints(name, (taints) => [...taints, taint]);
  }

  async untaint(name: string, key: string): Promise<void> {
    await this.#changeTaints(name, (taints) => taints.filter((taint) => taint.key !== key));
  }

  /** Removes what a test made. Pods must go by themselves unless their node cannot. */
  async clean(): Promise<void> {
    for (const { metadata } of valueOf(await this.#client.list(statefulSets, { namespace })).items) {
      await this.#remove(statefulSets, metadata.name, { propagationPolicy: 'Background' });
    }
    for (const pod of valueOf(await this.#client.list<Pod>(pods, { namespace })).items) {
      const { name, uid = '', finalizers } = pod.metadata;
      const ref = { resource: pods, namespace, name };
      if (finalizers?.includes(held)) {
        await this.#client.patch(ref, { uid }, [{ op: 'remove', path: '/metadata/finalizers' }]);
      }
      await this.#client.delete(ref, { uid }, { gracePeriodSeconds: 0 });
    }
    for (const resource of [persistentVolumeClaims, persistentVolumes]) {
      const query = resource.namespaced ? { namespace } : {};
      const { items } = valueOf(await this.#client.list(resource, query));
      for (const { metadata } of items) await this.#remove(resource, metadata.name);
    }
    await waitFor('the pods to go', async () => {
      const { items } = valueOf(await this.#client.list<Pod>(pods, { namespace }));
      return items.length === 0;
    });
  }

  async #changeTaints(name: string, change: (taints: Taint[]) => Taint[]): Promise<void> {
    await waitFor(`the taints of ${name}`, async () => {
      const node = await this.node(name);
      const { uid = '', resourceVersion = '' } = node.metadata;
      const value = change(node.spec?.taints ?? []);
      const operations = [{ op: 'add' as const, path: '/spec/taints', value }];
      return (await this.#client.patch({ resource: nodes, name }, { uid, resourceVersion }, operations)).ok;
    });
  }

  async #remove(resource: Resource, name: string, options: { propagationPolicy?: 'Background' } = {}): Promise<void> {
    const ref = resource.namespaced ? { resource, namespace, name } : { resource, name };
    const found = presentOf(await this.#client.get(ref));
    if (found === undefined) return;
    presentOf(await this.#client.delete(ref, { uid: found.metadata.uid ?? '' }, options));
  }
}

function isReady({ status }: { status?: { conditions?: { type: string; status: string }[] } | undefined }): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}

/** As a preference: whoever dies there may run elsewhere. */
function preferring(node: string): object {
  const preference = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] };
  return { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }] } };
}

function manifests(
  name: string,
  volume: string,
  { driver, on }: { driver: string; on?: string },
): { volumeObject: PersistentVolume; set: KubeObject } {
  const accessModes = ['ReadWriteOnce'];
  const claim = { accessModes, storageClassName: '', resources: { requests: { storage: '1Gi' } } };
  const volumeSpec = {
    capacity: { storage: '1Gi' },
    accessModes,
    storageClassName: '',
    persistentVolumeReclaimPolicy: 'Retain',
    csi: { driver, volumeHandle: volume },
    claimRef: { namespace, name: `data-${name}-0` },
  };
  const spec = {
    serviceName: name,
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        terminationGracePeriodSeconds: 3,
        containers: [{ name: 'main', image: 'example/main:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
        ...(on === undefined ? {} : { affinity: preferring(on) }),
      },
    },
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }],
  };
  return {
    volumeObject: { metadata: { name: volume }, spec: volumeSpec },
    set: { metadata: { name, namespace }, spec } as KubeObject,
  };
}

function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

function presentOf<T>(result: Result<T>): T | undefined {
  return !result.ok && result.error.kind === 'notFound' ? undefined : valueOf(result);
}
