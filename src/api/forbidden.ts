/**
 * What whoever starts the operator keeps from those who write policies, requests and devices, whatever their rights are:
 * `--forbid=AcceptedRisk,PrivilegedJobs`. A policy that uses such a thing is not carried out at all, since half of a policy is one
 * that nobody has written.
 */
import type { FeatureGates } from './feature-gates.ts';
import { REMEDY_ACCOUNT } from './fence-names.ts';
import { REMEDY_DEFAULTS } from './policy-defaults.ts';
import type { WrittenPolicy } from './written.ts';

/** Each with what it takes away. */
export const FORBIDDABLE = {
  AcceptedRisk:
    '`release.podDeletion`, `volumeAttachmentRecovery` and `riskAfterFailedFence`: pods that go without proof that they have stopped.',
  Assertions:
    '`release.assertions`, and `cleanResources` of anything but a fence: pods that go by a taint, or because a Job has succeeded.',
  SafeDetach: '`release.safeDetach`: drivers that detach safely because a policy says so, and not their CSIDriver.',
  KernelCrash: '`fence.kdump`: pods that go by a datagram.',
  Jobs: 'Every `podTemplate`.',
  PrivilegedJobs:
    'A `podTemplate` that asks for its host (namespaces, paths, ports), for privileges, or for an account other than that of remedies.',
  MachineRemoval: '`deleteMachine`, and `fence.machineRemoved`: machines and Node objects that are deleted.',
  RequestsWithoutPolicy: '`withoutPolicy` of a request: a fence of a node that no policy selects.',
  UncheckedDevices: '`identity=unchecked`: devices of which nobody looks whose machine they switch.',
} as const;

export type Forbiddable = keyof typeof FORBIDDABLE;

/** Something that can be forbidden, and where it is written. */
export interface Use {
  what: Forbiddable;
  /** Such as `release.podDeletion`. */
  where: string;
}

/** Of a policy. Absent: nothing of it can be forbidden. */
export interface Using {
  uses?: readonly Use[];
  /** Why the operator that runs does nothing by it, as it has written itself; for whoever only asks, and does not decide. */
  refused?: string;
}

/** A stored policy, as far as its status says whether it is refused. */
interface Judged {
  metadata: { generation?: number };
  status?: {
    conditions?: readonly {
      type: string;
      status: string;
      reason?: string;
      message?: string;
      observedGeneration?: number;
    }[];
  };
}

/**
 * What the operator that runs says of the policy as it is written now: who asks about it knows of no `--forbid` and reads it here, and
 * nobody judges it a second time.
 */
export function refusalOf({ metadata, status }: Judged): Pick<Using, 'refused'> {
  const { generation } = metadata;
  const found = status?.conditions?.find(
    ({ type, status: is, reason, observedGeneration = generation }) =>
      type === 'Valid' && is === 'False' && reason === 'Forbidden' && observedGeneration === generation,
  );
  return found === undefined ? {} : { refused: found.message ?? 'the operator was told to forbid what it uses' };
}

/** As the operator was started. */
export interface Started {
  gates: FeatureGates;
  /** Absent: nothing. */
  forbidden?: readonly Forbiddable[];
}

const names = Object.keys(FORBIDDABLE) as Forbiddable[];

/** Throws with a sentence for people where one of them does not exist. */
export function parseForbidden(text: string): Forbiddable[] {
  const written = text.split(',').map((one) => one.trim());
  const wanted = written.filter((one) => one !== '');
  const unknown = wanted.find((one) => !Object.hasOwn(FORBIDDABLE, one));
  if (unknown !== undefined) throw new Error(`"${unknown}" cannot be forbidden: write one of ${names.join(', ')}`);
  return names.filter((name) => wanted.includes(name));
}

/** What a policy uses of it. */
export function usesOf(spec: WrittenPolicy): Use[] {
  const { thresholds = [], remedies = [], fence = {} } = spec;
  const uses: Use[] = [...usesOfRelease(spec.release ?? {})];
  if (fence.kdump?.enabled === true) uses.push({ what: 'KernelCrash', where: 'fence.kdump' });
  if (fence.machineRemoved === true) uses.push({ what: 'MachineRemoval', where: 'fence.machineRemoved' });
  const fencing = new Set(remedies.filter((one) => one.fence !== undefined).map(({ name }) => name));
  for (const { remedies: rungs = [] } of thresholds) {
    for (const { name = '', cleanResources } of rungs) {
      if (cleanResources === true && !fencing.has(name)) {
        uses.push({ what: 'Assertions', where: `cleanResources of ${name}` });
      }
    }
  }
  for (const { name = '', deleteMachine, podTemplate } of remedies) {
    const where = `remedy ${name}`;
    if (deleteMachine !== undefined) uses.push({ what: 'MachineRemoval', where });
    if (podTemplate === undefined) continue;
    uses.push({ what: 'Jobs', where });
    for (const field of privilegesOf(podTemplate)) uses.push({ what: 'PrivilegedJobs', where: `${where}: ${field}` });
  }
  return uses;
}

function usesOfRelease(release: NonNullable<WrittenPolicy['release']>): Use[] {
  const { release: usual } = REMEDY_DEFAULTS;
  const { podDeletion = usual.podDeletion, volumeAttachmentRecovery: recovery = usual.volumeAttachmentRecovery } =
    release;
  const found: [Forbiddable, string, boolean][] = [
    ['AcceptedRisk', 'podDeletion', podDeletion !== usual.podDeletion],
    ['AcceptedRisk', 'volumeAttachmentRecovery', recovery !== usual.volumeAttachmentRecovery],
    ['AcceptedRisk', 'riskAfterFailedFence', release.riskAfterFailedFence === true],
    ['Assertions', 'assertions', (release.assertions ?? []).length > 0],
    ['SafeDetach', 'safeDetach', (release.safeDetach ?? []).length > 0],
  ];
  return found.flatMap(([what, field, isUsed]) => (isUsed ? [{ what, where: `release.${field}` }] : []));
}

/** What of a policy is forbidden: then it does nothing. */
export function beyondOf({ uses = [] }: Using, forbidden: readonly Forbiddable[] = []): readonly Use[] {
  return uses.filter(({ what }) => forbidden.includes(what));
}

export function beyondText(beyond: readonly Use[]): string {
  return [...Map.groupBy(beyond, ({ what }) => what)]
    .map(([what, all]) => `${what} (${all.map(({ where }) => where).join(', ')})`)
    .join(', ');
}

type Fields = Readonly<Record<string, unknown>>;

const hostFields = ['hostNetwork', 'hostPID', 'hostIPC'];
const containerLists = ['containers', 'initContainers', 'ephemeralContainers'];
/** As it was written before there was a field for it. */
const appArmor = 'container.apparmor.security.beta.kubernetes.io/';

/** The fields of a template by which its pod gets at its host, or at the rights of somebody else. What cannot be read counts. */
export function privilegesOf(template: object): string[] {
  const spec = fieldsOf((template as Fields)['spec']);
  const metadata = fieldsOf((template as Fields)['metadata']);
  const accounts = ['serviceAccountName', 'serviceAccount'].filter(
    (field) => isAsked(spec[field]) && spec[field] !== REMEDY_ACCOUNT,
  );
  return [
    ...hostFields.filter((field) => isAsked(spec[field])),
    ...accounts,
    ...Object.entries(fieldsOf(metadata['annotations'])).flatMap(([key, value]) =>
      key.startsWith(appArmor) && value === 'unconfined' ? ['appArmorProfile'] : [],
    ),
    ...listOf(spec['volumes']).flatMap((volume) => ('hostPath' in volume ? ['hostPath'] : [])),
    ...contextOf(spec['securityContext']),
    ...containerLists.flatMap((list) => listOf(spec[list]).flatMap(ofContainer)),
  ];
}

function ofContainer(container: Fields): string[] {
  const ports = listOf(container['ports']).filter((port) => isAsked(port['hostPort']));
  return [...contextOf(container['securityContext']), ...(ports.length > 0 ? ['hostPort'] : [])];
}

/** What Pod Security `baseline` looks at, and some more: an addition of any capability. */
function contextOf(context: unknown): string[] {
  const { privileged, capabilities, procMount, sysctls, windowsOptions, seccompProfile, appArmorProfile } =
    fieldsOf(context);
  const { seLinuxOptions } = fieldsOf(context);
  const isUnconfined = (profile: unknown): boolean => fieldsOf(profile)['type'] === 'Unconfined';
  const found: Record<string, boolean> = {
    privileged: isAsked(privileged),
    'capabilities.add': isAsked(fieldsOf(capabilities)['add']),
    procMount: procMount !== undefined && procMount !== 'Default',
    sysctls: isAsked(sysctls),
    hostProcess: isAsked(fieldsOf(windowsOptions)['hostProcess']),
    seccompProfile: isUnconfined(seccompProfile),
    appArmorProfile: isUnconfined(appArmorProfile),
    seLinuxOptions: isAsked(seLinuxOptions),
  };
  return Object.keys(found).filter((field) => found[field]);
}

function isAsked(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0) return false;
  return !(Array.isArray(value) && value.length === 0);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}
