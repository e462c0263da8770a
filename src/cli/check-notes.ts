/** What is worth knowing of a node that could be fenced. */
import type { CheckedAnswer } from '../act/device-check.ts';
import type { StoredDevice } from '../act/device-records.ts';
import type { ConfigResult, Method } from '../api/fence-config.ts';
import type { Together } from '../api/power.ts';
import { deviceHash, levelKey, outletLevels, storageMethods } from '../api/power.ts';
import { isShown, learntWith } from '../api/learnt.ts';
import { portUnshown } from '../api/ports.ts';
import type { FenceDeviceStatus } from '../api/fence-device.ts';
import type { LiveNode } from '../api/release-view.ts';
import { isDrilled } from '../fence/memory.ts';

export function notesOf(
  node: LiveNode,
  method: Method,
  { answer, devices, config }: { answer: CheckedAnswer; devices: readonly StoredDevice[]; config: ConfigResult },
): string[] {
  const status = knownOf(devices, node, deviceHash(method));
  const { watch } = status;
  const isPort = storageMethods(config).some((one) => deviceHash(one) === deviceHash(method));
  const { shown } = recordOf(devices, node.name, deviceHash(method))?.spec ?? {};
  const by = isShown(shown, status) ? shown?.by : undefined;
  const drilled = isDrilled(status, togetherOf(node, method, { config, devices }).level) ? status.drilled : undefined;
  return [
    ...(answer.believed && cannotSay(answer)
      ? [isPort ? shownNote(node.name, method, by) : blindNote(node.name, method, drilled)]
      : []),
    ...(watch === 'PortSilent' ? [portNote(node)] : []),
  ];
}

/** It said something, and not of which machine. */
export function cannotSay({ identity, power }: CheckedAnswer): boolean {
  return identity === 'none' && power !== 'unknown';
}

/** What follows from that: until a drill has shown it, a release waits for every other node (SAF-17). */
function blindNote(node: string, method: Method, drilled: string | undefined): string {
  const proof =
    drilled === undefined
      ? `no drill has shown that it is that of ${node}: a release waits until every other node was heard of, and of a machine that is no node nobody would hear (fenceline drill ${node})`
      : `a drill has shown at ${drilled} that it is that of ${node}`;
  return `${method.name} cannot say whose power it is; ${proof}`;
}

function shownNote(node: string, method: Method, by: string | undefined): string {
  if (by !== undefined) return `${method.name} cannot say whose port it is; ${by} has shown that it is that of ${node}`;
  return `${portUnshown(method.name, node)}; nothing goes by it before its power is cut`;
}

/** Where its power is watched: what is missed there is missed no sooner than without (EVD-4). */
function portNote({ kubelet }: LiveNode): string {
  const where =
    kubelet === undefined
      ? 'its kubelet does not say where it listens'
      : `TCP port ${kubelet.port} of ${kubelet.address} does not answer the operator`;
  return `${where}: a lost power is believed when its Lease is overdue`;
}

/** What is on record of the devices that switch a machine together with this one. */
export function togetherOf(
  node: LiveNode,
  method: Method,
  { config, devices }: { config: ConfigResult; devices: readonly StoredDevice[] },
): Together {
  const own = deviceHash(method);
  const level = outletLevels(config).find((all) => all.some(({ device }) => device === own)) ?? [];
  return {
    node: node.name,
    level: levelKey(level),
    outlets: level.reduce((sum, { outlets }) => sum + outlets, 0),
    known: level.map(({ device }) => knownOf(devices, node, device)),
    bootId: node.bootId,
  };
}

/** With the machine that its node has now. */
function knownOf(devices: readonly StoredDevice[], node: LiveNode, configuration: string): FenceDeviceStatus {
  return learntWith(statusOf(devices, node.name, configuration), node.machineId);
}

export function statusOf(devices: readonly StoredDevice[], node: string, configuration: string): FenceDeviceStatus {
  return recordOf(devices, node, configuration)?.status ?? {};
}

export function recordOf(
  devices: readonly StoredDevice[],
  node: string,
  configuration: string,
): StoredDevice | undefined {
  return devices.find((one) => one.spec.node === node && one.status?.configuration === configuration);
}
