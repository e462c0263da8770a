/** Drains that people begin on the page: each goes on until it is done or given up. */
import type { DrainAction } from '../api/drain-view.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { cordon, drain } from '../scenario/drain.ts';

export interface DemoDrainsOptions {
  client: KubeClient;
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
    const { client, clock, tell } = this.#options;
    const ended = new AbortController();
    this.#running.set(node, ended);
    tell(`${node}: somebody drains it`);
    void drain(client, clock, node, ended.signal).then((outcome) => {
      if (ended.signal.aborted) return;
      this.#running.delete(node);
      tell(outcome === 'done' ? `${node}: drained` : `${node}: its drain has failed`);
    });
  }

  /** A drain that still waits is given up first: it would go on evicting. */
  uncordon(node: string): void {
    this.#end(node);
    const { client, tell } = this.#options;
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
