/**
 * What a snapshot keeps of each kind of object: what decides where a pod can run and how it is freed, as it could be applied
 * again. What programs are told (environment, commands, attributes and credentials of volumes) is left behind.
 */
import type {
  Snapshot,
  SnapshotBudget,
  SnapshotClass,
  SnapshotContainer,
  SnapshotNode,
  SnapshotNodeSelector,
  SnapshotObject,
  SnapshotPod,
  SnapshotPodSpec,
  SnapshotSet,
  SnapshotVolume,
} from '../api/snapshot.ts';
import { spentBudget } from '../api/budgets.ts';
import type { KubeObject } from '../kube/client.ts';
import { controllerOf } from '../kube/ownership.ts';
import type { Resource } from '../kube/resources.ts';
import { apiVersionOf } from '../kube/resources.ts';
import { volumeFacts } from './node-pods.ts';
import { liveNode, projectDriver, projectPod } from './project-release.ts';

const zoneLabel = 'topology.kubernetes.io/zone';

export function snapshotNode(object: KubeObject): SnapshotNode {
  const { metadata, status } = object as KubeObject & { status?: { allocatable?: Record<string, string> } };
  return {
    ...liveNode(object),
    zone: metadata.labels?.[zoneLabel] ?? '',
    allocatable: status?.allocatable ?? {},
    annotations: ours(metadata.annotations),
  };
}

export function snapshotPod(object: KubeObject): SnapshotPod {
  const { metadata, spec, status } = object as KubeObject & {
    spec?: SnapshotPodSpec;
    status?: { conditions?: { type?: string; status?: string }[] };
  };
  const { nodeName } = spec ?? {};
  return {
    ...projectPod(object),
    ...(nodeName === undefined || nodeName === '' ? {} : { node: nodeName }),
    isReady: (status?.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True'),
    object: { apiVersion: 'v1', kind: 'Pod', metadata: named(metadata), spec: podSpec(spec) },
  };
}

const podFields = [
  'nodeName',
  'nodeSelector',
  'affinity',
  'tolerations',
  'topologySpreadConstraints',
  'terminationGracePeriodSeconds',
  'hostNetwork',
  'restartPolicy',
];

function podSpec(spec: SnapshotPodSpec | undefined): SnapshotPodSpec {
  const { initContainers = [], volumes = [] } = spec ?? {};
  const inits = initContainers.map(container);
  const kept = volumes.flatMap((one) => volumeOf(one) ?? []);
  return {
    ...picked(spec, podFields),
    containers: (spec?.containers ?? []).map(container),
    ...(inits.length === 0 ? {} : { initContainers: inits }),
    ...(kept.length === 0 ? {} : { volumes: kept }),
  };
}

function container({ name, image, resources, restartPolicy }: SnapshotContainer): SnapshotContainer {
  return {
    name,
    ...(image === undefined ? {} : { image }),
    ...(resources?.requests === undefined ? {} : { resources: { requests: resources.requests } }),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  };
}

/** Sources that hold a pod nowhere, and may be named as secrets are. */
const passing = new Set(['configMap', 'downwardAPI', 'emptyDir', 'image', 'projected', 'secret']);

function volumeOf(volume: { name: string } & Record<string, unknown>): typeof volume | undefined {
  const source = Object.keys(volume).find((key) => key !== 'name');
  if (source === undefined || passing.has(source)) return undefined;
  return { name: volume.name, [source]: withoutSecrets(volume[source]) };
}

export function snapshotSet(kind: SnapshotSet['kind']): (object: KubeObject) => SnapshotSet {
  return (object) => {
    const { metadata, spec = {} } = object as KubeObject & { spec?: WireSetSpec };
    const owner = controllerOf(metadata);
    const { template, replicas, ordinals, podManagementPolicy, strategy } = spec;
    return {
      kind,
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      uid: metadata.uid ?? '',
      ...(owner === undefined ? {} : { owner: { kind: owner.kind, name: owner.name, uid: owner.uid } }),
      replicas: replicas ?? 1,
      start: ordinals?.start ?? 0,
      isOrdered: kind === 'StatefulSet' && podManagementPolicy !== 'Parallel',
      ...(strategy?.type === undefined ? {} : { strategy: strategy.type }),
      object: {
        apiVersion: 'apps/v1',
        kind,
        metadata: named(metadata),
        spec: {
          ...picked(spec, setFields),
          template: { metadata: picked(template?.metadata, ['labels']), spec: podSpec(template?.spec) },
          ...(spec.volumeClaimTemplates === undefined
            ? {}
            : { volumeClaimTemplates: spec.volumeClaimTemplates.map(claimTemplate) }),
        },
      },
    };
  };
}

interface WireSetSpec extends Record<string, unknown> {
  replicas?: number;
  ordinals?: { start?: number };
  podManagementPolicy?: string;
  strategy?: { type?: string };
  template?: { metadata?: { labels?: object }; spec?: SnapshotPodSpec };
  volumeClaimTemplates?: KubeObject[];
}

const setFields = ['replicas', 'selector', 'podManagementPolicy', 'serviceName', 'ordinals', 'minReadySeconds'];
const claimFields = ['accessModes', 'resources', 'storageClassName', 'volumeName', 'volumeMode', 'selector'];

function claimTemplate(claim: KubeObject): object {
  return { metadata: { name: claim.metadata.name }, spec: picked(specOf(claim), claimFields) };
}

export function snapshotClaim(object: KubeObject): SnapshotObject {
  return { ...headOf(object, 'v1', 'PersistentVolumeClaim'), spec: picked(specOf(object), claimFields) };
}

export function snapshotVolume(object: KubeObject): SnapshotVolume {
  const spec = specOf(object) as Record<string, unknown> & {
    claimRef?: { namespace?: string; name?: string };
    nodeAffinity?: { required?: SnapshotNodeSelector };
    storageClassName?: string;
  };
  const { claimRef, nodeAffinity, storageClassName = '' } = spec;
  const claim = claimRef?.name === undefined ? undefined : { namespace: claimRef.namespace ?? '', name: claimRef.name };
  const key = claim === undefined ? '' : `${claim.namespace}/${claim.name}`;
  const provisioner = object.metadata.annotations?.[provisionedBy];
  return {
    facts: { claim: key, known: true, volume: object.metadata.name, ...volumeFacts(object) },
    ...(nodeAffinity?.required === undefined ? {} : { affinity: nodeAffinity.required }),
    ...(claim === undefined ? {} : { claim }),
    className: storageClassName,
    object: {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: {
        name: object.metadata.name,
        ...(provisioner === undefined ? {} : { annotations: { [provisionedBy]: provisioner } }),
      },
      spec: {
        ...(withoutSecrets(spec) as object),
        // What is copied is not to be deleted with the copy of its claim.
        persistentVolumeReclaimPolicy: 'Retain',
        ...(claim === undefined ? {} : { claimRef: claim }),
      },
    },
  };
}

const provisionedBy = 'pv.kubernetes.io/provisioned-by';

export function snapshotClass(object: KubeObject): SnapshotClass {
  const { provisioner = '', ...rest } = object as KubeObject & { provisioner?: string };
  return {
    name: object.metadata.name,
    provisioner,
    object: {
      ...headOf(object, 'storage.k8s.io/v1', 'StorageClass'),
      provisioner,
      ...picked(rest, ['volumeBindingMode', 'allowedTopologies']),
    },
  };
}

export function snapshotDriver(object: KubeObject): Snapshot['drivers'][number] {
  const head = headOf(object, 'storage.k8s.io/v1', 'CSIDriver');
  const annotations = ours(object.metadata.annotations);
  return {
    ...projectDriver(object),
    object: {
      ...head,
      metadata: { ...head.metadata, ...(Object.keys(annotations).length === 0 ? {} : { annotations }) },
      spec: picked(specOf(object), ['attachRequired']),
    },
  };
}

export function snapshotBudget(object: KubeObject): SnapshotBudget {
  const { metadata } = object;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    spent: spentBudget(object),
    object: {
      ...headOf(object, 'policy/v1', 'PodDisruptionBudget'),
      spec: picked(specOf(object), ['minAvailable', 'maxUnavailable', 'selector', 'unhealthyPodEvictionPolicy']),
    },
  };
}

/** Policies, and devices as people have written them: their spec says it all. */
export function snapshotOwn(resource: Resource): (object: KubeObject) => SnapshotObject & { spec: object } {
  return (object) => {
    const head = headOf(object, apiVersionOf(resource), resource.kind);
    const { creationTimestamp } = object.metadata;
    const metadata = { ...head.metadata, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) };
    return { ...head, metadata, spec: specOf(object) };
  };
}

function headOf({ metadata }: KubeObject, apiVersion: string, kind: string): SnapshotObject {
  return { apiVersion, kind, metadata: named(metadata) };
}

function named({ name, namespace, labels }: KubeObject['metadata']): SnapshotObject['metadata'] {
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
  };
}

function specOf(object: KubeObject): Record<string, unknown> {
  return (object as KubeObject & { spec?: Record<string, unknown> }).spec ?? {};
}

function picked(object: object | undefined, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object ?? {}).filter(([key, value]) => fields.includes(key) && value !== undefined),
  );
}

function ours(annotations: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => key.startsWith('fenceline.dev/')));
}

/** References to Secrets, and what drivers keep with their volumes, are nobody's business here. */
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !/secret|password|token|^volumeAttributes$/i.test(key))
      .map(([key, inner]) => [key, withoutSecrets(inner)]),
  );
}
