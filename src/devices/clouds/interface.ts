/** What a cloud is to its driver: its parameters, one instance of it, and many by one call. */
import type { DeviceWorld, Identity } from '../device.ts';
import type { ParameterRule, Values } from './parameters.ts';
import type { Turn } from './turn.ts';

export interface CloudSettings {
  /** For all that a question takes, reading an operation to its end included. */
  timeoutMs: number;
  /** For a single call. */
  callTimeoutMs: number;
}

export interface Cloud {
  readonly name: string;
  readonly rules: Readonly<Record<string, ParameterRule>>;
  /** What is wrong with parameters that are all right one by one. */
  problems?(value: Values): readonly { key: string; problem: string }[];
  /** Credentials that are inside of others. */
  hiddenIn?(value: Values): readonly string[];
  /** Which instance, and where; undefined: the parameters do not say which. */
  connect(value: Values, world: DeviceWorld): CloudInstance | undefined;
  /** All that the credential reaches; absent: there is no call for many. */
  fleet?(value: Values, world: DeviceWorld): CloudFleet | undefined;
}

/** Kept as long as somebody watches instances of it. */
export interface CloudFleet {
  /** It can be told apart from all others by what it is called. */
  has(instance: string): boolean;
  statuses(instances: readonly string[], turn: Turn): Promise<ToldOfMany>;
}

/** Kept as long as its device; what it does throws a `Failure` where it does not work. */
export interface CloudInstance {
  status(turn: Turn): Promise<PowerStatus>;
  /** Returns when the cloud took it, and where it gives an operation, when that has ended or the time has. */
  switchTo(power: 'on' | 'off', turn: Turn): Promise<void>;
}

export interface PowerStatus {
  power: 'on' | 'off';
  identity?: Identity;
}

/** What a call for many said of one; throws a `Failure` where that is no power state. */
export type Told = () => PowerStatus;

/** Of the instances that were asked for, by the names they were asked by; of one that is missing nothing was said. */
export type ToldOfMany = ReadonlyMap<string, Told>;
