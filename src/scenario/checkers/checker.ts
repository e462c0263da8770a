/**
 * A checker watches one invariant during a run, from the ground truth and from what the API server was asked, never
 * from what the product thinks. Only acts of the operator can violate: what Kubernetes or a person does by itself is
 * none of its doing (S32).
 */
import type { KubeObject } from '../../kube/client.ts';
import type { StorageReport } from '../../world/longhorn/truth.ts';
import type { BmcAction } from '../../world/machines/bmc.ts';
import type { Machine, MachineEvent, Process } from '../../world/machines/machine.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { WriterChange } from '../../world/storage/ledger.ts';
import type { ClusterState, StoredChange, StoredFence, StoredRelease } from '../cluster-state.ts';
import type { Act } from '../format.ts';

/**
 * What a checker lets pass that would otherwise be a violation, by name. There is nothing else that it may excuse, and each
 * time is told in the report.
 */
export const exemptions = [
  /** The policy, or who wrote it, takes the risk. */
  'AcceptedRisk',
  /** A drain policy gives the last copy up. */
  'AlwaysAllow',
  /** A person did it, or answers for it: deleted, connected, declared dead. */
  'PersonsAct',
  /** Kubernetes did it by itself. */
  'KubernetesAct',
  /** A device that began to say off after the last sign of life. */
  'LyingDevice',
  /** A device that could not say whose power it is, or was plugged in elsewhere after it had. */
  'BlindDevice',
  /** The ladder of its policy has emptied the node itself, to restart it. */
  'OwnRemedy',
  /** A crash message that nobody sent who had crashed, and no sign of life since. */
  'ForgedCrash',
  /** A machine lost its power so lately that its Lease is not overdue, and no device has been asked since. */
  'JustLost',
] as const;
export type Exemption = (typeof exemptions)[number];

/** One write as it reached the API server, after it was carried out or refused. */
export interface Write {
  user: string;
  verb: 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';
  resource: string;
  subresource: string | undefined;
  namespace: string | undefined;
  name: string | undefined;
  contentType: string;
  body: unknown;
  /** HTTP status of the answer. */
  status: number;
  /** What was stored before and after, where the write was carried out and is about one object. */
  before: KubeObject | undefined;
  after: KubeObject | undefined;
}

/** What an operator asked for and got, at its end of the wire. */
export type WireEvent =
  | { type: 'started'; operator: number }
  /** A watch of this collection, its path without query, has come to this version. An operator may have several. */
  | { type: 'delivered'; operator: number; collection: string; watch: number; version: string }
  | { type: 'watching'; operator: number; collection: string; watch: number; from: string }
  | { type: 'unwatched'; operator: number; collection: string; watch: number }
  /** It asked the power device of a node for something; `feed`: that of one of its supplies. */
  | { type: 'device'; operator: number; node: string; action: BmcAction; feed?: string }
  /**
   * The device has said how it is. Of a node with several: `said` by the one that was asked, and `power` is what they come to, off only
   * if each of them has last said so.
   */
  | { type: 'answered'; operator: number; node: string; power: 'on' | 'off'; said?: 'on' | 'off' }
  /** It asked the switch between a node and its storage for something. */
  | { type: 'port'; operator: number; node: string; action: BmcAction }
  /** It has sent a write, which may be long under way. Path without query. */
  | { type: 'sent'; operator: number; path: string }
  /** A read that is no watch, once its answer was taken, or was known not to come. */
  | ReadEvent;

export interface ReadEvent {
  type: 'read';
  operator: number;
  /** Without query. */
  path: string;
  /** By quorum: it did not ask for a version that some cache may have. */
  live: boolean;
  /** When it was asked, on the simulation's clock. */
  askedAtMs: number;
  /** HTTP status; absent: no answer. */
  status?: number;
  /** What the answer says, where one Node was asked for. */
  node?: Node;
  /** The same of a NodeFence. */
  fence?: StoredFence;
}

export interface Pulse {
  silentForMs: number;
  /** How long renewals have come without such a silence. */
  renewingForMs: number;
  silentAfterMs: number;
}

/** Something that is let go, as it is on record when a write arrives. */
export interface OnRecord extends StoredRelease {
  /** A person has deleted it since it was read for that write. */
  isDeleted?: boolean;
}

export interface CheckContext {
  state: ClusterState;
  /** What is let go of a node by what is on record when a write of this operator arrives. */
  recordsOf: (user: string, node: string) => readonly OnRecord[];
  /** The machine behind a node; absent: there is none of this name. */
  machineOf: (node: string) => Machine | undefined;
  /** The node that an operator runs on; undefined: none, it is outside of the cluster. */
  homeOf: (operator: number) => string | undefined;
  nowMs: () => number;
  /** What every right clock shows. */
  wallMs: () => number;
  /** How long no renewal of the Lease of a node has reached the API server, and from when on that means something. */
  pulseOf: (node: string) => Pulse | undefined;
  /** Whether the device of a node can say whose power it is, and when it first said off whatever is true, if it does. */
  deviceOf: (
    node: string,
    feed?: string,
  ) => { hasIdentity: boolean; liesSinceMs?: number; strikes?: string } | undefined;
  /** The supplies of a node with several that have no power. */
  feedsOff: (node: string) => readonly string[];
  /** Whether the port through which a node reaches its storage lets nothing through. */
  isPortClosed: (node: string) => boolean;
  /** What the port says that is written for a node, whoever is plugged in there. */
  saysPort: (node: string) => 'on' | 'off';
  /** All of its ports say that they are open, whatever is true. */
  saysPortOpen: (node: string) => boolean;
  /** All of its ports are closed, and say so to whoever asks. */
  isPortShut: (node: string) => boolean;
  /** Ports of it that are open say otherwise, or speak of another machine. */
  portLies: (node: string) => boolean;
  /** Whether a process does anything at this moment: it can write to a volume of its, or it has none and runs. */
  isActive: (machine: string, process: Process) => boolean;
  /** Volumes with replicas, as they are on the disks. */
  volumes: () => readonly StorageReport[];
  violated: (detail: string) => void;
  /** It would be a violation, were it not for this. */
  exempt: (exemption: Exemption, detail: string) => void;
}

export interface Checker {
  /** Writes of operators only. */
  onWrite?: (write: Write) => void;
  /** Everything that is stored but heartbeats, and by whom; told before it is in `state`. */
  onStored?: (change: StoredChange, user: string) => void;
  /** What the scenario has done to the world, or a person in it to the cluster. */
  onAct?: (act: Act, node: string | undefined) => void;
  /** The Lease of a node was written. */
  onRenewed?: (node: string) => void;
  /** A message of a crashed kernel has come from the address of a node; `forged`: its machine runs. */
  onKdump?: (node: string, forged: boolean) => void;
  onWriter?: (change: WriterChange) => void;
  /** The replicas of some volume are different now. */
  onReplicas?: () => void;
  onWire?: (event: WireEvent) => void;
  onMachine?: (event: MachineEvent, machine: string) => void;
  /** The run is over; nothing has been taken down yet. */
  onEnd?: () => void;
}

export interface Invariant {
  id: string;
  check: (context: CheckContext) => Checker;
}

export function succeeded({ status }: Write): boolean {
  return status >= 200 && status < 300;
}

export function objectOf({ resource, namespace, name }: Write): string {
  return [resource, namespace, name].filter((part) => part !== undefined).join('/');
}
