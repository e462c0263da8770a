/** What the page shows: one value, made on the server, drawn as it is. */
import type { Judgement } from '../api/view.ts';
import type { DrainState } from '../report/drain-status.ts';

export interface PodSnapshot {
  namespace: string;
  name: string;
  phase: string;
  ready: boolean;
  terminating: boolean;
  /** Names of its claims. */
  volumes: string[];
}

/** A copy of a volume on the disk of a node. */
export interface ReplicaSnapshot {
  volume: string;
  state: 'healthy' | 'building' | 'repairing' | 'failed';
}

/** What Fenceline has done about a node in trouble, and what it waits for; from its NodeFence. */
export interface RecoverySnapshot {
  trouble: string;
  /** What stands in the way of everything. */
  hold?: string;
  /** How far its fence is: the word for it, and by which method or why. */
  fence?: { reason: string; message: string };
  /** How far the node has come back, and what the next stage waits for. */
  stage?: string;
  waitsFor?: string;
  stuck: { pod: string; why: string; until?: string }[];
  releases: { at: string; basis: string; by?: string; pods: string[]; ended: boolean }[];
}

export interface NodeSnapshot {
  name: string;
  zone: string;
  ready: string;
  schedulable: boolean;
  /** By whoever drains it; a node may be unschedulable because of its taints alone. */
  cordoned: boolean;
  /** Taints as `key:effect`. */
  taints: string[];
  /** Absent while nobody leads. */
  verdict?: Judgement['verdict'];
  reason?: string;
  explanation?: string;
  evidence: string[];
  /** What is true of the machine, whatever the API says. */
  power: 'on' | 'off';
  linked: boolean;
  pods: PodSnapshot[];
  /** As they really are on its disk. */
  replicas: ReplicaSnapshot[];
  recovery?: RecoverySnapshot;
  /** Of a cordoned node under a DrainPolicy. */
  drain?: DrainState;
}

export interface StoryLine {
  at: string;
  text: string;
}

export interface Snapshot {
  at: string;
  nodes: NodeSnapshot[];
  /** Pods that no node runs. */
  waiting: PodSnapshot[];
  /** What happened, newest first. */
  story: StoryLine[];
}

/** What a person can do to a machine. */
export const MACHINE_ACTIONS = ['power-off', 'power-on', 'partition', 'heal', 'drain', 'uncordon'] as const;
export type MachineAction = (typeof MACHINE_ACTIONS)[number];

export interface ConsoleSource {
  snapshot(): Snapshot;
  /** Calls back whenever a new snapshot may differ; the answer stops it. */
  onChange(callback: () => void): () => void;
  /** False: there is no such machine. */
  act(node: string, action: MachineAction): boolean;
}
