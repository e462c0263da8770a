/** One question to a cloud: its calls, its time, and what it has to give up with. */
import type { DeviceWorld } from '../device.ts';
import {
  BODY_LIMIT_BYTES,
  callHttps,
  type HttpsAnswer,
  type HttpsCall,
  type HttpsEnd,
  type HttpsWay,
} from '../http.ts';

/** Why there is no answer: `refused` only where it is certain that nothing was done. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: 'refused' | 'unknown';
  /** It was refused because of the state that the instance is in, which may be the very one that was wanted. */
  readonly isAboutState: boolean;

  constructor(kind: 'refused' | 'unknown', message: string, { isAboutState = false } = {}) {
    super(message);
    this.kind = kind;
    this.isAboutState = isAboutState;
  }
}

export interface TurnParts {
  world: DeviceWorld;
  signal: AbortSignal;
  /** On the monotonic clock. */
  deadline: number;
  callTimeoutMs: number;
  way?: HttpsWay;
  /** Where an authority is named that others do not know; absent: in the parameter `ca`. */
  trustedBy?: string;
  /** From now on this appears in no message. */
  hide: (secret: string) => void;
}

/** Of all answers to one question together: fifty pages of a list, each as long as an answer may be, would fill any memory. */
export const ANSWERS_LIMIT_BYTES = 8 * BODY_LIMIT_BYTES;

export class Turn {
  readonly #parts: TurnParts;
  #readBytes = 0;

  constructor(parts: TurnParts) {
    this.#parts = parts;
  }

  hide(secret: string): void {
    this.#parts.hide(secret);
  }

  async call(call: HttpsCall): Promise<HttpsAnswer> {
    const first = await this.#try(call);
    // What changes nothing can be asked again, and a connection that was kept for too long is not the device's fault.
    const isWorthAnother = first.kind === 'no-answer' && first.wasKept && call.method === 'GET';
    const end = isWorthAnother ? await this.#try(call) : first;
    switch (end.kind) {
      case 'answered':
        return end.answer;
      case 'untrusted':
        throw new Failure(
          'refused',
          `${call.url.host} is not trusted, and nothing was sent to it: ${end.why}${this.#advice(end)}`,
        );
      case 'no-answer':
        throw new Failure('unknown', `no answer from ${call.url.host}: ${end.why}`);
    }
  }

  #advice({ isOfStranger }: Extract<HttpsEnd, { kind: 'untrusted' }>): string {
    return isOfStranger ? `; name its authority by ${this.#parts.trustedBy ?? 'the parameter ca'}` : '';
  }

  async #try(call: HttpsCall): Promise<HttpsEnd> {
    const { world, signal, deadline, callTimeoutMs, way } = this.#parts;
    if (signal.aborted) throw new Failure('unknown', 'it was called off');
    const timeoutMs = Math.max(1, Math.min(callTimeoutMs, deadline - world.monotonic()));
    const bodyLimitBytes = Math.min(way?.bodyLimitBytes ?? BODY_LIMIT_BYTES, ANSWERS_LIMIT_BYTES - this.#readBytes);
    const end = await callHttps(call, { signal, timeoutMs, ...way, bodyLimitBytes }, world);
    if (end.kind === 'answered') this.#readBytes += end.answer.body.length;
    return end;
  }

  /**
   * Asks for an operation until it has ended. When the time is up it is left alone: it was taken, and how it ends is
   * seen by the status. Where it ends badly, `read` throws.
   */
  async follow(read: () => Promise<{ hasEnded: boolean; pauseMs?: number }>): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      const seen = await read();
      if (seen.hasEnded || !(await this.#pause(seen.pauseMs ?? pauseMs))) return;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  /** False: the time would be up. */
  #pause(ms: number): Promise<boolean> {
    const { world, signal, deadline } = this.#parts;
    if (world.monotonic() + ms >= deadline) return Promise.resolve(false);
    return new Promise((resolve, reject) => {
      const calledOff = (): void => {
        cancel();
        reject(new Failure('unknown', 'it was called off while the operation went on'));
      };
      const cancel = world.after(ms, () => {
        signal.removeEventListener('abort', calledOff);
        resolve(true);
      });
      signal.addEventListener('abort', calledOff, { once: true });
      if (signal.aborted) calledOff();
    });
  }
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

export interface Token<T> {
  value: T;
  lifetimeMs: number;
}

/** Given up early, so that it does not run out on its way. */
const MARGIN_MS = 30_000;

/** What a cloud gave for the credentials, kept as long as it is valid. */
export class Login<T> {
  readonly #world: DeviceWorld;
  readonly #logIn: (turn: Turn) => Promise<Token<T>>;
  #known: { value: T; until: number } | undefined;

  constructor(world: DeviceWorld, logIn: (turn: Turn) => Promise<Token<T>>) {
    this.#world = world;
    this.#logIn = logIn;
  }

  /** A token that the cloud does not take any more (401) is replaced once. */
  async call(turn: Turn, callWith: (token: T) => HttpsCall): Promise<HttpsAnswer> {
    const known = await this.token(turn);
    const answer = await turn.call(callWith(known));
    if (answer.status !== 401) return answer;
    this.#known = undefined;
    return turn.call(callWith(await this.token(turn)));
  }

  async token(turn: Turn): Promise<T> {
    if (this.#known !== undefined && this.#world.monotonic() < this.#known.until) return this.#known.value;
    const askedAt = this.#world.monotonic();
    const { value, lifetimeMs } = await this.#logIn(turn);
    this.#known = { value, until: askedAt + lifetimeMs - MARGIN_MS };
    return value;
  }
}
