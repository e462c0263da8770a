/**
 * Power devices: one per machine, or one per feed of a machine that has several, each with a fault that it can be given. They act on
 * machines whatever the API says.
 */
import type { Clock } from '../../clock.ts';

/** What a device switches: a machine, or one of its feeds. */
export interface Powered {
  /** Of the machine. */
  readonly name: string;
  readonly power: 'on' | 'off';
  powerOn(): void;
  powerOff(): void;
}

export const bmcFaults = [
  'none',
  'refuses',
  'hangs',
  'ignores',
  'late',
  'reportsFailure',
  'wrongMachine',
  'saysOff',
  'saysOn',
] as const;
export type BmcFault = (typeof bmcFaults)[number];

export type BmcAction = 'off' | 'on' | 'status';

export type BmcAnswer =
  /** `identity` is the machine that the device says it belongs to; an outlet does not know. */
  { ok: true; power: 'on' | 'off'; identity?: string } | { ok: false; error: string };

export interface BmcOptions {
  machine: Powered;
  clock: Clock;
  /** Whether it can say whose power it is; default: yes. */
  hasIdentity?: boolean;
  /** Which machine a device that is wired wrongly belongs to. */
  other: () => Powered | undefined;
  /** What a request takes; 0: it is carried out before the call returns. */
  answerMs?: number;
  /** Every request that reached the device, for the record. */
  onRequest?: (action: BmcAction, fault: BmcFault) => void;
}

const defaultAnswerMs = 500;
export const lateMs = 60_000;

export class Bmc {
  readonly #options: BmcOptions;
  #fault: BmcFault = 'none';
  #liesSinceMs: number | undefined;
  #machine: Powered;

  constructor(options: BmcOptions) {
    this.#options = options;
    this.#machine = options.machine;
  }

  /** The machine that it switches. */
  get machine(): Powered {
    return this.#machine;
  }

  /** The machine that a command reaches now, whatever it says of itself; undefined: none. */
  get strikes(): Powered | undefined {
    if (this.#fault === 'refuses' || this.#fault === 'hangs' || this.#fault === 'ignores') return undefined;
    return this.#fault === 'wrongMachine' ? (this.#options.other() ?? this.#machine) : this.#machine;
  }

  /** Somebody puts the plug of another machine into it. */
  plugIn(machine: Powered): void {
    this.#machine = machine;
  }

  get fault(): BmcFault {
    return this.#fault;
  }

  /** Requests under way keep the fault that they met. */
  setFault(fault: BmcFault): void {
    this.#fault = fault;
    this.#liesSinceMs = undefined;
  }

  /** When it first told somebody, with the fault that it has, that it is off, whatever is true. */
  get liesSinceMs(): number | undefined {
    return this.#liesSinceMs;
  }

  /** Whether it can say whose power it is. */
  get hasIdentity(): boolean {
    return this.#options.hasIdentity ?? true;
  }

  /** Answers after a while, or, with a device that hangs, only when `signal` fires. */
  request(action: BmcAction, signal?: AbortSignal): Promise<BmcAnswer> {
    const fault = this.#fault;
    this.#options.onRequest?.(action, fault);
    const { promise, resolve } = Promise.withResolvers<BmcAnswer>();
    const giveUp = (): void => resolve({ ok: false, error: 'no answer' });
    if (signal?.aborted) giveUp();
    else signal?.addEventListener('abort', giveUp, { once: true });
    if (fault !== 'hangs') {
      const { clock, answerMs = defaultAnswerMs } = this.#options;
      // What reached the device happens, whether or not somebody still waits for the answer.
      const answer = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve(this.#carryOut(action, fault));
      };
      if (answerMs === 0) answer();
      else clock.after(answerMs, answer);
    }
    return promise;
  }

  #carryOut(action: BmcAction, fault: Exclude<BmcFault, 'hangs'>): BmcAnswer {
    const { clock, other } = this.#options;
    const machine = this.#machine;
    const answerOf = (one: Powered): Extract<BmcAnswer, { ok: true }> => this.#answerOf(one);
    switch (fault) {
      case 'none':
        apply(machine, action);
        return answerOf(machine);
      case 'saysOff':
        this.#liesSinceMs ??= clock.monotonic();
        apply(machine, action);
        return { ...answerOf(machine), power: 'off' };
      case 'saysOn':
        apply(machine, action);
        return { ...answerOf(machine), power: 'on' };
      case 'refuses':
        return { ok: false, error: 'refused' };
      case 'ignores':
        return action === 'status' ? answerOf(machine) : { ...answerOf(machine), power: action };
      case 'late':
        if (action === 'status') return answerOf(machine);
        clock.after(lateMs, () => apply(machine, action));
        return { ...answerOf(machine), power: action };
      case 'reportsFailure':
        apply(machine, action);
        return action === 'status' ? answerOf(machine) : { ok: false, error: 'failed' };
      case 'wrongMachine': {
        const victim = other() ?? machine;
        apply(victim, action);
        return answerOf(victim);
      }
    }
  }

  #answerOf({ power, name }: Powered): Extract<BmcAnswer, { ok: true }> {
    return { ok: true, power, ...(this.hasIdentity ? { identity: name } : {}) };
  }
}

function apply(machine: Powered, action: BmcAction): void {
  if (action === 'off') machine.powerOff();
  else if (action === 'on') machine.powerOn();
}
