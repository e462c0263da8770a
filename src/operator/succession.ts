/** The node that this process runs on is cut by another one, to which the lead is handed over before (STM-8). */
import type { OwnNode } from '../api/surroundings.ts';
import type { LeaderElector } from '../kube/leader.ts';
import type { Log } from '../report/log.ts';

export interface SuccessionOptions {
  log: Log;
  /** Absent: nobody knows where this process runs, or it is outside of the cluster. */
  nodeName?: string | undefined;
}

/** Who hands over the lead does not stand for election for so long: whoever is there has tried twice by then. */
const othersLeadWithinMs = 10_000;
/**
 * It is not handed over again before this, by whomever: where nobody took it, another instance may be there by then, and two that
 * run on nodes in trouble do not hand it to and fro.
 */
const againAfterMs = 600_000;

export class Succession {
  readonly #options: SuccessionOptions;
  readonly #elector: LeaderElector | undefined;
  #epoch: number | undefined;
  /** The term in which it was handed over. */
  #handedOver: number | undefined;
  #isInVain = false;

  constructor(options: SuccessionOptions, elector: LeaderElector | undefined) {
    this.#options = options;
    this.#elector = elector;
  }

  /** A term of ours has begun. If it is the very next one after that in which it was handed over, nobody led in between. */
  began(epoch: number | undefined): void {
    this.#isInVain = this.#handedOver !== undefined && epoch === this.#handedOver + 1;
    this.#handedOver = undefined;
    this.#epoch = epoch;
  }

  /** Undefined: nobody knows where this process runs, or it is outside of the cluster. */
  get own(): (OwnNode & { node: string }) | undefined {
    const { nodeName: node } = this.#options;
    return node === undefined ? undefined : { node, handOver: this.#handOver };
  }

  get #handOver(): OwnNode['handOver'] {
    if (this.#elector === undefined) return 'impossible';
    if (this.#elector.handedOverForMs >= againAfterMs) return 'possible';
    return this.#isInVain ? 'inVain' : 'tooSoon';
  }

  handOver(node: string): void {
    const { nodeName: own } = this.#options;
    this.#options.log.warn({ node, own }, 'handing over the lead: the node that this process runs on is in trouble');
    this.#handedOver = this.#epoch;
    this.#elector?.handOver(othersLeadWithinMs);
  }
}
