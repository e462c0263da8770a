/** What devices are asked about the power of a node, and how they answer: plain values, as a case has them. */
import { tellingApart } from './device-parameters.ts';
import { hash } from './hash.ts';
import type { FenceDeviceStatus } from './fence-device.ts';
import type { ConfigResult, Method } from './fence-config.ts';
import type { ConditionStatus } from './view.ts';
import type { Pulse } from './life.ts';
export type { PortFacts } from './ports.ts';
import { outletsOf, plugOf } from './plug.ts';

/** What one device said when it was asked how it is. */
export interface Said {
  /** For people: what it is and where. */
  device: string;
  power: 'on' | 'off' | 'unknown';
  /** Whether it is this machine that it speaks of; `none`: it cannot say. */
  identity: 'same' | 'other' | 'none';
  /** Whose machine it says that it is. */
  says?: string;
  /** Another node of the cluster, which says that it is that machine. */
  isNode?: string;
  /** A hash of where it is and which of its outlets, as far as that is told apart. */
  plug?: string;
  /** For people: what it said. */
  message: string;
}

/** The same, with what is known of the device. */
export interface PowerAnswer extends Said {
  /** It was seen on while this node was alive, with the configuration that it has now. */
  wasSeenOn: boolean;
  /** It is known to be wrong. */
  wrong?: string;
  /** The node that has to be drilled first: it is one of several outlets, and nothing has shown that all of them are its power. */
  needsDrill?: string;
  /** It cuts off a way to the storage, cannot say whose, and nobody has shown it. */
  isUnshown?: boolean;
}

/** What is known of the devices that switch a machine together, this one among them. */
export interface Together {
  node: string;
  /** Which they are; absent: it is the only one. */
  level?: string | undefined;
  /** How many outlets they have, as far as that is told apart. */
  outlets: number;
  known: readonly FenceDeviceStatus[];
  /** In which boot the machine of the node is. */
  bootId: string;
}

/** One of the devices of a level, as it is configured. */
export interface Outlets {
  device: string;
  outlets: number;
}

/** An answer, with what was known of the node when it was given. */
export interface Heard {
  /** `agent:fence_ipmilan`, `driver:aws`. */
  device: string;
  /** The hash of the device as it is configured now. */
  configuration: string;
  /** A hash of where it is, as far as its Secrets say that; absent: its configuration does, or it could not be found. */
  place: string | undefined;
  what?: Circumstances['what'] | undefined;
  said: Said;
  at: string;
  by: 'check' | 'fence' | 'watch';
  /** Its kubelet renews its Lease just now. */
  isAlive: boolean;
  /** Its Lease was renewed more than two seconds after the device had last said off, in the same boot. */
  isContradicted: boolean;
  /** In which boot the machine of its node is. */
  bootId: string;
  /** Which machine that is, by its hash; absent: nobody knows. */
  machine?: string | undefined;
  /** Others of its level have not said off, in this boot: that the node is silent shows nothing of this one. */
  isPart?: boolean | undefined;
  /** Somebody says that what has been wrong since then is mended. */
  cleared?: { by: string; wrongSince: string } | undefined;
  /** Another node that exists is configured with the same device and plug. */
  sharedWith?: string | undefined;
}

/** The devices of a node were asked, by this process. */
export interface PowerFacts {
  /** What was asked, by its hash: another configuration is another question. */
  question: string;
  /** How long ago it was, by our own clock. */
  askedForMs: number;
  /** Absent: none has come yet. */
  answers?: readonly PowerAnswer[];
  /**
   * All of them say off, and what came of a knock at the port of its kubelet after that; absent: nobody watches its power. `silent`: it had
   * answered lately, and does not any more.
   */
  port?: 'open' | 'refused' | 'silent' | 'unknown';
}

/** What the word of a device is weighed against. */
export interface Circumstances {
  /** A way to the storage may well be cut under a living node. */
  what: 'power' | 'storage';
  ready: ConditionStatus | undefined;
  /** `renewed`: it was seen to change at all. */
  lease?: (Pulse & { renewed?: boolean | undefined }) | undefined;
  /** How long ago it was confirmed off after we told it so; absent: we have not. */
  offForMs?: number | undefined;
  /** It has power by other devices of the same level still: that it lives says nothing against this one. */
  isPart?: boolean | undefined;
  /** Something is let go by its word. */
  isBasis?: boolean | undefined;
  /** It is asked while its node lives, about the day when it does not. */
  isForLater?: boolean | undefined;
  /** Nobody has answered at the port of its kubelet since; absent: nobody has tried. */
  isMissed?: boolean | undefined;
}

/** Why the word of a device is not believed. */
export interface Doubt {
  reason: 'WrongMachine' | 'NotProven';
  message: string;
  /** It is for a sign of life alone, which may be the last one of its machine. */
  mayPass?: true;
}

/** Whether it is about this machine, as far as anybody knows; what it says of that is another question. */
export function isAboutThisMachine({ identity, wrong, wasSeenOn }: PowerAnswer): boolean {
  return identity !== 'other' && wrong === undefined && (identity !== 'none' || wasSeenOn);
}

/** The rule, where it is known of the node what it is weighed against; undefined: it is believed. */
export type DoubtAbout = (
  node: { name: string; ready: ConditionStatus | undefined },
  answer: PowerAnswer,
  about: Pick<Circumstances, 'what' | 'offForMs' | 'isPart' | 'isBasis' | 'isForLater' | 'isMissed'>,
) => Doubt | undefined;

/** The methods that switch a machine off at first. A cordon is no device. */
export function firstPowerMethods(config: ConfigResult): Method[] {
  return config.ok ? (config.config.powerManagement[0]?.off ?? []).filter(({ action }) => action === 'off') : [];
}

/** All that may switch it off, level by level. */
export function powerLevels(config: ConfigResult): Method[][] {
  if (!config.ok) return [];
  return config.config.powerManagement.map(({ off }) => off.filter(({ action }) => action === 'off'));
}

/** The devices of each of its levels, with how many outlets each of them has, as far as that is written. */
export function outletLevels(config: ConfigResult): Outlets[][] {
  return powerLevels(config).map((level) =>
    level.map((method) => {
      const plug = plugOf(method.driver, method.parameters);
      return { device: deviceHash(method), outlets: plug === undefined ? 1 : outletsOf(plug).length };
    }),
  );
}

/** By which it is known that several devices were cut together; undefined: it is the only one. */
export function levelKey(level: readonly Outlets[]): string | undefined {
  return level.length < 2
    ? undefined
    : hash(
        level
          .map(({ device }) => device)
          .toSorted()
          .join(),
      );
}

export function powerMethods(config: ConfigResult): Method[] {
  return powerLevels(config).flat();
}

/** All that may cut it off from its storage, on every level. */
export function storageMethods(config: ConfigResult): Method[] {
  if (!config.ok) return [];
  return config.config.isolation.flatMap(({ off }) => off).filter(({ action }) => action === 'off');
}

export function questionOf(methods: readonly Method[]): string {
  return hash(methods.map(deviceHash).join());
}

/** An identity that is not looked at: the device is taken for one that cannot say. */
export const UNCHECKED = 'unchecked';

/** A device with its plug: methods that differ in what they do with it have the same. */
export function deviceHash({ driver, parameters, secrets, identity }: Method): string {
  return hash(JSON.stringify([driver, tellingApart(parameters), secrets, identity]));
}

/** Off was confirmed, and now nobody says so any more. `isDisbelieved`: because its word, or its ID, is worth nothing now. */
export interface Unconfirmed {
  message: string;
  isDisbelieved: boolean;
  forMs: number;
}

/** What the API server says when something does not go, or how it fails, and for how long in a row nothing has gone. */
export type Refused = Omit<Unconfirmed, 'isDisbelieved'>;

export interface Refusable {
  /** Something that was decided, and is done at once. */
  refused?: Refused;
  /** To say whether that still holds which something rests on that takes its time. */
  refusedGrounds?: Refused;
}

/** Who has not answered by then is not waited for. */
const patienceMs = 10_000;
/** An older answer says nothing about now. */
export const ANSWER_FRESH_MS = 15_000;

/** What the devices of a node say now. `open`: they may answer yet; `mute`: they do not, or there are none. */
export type Lately =
  | { kind: 'said'; answers: readonly PowerAnswer[]; askedForMs: number }
  | { kind: 'open' | 'mute'; message: string };

export function latelySaid({ config, power }: { config: ConfigResult; power?: PowerFacts }): Lately {
  const methods = firstPowerMethods(config);
  if (methods.length === 0) return { kind: 'mute', message: 'no device switches its power' };
  if (power === undefined || power.question !== questionOf(methods)) {
    return { kind: 'open', message: 'its devices were not asked yet' };
  }
  const { answers, askedForMs } = power;
  if (answers !== undefined && askedForMs <= ANSWER_FRESH_MS) return { kind: 'said', answers, askedForMs };
  return { kind: askedForMs >= patienceMs ? 'mute' : 'open', message: 'its devices have not answered yet' };
}
