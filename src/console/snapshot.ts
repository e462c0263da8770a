/** What the page shows: one value, made on the server, drawn as it is. */
import type { Judgement } from '../api/view.ts';

export interface PodSnapshot {
  namespace: string;
  name: string;
  phase: string;
  ready: boolean;
  terminating: boolean;
  /** Names of its claims. */
  volumes: string[];
}

export interface NodeSnapshot {
  name: string;
  zone: string;
  ready: string;
  schedulable: boolean;
  /** Absent while nobody leads. */
  verdict?: Judgement['verdict'];
  reason?: string;
  explanation?: string;
  evidence: string[];
  /** What is true of the machine, whatever the API says. */
  power: 'on' | 'off';
  linked: boolean;
  pods: PodSnapshot[];
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
export const MACHINE_ACTIONS = ['power-off', 'power-on', 'partition', 'heal'] as const;
export type MachineAction = (typeof MACHINE_ACTIONS)[number];

export interface ConsoleSource {
  snapshot(): Snapshot;
  /** Calls back whenever a new snapshot may differ; the answer stops it. */
  onChange(callback: () => void): () => void;
  /** False: there is no such machine. */
  act(node: string, action: MachineAction): boolean;
}
