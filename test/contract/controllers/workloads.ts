/** The workloads that the behaviours of the contract use. */
import type { JsonPatchOperation } from '../../../src/kube/client.ts';
import * as resources from '../../../src/world/controllers/resources.ts';
import { isReady } from '../../../src/world/objects/meta.ts';
import type { Pod, PodSpec, PodTemplate } from '../../../src/world/objects/pods.ts';
import type {
  DaemonSet,
  Deployment,
  Job,
  PodDisruptionBudget,
  StatefulSet,
} from '../../../src/world/objects/workloads.ts';
import type { Scene } from './scene.ts';

export interface WorkloadOptions {
  replicas?: number;
  spec?: Partial<PodSpec>;
  /** How the pods behave, see `behaviourOf`. */
  annotations?: Record<string, string>;
}

function template(scene: Scene, app: string, { spec, annotations = {} }: WorkloadOptions): PodTemplate {
  return { metadata: { labels: { app }, annotations }, spec: scene.podSpec(spec) };
}

export async function statefulSet(
  scene: Scene,
  name: string,
  options: WorkloadOptions & { parallel?: boolean; volumes?: boolean; more?: Partial<StatefulSet['spec']> } = {},
): Promise<StatefulSet> {
  const { replicas = 1, parallel = false, volumes = false, more = {} } = options;
  if (volumes) {
    for (let ordinal = 0; ordinal < replicas; ordinal += 1) {
      await scene.createVolume(`${name}-${ordinal}`, { claim: `data-${name}-${ordinal}` });
    }
  }
  const spec = {
    replicas,
    serviceName: name,
    podManagementPolicy: parallel ? 'Parallel' : 'OrderedReady',
    selector: { matchLabels: { app: name } },
    template: template(scene, name, options),
    ...(volumes ? { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: scene.claimSpec() }] } : {}),
    ...more,
  };
  return scene.create<StatefulSet>(resources.statefulSets, { spec }, name);
}

/** One replica with a volume, ready, on a node of the scene. */
export async function database(scene: Scene, name = 'db'): Promise<{ pod: Pod; nodeName: string; volume: string }> {
  await statefulSet(scene, name, { volumes: true });
  const pod = await scene.ready(`${name}-0`);
  return { pod, nodeName: pod.spec.nodeName ?? '', volume: `${scene.namespace}-${name}-0` };
}

export function deployment(
  scene: Scene,
  name: string,
  options: WorkloadOptions & { strategy?: Deployment['spec']['strategy'] } = {},
): Promise<Deployment> {
  const spec = {
    replicas: options.replicas ?? 1,
    selector: { matchLabels: { app: name } },
    template: template(scene, name, options),
    ...(options.strategy === undefined ? {} : { strategy: options.strategy }),
  };
  return scene.create<Deployment>(resources.deployments, { spec }, name);
}

export function daemonSet(scene: Scene, name: string, options: WorkloadOptions = {}): Promise<DaemonSet> {
  const spec = { selector: { matchLabels: { app: name } }, template: template(scene, name, options) };
  return scene.create<DaemonSet>(resources.daemonSets, { spec }, name);
}

export function job(scene: Scene, name: string, options: WorkloadOptions & Partial<Job['spec']> = {}): Promise<Job> {
  const { spec = {}, annotations, replicas: _replicas, ...rest } = options;
  const made = template(scene, name, {
    spec: { restartPolicy: 'Never', ...spec },
    ...(annotations ? { annotations } : {}),
  });
  return scene.create<Job>(resources.jobs, { spec: { ...rest, template: made } }, name);
}

export function budget(
  scene: Scene,
  name: string,
  app: string,
  spec: Partial<PodDisruptionBudget['spec']>,
): Promise<PodDisruptionBudget> {
  const selector = { matchLabels: { app } };
  return scene.create<PodDisruptionBudget>(resources.podDisruptionBudgets, { spec: { selector, ...spec } }, name);
}

export async function allReady(scene: Scene, app: string, count: number): Promise<Pod[]> {
  return scene.until(`${count} pods of ${app} to be ready`, () => {
    const own = scene.pods(app);
    return own.length === count && own.every(isReady) ? own : undefined;
  });
}

/** Another template, the same pods. */
export function newImage(image: string): JsonPatchOperation[] {
  return [{ op: 'replace', path: '/spec/template/spec/containers/0/image', value: image }];
}
