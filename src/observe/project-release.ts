/** What is kept of the objects that hang on a node in trouble. Total functions: half-written objects stop nothing. */
import type {
  AlarmFacts,
  AttachmentFacts,
  DriverFacts,
  LiveNode,
  Mode,
  OwnerKind,
  PodDeletion,
  PodFacts,
  PolicyFacts,
  Remediation,
  TaintFacts,
  TolerationFacts,
} from '../api/release-view.ts';
import {
  DEFAULT_SOAK,
  MAINTENANCE_ANNOTATION,
  REMEDIATION_POD_ANNOTATION,
  REMEDIATION_TIME_ANNOTATION,
  SAFE_DETACH_ANNOTATION,
  UNPUBLISH_FENCE_ANNOTATION,
} from '../api/release-view.ts';
import { parseDuration } from '../api/duration.ts';
import type { WireChoice } from '../api/node-choice.ts';
import { choiceOf } from '../api/node-choice.ts';
import type { ConditionStatus } from '../api/view.ts';
import type { KubeObject } from '../kube/client.ts';
import type { WireRemedies } from './project-remedy.ts';
import { remedyOf } from './project-remedy.ts';

/** As the CRD has it, for objects from before it did. */
const defaultPodsPerMinute = 300;
const mirrorAnnotation = 'kubernetes.io/config.mirror';
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
    conditions?: { type?: string; status?: string }[];
    nodeInfo?: { bootID?: string; systemUUID?: string };
    volumesInUse?: string[];
  };
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

export function liveNode(object: KubeObject): LiveNode {
  const { metadata, spec, status } = object as WireNode;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const writer = metadata.managedFields?.find(({ fieldsV1 }) => fieldsV1?.['f:spec']?.['f:taints'] !== undefined);
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    bootId: status?.nodeInfo?.bootID ?? '',
    labels: metadata.labels ?? {},
    ready: ready === undefined ? undefined : statusOf(ready),
    taints: spec?.taints ?? [],
    volumesInUse: status?.volumesInUse ?? [],
    ...(writer?.manager === undefined ? {} : { taintedBy: writer.manager }),
    systemUuid: status?.nodeInfo?.systemUUID ?? '',
    providerId: spec?.providerID ?? '',
    conditions: (status?.conditions ?? []).map((one) => ({ type: one.type ?? '', status: statusOf(one.status) })),
    isCordoned: spec?.unschedulable === true,
    ...remediationOf(metadata.annotations),
    ...maintenanceOf(metadata.annotations),
  };
}

/** Whatever is neither True nor False is unknown, and never read as one of them. */
function statusOf(text: string | undefined): ConditionStatus {
  return text === 'True' || text === 'False' ? text : 'Unknown';
}

interface WirePod extends KubeObject {
  spec?: { tolerations?: TolerationFacts[]; volumes?: WireVolume[] };
  status?: { phase?: string; conditions?: { type?: string }[] };
}

type OwnerReference = NonNullable<KubeObject['metadata']['ownerReferences']>[number];

interface WireVolume {
  name: string;
  persistentVolumeClaim?: { claimName?: string };
  ephemeral?: object;
}

export function projectPod(object: KubeObject): PodFacts {
  const { metadata, spec, status } = object as WirePod;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const deletionAtMs = Date.parse(metadata.deletionTimestamp ?? '');
  const volumes = spec?.volumes ?? [];
  const disruptionAt = status?.conditions?.findIndex(({ type }) => type === 'DisruptionTarget') ?? -1;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    ...(owner === undefined ? {} : { owner: ownerOf(owner) }),
    phase: status?.phase ?? '',
    ...(Number.isNaN(deletionAtMs) ? {} : { deletionAtMs }),
    ...(metadata.deletionGracePeriodSeconds === undefined ? {} : { graceSeconds: metadata.deletionGracePeriodSeconds }),
    mirror: metadata.annotations?.[mirrorAnnotation] !== undefined,
    tolerations: spec?.tolerations ?? [],
    claims: claimsOf(metadata.name, volumes),
    directVolumes: volumes.flatMap((volume) => directVolume(volume) ?? []),
    hasConditions: status?.conditions !== undefined,
    ...(disruptionAt === -1 ? {} : { disruptionAt }),
  };
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
  const source = Object.keys(volume).find((key) => key !== 'name');
  return source === undefined || harmlessVolumes.has(source) ? undefined : `${volume.name} (${source})`;
}

interface WireAttachment extends KubeObject {
  spec?: { attacher?: string; nodeName?: string; source?: { persistentVolumeName?: string } };
  status?: { attached?: boolean; detachError?: { message?: string } };
}

export function projectAttachment(object: KubeObject): AttachmentFacts {
  const { metadata, spec, status } = object as WireAttachment;
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    node: spec?.nodeName ?? '',
    volume: spec?.source?.persistentVolumeName ?? '',
    driver: spec?.attacher ?? '',
    attached: status?.attached ?? false,
    deleting: metadata.deletionTimestamp !== undefined,
    fenceWanted: metadata.annotations?.[UNPUBLISH_FENCE_ANNOTATION] === 'true',
    ...(status?.detachError === undefined ? {} : { detachError: status.detachError.message ?? 'an error' }),
  };
}

export function projectDriver({ metadata }: KubeObject): DriverFacts {
  const said = (key: string): string | undefined => metadata.annotations?.[key];
  const malformed = [SAFE_DETACH_ANNOTATION, UNPUBLISH_FENCE_ANNOTATION].find(
    (key) => said(key) !== undefined && said(key) !== 'true' && said(key) !== 'false',
  );
  return {
    name: metadata.name,
    safeDetach: said(SAFE_DETACH_ANNOTATION) === 'true',
    ...(said(SAFE_DETACH_ANNOTATION) === 'false' ? { deniesSafeDetach: true } : {}),
    unpublishFence: said(UNPUBLISH_FENCE_ANNOTATION) === 'true',
    ...(malformed === undefined
      ? {}
      : {
          malformed: `annotation ${malformed} of CSIDriver ${metadata.name} is "${said(malformed)}": write "true" or "false"`,
        }),
  };
}

interface WirePolicy extends KubeObject {
  spec?: {
    mode?: Mode;
    release?: {
      podDeletion?: PodDeletion;
      provisioners?: string[];
      owners?: OwnerKind[];
      safeDetach?: string[];
      volumeAttachmentRecovery?: PolicyFacts['volumeAttachmentRecovery'];
      assertions?: string[];
      riskAfterFailedFence?: boolean;
    };
    return?: { soak?: string; backoff?: number; maxSoak?: string };
    alarms?: { condition: string; count?: number; within?: string }[];
  } & WireChoice &
    WireRemedies;
}

/** Undefined: fields are missing that the CRD fills in, so that what was meant is not known; it is not in force. */
export function projectPolicy(object: KubeObject): PolicyFacts | undefined {
  const { metadata, spec } = object as WirePolicy;
  const { mode, release } = spec ?? {};
  const choice = choiceOf(spec ?? {}, metadata);
  const soakMs = parseDuration(spec?.return?.soak ?? '');
  if (choice === undefined || mode === undefined || release === undefined || soakMs === undefined) return undefined;
  const { podDeletion, volumeAttachmentRecovery, provisioners = [], owners = [], assertions = [] } = release;
  if (podDeletion === undefined || volumeAttachmentRecovery === undefined) return undefined;
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    generation: metadata.generation ?? 0,
    ...choice,
    mode,
    podDeletion,
    provisioners,
    owners,
    volumeAttachmentRecovery,
    safeDetach: release.safeDetach ?? [],
    assertions,
    riskAfterFailedFence: release.riskAfterFailedFence ?? false,
    soakMs,
    backoff: spec?.return?.backoff ?? DEFAULT_SOAK.backoff,
    maxSoakMs: parseDuration(spec?.return?.maxSoak ?? '') ?? DEFAULT_SOAK.maxSoakMs,
    alarms: (spec?.alarms ?? []).flatMap((alarm) => alarmOf(alarm) ?? []),
    podsPerMinute: spec?.storm?.podsPerMinute ?? defaultPodsPerMinute,
    ...kdumpOf(spec?.fence?.kdump),
    ...remedyOf(spec ?? {}),
  };
}

function alarmOf({
  condition,
  count,
  within,
}: {
  condition: string;
  count?: number;
  within?: string;
}): AlarmFacts | undefined {
  const withinMs = parseDuration(within ?? '');
  return count === undefined || withinMs === undefined ? undefined : { condition, count, withinMs };
}

function kdumpOf(kdump: { enabled?: boolean; timeout?: string } | undefined): { kdump?: { timeoutMs: number } } {
  const timeoutMs = parseDuration(kdump?.timeout ?? '');
  return kdump?.enabled === true && timeoutMs !== undefined ? { kdump: { timeoutMs } } : {};
}
