/** A stream of news to one page: everything first, then what has changed. A burst of changes is one message. */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { ConsoleSource } from './source.ts';

/** Changes come in bursts; a person does not need more than ten pictures a second. */
const pauseMs = 100;
/** What only time changes, as a silence that grows, is looked at this often. */
const tickMs = 1000;
/** Whoever reads slowly is left when so much waits for him. */
const maxWaitingBytes = 16 * 1024 * 1024;
/** Of an API server that has said nothing for so long it is told. */
const silentAfterMs = 15_000;

export class LiveStream {
  readonly #source: ConsoleSource;
  readonly #page: string;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #sent = new Map<string, string>();
  readonly #stop: () => void;
  #waiting: (() => void) | undefined;
  #ticking: (() => void) | undefined;

  constructor(options: { source: ConsoleSource; page: string; response: ServerResponse; clock: Clock }) {
    this.#source = options.source;
    this.#page = options.page;
    this.#response = options.response;
    this.#clock = options.clock;
    this.#stop = this.#source.onChange(() => {
      this.#waiting ??= this.#clock.after(pauseMs, () => this.#send());
    });
    this.#send();
  }

  end(): void {
    this.#stop();
    this.#waiting?.();
    this.#ticking?.();
  }

  #send(): void {
    this.#waiting?.();
    this.#waiting = undefined;
    this.#ticking?.();
    this.#ticking = this.#clock.after(tickMs, () => this.#send());
    if (this.#response.writableLength > maxWaitingBytes) {
      this.#response.destroy();
      return;
    }
    this.#response.write(`data: ${this.#news()}\n\n`);
  }

  /** Parts are compared as they are sent: what is written the same is the same. */
  #news(): string {
    const parts = this.#source.parts(this.#page);
    const set: string[] = [];
    for (const [name, part] of parts) {
      const text = JSON.stringify(part);
      if (this.#sent.get(name) === text) continue;
      this.#sent.set(name, text);
      set.push(`${JSON.stringify(name)}:${text}`);
    }
    const gone = [...this.#sent.keys()].filter((name) => !parts.has(name));
    for (const name of gone) this.#sent.delete(name);
    const { nowMs, silentMs } = this.#source;
    const silence = silentMs < silentAfterMs || silentMs === Infinity ? '' : `,"silentMs":${Math.round(silentMs)}`;
    const at = JSON.stringify(new Date(nowMs).toISOString());
    return `{"at":${at}${silence},"set":{${set.join(',')}},"gone":${JSON.stringify(gone)}}`;
  }
}
