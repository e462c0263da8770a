/** A StatefulSet of one pod on a volume of the storage server, whose program appends to a file and reads all of it back. */
import type { KubeObject } from '../../../src/kube/client.ts';
import { pods } from '../../../src/kube/resources.ts';
import { waitFor } from '../wait.ts';
import { directDriver, type RealCluster } from './cluster.ts';
import { workloadImage } from './images.ts';

export interface DatabasePod {
  uid: string;
  node: string;
  isRunning: boolean;
  isTerminating: boolean;
}

export interface DatabaseOptions {
  driver: string;
  nodeSelector?: Readonly<Record<string, string>>;
  /** How long it waits between two lines. */
  everyMs?: number;
  /** What its driver says of itself. */
  driverAnnotations?: Readonly<Record<string, string>>;
}

interface PodStatus {
  spec?: { nodeName?: string };
  status?: { phase?: string; conditions?: { type: string; status: string }[] };
}

export class Database {
  readonly name: string;
  readonly #cluster: RealCluster;
  readonly #seen = new Map<string, string>();

  private constructor(cluster: RealCluster, name: string) {
    this.#cluster = cluster;
    this.name = name;
  }

  static async install(cluster: RealCluster, name: string, options: DatabaseOptions): Promise<Database> {
    const database = new Database(cluster, name);
    const list = { apiVersion: 'v1', kind: 'List', items: objectsOf(name, options) };
    const { code, stderr } = await cluster.controlPlane.kubectl(['apply', '--server-side', '-f', '-'], {
      input: JSON.stringify(list),
    });
    if (code !== 0) throw new Error(stderr);
    return database;
  }

  get volume(): string {
    return `${this.name}-disk`;
  }

  /** Of the moment; nothing where there is none. */
  async pod(): Promise<DatabasePod | undefined> {
    const answer = await this.#cluster.client.get({ resource: pods, namespace: 'default', name: `${this.name}-0` });
    if (!answer.ok) {
      if (answer.error.kind === 'notFound') return undefined;
      throw new Error(answer.error.message);
    }
    return this.#understood(answer.value);
  }

  /** Running, written to, and another pod than `before`. */
  async untilWriting(before?: DatabasePod, timeoutMs = 120_000): Promise<DatabasePod> {
    return waitFor(
      `${this.name} to write`,
      async () => {
        const pod = await this.pod();
        if (pod === undefined || !pod.isRunning || pod.isTerminating || pod.uid === before?.uid) return undefined;
        const said = await this.#cluster.node(pod.node).saidBy(pod.uid);
        return said.some((line) => line.startsWith('wrote ')) ? pod : undefined;
      },
      { timeoutMs },
    );
  }

  /**
   * What was on the disk by the word of one pod, and not there for the next; and what was there that cannot have been written by one
   * at a time. Nothing, if all is well.
   */
  async losses(): Promise<string[]> {
    const losses: string[] = [];
    let acknowledged = 0;
    for (const [uid, node] of this.#seen) {
      for (const line of await this.#cluster.node(node).saidBy(uid)) {
        const [word, ...rest] = line.split(' ');
        const counter = Number(rest[0]);
        if (word === 'wrote') acknowledged = Math.max(acknowledged, counter);
        else if (word === 'broken') losses.push(`on ${node}: ${rest.join(' ')}`);
        else if (word === 'read' && counter < acknowledged) {
          losses.push(`${acknowledged} lines were acknowledged, and ${node} found ${counter}`);
        }
      }
    }
    return losses;
  }

  #understood({ metadata, ...rest }: KubeObject): DatabasePod {
    const { spec, status } = rest as PodStatus;
    const uid = metadata.uid ?? '';
    const node = spec?.nodeName ?? '';
    if (node !== '') this.#seen.set(uid, node);
    const isReady = status?.conditions?.some(({ type, status: said }) => type === 'Ready' && said === 'True') ?? false;
    const isTerminating = metadata.deletionTimestamp !== undefined;
    return { uid, node, isRunning: status?.phase === 'Running' && isReady, isTerminating };
  }
}

function objectsOf(name: string, options: DatabaseOptions): object[] {
  const { driver, nodeSelector = {}, everyMs = 200, driverAnnotations: annotations = {} } = options;
  const labels = { app: name };
  const access = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  return [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: driver, annotations },
      spec: { attachRequired: driver !== directDriver },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `${name}-disk` },
      spec: {
        ...access,
        capacity: { storage: '16Mi' },
        csi: { driver, volumeHandle: `${name}-disk` },
        claimRef: { namespace: 'default', name: `data-${name}-0` },
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name, namespace: 'default' },
      spec: {
        serviceName: name,
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec(nodeSelector, everyMs) },
        volumeClaimTemplates: [
          { metadata: { name: 'data' }, spec: { ...access, resources: { requests: { storage: '16Mi' } } } },
        ],
      },
    },
  ];
}

function podSpec(nodeSelector: Readonly<Record<string, string>>, everyMs: number): object {
  return {
    nodeSelector,
    terminationGracePeriodSeconds: 5,
    automountServiceAccountToken: false,
    containers: [
      {
        name: 'main',
        image: workloadImage,
        imagePullPolicy: 'Never',
        args: ['write', '--file=/data/log', '--as=$(POD_UID)', `--every-ms=${everyMs}`],
        env: [{ name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } }],
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
  };
}
