/** The power devices of a simulated cluster, as the product sees devices. */
import type { DeviceProvider, FoundDevice } from '../devices/provider.ts';
import { instanceId, noInstance } from '../devices/provider.ts';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Device, DeviceAction, DeviceAnswer } from '../devices/device.ts';
import type { Bmc, BmcAnswer } from '../world/machines/bmc.ts';

/** While it is dead, whoever holds the devices neither asks nor hears of an answer. */
export interface Holder {
  readonly dead: boolean;
}

/** A promise of its own each time: what waits for one that all share is never forgotten, nor is the world around it. */
const never = (): Promise<never> => new Promise<never>(() => {});

export interface DeviceUser {
  holder?: Holder;
  onAsk?: (node: string, action: DeviceAction) => void;
  onAnswer?: (node: string, power: 'on' | 'off') => void;
  onPort?: (node: string, action: DeviceAction) => void;
}

/** The switch between the nodes and their storage: off is a port that lets nothing through. */
export interface StorageSwitch {
  isPortClosed(node: string): boolean;
  closePort(node: string): void;
  openPort(node: string): void;
}

export function simulatedDevices(
  { bmcs, storage }: { bmcs: ReadonlyMap<string, Bmc>; storage: StorageSwitch },
  user: DeviceUser = {},
): DeviceProvider {
  return {
    async device(node, method): Promise<FoundDevice> {
      // A configuration may be that of a real cluster: whatever agent it names, the machine has one switch for its power and
      // one port to its storage.
      const isPort = method.driver === 'driver:simulated-switch' || (method.storage ?? []).length > 0;
      if (isPort) return { ok: true, device: portOf(node.name, storage, user) };
      if (method.driver === 'built-in') return instanceOf(node, method, { bmcs, user });
      const bmc = bmcs.get(node.name);
      if (bmc === undefined) return { ok: false, problem: 'there is no such device' };
      // As in a real cluster: what starts a program for each question is not asked all the time.
      const isCheap = !method.driver.startsWith('agent:') || method.driver === 'agent:fence_redfish';
      return { ok: true, device: deviceOf(node.name, bmc, user), isCheap };
    },
    defaultConfig: (node) => (bmcs.has(node.name) ? defaultConfig : undefined),
  };
}

const defaultConfig: FenceConfig = {
  source: 'the device of the machine',
  isolation: [],
  powerManagement: [{ off: [method('power-off', 'off')], on: [method('power-on', 'on')] }],
  recovery: [],
};

function method(name: string, action: 'off' | 'on'): Method {
  return { name, action, driver: 'simulated', parameters: {}, secrets: [] };
}

const cloudScheme = 'sim://';

/** The cloud of a simulated cluster knows its machines by the ID that it gave their nodes, whoever says so, and by their names. */
function instanceOf(
  node: LiveNode,
  method: Method,
  { bmcs, user }: { bmcs: ReadonlyMap<string, Bmc>; user: DeviceUser },
): FoundDevice {
  const none = noInstance(node, method);
  if (none !== undefined) return none;
  const { name } = node;
  const providerId = instanceId(node);
  const instance = providerId.startsWith(cloudScheme) ? providerId.slice(cloudScheme.length) : name;
  const bmc = bmcs.get(instance);
  if (bmc === undefined) return { ok: false, problem: `the cloud has no instance ${instance}` };
  const device = deviceOf(instance, bmc, user);
  const identity = { kind: 'providerID', value: `${cloudScheme}${instance}` } as const;
  return {
    ok: true,
    device: {
      name: `instance ${instance}`,
      async ask(action, signal): Promise<DeviceAnswer> {
        const answer = await device.ask(action, signal);
        return answer.kind === 'status' ? { ...answer, identity } : answer;
      },
    },
  };
}

function deviceOf(node: string, bmc: Bmc, { holder, onAsk, onAnswer }: DeviceUser): Device {
  return {
    name: `the device of ${node}`,
    async ask(action, signal): Promise<DeviceAnswer> {
      if (holder?.dead) return never();
      onAsk?.(node, action);
      const answer = await bmc.request(action, signal);
      if (holder?.dead) return never();
      if (action === 'status' && answer.ok) onAnswer?.(node, answer.power);
      return told(action, answer);
    },
  };
}

function portOf(node: string, storage: StorageSwitch, { holder, onPort }: DeviceUser): Device {
  return {
    name: `the switch port of ${node}`,
    async ask(action): Promise<DeviceAnswer> {
      if (holder?.dead) return never();
      onPort?.(node, action);
      if (action === 'off') storage.closePort(node);
      if (action === 'on') storage.openPort(node);
      if (action !== 'status') return { kind: 'accepted' };
      return {
        kind: 'status',
        power: storage.isPortClosed(node) ? 'off' : 'on',
        identity: { kind: 'name', value: node },
      };
    },
  };
}

function told(action: DeviceAction, answer: BmcAnswer): DeviceAnswer {
  if (answer.ok) {
    const { power, identity } = answer;
    if (action !== 'status') return { kind: 'accepted' };
    return {
      kind: 'status',
      power,
      ...(identity === undefined ? {} : { identity: { kind: 'name', value: identity } }),
    };
  }
  return answer.error === 'refused'
    ? { kind: 'refused', message: 'the device refused' }
    : { kind: 'unknown', message: `the device says: ${answer.error}` };
}
