/** Drains that people begin on the page: each is a kubectl of its own, which ends when its drain is given up. */
import type { DrainAction } from '../api/drain-view.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import { KubeClient } from '../kube/client.ts';
import type { Transport } from '../kube/transport.ts';
import { cordon, drain } from '../scenario/drain.ts';

export interface DemoDrainsOptions {
  transport: Transport;
  clock: Clock;
  tell: (text: string) => void;
}

export class DemoDrains {
  readonly #options: DemoDrainsOptions;
  readonly #running = new Map<string, AbortController>();

  constructor(options: DemoDrainsOptions) {
    this.#options = options;
  }

  /** One at a time per node: a second press changes nothing. */
  begin(node: string): void {
    if (this.#running.has(node)) return;
    const { tell } = this.#options;
    const ended = new AbortController();
    this.#running.set(node, ended);
    tell(`${node}: somebody drains it`);
    const { client, clock } = this.#kubectl(ended.signal);
    void drain(client, clock, node).then((outcome) => {
      if (ended.signal.aborted) return;
      this.#running.delete(node);
      tell(outcome === 'done' ? `${node}: drained` : `${node}: its drain has failed`);
    });
  }

  /** A drain that still waits is given up first: it would go on evicting. */
  uncordon(node: string): void {
    this.#end(node);
    const { tell } = this.#options;
    const { client } = this.#kubectl(new AbortController().signal);
    void cordon(client, node, false).then((problem) => {
      tell(problem === undefined ? `${node}: uncordoned` : `${node}: not uncordoned: ${problem}`);
    });
  }

  end(): void {
    for (const node of this.#running.keys()) this.#end(node);
  }

  #end(node: string): void {
    this.#running.get(node)?.abort();
    this.#running.delete(node);
  }

  /** When its process has ended, no request of it leaves any more, and no wait of it goes on. */
  #kubectl(signal: AbortSignal): { client: KubeClient; clock: Clock } {
    const { transport: inner, clock: shared } = this.#options;
    const clock: Clock = {
      now: () => shared.now(),
      monotonic: () => shared.monotonic(),
      after(delayMs, callback) {
        const cancelled = new AbortController();
        void sleep(shared, delayMs, AbortSignal.any([signal, cancelled.signal])).then(() => {
          if (!cancelled.signal.aborted) callback();
        });
        return () => cancelled.abort();
      },
    };
    const transport: Transport = {
      send: (request) =>
        inner.send({ ...request, signal: request.signal ? AbortSignal.any([request.signal, signal]) : signal }),
      close: () => {},
    };
    return { client: new KubeClient({ transport, clock, userAgent: 'kubectl', fieldManager: 'kubectl' }), clock };
  }
}

const news: Partial<Record<DrainAction['do'], (object: string) => string>> = {
  requestEviction: (replica) => `replica ${replica} is to be rebuilt elsewhere first`,
  withdrawEviction: (replica) => `replica ${replica} may stay`,
  deleteBudget: () => 'no copy is lost with it: the drain may go on',
};

/** What the operator does about drains, for people; undefined: budgets that only stand are no news. */
export function drainNews(action: DrainAction['do'], object: string): string | undefined {
  return news[action]?.(object);
}
