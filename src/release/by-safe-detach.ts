/**
 * By the word of the storage (NGS): its driver detaches only what is not written to any more, so that a pod whose
 * volumes are all of such drivers may go from a node that is not Ready, whatever the node still does.
 */
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { SAFE_DETACH_ANNOTATION } from '../api/release-view.ts';
import type { Check, KnownVolume, Objection } from './checks.ts';
import {
  attachedOnce,
  attachmentsHere,
  driverOf,
  isShared,
  knownVolumes,
  kubeletSilent,
  nodeDown,
  nodeExists,
  notDaemon,
  notMirror,
  nothingReappeared,
  objection,
  terminating,
  volumesOf,
} from './checks.ts';
import type { Way } from './way.ts';
import { never } from './way.ts';

const checks: readonly Check[] = [
  notMirror,
  notDaemon,
  gateOn,
  nodeExists,
  nodeDown,
  terminating,
  allProtected,
  attachedOnce,
  kubeletSilent,
  nothingReappeared,
];

function gateOn({ gates }: NodeCase): Objection | undefined {
  return gates.NonGracefulFailover ? undefined : objection('GateOff', 'the feature gate NonGracefulFailover is off');
}

/** What there is to know of volumes and their drivers. */
type Storage = Pick<NodeCase, 'policy' | 'volumes' | 'drivers'>;

/** One volume that is not protected could get a second writer, however well the others are (S30). */
export function allProtected(nodeCase: Storage, pod: PodFacts): Objection | undefined {
  const [direct] = pod.directVolumes;
  if (direct !== undefined) {
    return objection('VolumeNotProtected', `volume ${direct} leads to storage without a CSI driver`);
  }
  const volumes = volumesOf(nodeCase, pod);
  if (volumes.length === 0) return objection('NoPersistentVolume', 'it has no persistent volume');
  for (const volume of volumes) {
    const wrong = volume.known ? unprotected(nodeCase, volume) : objection('VolumeUnknown', volume.message);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function unprotected(nodeCase: Storage, volume: KnownVolume): Objection | undefined {
  const { volume: name, csi } = volume;
  if (csi === undefined) {
    return objection(
      'VolumeNotProtected',
      `volume ${name} is ${volume.local ? 'local to a node' : 'not a CSI volume'}`,
    );
  }
  const why = whyUnsafe(nodeCase, csi.driver);
  if (why !== undefined) return objection('VolumeNotProtected', `volume ${name}: ${why}`);
  return isShared(volume) ? objection('VolumeShared', `volume ${name} is ReadWriteMany`) : undefined;
}

/** Undefined: its detach takes the access of the node away, by its own word or by that of the policy. */
function whyUnsafe(nodeCase: Omit<Storage, 'volumes'>, name: string): string | undefined {
  const driver = driverOf(nodeCase.drivers, name);
  if (driver === undefined) return `there is no CSIDriver ${name}`;
  if (driver.attachless === true) {
    return `CSIDriver ${name} has attachRequired: false: nothing is detached, so that nothing is proven by it`;
  }
  if (driver.malformed !== undefined) return driver.malformed;
  if (driver.deniesSafeDetach === true) return `${SAFE_DETACH_ANNOTATION} of CSIDriver ${name} is "false"`;
  return driver.safeDetach || isDeclared(nodeCase, name)
    ? undefined
    : `CSIDriver ${name} has no ${SAFE_DETACH_ANNOTATION}, and no policy lists it under safeDetach`;
}

/** The CSIDriver belongs to somebody else's chart: the policy of the node can say the same (NGS-1). */
function isDeclared({ policy }: Pick<NodeCase, 'policy'>, driver: string): boolean {
  return policy.kind === 'one' && policy.policy.safeDetach.includes(driver);
}

/** Whose word it is where it is not the driver's own. */
function declaredBy(nodeCase: NodeCase): string | undefined {
  const { policy, pods } = nodeCase;
  if (policy.kind !== 'one') return undefined;
  const { name, safeDetach } = policy.policy;
  const used = pods.flatMap((pod) => knownVolumes(nodeCase, pod)).flatMap(({ csi }) => csi?.driver ?? []);
  const isItsWord = used.some((driver) => !isAnnotated(nodeCase, driver) && safeDetach.includes(driver));
  return isItsWord ? `policy ${name}` : undefined;
}

/** Its own annotation is what the release rests on; for the others the policy answers. */
function isAnnotated({ drivers }: NodeCase, name: string): boolean {
  return driverOf(drivers, name)?.safeDetach !== false;
}

export const bySafeDetach: Way = {
  name: 'safe detach',
  basis: 'StorageSafeDetach',
  checks,
  by: declaredBy,
  frees: knownVolumes,
  podStays: false,
  restsOnVolumes: true,
  toleratesLife: never,
  grounds: (nodeCase, { drivers }) => ({
    basis: 'StorageSafeDetach',
    safeDrivers: drivers.filter((name) => isAnnotated(nodeCase, name)),
    declaredDrivers: drivers.filter((name) => !isAnnotated(nodeCase, name)),
  }),
  stillStands: (nodeCase, { attachments }) =>
    nodeCase.gates.NonGracefulFailover &&
    attachmentsHere(nodeCase)
      .filter(({ name }) => attachments.includes(name))
      .every(({ driver }) => whyUnsafe(nodeCase, driver) === undefined),
  unopened: ['GateOff'],
};
