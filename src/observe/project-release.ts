/** What is kept of the objects that hang on a node in trouble. Total functions: half-written objects stop nothing. */
import { bootIdOf } from '../api/bounded-name.ts';
import { machineIdOf } from '../api/learnt.ts';
import type {
  AttachmentFacts,
  DriverFacts,
  LiveNode,
  PodFacts,
  Remediation,
  TaintFacts,
  TolerationFacts,
} from '../api/release-view.ts';
import {
  MAINTENANCE_ANNOTATION,
  REMEDIATION_POD_ANNOTATION,
  REMEDIATION_TIME_ANNOTATION,
  SAFE_DETACH_ANNOTATION,
  UNPUBLISH_FENCE_ANNOTATION,
} from '../api/release-view.ts';
import { CORDONED_ANNOTATION, DRAIN_NOTE, isOurCordon, plansOf } from '../api/plans.ts';
import { USUAL_GRACE_SECONDS } from '../api/unseen.ts';
import type { ConditionStatus } from '../api/view.ts';
import type { KubeObject } from '../kube/client.ts';
import type { OwnerReference } from '../kube/ownership.ts';
import { controllerOf, isMirror } from '../kube/ownership.ts';

/** Volumes that hold nothing which outlives the pod, or lead to no storage that a second pod could reach. */
const harmlessVolumes = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'hostPath',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);

interface WireManagedField {
  manager?: string;
  fieldsV1?: { 'f:spec'?: { 'f:taints'?: unknown } };
}

interface WireNode extends KubeObject {
  metadata: KubeObject['metadata'] & { managedFields?: WireManagedField[] };
  spec?: { taints?: TaintFacts[]; providerID?: string; unschedulable?: boolean };
  status?: {
    conditions?: {
      type?: string;
      status?: string;
      lastHeartbeatTime?: string | null;
      lastTransitionTime?: string | null;
    }[];
    nodeInfo?: { bootID?: string; systemUUID?: string; machineID?: string };
    volumesInUse?: string[];
    addresses?: { type?: string; address?: string }[];
    daemonEndpoints?: { kubeletEndpoint?: { Port?: number } };
  };
}

/** A kubelet says where it listens; one that does not, for which the API server writes 0, is not knocked at. */
function kubeletOf(status: WireNode['status']): Pick<LiveNode, 'kubelet'> {
  const address = status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  return address === undefined || port === 0 ? {} : { kubelet: { address, port } };
}

/** Cluster API writes it in two annotations, OpenShift in one. */
function machineOf(annotations: Record<string, string> = {}): Pick<LiveNode, 'machine'> {
  const [name, namespace] = [
    annotations['cluster.x-k8s.io/machine'],
    annotations['cluster.x-k8s.io/cluster-namespace'],
  ];
  const isWhole = name !== undefined && namespace !== undefined;
  const machine = isWhole ? `${namespace}/${name}` : annotations['machine.openshift.io/machine'];
  return machine === undefined ? {} : { machine };
}

function remediationOf(annotations: Record<string, string> = {}): { remediation?: Remediation } {
  const since = annotations[REMEDIATION_TIME_ANNOTATION];
  const pod = annotations[REMEDIATION_POD_ANNOTATION];
  return since === undefined && pod === undefined ? {} : { remediation: { since: since ?? '', pod: pod ?? '' } };
}

function maintenanceOf(annotations: Record<string, string> = {}): { maintenanceUntil?: string } {
  const maintenanceUntil = annotations[MAINTENANCE_ANNOTATION];
  return maintenanceUntil === undefined ? {} : { maintenanceUntil };
}

function cordonOf(node: WireNode): Pick<LiveNode, 'isOurCordon' | 'isDrainCordon' | 'hasOldCordonNote'> {
  const note = node.metadata.annotations?.[CORDONED_ANNOTATION];
  if (note === undefined) return {};
  if (!isOurCordon(node)) return { hasOldCordonNote: true };
  return { isOurCordon: true, ...(note === DRAIN_NOTE ? { isDrainCordon: true } : {}) };
}

export function liveNode(object: KubeObject): LiveNode {
  const { metadata, spec, status } = object as WireNode;
  const {
    status: ready,
    lastHeartbeatTime: heartbeatTime,
    lastTransitionTime: readySince,
  } = status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
  const writer = metadata.managedFields?.find(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:taints'] !== undefined);
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    bootId: bootIdOf(status?.nodeInfo),
    machineId: machineIdOf(status?.nodeInfo, metadata.uid),
    labels: metadata.labels ?? {},
    ready: ready === undefined ? undefined : statusOf(ready),
    ...(metadata.creationTimestamp === undefined ? {} : { createdAt: metadata.creationTimestamp }),
    ...(typeof readySince === 'string' ? { readySince } : {}),
    ...(typeof heartbeatTime === 'string' ? { heartbeatTime } : {}),
    taints: spec?.taints ?? [],
    volumesInUse: status?.volumesInUse ?? [],
    ...(writer?.manager === undefined ? {} : { taintedBy: writer.manager }),
    systemUuid: status?.nodeInfo?.systemUUID ?? '',
    providerId: spec?.providerID ?? '',
    ...machineOf(metadata.annotations),
    conditions: (status?.conditions ?? []).map((one) => ({ type: one.type ?? '', status: statusOf(one.status) })),
    isCordoned: spec?.unschedulable === true,
    ...cordonOf(object),
    ...remediationOf(metadata.annotations),
    ...maintenanceOf(metadata.annotations),
    plans: plansOf(object),
    ...kubeletOf(status),
  };
}

/** Whatever is neither True nor False is unknown, and never read as one of them. */
function statusOf(text: string | undefined): ConditionStatus {
  return text === 'True' || text === 'False' ? text : 'Unknown';
}

interface WirePod extends KubeObject {
  spec?: {
    nodeName?: string;
    nodeSelector?: Record<string, string>;
    affinity?: { nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: WireNodeSelector } };
    tolerations?: TolerationFacts[];
    terminationGracePeriodSeconds?: number;
    volumes?: WireVolume[];
  };
  status?: { phase?: string; conditions?: { type?: string; status?: string }[] };
}

interface WireNodeSelector {
  nodeSelectorTerms?: { matchExpressions?: WireRequirement[]; matchFields?: WireRequirement[] }[];
}

interface WireRequirement {
  key?: string;
  operator?: string;
  values?: string[];
}

interface WireVolume {
  name: string;
  persistentVolumeClaim?: { claimName?: string };
  ephemeral?: object;
}

export function projectPod(object: KubeObject): PodFacts {
  const { metadata, spec, status } = object as WirePod;
  const owner = controllerOf(metadata);
  const deletionAtMs = Date.parse(metadata.deletionTimestamp ?? '');
  const volumes = spec?.volumes ?? [];
  const disruptionAt = status?.conditions?.findIndex(({ type }) => type === 'DisruptionTarget') ?? -1;
  const readyAt = status?.conditions?.findIndex((one) => one.type === 'Ready' && one.status === 'True') ?? -1;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    ...(owner === undefined ? {} : { owner: ownerOf(owner) }),
    phase: status?.phase ?? '',
    ...(Number.isNaN(deletionAtMs) ? {} : { deletionAtMs }),
    ...(metadata.deletionGracePeriodSeconds === undefined ? {} : { graceSeconds: metadata.deletionGracePeriodSeconds }),
    // Whoever has begun to end it goes on with the time that was given then.
    endsWithinSeconds: Math.max(
      spec?.terminationGracePeriodSeconds ?? USUAL_GRACE_SECONDS,
      metadata.deletionGracePeriodSeconds ?? 0,
    ),
    mirror: isMirror(metadata),
    labels: metadata.labels ?? {},
    tolerations: spec?.tolerations ?? [],
    isPinned: isPinned(object),
    claims: claimsOf(metadata.name, volumes),
    directVolumes: volumes.flatMap((volume) => directVolume(volume) ?? []),
    attachesDirectly: volumes.some(attachesDirectly),
    hasFinalizers: (metadata.finalizers ?? []).length > 0,
    hasConditions: status?.conditions !== undefined,
    ...(disruptionAt === -1 ? {} : { disruptionAt }),
    ...(readyAt === -1 ? {} : { readyAt }),
  };
}

/** By these a node is told from all others. */
const namingKeys = new Set(['kubernetes.io/hostname', 'metadata.name']);

/**
 * A scheduler that binds a pod has the API server note it. Where it did, the pod may still have asked for this very node: by
 * what names a node, or by a label of any key that says its name. Alternatives have to name it one and all.
 */
function isPinned({ spec, status }: WirePod): boolean {
  const isBound = status?.conditions?.some((one) => one.type === 'PodScheduled' && one.status === 'True') ?? false;
  if (!isBound) return true;
  const names = (key: string, value: string | undefined): boolean => namingKeys.has(key) || value === spec?.nodeName;
  if (Object.entries(spec?.nodeSelector ?? {}).some(([key, value]) => names(key, value))) return true;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = required?.nodeSelectorTerms ?? [];
  return (
    terms.length > 0 &&
    terms.every(({ matchExpressions = [], matchFields = [] }) =>
      [...matchExpressions, ...matchFields].some(
        ({ key = '', operator, values = [] }) => operator === 'In' && values.length === 1 && names(key, values[0]),
      ),
    )
  );
}

function ownerOf({ apiVersion, kind, name, uid }: OwnerReference): NonNullable<PodFacts['owner']> {
  const group = apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));
  return { group, kind, name, uid };
}

export function claimsOf(pod: string, volumes: readonly WireVolume[]): PodFacts['claims'] {
  return volumes.flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim?.claimName !== undefined)
      return [{ volume: name, claim: persistentVolumeClaim.claimName }];
    return ephemeral === undefined ? [] : [{ volume: name, claim: `${pod}-${name}` }];
  });
}

function directVolume(volume: WireVolume): string | undefined {
  const source = sourceOf(volume);
  return source === undefined || harmlessVolumes.has(source) ? undefined : `${volume.name} (${source})`;
}

function sourceOf(volume: WireVolume): string | undefined {
  return Object.keys(volume).find((key) => key !== 'name');
}

function attachesDirectly(volume: WireVolume): boolean {
  const source = sourceOf(volume);
  return source !== undefined && !harmlessVolumes.has(source) && isAttached(source);
}

/** Sources of volumes that a kubelet mounts without anything being attached; of whatever else, it may be. */
const onlyMounted = new Set(['azureFile', 'cephfs', 'glusterfs', 'hostPath', 'local', 'nfs', 'quobyte']);

export function isAttached(source: string): boolean {
  return !onlyMounted.has(source);
}

interface WireAttachment extends KubeObject {
  spec?: {
    attacher?: string;
    nodeName?: string;
    source?: { persistentVolumeName?: string; inlineVolumeSpec?: { csi?: { volumeHandle?: string } } };
  };
  status?: { attached?: boolean; detachError?: { message?: string } };
}

function attachedVolume(spec: WireAttachment['spec']): Pick<AttachmentFacts, 'volume' | 'inline'> {
  const { persistentVolumeName, inlineVolumeSpec } = spec?.source ?? {};
  if (persistentVolumeName !== undefined) return { volume: persistentVolumeName };
  const handle = inlineVolumeSpec?.csi?.volumeHandle;
  return handle === undefined ? { volume: '' } : { volume: `${spec?.attacher}^${handle}`, inline: true };
}

export function projectAttachment(object: KubeObject): AttachmentFacts {
  const { metadata, spec, status } = object as WireAttachment;
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    node: spec?.nodeName ?? '',
    ...attachedVolume(spec),
    driver: spec?.attacher ?? '',
    attached: status?.attached ?? false,
    deleting: metadata.deletionTimestamp !== undefined,
    fenceWanted: metadata.annotations?.[UNPUBLISH_FENCE_ANNOTATION] === 'true',
    ...(status?.detachError === undefined ? {} : { detachError: status.detachError.message ?? 'an error' }),
  };
}

export function projectDriver(object: KubeObject): DriverFacts {
  const { metadata, spec } = object as KubeObject & { spec?: { attachRequired?: boolean } };
  const said = (key: string): string | undefined => metadata.annotations?.[key];
  const malformed = [SAFE_DETACH_ANNOTATION, UNPUBLISH_FENCE_ANNOTATION].find(
    (key) => said(key) !== undefined && said(key) !== 'true' && said(key) !== 'false',
  );
  return {
    name: metadata.name,
    safeDetach: said(SAFE_DETACH_ANNOTATION) === 'true',
    ...(said(SAFE_DETACH_ANNOTATION) === 'false' ? { deniesSafeDetach: true } : {}),
    unpublishFence: said(UNPUBLISH_FENCE_ANNOTATION) === 'true',
    ...(spec?.attachRequired === false ? { attachless: true } : {}),
    ...(malformed === undefined
      ? {}
      : {
          malformed: `annotation ${malformed} of CSIDriver ${metadata.name} is "${said(malformed)}": write "true" or "false"`,
        }),
  };
}
