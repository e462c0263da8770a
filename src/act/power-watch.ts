/**
 * Has the devices of nodes asked all the time, where a policy wants that and a question costs little (EVD-4). One question for
 * each node at a time, so many over all of them; who is slow is asked less often, and who does not answer less and less. What is
 * said is kept where every answer is kept: a watch that sees nothing says nothing, and never that something is off.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Method } from '../api/fence-config.ts';
import type { FenceDeviceStatus } from '../api/fence-device.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { AnsweringDoors } from './answering-doors.ts';
import type { PowerQuestions } from './power-questions.ts';

export interface WatchTarget {
  node: LiveNode;
  methods: readonly Method[];
  everyMs: number;
}

type WatchState = NonNullable<FenceDeviceStatus['watch']>;

export interface PowerWatchOptions {
  clock: Clock;
  random: () => number;
  questions: Pick<PowerQuestions, 'want'>;
  /** Whose silence says something (EVD-4): learnt while their machines are on. */
  doors: Pick<AnsweringDoors, 'learn' | 'forget'>;
  /** Undefined: that cannot be told now, because what it takes to ask cannot be read. */
  isCheap: (node: LiveNode, method: Method) => Promise<boolean | undefined>;
  /** It is being fenced: who does that asks by itself. */
  isBusy: (node: string) => boolean;
  /** How a watch is doing, for people; undefined: nobody wants it any more. */
  onState: (node: LiveNode, method: Method, state: WatchState | undefined) => void;
  concurrency?: number;
}

interface Watched {
  target: WatchTarget;
  isCheap?: boolean | undefined;
  /** How often in a row nothing came of it. */
  failures: number;
  /** Whether the port of its kubelet answers us, as far as anybody has tried. */
  answers?: boolean;
  cancel?: () => void;
}

/** Those that are gathered into one call wait for each other meanwhile. */
const defaultConcurrency = 256;
/** A device that needs half of the time between two questions has enough to do. */
const shareOfTime = 2;
const slowestMs = 60_000;
const spread = 0.2;

export class PowerWatch {
  readonly #options: PowerWatchOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #queue = new Set<string>();
  #running = 0;

  constructor(options: PowerWatchOptions) {
    this.#options = options;
  }

  /** All nodes that are to be watched; whoever is not among them any more is not. */
  update(targets: readonly WatchTarget[]): void {
    const names = new Set(targets.map(({ node }) => node.name));
    for (const [name, watched] of this.#watched) {
      if (names.has(name)) continue;
      this.#tell(watched, undefined);
      this.#forget(name);
    }
    for (const target of targets) {
      const { name } = target.node;
      const known = this.#watched.get(name);
      if (known !== undefined && isSame(known.target, target)) known.target = target;
      else {
        this.#forget(name);
        const watched: Watched = { target, failures: 0 };
        this.#watched.set(name, watched);
        // Not all of them at once, now or later.
        this.#again(watched, target.everyMs * this.#options.random());
      }
    }
  }

  isWatched(name: string): boolean {
    return this.#watched.get(name)?.isCheap === true;
  }

  close(): void {
    for (const name of this.#watched.keys()) this.#forget(name);
  }

  #forget(name: string): void {
    const { cancel, target } = this.#watched.get(name) ?? {};
    cancel?.();
    if (target?.node.kubelet !== undefined) this.#options.doors.forget(target.node.kubelet);
    this.#watched.delete(name);
    this.#queue.delete(name);
  }

  #again(watched: Watched, inMs: number): void {
    const { name } = watched.target.node;
    watched.cancel = this.#options.clock.after(inMs, () => {
      this.#queue.add(name);
      this.#pump();
    });
  }

  #pump(): void {
    const { concurrency = defaultConcurrency } = this.#options;
    for (const name of this.#queue) {
      if (this.#running >= concurrency) return;
      this.#queue.delete(name);
      const watched = this.#watched.get(name);
      if (watched !== undefined) void this.#ask(watched);
    }
  }

  async #ask(watched: Watched): Promise<void> {
    this.#running += 1;
    const { name } = watched.target.node;
    const inMs = await this.#look(watched);
    this.#running -= 1;
    if (this.#watched.get(name) === watched && inMs !== undefined) this.#again(watched, inMs);
    this.#pump();
  }

  /** Asks, and answers when to ask again; undefined: it is not watched. */
  async #look(watched: Watched): Promise<number | undefined> {
    const { clock, questions, isBusy } = this.#options;
    const { node, methods, everyMs } = watched.target;
    const startedMs = clock.monotonic();
    watched.isCheap ??= await this.#areCheap(watched.target);
    if (watched.isCheap === undefined) return this.#paceAfter(watched, true, clock.monotonic() - startedMs);
    if (!watched.isCheap) {
      this.#tell(watched, 'TooCostly');
      return undefined;
    }
    if (isBusy(node.name)) return everyMs;
    const askedMs = clock.monotonic();
    const answers = (await questions.want(node, methods, { olderThanMs: everyMs / 2, isWatch: true })) ?? [];
    const tookMs = clock.monotonic() - askedMs;
    if (answers.some(({ power }) => power !== 'off')) watched.answers = await this.#learn(node);
    return this.#paceAfter(
      watched,
      answers.some(({ power }) => power === 'unknown'),
      tookMs,
    );
  }

  async #learn({ kubelet }: LiveNode): Promise<boolean> {
    return kubelet !== undefined && (await this.#options.doors.learn(kubelet));
  }

  /** One that is too costly is so for good; whether it is may be known later. */
  async #areCheap({ node, methods }: WatchTarget): Promise<boolean | undefined> {
    const cheap = await Promise.all(methods.map((method) => this.#options.isCheap(node, method)));
    if (cheap.includes(false)) return false;
    return cheap.includes(undefined) ? undefined : true;
  }

  #paceAfter(watched: Watched, isBlind: boolean, tookMs: number): number {
    watched.failures = isBlind ? watched.failures + 1 : 0;
    const seen = watched.answers === false ? 'PortSilent' : 'Watched';
    if (watched.failures !== 1) this.#tell(watched, isBlind ? 'Blind' : seen);
    const backedOffMs = Math.min(slowestMs, watched.target.everyMs * 2 ** Math.min(watched.failures, 10));
    const inMs = Math.max(backedOffMs, tookMs * shareOfTime);
    return Math.max(1, inMs * (1 - spread / 2 + spread * this.#options.random()) - tookMs);
  }

  #tell({ target: { node, methods } }: Watched, state: WatchState | undefined): void {
    for (const method of methods) this.#options.onState(node, method, state);
  }
}

/** A status that was written since makes no difference. */
function isSame(one: WatchTarget, other: WatchTarget): boolean {
  const of = ({ node, methods, everyMs }: WatchTarget): unknown => [node.uid, node.kubelet, methods, everyMs];
  return isDeepStrictEqual(of(one), of(other));
}
