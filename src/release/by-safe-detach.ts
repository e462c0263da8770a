/**
 * By the word of the storage (NGS): its driver detaches only what is not written to any more, so that a pod whose
 * volumes are all of such drivers may go from a node that is not Ready, whatever the node still does.
 */
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { SAFE_DETACH_ANNOTATION } from '../api/release-view.ts';
import type { Check, KnownVolume, Objection } from './checks.ts';
import {
  attachedOnce,
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

/** One volume that is not protected could get a second writer, however well the others are (S30). */
function allProtected(known: NodeCase, pod: PodFacts): Objection | undefined {
  const [direct] = pod.directVolumes;
  if (direct !== undefined) {
    return objection('VolumeNotProtected', `volume ${direct} leads to storage without a CSI driver`);
  }
  const volumes = volumesOf(known, pod);
  if (volumes.length === 0) return objection('NoPersistentVolume', 'it has no persistent volume');
  for (const volume of volumes) {
    const wrong = volume.known ? unprotected(known, volume) : objection('VolumeUnknown', volume.message);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function unprotected({ drivers }: NodeCase, volume: KnownVolume): Objection | undefined {
  const { volume: name, csi } = volume;
  if (csi === undefined) {
    return objection(
      'VolumeNotProtected',
      `volume ${name} is ${volume.local ? 'local to a node' : 'not a CSI volume'}`,
    );
  }
  const driver = driverOf(drivers, csi.driver);
  if (driver === undefined)
    return objection('VolumeNotProtected', `volume ${name}: there is no CSIDriver ${csi.driver}`);
  if (driver.malformed !== undefined) return objection('VolumeNotProtected', `volume ${name}: ${driver.malformed}`);
  if (!driver.safeDetach) {
    return objection('VolumeNotProtected', `volume ${name}: CSIDriver ${csi.driver} has no ${SAFE_DETACH_ANNOTATION}`);
  }
  return isShared(volume) ? objection('VolumeShared', `volume ${name} is ReadWriteMany`) : undefined;
}

export const bySafeDetach: Way = {
  name: 'safe detach',
  basis: 'StorageSafeDetach',
  checks,
  by: () => undefined,
  frees: knownVolumes,
  podStays: false,
  restsOnVolumes: true,
  toleratesLife: never,
  grounds: (_, { drivers }) => ({ basis: 'StorageSafeDetach', safeDrivers: drivers }),
  stillStands: ({ gates }) => gates.NonGracefulFailover,
  unopened: ['GateOff'],
};
