/** How the nodes around one are that is to be cut, or was. */
import type { Elsewhere } from './others.ts';

/** Which nodes have not been heard of since the fence of this one was called for, and do not count as silent either. */
export interface Surroundings {
  unheard: number;
  /** The first few of them. */
  names: readonly string[];
  /** By the API server's clock: by then each of them has renewed its Lease, or is silent. */
  settledAtMs: number;
}

/** The other nodes, where no device of this one can say whose power it is. */
export interface Beside extends Surroundings {
  silent: readonly SilentNode[];
  /** How many there are of those that were there when they were counted; a Node that was made since is none of them. */
  present: number;
}

export interface SilentNode {
  name: string;
  /** Its own devices, which cannot say whose power they are, have said so since the cut, and nothing else after that. */
  isOff: boolean;
  /** Since when Kubernetes has missed its kubelet, by the clock of the node controller; absent: it has not yet. */
  unknownSince?: string;
}

/** How many more pods may go now. */
export interface Allowance {
  pods: number;
  perMinute: number;
  /** When some more may. */
  untilMs: number;
}

export interface Placed {
  /** Absent: nothing is wrong with it, or nobody knows it. */
  standpoint?: Standpoint;
}

/** From where whoever decides looks at all others. */
export interface Standpoint {
  /** Its own zone, where nobody of any other one is heard of. */
  zone?: string;
  /** Its own node, if that is silent, though whoever decides lives there. */
  silent?: OwnNode & { node: string };
}

/**
 * Whether another instance can take the lead. `inVain`: it was handed over, and nobody took it; `tooSoon`: it was handed over not long
 * ago, by whomever; `impossible`: nobody is elected.
 */
export interface OwnNode {
  handOver: 'possible' | 'inVain' | 'tooSoon' | 'impossible';
}

export interface OtherNodes {
  /** How many other nodes there are, where no device of this one can say whose power it is. */
  others?: number;
  /** Which of them were made so lately that times do not tell; absent: none. */
  youngOthers?: readonly string[];
  /** Who else is at it, by objects beside its Node; absent: nobody has asked. */
  elsewhere?: Elsewhere;
}
