/** What every controller gets: the shared copy of the cluster, a way to write, time, and queues that start together. */
import type { Clock } from '../../clock.ts';
import { sleep } from '../../clock.ts';
import { KubeClient } from '../../kube/client.ts';
import type { KubeError } from '../../kube/errors.ts';
import type { Transport } from '../../kube/transport.ts';
import { Api } from './api.ts';
import { Informers } from './informer.ts';
import type { ControllerTimings } from './timings.ts';
import { defaultControllerTimings } from './timings.ts';
import { StepFailed, WorkQueue } from './work-queue.ts';

export interface HostOptions {
  clock: Clock;
  random: () => number;
  /** The way to the API for a user; may be the same for all. Closed by its owner. */
  transportFor: (user: string) => Transport;
  timings?: Partial<ControllerTimings>;
  /** To share them between components. They are run by whoever made them. */
  informers?: Informers;
  onProblem?: (who: string, error: KubeError) => void;
}

type QueueSettings = { workers?: number; backoff?: { firstMs: number; maxMs: number } };

export class ControllerHost {
  readonly clock: Clock;
  readonly random: () => number;
  readonly timings: ControllerTimings;
  readonly informers: Informers;
  readonly #options: HostOptions;
  readonly #ownInformers: boolean;
  readonly #queues: WorkQueue[] = [];
  readonly #starts: (() => void)[] = [];
  readonly #ended = new AbortController();
  readonly #broken = Promise.withResolvers<never>();

  constructor(component: string, options: HostOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.random = options.random;
    this.timings = { ...defaultControllerTimings, ...options.timings };
    this.#ownInformers = options.informers === undefined;
    this.informers =
      options.informers ??
      new Informers({
        client: this.#client(component),
        clock: options.clock,
        random: options.random,
        onProblem: (error) => this.#problem(component, error),
      });
    // Whoever waits for `run` hears of it; before that nobody can.
    this.#broken.promise.catch(() => {});
  }

  /** Writes under the name of a controller, as the stock ones do with credentials of their own. */
  apiFor(controller: string): Api {
    return new Api(this.#client(userOf(controller)), this.informers, this.#ended.signal);
  }

  queue(who: string, handle: (key: string) => Promise<number | undefined>, settings: QueueSettings = {}): WorkQueue {
    const queue = new WorkQueue({
      clock: this.clock,
      handle,
      onProblem: (error) => this.#problem(who, error),
      onBroken: (error) => this.#broken.reject(error),
      ...settings,
    });
    this.#queues.push(queue);
    return queue;
  }

  /** When every list is there, before the queues start. */
  atStart(callback: () => void): void {
    this.#starts.push(callback);
  }

  /** The next one begins `periodMs` after the last one ended, as the stock controllers count. */
  every(who: string, periodMs: number, step: () => Promise<void>, first: 'atOnce' | 'later' = 'atOnce'): void {
    this.atStart(() => {
      const wait = first === 'atOnce' ? Promise.resolve() : sleep(this.clock, periodMs, this.#ended.signal);
      wait.then(() => this.#loop(who, periodMs, step)).catch((error: unknown) => this.#broken.reject(error));
    });
  }

  /** Something that may fail without anyone to repeat it. */
  async attempt(who: string, step: () => Promise<unknown>): Promise<boolean> {
    try {
      await step();
      return true;
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      if (error.error.kind !== 'conflict') this.#problem(who, error.error);
      return false;
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => {
      this.#ended.abort();
      for (const queue of this.#queues) queue.stop();
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    this.informers.whenSynced(() => {
      if (signal.aborted) return;
      for (const start of this.#starts) start();
      for (const queue of this.#queues) queue.start();
    });
    const ended = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([this.#ownInformers ? this.informers.run(signal) : ended, this.#broken.promise]);
  }

  async #loop(who: string, periodMs: number, step: () => Promise<void>): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.attempt(who, step);
      await sleep(this.clock, periodMs, signal);
    }
  }

  #client(user: string): KubeClient {
    return new KubeClient({
      transport: this.#options.transportFor(user),
      clock: this.clock,
      userAgent: user,
      fieldManager: user.slice(user.lastIndexOf(':') + 1),
    });
  }

  #problem(who: string, error: KubeError): void {
    if (!this.#ended.signal.aborted) this.#options.onProblem?.(who, error);
  }
}

function userOf(controller: string): string {
  return controller.startsWith('system:') ? controller : `system:serviceaccount:kube-system:${controller}`;
}
