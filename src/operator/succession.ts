/** The node that this process runs on is cut by another one, to which the lead is handed over before (STM-8). */
import type { OwnNode } from '../api/surroundings.ts';
import type { Clock } from '../clock.ts';
import type { LeaderElector } from '../kube/leader.ts';
import type { Log } from '../report/log.ts';

export interface SuccessionOptions {
  clock: Clock;
  log: Log;
  /** Absent: nobody knows where this process runs, or it is outside of the cluster. */
  nodeName?: string;
}

/** Who hands over the lead does not stand for election for so long. */
const othersLeadWithinMs = 30_000;
/** Where nobody took it, it is handed over again after this: another instance may be there by then. */
const againAfterMs = 600_000;

export class Succession {
  readonly #options: SuccessionOptions;
  readonly #elector: LeaderElector | undefined;
  #epoch: number | undefined;
  /** The term in which it was handed over. */
  #handedOver: number | undefined;
  #inVainMs = -Infinity;

  constructor(options: SuccessionOptions, elector: LeaderElector | undefined) {
    this.#options = options;
    this.#elector = elector;
  }

  /** A term of ours has begun. If it is the very next one after that in which it was handed over, nobody led in between. */
  began(epoch: number | undefined): void {
    const isNext = this.#handedOver !== undefined && epoch === this.#handedOver + 1;
    if (isNext) this.#inVainMs = this.#options.clock.monotonic();
    this.#handedOver = undefined;
    this.#epoch = epoch;
  }

  /** Undefined: this process does not run there. */
  ownNode(name: string): OwnNode | undefined {
    if (name !== this.#options.nodeName) return undefined;
    if (this.#elector === undefined) return { handOver: 'impossible' };
    const isInVain = this.#options.clock.monotonic() - this.#inVainMs < againAfterMs;
    return { handOver: isInVain ? 'inVain' : 'possible' };
  }

  handOver(node: string): void {
    this.#options.log.warn({ node }, 'handing over the lead: this process runs on the node, which is to be fenced');
    this.#handedOver = this.#epoch;
    this.#elector?.handOver(othersLeadWithinMs);
  }
}
