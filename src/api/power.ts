/** What devices are asked about the power of a node, and how they answer: plain values, as a case has them. */
import { hash } from './hash.ts';
import type { ConfigResult, Method } from './fence-config.ts';
import type { ConditionStatus } from './view.ts';
import type { Pulse } from './life.ts';

/** What one device said when it was asked how it is. */
export interface PowerAnswer {
  /** The method by which it is known. */
  device: string;
  power: 'on' | 'off' | 'unknown';
  /** Whether it is this machine that it speaks of; `none`: it cannot say. */
  identity: 'same' | 'other' | 'none';
  /** For people: what it said. */
  message: string;
}

/** The devices of a node were asked, by this process. */
export interface PowerFacts {
  /** What was asked, by its hash: another configuration is another question. */
  question: string;
  /** How long ago it was, by our own clock. */
  askedForMs: number;
  /** Absent: none has come yet. */
  answers?: readonly PowerAnswer[];
}

/** What the word of a device is weighed against. */
export interface Circumstances {
  /** A way to the storage may well be cut under a living node. */
  what: 'power' | 'storage';
  ready: ConditionStatus | undefined;
  /** `renewed`: it was seen to change at all. */
  lease?: (Pulse & { renewed?: boolean | undefined }) | undefined;
  /** How long ago it was found off, or told so by us; absent: nobody has. */
  offForMs?: number | undefined;
}

/** Why the word of a device is not believed; undefined: it is. */
export type Doubt = (
  node: { name: string; ready: ConditionStatus | undefined },
  answer: PowerAnswer,
  about: Pick<Circumstances, 'what' | 'offForMs'>,
) => string | undefined;

/** The methods that switch a machine off at first. A cordon is no device. */
export function firstPowerMethods(config: ConfigResult): Method[] {
  return config.ok ? (config.config.powerManagement[0]?.off ?? []).filter(({ action }) => action === 'off') : [];
}

export function questionOf(methods: readonly Method[]): string {
  return hash(JSON.stringify(methods.map(({ driver, parameters, secrets }) => [driver, parameters, secrets])));
}
