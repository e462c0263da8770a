/**
 * What the pages show: parts with a name each, made on the server and drawn as they are. What has changed is sent, and nothing else.
 * Types only: the page is made from them too.
 */
import type { FailoverFinding } from '../api/failover.ts';
import type { Verdict } from '../api/view.ts';
import type { DrainState } from '../report/drain-status.ts';
import type { Explanation, Leader } from '../report/explanation.ts';
import type { Need } from '../report/needs.ts';
import type { MarkKind, Timeline } from '../report/timeline.ts';

/** What a node looks like on the map, by colour and by shape. */
export type NodeMark = 'healthy' | 'suspect' | 'down' | 'fenced' | 'held' | 'quarantined' | 'unknown';

export interface NodePicture {
  name: string;
  zone: string;
  mark: NodeMark;
  verdict: Verdict;
  reason: string;
  /** Of its condition Ready. */
  ready: string;
  cordoned: boolean;
  /** Takes pods: neither cordoned nor in quarantine. */
  schedulable: boolean;
  /** Of a cordoned node under a DrainPolicy. */
  drain?: DrainState;
  /** Absent: no policy selects it. */
  policy?: string;
  /** The one that is open. */
  incident?: { id: string; since: string };
  /** The whole in one sentence, of one that is not quiet. */
  summary?: string;
  /** How many pods are there, and the names of some that have volumes. */
  pods: number;
  runs: string[];
}

/** A person has to do something about it. */
export interface NeedPicture extends Omit<Need, 'node'> {
  /** Absent: it is about all of them. */
  node?: string;
  /** What the console can do about it. */
  act?: NodeAct;
}

export interface BrakePicture {
  nodes: number;
  troubled: number;
  /** The least that a policy in force allows. */
  allowed: number;
  /** By that policy, and as it is written there. */
  policy: string;
  limit: string;
  fencing: string[];
  maxConcurrent: number;
  /** Something is held back by it. */
  isOn: boolean;
}

export interface IncidentLine {
  id: string;
  node: string;
  trouble: string;
  startedAt: string;
  /** Absent: it is open. */
  endedAt?: string;
  /** What it came to, in a few words. */
  outcome: string;
  /** How long its workloads were away. */
  awayMs?: number;
}

export interface HeadPicture {
  /** `unknown`: nobody can see. */
  tone: 'calm' | 'busy' | 'needs' | 'unknown';
  /** The first line, in plain words. */
  text: string;
  /** What goes on, one line each. */
  lines: { node: string; text: string }[];
  needs: NeedPicture[];
  operator: Leader;
  /** What somebody has to know who reads the rest. */
  warnings: string[];
  brake?: BrakePicture;
  incidents: IncidentLine[];
  hasPolicy: boolean;
  /** Who looks, as the API server says; absent: nobody has signed in, because nobody has to. */
  user?: string;
  /** What may be done from here to nodes. */
  can: NodeAct[];
}

/** What the console does to a node, as whoever is signed in. */
export const NODE_ACTS = ['approve', 'stop', 'resume', 'fence'] as const;
export type NodeAct = (typeof NODE_ACTS)[number];

export interface PodPicture {
  namespace: string;
  name: string;
  phase: string;
  ready: boolean;
  terminating: boolean;
  volumes: string[];
  /** Why it is still there, of one that should be gone. */
  stuck?: string;
}

/** The page of one node, or of one incident of it. */
export interface NodePage {
  node: string;
  explanation: Explanation;
  /** The same as `fenceline explain` prints it. */
  text: string;
  timeline?: Timeline;
  /** All of its incidents on record, the latest first. */
  incidents: IncidentLine[];
  pods: PodPicture[];
  acts: NodeAct[];
}

/** What is sent. */
export interface News {
  /** By the API server's clock. */
  at: string;
  /** How long nothing was heard of the API server, if that is long. */
  silentMs?: number;
  set: Record<string, unknown>;
  gone: string[];
}

export interface WorkloadsPage {
  kind: 'workloads';
  stuck: { pod: string; node: string; reason: string; message: string; until?: string }[];
  /** Pods that no node runs. */
  waiting: { pod: string; since: string }[];
  /** When it was last found out what would not fail over; absent: not yet. */
  lookedAt?: string;
  /** Why it could not be. */
  problem?: string;
  stateful?: number;
  findings?: FailoverFinding[];
}

export interface DevicesPage {
  kind: 'devices';
  devices: {
    name: string;
    node: string;
    device: string;
    power: string;
    since?: string;
    fenceable: boolean | 'unknown';
    reason?: string;
    message?: string;
    identity?: string;
    drilled?: string;
  }[];
  /** Nodes of which no device is on record. */
  without: string[];
}

export interface PolicyLine {
  name: string;
  mode: string;
  selector: string;
  /** For how many it is in force. */
  nodes: number;
  conditions: { type: string; status: string; reason: string; message: string }[];
}

export interface PoliciesPage {
  kind: 'policies';
  policies: PolicyLine[];
  /** Nodes that no policy selects, or about which two contend. */
  unselected: string[];
  problems: { node: string; condition: string; count: number; last?: string }[];
  alarms: { node: string; reason: string; message: string; since: string }[];
}

export interface DrainsPage {
  kind: 'drains';
  /** Cordoned nodes; without anything else, no DrainPolicy guards them. */
  drains: ({ node: string } & Partial<DrainState>)[];
  policies: PolicyLine[];
}

export interface RecordPage {
  kind: 'record';
  /** What was done, by whom. */
  deeds: {
    at: string;
    node: string;
    deed: string;
    on: string;
    by: string;
    why: string;
    basis: string;
    result: string;
  }[];
  /** What happened. */
  entries: { at: string; node: string; reason: string; message: string }[];
  /** Of them, the latest are here. */
  total: number;
}

/** What can be proposed: the policies in force as they are written, and those that the reference begins with. */
export interface RehearsePage {
  kind: 'rehearse';
  inForce: { name: string; text: string }[];
  examples: { name: string; title: string; text: string }[];
}

/** What can be made to fail. */
export const REHEARSED = ['node', 'zone', 'switch', 'bmc'] as const;
export type Rehearsed = (typeof REHEARSED)[number];

/** What is sent to be rehearsed. */
export interface RehearsalAsked {
  what: Rehearsed;
  /** The name of a node or of a zone. */
  which: string;
  /** After how long it is mended; absent: never. */
  endsAfter?: string;
  runFor?: string;
  /** Policies that are not in force yet, in YAML. */
  policy?: string;
}

export interface RehearsalMark {
  /** The key of its lane. */
  lane: string;
  kind: MarkKind;
  /** Since the failure. */
  fromMs: number;
  /** Absent: a moment; or, if it is open, it goes on. */
  toMs?: number;
  open?: true;
  label: string;
  text: string;
  row?: string;
}

export interface RehearsedRun {
  /** `in force`, `proposed`. */
  policies: string;
  marks: RehearsalMark[];
}

/** What would have become of everything. */
export interface RehearsalPicture {
  /** In one sentence. */
  said: string;
  /** The same for all runs, so that they can be compared line by line. */
  lanes: { key: string; name: string; node?: string }[];
  /** So many more nodes and pods are in the tables alone. */
  unpictured: number;
  runs: RehearsedRun[];
  /** Rows, their heads first. */
  nodes: string[][];
  pods: string[][];
  /** So many more rows there were. */
  untold: number;
  warnings: string[];
  notes: string[];
  /** How long it was looked at. */
  virtualMs: number;
  wallMs: number;
}

/** Where something in the text of a policy is wrong, and what to write instead. */
export interface PolicyMistakePicture {
  policy?: string;
  text: string;
  line: number;
}

/** What is told while something is rehearsed, one line of JSON each. The last three are ends. */
export type RehearsalNews =
  | { state: 'waits'; before: number }
  | { state: 'reads' }
  | { state: 'runs'; policies: string; ms: number; ofMs: number }
  | { state: 'done'; picture: RehearsalPicture }
  | { state: 'wrong'; mistakes: PolicyMistakePicture[] }
  | { state: 'failed'; text: string };
