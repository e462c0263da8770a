/** How a node is fenced: the words that reading the configuration, deciding and acting share. */
import { tellingApart } from './device-parameters.ts';
import { hash } from './hash.ts';
import type { Selector } from './node-choice.ts';

export type MethodAction = 'off' | 'on' | 'cordon' | 'uncordon';

export interface Method {
  name: string;
  action: MethodAction;
  /** `agent:fence_ipmilan`, `driver:aws`, `built-in`. */
  driver: string;
  parameters: Readonly<Record<string, string>>;
  /** Names of Secrets whose keys are parameters too. */
  secrets: readonly string[];
  /** The CSI drivers whose storage the node cannot reach while this is off. */
  storage?: readonly string[];
  /** What the device answers when it is asked whose machine it is; `unchecked`: that is not looked at. */
  identity?: string;
  /** The FenceDevice that it is written in, where that is about its node alone: what is known of it is kept there. */
  object?: string;
}

/** A method is never changed once it was read, and every look at a fence asks for this several times. */
const hashes = new WeakMap<Method, string>();

/** Tells devices apart, and a device from what is made of it by an edit; undefined: there is none, as for a cordon. */
export function deviceHash(method: Method): string | undefined {
  const { action, driver, parameters, secrets } = method;
  if (action === 'cordon' || action === 'uncordon') return undefined;
  const known = hashes.get(method);
  if (known !== undefined) return known;
  const made = hash(JSON.stringify([driver, tellingApart(parameters), secrets]));
  hashes.set(method, made);
  return made;
}

/** What one level of a step does: all that switches off, then, when what it runs was let go, all that switches on. */
export interface Level {
  off: readonly Method[];
  on: readonly Method[];
}

export interface FenceConfig {
  /** The ConfigMap, or the FenceDevices, that it comes from; undefined: the default of the provider. */
  source?: string;
  isolation: readonly Level[];
  powerManagement: readonly Level[];
  recovery: readonly Level[];
}

/** A ConfigMap. */
export interface NamedData {
  name: string;
  data: Readonly<Record<string, string>>;
}

/** A FenceDevice as somebody has written it. */
export interface WrittenDevice {
  name: string;
  spec: {
    node?: string;
    selector?: Selector;
    /** `agent:fence_ipmilan`, `driver:aws`. */
    driver: string;
    parameters: Readonly<Record<string, string>>;
    /** By node. */
    values: Readonly<Record<string, Readonly<Record<string, string>>>>;
    secrets: readonly string[];
    level: number;
    cuts: 'Power' | 'Storage';
    storage: readonly string[];
    identity?: string;
  };
}

export interface ConfigProblem {
  /** The ConfigMap, or the FenceDevice. */
  file: string;
  /** The entry or field, and where it helps the line and property in it. */
  key: string;
  reason: string;
}

export const DEVICE_FILE = 'FenceDevice ';

/** For people: in which object it is written, and where in it. */
export function placeOf({ file, key }: Pick<ConfigProblem, 'file' | 'key'>): string {
  return `${file.startsWith(DEVICE_FILE) ? '' : 'ConfigMap '}${file}, ${key}`;
}

/** The first of what is wrong, for people. */
export function problemText(problems: readonly ConfigProblem[]): string {
  // What several methods take from one template is one mistake.
  const [first, ...others] = new Set(problems.map((one) => `${placeOf(one)}: ${one.reason}`));
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  return `${first ?? 'it cannot be read'}${more}`;
}

/** Where something about a method is written, for whoever has to correct it. */
export interface WrittenPlaces {
  /** Of a parameter, `agent`, `driver` or `secret`; where it is missing, the place where it belongs. */
  of: (method: Method, key: string) => string | undefined;
  /** The line by which somebody says that the device is the right one all the same, and where it belongs. */
  pin: (method: Method, says: string) => { line: string; into: string };
}

export type ConfigResult = { ok: true; config: FenceConfig } | { ok: false; problems: readonly ConfigProblem[] };
