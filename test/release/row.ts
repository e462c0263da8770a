/** One row of a test plan: a node that fails, a namespace with its workloads, and what became of them. */
import type { NodeFence } from '../../src/api/node-fence.ts';
import type { KubeObject } from '../../src/kube/client.ts';
import {
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  remedyPolicies,
} from '../../src/kube/resources.ts';
import type { Resource } from '../../src/kube/resources.ts';
import { configMaps, daemonSets, deployments, jobs, statefulSets } from '../../src/world/controllers/resources.ts';
import type { Machine } from '../../src/world/machines/machine.ts';
import type { Node, Taint } from '../../src/world/objects/nodes.ts';
import type { Pod, Toleration } from '../../src/world/objects/pods.ts';
import type { Moment } from './history.ts';
import type { ReleaseWorld } from './world.ts';
import { listed, spare } from './world.ts';

export interface RowSpec {
  /** Of the node, the namespace and the policy. */
  name: string;
  title: string;
  /** Makes what is there before the trouble. */
  prepare: (row: Row) => Promise<void>;
  run: (row: Row) => Promise<void>;
}

export interface Wish {
  driver?: string;
  modes?: string[];
  /** Instead of a CSI volume. */
  source?: 'nfs' | 'local';
}

export interface WorkloadOptions {
  volumes?: Wish[];
  graceSeconds?: number;
  tolerations?: (Toleration & { tolerationSeconds?: number })[];
  annotations?: Record<string, string>;
  /** Runs on the node of the row, and nowhere else. */
  pinned?: boolean;
}

export type WorkloadKind = 'StatefulSet' | 'Deployment' | 'DaemonSet' | 'Job' | 'bare' | 'owned';

const controllers: Partial<Record<WorkloadKind, Resource>> = {
  StatefulSet: statefulSets,
  Deployment: deployments,
  DaemonSet: daemonSets,
  Job: jobs,
};

export class Row {
  readonly world: ReleaseWorld;
  readonly name: string;
  /** The pods of before the trouble, by app. */
  readonly #old = new Map<string, Pod>();
  readonly #apps: string[] = [];

  constructor(world: ReleaseWorld, name: string) {
    this.world = world;
    this.name = name;
  }

  get machine(): Machine {
    return this.world.fleet.machine(this.name);
  }

  async namespace(): Promise<void> {
    await this.world.create(namespaces, { metadata: { name: this.name } });
  }

  async policy(release: Record<string, unknown>, more: Record<string, unknown> = {}): Promise<void> {
    const spec = {
      selector: { matchLabels: { row: this.name } },
      release: { provisioners: [listed], ...release },
      return: { soak: '2s' },
      ...more,
    };
    await this.world.create(remedyPolicies, { metadata: { name: this.name }, spec });
  }

  async workload(kind: WorkloadKind, app: string, options: WorkloadOptions = {}): Promise<void> {
    this.#apps.push(app);
    const isSet = kind === 'StatefulSet';
    const wishes = options.volumes ?? [];
    const claims = wishes.map((_, index) => (isSet ? `v${index}-${app}-0` : `${app}-${index}`));
    for (const [index, wish] of wishes.entries())
      await this.#volume(this.volume(app, index), claims[index] ?? '', wish);
    if (!isSet) {
      for (const [index, wish] of wishes.entries()) await this.#claim(claims[index] ?? '', wish);
    }
    const template = this.#template(kind, app, options, isSet ? [] : claims);
    const metadata = { name: app, namespace: this.name };
    const resource = controllers[kind];
    if (resource === undefined) {
      await this.#podOf(kind, app, template);
      return;
    }
    const selector = { matchLabels: { app } };
    const spec = {
      template,
      ...(kind === 'Job' ? {} : { selector }),
      ...(isSet ? { serviceName: app, volumeClaimTemplates: claimTemplates(wishes) } : {}),
    };
    await this.world.create(resource, { metadata, spec });
  }

  /** Until everything runs on the node that is to fail. */
  async settle(apps: readonly string[] = this.#apps): Promise<void> {
    for (const app of apps) {
      const pod = await this.world.until(`${this.name}/${app} to be Ready`, () => this.pods(app).find(isReady));
      if (pod.spec.nodeName !== this.name) throw new Error(`${this.name}/${app} is on ${pod.spec.nodeName}`);
      this.#old.set(app, pod);
    }
  }

  volume(app: string, index = 0): string {
    return `${this.name}-${app}-${index}`;
  }

  old(app: string): Pod {
    const pod = this.#old.get(app);
    if (pod === undefined) throw new Error(`nobody has seen ${this.name}/${app} before the trouble`);
    return pod;
  }

  oldUid(app: string): string {
    return this.old(app).metadata.uid ?? '';
  }

  pods(app?: string): Pod[] {
    return this.world.history
      .now('pods')
      .filter(
        ({ metadata }) => metadata.namespace === this.name && (app === undefined || metadata.labels?.['app'] === app),
      );
  }

  /** The pod of before as it is now, if it is still there. */
  left(app: string): Pod | undefined {
    return this.pods(app).find(({ metadata }) => metadata.uid === this.oldUid(app));
  }

  node(): Node {
    const node = this.world.history.now('nodes').find(({ metadata }) => metadata.name === this.name);
    if (node === undefined) throw new Error(`there is no node ${this.name}`);
    return node;
  }

  ready(): string | undefined {
    return this.node().status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  }

  taints(): string[] {
    return (this.node().spec?.taints ?? []).map(({ key }) => key).sort();
  }

  fence(): NodeFence | undefined {
    return this.world.history.now('nodeFences').find(({ spec }) => spec.node === this.name);
  }

  stuck(app: string): NodeFence['status']['stuck'][number] | undefined {
    const { name } = this.old(app).metadata;
    return this.fence()?.status.stuck?.find((one) => one.namespace === this.name && one.name === name);
  }

  terminating(app: string): Promise<Pod> {
    return this.world.until(`the old pod of ${this.name}/${app} to be terminating`, () => {
      const pod = this.left(app);
      return pod?.metadata.deletionTimestamp !== undefined && pod;
    });
  }

  isDown(): Promise<boolean> {
    return this.world.until(`${this.name} to be not Ready`, () => this.ready() === 'Unknown');
  }

  isReady(): Promise<boolean> {
    return this.world.until(`${this.name} to be Ready`, () => this.ready() === 'True');
  }

  /** The old pod goes. */
  gone(app: string): Promise<Moment<Pod>> {
    return this.world.until(`the old pod of ${this.name}/${app} to go`, () =>
      this.podMoments(app).find(({ type }) => type === 'deleted'),
    );
  }

  replaced(app: string): Promise<Pod> {
    return this.world.until(`a new pod of ${this.name}/${app} to be Ready`, () => this.replacement(app));
  }

  replacement(app: string): Pod | undefined {
    return this.pods(app).find(
      (pod) => pod.metadata.uid !== this.oldUid(app) && isReady(pod) && pod.spec.nodeName?.startsWith(spare),
    );
  }

  podMoments(app: string): Moment<Pod>[] {
    return this.world.history.of('pods', ({ metadata }) => metadata.uid === this.oldUid(app));
  }

  nodeMoments(): Moment<Node>[] {
    return this.world.history.of('nodes', ({ metadata }) => metadata.name === this.name);
  }

  /** Returns when the history has it as well, which hears of a write some time after whoever wrote it. */
  async taint(taint: Taint): Promise<void> {
    const { key, value = '', effect } = taint;
    const before = this.nodeMoments().length;
    const done = await this.world.controlPlane.kubectl(['taint', 'node', this.name, `${key}=${value}:${effect}`]);
    if (done.code !== 0) throw new Error(done.stderr);
    await this.world.until(`the history to have the taint ${key} of ${this.name}`, () =>
      this.nodeMoments()
        .slice(before)
        .find(({ object }) => object.spec?.taints?.some((has) => has.key === key)),
    );
  }

  async untaint(key: string): Promise<void> {
    const done = await this.world.controlPlane.kubectl(['taint', 'node', this.name, `${key}-`]);
    if (done.code !== 0) throw new Error(done.stderr);
  }

  async deletePod(app: string): Promise<void> {
    const { name, uid = '' } = this.old(app).metadata;
    const done = await this.world.client.delete({ resource: pods, namespace: this.name, name }, { uid });
    if (!done.ok) throw new Error(done.error.message);
  }

  async deleteNode(): Promise<void> {
    const { uid = '' } = this.node().metadata;
    const done = await this.world.client.delete({ resource: nodes, name: this.name }, { uid });
    if (!done.ok) throw new Error(done.error.message);
  }

  async #podOf(kind: WorkloadKind, app: string, template: Template): Promise<void> {
    const { metadata, spec } = template;
    const pod = { metadata: { ...metadata, name: app, namespace: this.name }, spec };
    if (kind !== 'owned') {
      await this.world.create(pods, pod);
      return;
    }
    const owner = await this.world.create<KubeObject>(configMaps, { metadata: { name: app, namespace: this.name } });
    const { uid = '' } = owner.metadata;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: app, uid, controller: true }];
    await this.world.create(pods, { ...pod, metadata: { ...pod.metadata, ownerReferences } });
  }

  #template(kind: WorkloadKind, app: string, options: WorkloadOptions, claims: readonly string[]): Template {
    const mounts = (options.volumes ?? []).map((_, index) => ({ name: `v${index}`, mountPath: `/v${index}` }));
    const values = kind === 'DaemonSet' || options.pinned ? [this.name] : [this.name, spare];
    const terms = [{ matchExpressions: [{ key: 'row', operator: 'In', values }] }];
    return {
      metadata: { labels: { app }, annotations: options.annotations ?? {} },
      spec: {
        terminationGracePeriodSeconds: options.graceSeconds ?? 3,
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
        containers: [{ name: 'main', image: 'example/main:1', volumeMounts: mounts }],
        volumes: claims.map((claimName, index) => ({ name: `v${index}`, persistentVolumeClaim: { claimName } })),
        ...(options.tolerations === undefined ? {} : { tolerations: options.tolerations }),
        ...(kind === 'Job' ? { restartPolicy: 'Never' } : {}),
      },
    };
  }

  async #volume(name: string, claim: string, wish: Wish): Promise<void> {
    const modes = wish.modes ?? ['ReadWriteOnce'];
    if (modes.includes('ReadWriteMany')) this.world.share(name);
    const spec = {
      capacity: { storage: '1Gi' },
      accessModes: modes,
      storageClassName: '',
      persistentVolumeReclaimPolicy: 'Retain',
      claimRef: { namespace: this.name, name: claim },
      ...sourceOf(name, this.name, wish),
    };
    await this.world.create(persistentVolumes, { metadata: { name }, spec });
  }

  async #claim(name: string, wish: Wish): Promise<void> {
    await this.world.create(persistentVolumeClaims, {
      metadata: { name, namespace: this.name },
      spec: claimSpec(wish),
    });
  }
}

interface Template {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: Record<string, unknown>;
}

function claimSpec(wish: Wish): Record<string, unknown> {
  const accessModes = wish.modes ?? ['ReadWriteOnce'];
  return { accessModes, storageClassName: '', resources: { requests: { storage: '1Gi' } } };
}

function claimTemplates(wishes: readonly Wish[]): object[] {
  return wishes.map((wish, index) => ({ metadata: { name: `v${index}` }, spec: claimSpec(wish) }));
}

function sourceOf(name: string, node: string, { driver = listed, source }: Wish): Record<string, unknown> {
  if (source === 'nfs') return { nfs: { server: '192.0.2.1', path: `/${name}` } };
  if (source === undefined) return { csi: { driver, volumeHandle: name } };
  const terms = [{ matchExpressions: [{ key: 'row', operator: 'In', values: [node] }] }];
  return { local: { path: `/mnt/${name}` }, nodeAffinity: { required: { nodeSelectorTerms: terms } } };
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
