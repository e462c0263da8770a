/**
 * By the fence of the storage (FEN-11): the node was cut off from it, as the device says after the action and again right
 * before each act. Pods all of whose volumes are there may go; what they run can do no harm to any of them.
 */
import { portUnshown } from '../api/ports.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import type { Check, Objection } from './checks.ts';
import {
  isKnown,
  knownVolumes,
  kubeletSilent,
  nodeDown,
  nodeExists,
  notDaemon,
  notMirror,
  nothingReappeared,
  objection,
  volumesOf,
} from './checks.ts';
import { storageFacts, storageQuestion, unshownFacts } from './device-question.ts';
import type { Way } from './way.ts';
import { never } from './way.ts';

const checks: readonly Check[] = [
  notMirror,
  notDaemon,
  nodeExists,
  cutOff,
  allVolumesThere,
  nodeDown,
  kubeletSilent,
  nothingReappeared,
];

/** The storage that the node is cut off from just now; undefined: none, or the pods are not to go with it. */
function cutOffFrom(nodeCase: NodeCase): readonly string[] | undefined {
  const drivers = storageFacts(nodeCase).flatMap(({ storage }) => storage);
  return nodeCase.fence?.status.fence?.cleanResources !== true || drivers.length === 0 ? undefined : drivers;
}

function cutOff(nodeCase: NodeCase): Objection | undefined {
  if (cutOffFrom(nodeCase) !== undefined) return undefined;
  const [port] = unshownFacts(nodeCase);
  if (port !== undefined) return objection('PortUnproven', portUnshown(port.method, nodeCase.name));
  return objection('StorageNotFenced', 'no device has cut the node off from its storage');
}

function allVolumesThere(nodeCase: NodeCase, pod: PodFacts): Objection | undefined {
  const volumes = volumesOf(nodeCase, pod);
  if (volumes.length === 0) return objection('NoPersistentVolume', 'it has no persistent volume');
  const storage = cutOffFrom(nodeCase) ?? [];
  const other = volumes.find((volume) => !isKnown(volume) || !storage.includes(volume.csi?.driver ?? ''));
  if (other === undefined && pod.directVolumes.length === 0) return undefined;
  if (other !== undefined && !isKnown(other)) return objection('VolumeUnknown', 'one of its volumes is not known');
  const what = other === undefined ? pod.directVolumes.join(', ') : `volume ${other.volume}`;
  return objection('VolumeNotProtected', `${what} is not on the storage that the node was cut off from`);
}

export const byStorageFence: Way = {
  name: 'storage fence',
  basis: 'StorageFenced',
  checks,
  by: ({ fence }) => fence?.status.fence?.method,
  frees: knownVolumes,
  podStays: false,
  restsOnVolumes: true,
  toleratesLife: never,
  grounds: (nodeCase) => ({ basis: 'StorageFenced', question: storageQuestion(nodeCase) }),
  stillStands: (nodeCase) => cutOffFrom(nodeCase) !== undefined,
  unopened: ['StorageNotFenced'],
};
