/**
 * What is known of a device belongs to the machine that it was learnt with. A node may get another machine under its old name, and
 * whoever builds that in plugs it in anew: what a drill has shown of the old one says nothing of the new one (SAF-17).
 */
import type { FenceDevice, FenceDeviceStatus } from './fence-device.ts';
import { hash } from './hash.ts';
import { isUuid, machineKey } from './machine.ts';

/** By what a machine is told from the one that had its name before: its Node may be made again, and its system installed anew. */
export function machineIdOf(
  nodeInfo: { systemUUID?: string; machineID?: string } | undefined,
  uid: string | undefined,
): string {
  const { systemUUID, machineID = '' } = nodeInfo ?? {};
  if (isUuid(systemUUID)) return hash(machineKey(systemUUID));
  return hash(machineID === '' ? (uid ?? '') : machineID);
}

/**
 * What is left of it for this machine; undefined: nobody knows which one it is. An earlier version did not say with which machine it was
 * learnt: a drill would end the waiting for others, and is not believed; that it was seen on is, because others are waited for then.
 */
export function learntWith(status: FenceDeviceStatus, machine: string | undefined): FenceDeviceStatus {
  if (machine === undefined || status.machine === machine) return status;
  const { cut: _, drilled: __, drilledLevel: ___, seenOn, ...rest } = status;
  const kept = status.machine === undefined && seenOn !== undefined ? { seenOn } : {};
  return { ...rest, machine, ...kept };
}

/** Whether somebody has shown whose port it is, as it is configured and with the machine that the node has now. */
export function isShown(
  shown: FenceDevice['spec']['shown'],
  { configuration, machine, place }: Pick<FenceDeviceStatus, 'configuration' | 'machine' | 'place'>,
): boolean {
  const isOfIt = shown?.configuration === configuration && shown?.place === place;
  return isOfIt && shown?.machine !== undefined && shown.machine === machine;
}

/**
 * Whether what is known is about the device that has just spoken. Its configuration names its Secrets, not what they say: where it is
 * and which outlet is meant may be edited there, and make another device of it. What nobody has noted yet is taken for the same.
 */
export function isSameDevice(
  known: Pick<FenceDeviceStatus, 'configuration' | 'place'>,
  { configuration, place }: { configuration: string; place?: string | undefined },
): boolean {
  const isMoved = place !== undefined && known.place !== undefined && known.place !== place;
  return known.configuration === configuration && !isMoved;
}
