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
import type { Using } from '../api/forbidden.ts';
import { refusalOf } from '../api/forbidden.ts';
import type { KubeObject } from '../kube/client.ts';
import { controllerOf } from '../kube/ownership.ts';
import type { Resource } from '../kube/resources.ts';
import { apiVersionOf, remedyPolicies } from '../kube/resources.ts';
import { besideSource, volumeFacts } from './node-pods.ts';
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
  return { name: volume.name, [source]: sourceOf(source, volume[source]) };
}

/** Which volume it is. Of other sources only the kind counts, and what drivers and mounts are told is nobody's business here. */
const sourceFields: Readonly<Record<string, readonly string[]>> = {
  csi: ['driver', 'volumeHandle', 'readOnly'],
  hostPath: ['path', 'type'],
  local: ['path'],
  nfs: ['server', 'path', 'readOnly'],
  persistentVolumeClaim: ['claimName', 'readOnly'],
};

function sourceOf(source: string, value: unknown): object {
  if (source !== 'ephemeral') return picked(value as object, sourceFields[source] ?? []);
  const { volumeClaimTemplate } = (value ?? {}) as { volumeClaimTemplate?: { spec?: object } };
  return { volumeClaimTemplate: { spec: picked(volumeClaimTemplate?.spec, claimFields) } };
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
        ...picked(spec, volumeFields),
        ...Object.fromEntries(
          Object.entries(spec)
            .filter(([key]) => !besideSource.has(key))
            .map(([key, source]) => [key, sourceOf(key, source)]),
        ),
        // What is copied is not to be deleted with the copy of its claim.
        persistentVolumeReclaimPolicy: 'Retain',
        ...(claim === undefined ? {} : { claimRef: claim }),
      },
    },
  };
}

const volumeFields = ['accessModes', 'capacity', 'nodeAffinity', 'storageClassName', 'volumeMode'];
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

/** Devices as people have written them; what of their spec may be told, whoever prints them has to say. */
export function snapshotOwn(resource: Resource): (object: KubeObject) => SnapshotObject & { spec: object } {
  return (object) => {
    const head = headOf(object, apiVersionOf(resource), resource.kind);
    const { creationTimestamp } = object.metadata;
    const metadata = { ...head.metadata, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) };
    return { ...head, metadata, spec: specOf(object) };
  };
}

/** As it is written, but for what the programs of its remedies are told; and whether the operator does nothing by it. */
export function snapshotPolicy(object: KubeObject): SnapshotObject & { spec: object } & Pick<Using, 'refused'> {
  const policy = snapshotOwn(remedyPolicies)(object);
  return { ...policy, spec: policySpec(policy.spec), ...refusalOf(object) };
}

interface WireRemedy extends Record<string, unknown> {
  podTemplate?: { metadata?: { labels?: object; annotations?: Record<string, string> }; spec?: SnapshotPodSpec };
}

export function policySpec(spec: { remedies?: readonly WireRemedy[] }): object {
  if (!Array.isArray(spec.remedies)) return spec;
  return { ...spec, remedies: spec.remedies.map(remedyOf) };
}

function remedyOf(remedy: WireRemedy): object {
  if (remedy.podTemplate === undefined) return remedy;
  const { metadata, spec } = remedy.podTemplate;
  // How its Job ends in a simulation.
  const annotations = ours(metadata?.annotations, 'simulation.fenceline.dev/');
  const labels = picked(metadata, ['labels']);
  const pod = Array.isArray(spec?.containers) ? podSpec(spec) : {};
  return { ...remedy, podTemplate: { metadata: { ...labels, annotations }, spec: pod } };
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

function ours(annotations: Record<string, string> = {}, prefix = 'fenceline.dev/'): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => key.startsWith(prefix)));
}
