/** The power devices of a simulated cluster, as the product sees devices. */
import type { DeviceProvider, FoundDevice } from '../devices/provider.ts';
import { instanceId, noInstance } from '../devices/provider.ts';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Device, DeviceAction, DeviceAnswer } from '../devices/device.ts';
import type { Bmc, BmcAnswer } from '../world/machines/bmc.ts';
import { deviceKey } from '../world/machines/feeds.ts';

/** While it is dead, whoever holds the devices neither asks nor hears of an answer. */
export interface Holder {
  readonly dead: boolean;
}

/** A promise of its own each time: what waits for one that all share is never forgotten, nor is the world around it. */
const never = (): Promise<never> => new Promise<never>(() => {});

export interface DeviceUser {
  holder?: Holder;
  onAsk?: (node: string, action: DeviceAction, feed?: string) => void;
  /** `all`: what its feeds have said last, taken together: off is what all of them say. */
  onAnswer?: (node: string, power: 'on' | 'off', all: 'on' | 'off') => void;
  onPort?: (node: string, action: DeviceAction) => void;
}

/** The switch between the nodes and their storage: off is a port that lets nothing through. */
export interface StorageSwitch {
  ports: { device(node: string, way: string): Bmc | undefined };
}

export function simulatedDevices(
  { bmcs, storage }: { bmcs: ReadonlyMap<string, Bmc>; storage: StorageSwitch },
  user: DeviceUser = {},
): DeviceProvider {
  const feeds: Said = new Map();
  return {
    async device(node, method): Promise<FoundDevice> {
      // A configuration may be that of a real cluster: whatever agent it names, the machine has one switch for its power and
      // one port to its storage, unless the scenario says otherwise.
      const isPort = method.driver === 'driver:simulated-switch' || (method.storage ?? []).length > 0;
      if (isPort) return portOf(node.name, method, storage, user);
      if (method.driver === 'built-in') return instanceOf(node, method, { bmcs, user });
      const found = deviceFor(node.name, method, bmcs);
      if (found === undefined) return { ok: false, problem: 'there is no such device' };
      // As in a real cluster: what starts a program for each question is not asked all the time.
      const isCheap = !method.driver.startsWith('agent:') || method.driver === 'agent:fence_redfish';
      return { ok: true, device: deviceOf(found, feeds, user), isCheap };
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
  const device = deviceOf({ node: instance, bmc, beside: [] }, new Map(), user);
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

/** What each feed has said last. */
type Said = Map<string, 'on' | 'off'>;

interface Found {
  node: string;
  bmc: Bmc;
  feed?: string;
  /** The other devices of the same machine, by their keys. */
  beside: readonly string[];
}

/** One that has several supplies has a device for each, which a method names as its plug. */
function deviceFor(node: string, { parameters }: Method, bmcs: ReadonlyMap<string, Bmc>): Found | undefined {
  const sole = bmcs.get(node);
  if (sole !== undefined) return { node, bmc: sole, beside: [] };
  const feed = parameters['plug'] ?? '';
  const bmc = bmcs.get(deviceKey(node, feed));
  const beside = [...bmcs.keys()].filter((key) => key.startsWith(deviceKey(node, '')) && key !== deviceKey(node, feed));
  return bmc && { node, bmc, feed, beside };
}

function deviceOf({ node, bmc, feed, beside }: Found, said: Said, { holder, onAsk, onAnswer }: DeviceUser): Device {
  const key = deviceKey(node, feed);
  return {
    name: feed === undefined ? `the device of ${node}` : `the feed ${feed} of ${node}`,
    async ask(action, signal): Promise<DeviceAnswer> {
      if (holder?.dead) return never();
      onAsk?.(node, action, feed);
      const answer = await bmc.request(action, signal);
      if (holder?.dead) return never();
      if (action === 'status' && answer.ok) {
        said.set(key, answer.power);
        const isOff = [key, ...beside].every((one) => said.get(one) === 'off');
        onAnswer?.(node, answer.power, isOff ? 'off' : 'on');
      }
      return told(action, answer);
    },
  };
}

/** One that has several ways to its storage has a port for each, which a method names as its plug. */
function portOf(
  node: string,
  { parameters }: Method,
  { ports }: StorageSwitch,
  { holder, onPort }: DeviceUser,
): FoundDevice {
  const way = parameters['plug'] ?? '';
  const port = ports.device(node, way);
  if (port === undefined) return { ok: false, problem: `there is no port ${way} of ${node}` };
  return {
    ok: true,
    device: {
      name: `the switch port of ${node}`,
      async ask(action, signal): Promise<DeviceAnswer> {
        if (holder?.dead) return never();
        onPort?.(node, action);
        const answer = await port.request(action, signal);
        return holder?.dead ? never() : told(action, answer);
      },
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
