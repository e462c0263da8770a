/** Where devices come from: agents and clouds in a real cluster, simulated ones in a simulated. */
import type { AllowedParameter } from '../api/agent-parameters.ts';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Device } from './device.ts';

/**
 * `plug`: a hash of where it is and which of its outlets; absent: the parameters do not say. `isCheap`: it can be asked all the time,
 * which neither starts a program nor opens a connection.
 */
export type FoundDevice = { ok: true; device: Device; plug?: string; isCheap?: boolean } | NoDevice;

/** `key`: what is wrong of what is written about it, such as `agent`, `secret` or a parameter. */
export interface NoDevice {
  ok: false;
  problem: string;
  key?: string;
}

/**
 * A node is found by the ID that its provider gave it, and not where another node says the same of itself (SEC-2). To switch on
 * harms neither: a machine that was cut by that ID is not left off because somebody says the same since.
 */
export function noInstance({ name, disputed }: LiveNode, method?: Method): NoDevice | undefined {
  const rival = disputed?.providerId;
  if (rival === undefined || method?.action === 'on') return undefined;
  return {
    ok: false,
    problem: `node ${rival} has the same provider ID as ${name}: whose machine it is nobody can say`,
  };
}

/** By which the instance is found, where it may be. */
export function instanceId({ disputedId, providerId = '' }: LiveNode): string {
  return disputedId ?? providerId;
}

export interface DeviceProvider {
  /** `isKept`: as it was found a moment ago will do, to ask it. */
  device(node: LiveNode, method: Method, how?: { isKept: boolean }): Promise<FoundDevice>;
  /** How nodes are fenced for which nothing is written; absent: as the cloud provider does it. */
  defaultConfig?(node: LiveNode): FenceConfig | undefined;
  /** What agents may be given beyond what is harmless for all of them; absent: nothing. */
  readonly allowed?: readonly AllowedParameter[];
}
