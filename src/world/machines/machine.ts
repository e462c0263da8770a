/**
 * A machine: power, a boot that takes time, a link to the API, and what really runs on it.
 *
 * This is the ground truth of the simulation. `processes` says who runs here whatever the API believes: a machine that
 * is cut off goes on running them, one without power runs nothing. Everything that lives on the machine takes its time
 * from `machine.clock` and its API access through a LinkedTransport, and thereby stops, pauses and dies with it.
 */
import type { Clock } from '../../clock.ts';

/** A volume as a pod has it mounted. */
export interface MountedVolume {
  persistentVolume: string;
  /** Absent for volumes that are no CSI volumes. */
  driver?: string;
  handle?: string;
  /** Name in the Node's volumesInUse and volumesAttached; absent where nothing is attached. */
  attachName?: string;
}

/** One run of a pod's containers. A restart is another one, with another id. */
export interface Process {
  id: string;
  podUid: string;
  namespace: string;
  podName: string;
  bootId: string;
  startedAt: number;
  volumes: readonly MountedVolume[];
}

/** How a pod's containers ended while the machine watched. */
export interface Exit {
  code: number;
  /** By the wall clock. */
  at: number;
  process: Process;
}

export type MachineEvent =
  | { type: 'booting' }
  | { type: 'booted'; bootId: string }
  | { type: 'off' }
  | { type: 'hung' }
  | { type: 'resumed' }
  | { type: 'linkDown' }
  | { type: 'linkUp' }
  | { type: 'processStarted'; process: Process }
  /** `exitCode` is absent when the machine died under it. */
  | { type: 'processStopped'; process: Process; exitCode?: number };

export type MachineListener = (event: MachineEvent, machine: Machine) => void;

export interface MachineOptions {
  name: string;
  clock: Clock;
  random: () => number;
  /** From power on to a system that starts its services. */
  bootTimeMs: number;
}

interface Running {
  process: Process;
  stopAt?: number;
  cancelStop?: () => void;
}

const killed = 137;

export class Machine {
  readonly name: string;
  readonly clock: Clock;
  bootTimeMs: number;
  /** What its firmware and its system call it: its name, until another one is built in. */
  serial: string;
  /** Whether there is power to switch on; one that has several supplies may have none left. */
  isFed: () => boolean = () => true;
  readonly #base: Clock;
  readonly #random: () => number;
  readonly #listeners = new Set<MachineListener>();
  readonly #timers: Timers;
  readonly #running = new Map<string, Running>();
  readonly #mounts = new Map<string, readonly MountedVolume[]>();
  readonly #exits = new Map<string, Exit>();
  /** Pods whose containers were ever started, as the disk remembers it: it outlives a loss of power. */
  readonly #started = new Set<string>();
  #state: 'off' | 'booting' | 'running' = 'off';
  #hung = false;
  #linked = true;
  #bootId = '';
  #starts = 0;
  #wake = Promise.withResolvers<void>();

  constructor(options: MachineOptions) {
    this.name = options.name;
    this.serial = options.name;
    this.bootTimeMs = options.bootTimeMs;
    this.#base = options.clock;
    this.#random = options.random;
    this.#timers = new Timers(options.clock);
    this.clock = {
      now: () => options.clock.now(),
      monotonic: () => options.clock.monotonic(),
      after: (delayMs, callback) => this.#timers.after(delayMs, callback),
    };
  }

  /** What a power device reads: a machine that hangs or boots is on. */
  get power(): 'on' | 'off' {
    return this.#state === 'off' ? 'off' : 'on';
  }

  /** Booted and not hung: its programs run. */
  get alive(): boolean {
    return this.#state === 'running' && !this.#hung;
  }

  get hung(): boolean {
    return this.#hung;
  }

  get linked(): boolean {
    return this.#linked;
  }

  /** A connection to the API can be used or, while hung, at least not be torn down. */
  get connected(): boolean {
    return this.#state === 'running' && this.#linked;
  }

  /** Of the current boot, or of the last one while it is off. Empty before the first. */
  get bootId(): string {
    return this.#bootId;
  }

  /** Another one takes its place, under its name. */
  replace(): void {
    this.serial += '+';
  }

  /** What runs, by pod UID. */
  get processes(): ReadonlyMap<string, Process> {
    return new Map([...this.#running].map(([uid, { process }]) => [uid, process]));
  }

  processOf(podUid: string): Process | undefined {
    return this.#running.get(podUid)?.process;
  }

  /** What is mounted, by pod UID; outlives the process until it is unmounted. */
  get mounts(): ReadonlyMap<string, readonly MountedVolume[]> {
    return this.#mounts;
  }

  /** How the pod's containers ended, if they ended by themselves or were stopped in this boot. */
  exitOf(podUid: string): Exit | undefined {
    return this.#exits.get(podUid);
  }

  /** Whether the pod's containers were ever started here, in this boot or before. */
  hasRun(podUid: string): boolean {
    return this.#started.has(podUid);
  }

  on(listener: MachineListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Nothing happens when it is on already, as with a real power button that only turns on. */
  powerOn(bootTimeMs: number = this.bootTimeMs): void {
    if (this.#state !== 'off' || !this.isFed()) return;
    this.#state = 'booting';
    this.#emit({ type: 'booting' });
    this.clock.after(bootTimeMs, () => {
      this.#state = 'running';
      this.#bootId = uuid(this.#random);
      this.#emit({ type: 'booted', bootId: this.#bootId });
    });
  }

  powerOff(): void {
    if (this.#state === 'off') return;
    this.#state = 'off';
    this.#hung = false;
    this.#timers.clear();
    const ended = [...this.#running.values()];
    this.#running.clear();
    this.#mounts.clear();
    this.#exits.clear();
    for (const { process } of ended) this.#emit({ type: 'processStopped', process });
    this.#emit({ type: 'off' });
    this.#wakeUp();
  }

  reset(): void {
    this.powerOff();
    this.powerOn();
  }

  /** Everything stands still, and goes on where it was after `resume`. */
  hang(): void {
    if (this.#state === 'off' || this.#hung) return;
    this.#hung = true;
    this.#timers.hold();
    this.#emit({ type: 'hung' });
  }

  resume(): void {
    if (!this.#hung) return;
    this.#hung = false;
    this.#emit({ type: 'resumed' });
    this.#wakeUp();
    this.#timers.release();
  }

  /** Cuts the machine off from the API. Its programs do not notice but for their failing calls. */
  partition(): void {
    if (!this.#linked) return;
    this.#linked = false;
    this.#emit({ type: 'linkDown' });
  }

  heal(): void {
    if (this.#linked) return;
    this.#linked = true;
    this.#emit({ type: 'linkUp' });
  }

  /** For code of this machine that an outside event woke up: it may go on only when the machine does. */
  async whenAwake(): Promise<void> {
    while (this.#hung) await this.#wake.promise;
  }

  mount(podUid: string, volumes: readonly MountedVolume[]): void {
    if (this.#state === 'running') this.#mounts.set(podUid, volumes);
  }

  unmount(podUid: string): void {
    if (this.#running.has(podUid)) throw new Error(`${this.name}: unmount of ${podUid} under a running process`);
    this.#mounts.delete(podUid);
  }

  /** Starts a pod's containers with what is mounted for it; `exit`: they end by themselves. */
  startProcess(
    pod: { uid: string; namespace: string; name: string },
    exit?: { afterMs: number; code: number },
  ): Process | undefined {
    if (!this.alive) return undefined;
    if (this.#running.has(pod.uid)) throw new Error(`${this.name}: pod ${pod.namespace}/${pod.name} runs already`);
    this.#starts += 1;
    const process: Process = {
      id: `${this.#bootId.slice(0, 8)}-${this.#starts}`,
      podUid: pod.uid,
      namespace: pod.namespace,
      podName: pod.name,
      bootId: this.#bootId,
      startedAt: this.#base.now(),
      volumes: this.#mounts.get(pod.uid) ?? [],
    };
    this.#exits.delete(pod.uid);
    this.#started.add(pod.uid);
    this.#running.set(pod.uid, { process });
    if (exit !== undefined) {
      this.clock.after(exit.afterMs, () => {
        if (this.processOf(pod.uid) === process) this.#end(pod.uid, exit.code);
      });
    }
    this.#emit({ type: 'processStarted', process });
    return process;
  }

  /**
   * Asks a process to end; it takes `needsMs` for that, and is killed when `graceMs` have passed. Goes on by itself:
   * no kubelet is needed for the rest. A later call can only shorten the time.
   */
  stopProcess(podUid: string, needsMs: number, graceMs: number): void {
    const running = this.#running.get(podUid);
    if (running === undefined) return;
    const inMs = Math.min(needsMs, graceMs);
    const stopAt = this.#base.monotonic() + inMs;
    if (running.stopAt !== undefined && running.stopAt <= stopAt) return;
    running.cancelStop?.();
    running.stopAt = stopAt;
    running.cancelStop = this.clock.after(inMs, () => this.#end(podUid, needsMs <= graceMs ? 0 : killed));
  }

  /** The pod is no more: nothing about it needs to be remembered. */
  forget(podUid: string): void {
    this.#exits.delete(podUid);
    this.#started.delete(podUid);
  }

  #end(podUid: string, exitCode: number): void {
    const running = this.#running.get(podUid);
    if (running === undefined) return;
    running.cancelStop?.();
    this.#running.delete(podUid);
    this.#exits.set(podUid, { code: exitCode, at: this.#base.now(), process: running.process });
    this.#emit({ type: 'processStopped', process: running.process, exitCode });
  }

  #wakeUp(): void {
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers<void>();
    resolve();
  }

  #emit(event: MachineEvent): void {
    // A copy: who begins to listen because of this event does not hear of it.
    const listeners = [...this.#listeners];
    for (const listener of listeners) listener(event, this);
  }
}

/** Timers that can be held: those that fall due meanwhile run, in their order, when they are released. */
class Timers {
  readonly #clock: Clock;
  readonly #pending = new Set<() => void>();
  #due: { callback: () => void }[] | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { callback };
    const cancelBase = this.#clock.after(delayMs, () => {
      this.#pending.delete(cancel);
      if (this.#due === undefined) callback();
      else this.#due.push(timer);
    });
    const cancel = (): void => {
      cancelBase();
      this.#pending.delete(cancel);
      // Also out of those that are due but held: their owner may change its mind first.
      timer.callback = () => {};
    };
    this.#pending.add(cancel);
    return cancel;
  }

  hold(): void {
    this.#due ??= [];
  }

  release(): void {
    const due = this.#due ?? [];
    this.#due = undefined;
    for (const timer of due) timer.callback();
  }

  clear(): void {
    for (const cancel of this.#pending) cancel();
    this.#due = undefined;
  }
}

/** Version 4, from the given source of randomness. */
export function uuid(random: () => number): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16));
  hex[12] = '4';
  hex[16] = (8 + Math.floor(random() * 4)).toString(16);
  const text = hex.join('');
  const cuts = [0, 8, 12, 16, 20, 32];
  return cuts
    .slice(1)
    .map((end, index) => text.slice(cuts[index], end))
    .join('-');
}
