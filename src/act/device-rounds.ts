/**
 * Asks the devices of all nodes again and again, a few at a time. It has a limit of its own and leaves alone what is just being
 * fenced, so that it delays no fence (S27); what it knows is lost with the process, and found out again.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConfigResult } from '../api/fence-config.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { NodeCheck } from '../api/node-check.ts';

export interface DeviceTarget {
  node: LiveNode;
  config: ConfigResult;
}

export interface DeviceRoundsOptions {
  clock: Clock;
  check: (target: DeviceTarget) => Promise<NodeCheck>;
  /** It is being fenced. */
  isBusy: (node: string) => boolean;
  /** Its fence may have switched it off, and waits: whether it still is off others want to know (SAF-17), and it is no finding. */
  isFenced: (node: string) => boolean;
  /** Its last fence has failed: an answer of before does not say how its devices are. */
  hasFailed: (node: string) => boolean;
  /** How long an answer counts. */
  everyMs: number;
  concurrency?: number;
  /** An answer differs from the one before. */
  onChange: () => void;
}

interface Known {
  target: DeviceTarget;
  /** What the answer rests on; another one has to be asked for anew. */
  key: string;
  result?: NodeCheck;
  /** It was asked anew since its fence has failed. */
  isAnew?: boolean;
  /** What may pass was found, and is asked for once more before it is said. */
  isInDoubt?: boolean;
  cancel?: () => void;
}

const defaultConcurrency = 4;
/** What could not be asked, or went wrong, is looked at again sooner. */
const soonMs = 60_000;
/** A machine that has just lost its power is silent by then. */
const passedMs = 15_000;

export class DeviceRounds {
  readonly #options: DeviceRoundsOptions;
  readonly #known = new Map<string, Known>();
  readonly #queue = new Set<string>();
  readonly #running = new Set<string>();

  constructor(options: DeviceRoundsOptions) {
    this.#options = options;
  }

  /** All nodes that are to be asked about; whoever is not among them any more is forgotten. */
  update(targets: readonly DeviceTarget[]): void {
    const names = new Set(targets.map(({ node }) => node.name));
    for (const name of this.#known.keys()) if (!names.has(name)) this.#forget(name);
    for (const target of targets) {
      const { name } = target.node;
      const key = keyOf(target);
      const known = this.#known.get(name);
      if (known?.key === key) {
        known.target = target;
        continue;
      }
      this.#forget(name);
      this.#known.set(name, { target, key });
      this.#queue.add(name);
    }
    this.#pump();
  }

  /** A fence has begun or ended: whose has failed is asked at once, or it would count as fenceable for as long as the last answer does. */
  recheck(): void {
    for (const [name, known] of this.#known) {
      const hasFailed = this.#options.hasFailed(name);
      if (hasFailed && known.isAnew !== true) {
        known.cancel?.();
        this.#queue.add(name);
      }
      known.isAnew = hasFailed;
    }
    this.#pump();
  }

  get results(): NodeCheck[] {
    return [...this.#known.values()].flatMap(({ result }) => result ?? []);
  }

  close(): void {
    for (const name of this.#known.keys()) this.#forget(name);
  }

  #forget(name: string): void {
    this.#known.get(name)?.cancel?.();
    this.#known.delete(name);
    this.#queue.delete(name);
  }

  #pump(): void {
    const { concurrency = defaultConcurrency } = this.#options;
    for (const name of this.#queue) {
      if (this.#running.size >= concurrency) return;
      // The answer that is under way is of an older configuration; it is asked again right after.
      if (this.#running.has(name)) continue;
      this.#queue.delete(name);
      const known = this.#known.get(name);
      if (known !== undefined) void this.#ask(name, known);
    }
  }

  async #ask(name: string, known: Known): Promise<void> {
    const { check, isBusy, isFenced, everyMs, onChange } = this.#options;
    if (isBusy(name)) {
      known.isInDoubt = false;
      this.#again(name, known, Math.min(soonMs, everyMs));
      return;
    }
    this.#running.add(name);
    const result = await check(known.target);
    this.#running.delete(name);
    if (this.#known.get(name) === known) {
      // Its device says off because we switched it off while it was asked.
      const isStale = isBusy(name) || isFenced(name);
      const isFirst = result.problem?.mayPass === true && known.result?.problem?.mayPass !== true;
      known.isInDoubt = !isStale && isFirst && known.isInDoubt !== true;
      const isNews = !isStale && !known.isInDoubt && !isDeepStrictEqual(known.result, result);
      if (isNews) known.result = result;
      const soon = known.isInDoubt ? passedMs : soonMs;
      this.#again(name, known, isStale || result.problem !== undefined ? Math.min(soon, everyMs) : everyMs);
      if (isNews) onChange();
    }
    this.#pump();
  }

  #again(name: string, known: Known, delayMs: number): void {
    // It may have been asked for anew while it was asked: one timer for each.
    known.cancel?.();
    known.cancel = this.#options.clock.after(delayMs, () => {
      this.#queue.add(name);
      this.#pump();
    });
  }
}

function keyOf({ node, config }: DeviceTarget): string {
  return JSON.stringify([node.uid, config]);
}
