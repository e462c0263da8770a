/**
 * Knocks at the port of a kubelet while a decision wants to know whether it is only away. Nobody waits for it: what was found is
 * kept here with its age, and whoever decides is told.
 */
import type { LiveNode, NodeCase } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { Knock, Knocked } from '../kube/knock.ts';
import { askAgainAfterMs } from './power-questions.ts';

export interface KubeletDoorsOptions {
  clock: Clock;
  knock: Knock;
  onAnswer: (node: string) => void;
}

interface Known {
  askedAtMs: number;
  port?: Knocked;
}

/** A machine that answers does so at once; one that does not is not waited for. */
const knockTimeoutMs = 2000;

export class KubeletDoors {
  readonly #options: KubeletDoorsOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: KubeletDoorsOptions) {
    this.#options = options;
  }

  of(node: string): NodeCase['kubelet'] {
    const known = this.#known.get(node);
    if (known === undefined) return undefined;
    const { askedAtMs, port } = known;
    return { askedForMs: this.#options.clock.monotonic() - askedAtMs, ...(port === undefined ? {} : { port }) };
  }

  want({ name, kubelet }: LiveNode): void {
    const nowMs = this.#options.clock.monotonic();
    const known = this.#known.get(name);
    if (kubelet === undefined || (known !== undefined && nowMs - known.askedAtMs < askAgainAfterMs)) return;
    void this.#knock(name, kubelet, nowMs);
    if (known === undefined) this.#known.set(name, { askedAtMs: nowMs });
  }

  forget(node: string): void {
    this.#known.delete(node);
  }

  async #knock(name: string, door: NonNullable<LiveNode['kubelet']>, askedAtMs: number): Promise<void> {
    const { knock, onAnswer } = this.#options;
    const port = await knock(door, knockTimeoutMs);
    if (!this.#known.has(name)) return;
    this.#known.set(name, { askedAtMs, port });
    onAnswer(name);
  }
}
