/** What the page of `make run` has beside that of a real cluster: the machines as they really are, and what happened, in words. */
import type { PodPicture } from './picture.ts';

/** A copy of a volume on the disk of a node. */
export interface ReplicaSnapshot {
  volume: string;
  state: 'healthy' | 'building' | 'repairing' | 'failed';
}

/** What is true of a machine, whatever the API says. */
export interface MachineSnapshot {
  name: string;
  zone: string;
  power: 'on' | 'off';
  linked: boolean;
  hung: boolean;
  /** How its power device misbehaves. */
  fault: string;
  pods: PodPicture[];
  /** As they really are on its disk. */
  replicas: ReplicaSnapshot[];
}

export interface StoryLine {
  at: string;
  text: string;
}

/** Of the whole stage. */
export interface StagePicture {
  /** Pods that no node runs. */
  waiting: PodPicture[];
  /** What happened, newest first. */
  story: StoryLine[];
  /** How many seconds pass there in one. */
  rate: TimeRate;
}

export const TIME_RATES = [1, 10, 60] as const;
export type TimeRate = (typeof TIME_RATES)[number];

/** What its power device can be made to do. */
export const DEVICE_FAULTS = ['none', 'hangs', 'refuses', 'ignores', 'saysOff'] as const;
export type DeviceFault = (typeof DEVICE_FAULTS)[number];

/** What a person can do to a machine. */
export const MACHINE_ACTIONS = [
  'power-off',
  'power-on',
  'partition',
  'heal',
  'hang',
  'wake',
  'drain',
  'uncordon',
] as const;
export type MachineAction = (typeof MACHINE_ACTIONS)[number] | `device-${DeviceFault}`;

export function isMachineAction(text: string): text is MachineAction {
  const all: readonly string[] = [...MACHINE_ACTIONS, ...DEVICE_FAULTS.map((fault) => `device-${fault}`)];
  return all.includes(text);
}
