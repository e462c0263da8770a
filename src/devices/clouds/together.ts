/**
 * Instances of one account that are asked at about the same time are asked by one call (EVD-4): a cloud counts calls, and
 * whoever watches a thousand instances one by one is soon not answered any more. One call at a time, and no more
 * than one a second, whatever is asked. What it says was read after each of those who get it had asked.
 */
import type { DeviceWorld } from '../device.ts';
import type { PowerStatus, Told, ToldOfMany } from './interface.ts';
import { Failure } from './turn.ts';

interface Asker {
  instance: string;
  signal: AbortSignal;
  answer: PromiseWithResolvers<PowerStatus>;
}

/** As long as is waited for others. */
export const gatherMs = 1000;

export class Together {
  readonly #world: DeviceWorld;
  readonly #askAll: (instances: readonly string[]) => Promise<ToldOfMany>;
  #waiting: Asker[] = [];
  #isBusy = false;

  constructor(world: DeviceWorld, askAll: (instances: readonly string[]) => Promise<ToldOfMany>) {
    this.#world = world;
    this.#askAll = askAll;
  }

  /** Whoever does not wait any more is answered at once; the call goes on for the others. */
  async ask(instance: string, signal: AbortSignal): Promise<PowerStatus> {
    const asker = { instance, signal, answer: Promise.withResolvers<PowerStatus>() };
    const calledOff = (): void => asker.answer.reject(new Failure('unknown', 'it was called off'));
    signal.addEventListener('abort', calledOff, { once: true });
    if (signal.aborted) calledOff();
    this.#waiting.push(asker);
    this.#begin();
    try {
      return await asker.answer.promise;
    } finally {
      signal.removeEventListener('abort', calledOff);
    }
  }

  #begin(): void {
    if (this.#isBusy || this.#waiting.length === 0) return;
    this.#isBusy = true;
    this.#world.after(gatherMs, () => void this.#round());
  }

  async #round(): Promise<void> {
    const askers = this.#waiting.filter(({ signal }) => !signal.aborted);
    this.#waiting = [];
    const instances = [...new Set(askers.map(({ instance }) => instance))];
    try {
      const told = instances.length === 0 ? new Map<string, Told>() : await this.#askAll(instances);
      for (const asker of askers) answerOne(asker, told);
    } catch (error) {
      for (const { answer } of askers) answer.reject(error);
    }
    this.#isBusy = false;
    this.#begin();
  }
}

function answerOne({ instance, answer }: Asker, told: ToldOfMany): void {
  const one = told.get(instance);
  try {
    if (one === undefined) throw new Failure('unknown', `nothing was said of ${instance} when many were asked for`);
    answer.resolve(one());
  } catch (error) {
    answer.reject(error);
  }
}

/** Where instances are asked for in several places, one that fails is told to its own and not to all. */
export async function eachOf(
  instances: readonly string[],
  told: Map<string, Told>,
  ask: () => Promise<void>,
): Promise<void> {
  try {
    await ask();
  } catch (error) {
    const failed: Told = () => {
      throw error;
    };
    for (const instance of instances) told.set(instance, failed);
  }
}
