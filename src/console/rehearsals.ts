/**
 * Rehearsals that people ask for: each in a process of its own, bounded in time and memory, one at a time, and the others in line. A
 * cluster is read as whoever asks; the process gets a copy, no credentials, and no environment.
 */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import type { Snapshot } from '../api/snapshot.ts';
import { UserError } from '../cli/user-error.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { RehearsalNews } from './picture.ts';
import type { RehearsalOrder } from './rehearsal-lines.ts';
import { linesOf, LISTING } from './rehearsal-lines.ts';
import type { RehearsalWish } from './rehearsal-wish.ts';

/** A process that rehearses what it is told, and answers in lines. */
export interface RehearsalProcess {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** Without notice. */
  kill(): void;
  /** It has ended, and why; resolves once. */
  ended: Promise<{ code: number | null; signal: string | null }>;
}

export interface RehearsalsOptions {
  clock: Clock;
  start: () => RehearsalProcess;
  /** What the process may take, for what is told of one that took more. */
  memoryMiB: number;
  maxMs?: number;
  /** As the operator is started with. */
  featureGates?: Readonly<Record<string, boolean>>;
}

export interface RehearsalRequest {
  /** A new one of the same person takes the place of the one before. */
  person: object;
  wish: RehearsalWish;
  /** The cluster, as this person may read it. */
  read: (signal: AbortSignal) => Promise<Snapshot>;
  say: (news: RehearsalNews) => void;
  /** Whoever asked has left. */
  signal: AbortSignal;
}

const usualMaxMs = 300_000;
/** So many may wait; whoever comes then is sent away. */
const maxWaiting = 8;
/** A picture is a few hundred kilobytes at the most. */
const maxAnswerBytes = 8 * 1024 * 1024;

export class Rehearsals {
  readonly #options: RehearsalsOptions;
  readonly #line: object[] = [];
  readonly #asked = new WeakMap<object, AbortController>();
  #moved = Promise.withResolvers<void>();

  constructor(options: RehearsalsOptions) {
    this.#options = options;
  }

  /** Says one of the ends at the last, unless whoever asked has left; never throws for what somebody has asked. */
  async run({ person, wish, read, say, signal }: RehearsalRequest): Promise<void> {
    const own = new AbortController();
    this.#asked.get(person)?.abort();
    this.#asked.set(person, own);
    const stop = AbortSignal.any([signal, own.signal]);
    const ticket = {};
    try {
      if (!(await this.#turn(ticket, { say, stop }))) return;
      await this.#rehearse(wish, { read, say, stop });
    } finally {
      this.#line.splice(this.#line.indexOf(ticket), this.#line.includes(ticket) ? 1 : 0);
      this.#moved.resolve();
      this.#moved = Promise.withResolvers();
      if (own.signal.aborted) say({ state: 'failed', text: 'you have begun another rehearsal; this one was left' });
      else if (this.#asked.get(person) === own) this.#asked.delete(person);
    }
  }

  /** False: it is not to be run. */
  async #turn(ticket: object, { say, stop }: { say: RehearsalRequest['say']; stop: AbortSignal }): Promise<boolean> {
    if (this.#line.length > maxWaiting) {
      say({ state: 'failed', text: 'too many rehearsals wait already; try again in a minute' });
      return false;
    }
    this.#line.push(ticket);
    const left = Promise.withResolvers<void>();
    stop.addEventListener('abort', () => left.resolve(), { once: true });
    let told = 0;
    while (this.#line[0] !== ticket && !stop.aborted) {
      const before = this.#line.indexOf(ticket);
      if (before !== told) say({ state: 'waits', before });
      told = before;
      await Promise.race([this.#moved.promise, left.promise]);
    }
    return !stop.aborted;
  }

  async #rehearse(
    wish: RehearsalWish,
    { read, say, stop }: Pick<RehearsalRequest, 'read' | 'say'> & { stop: AbortSignal },
  ): Promise<void> {
    const { clock, start, maxMs = usualMaxMs, featureGates = {} } = this.#options;
    const over = new AbortController();
    const ends = AbortSignal.any([stop, over.signal]);
    const process = start();
    const kill = (): void => process.kill();
    ends.addEventListener('abort', kill, { once: true });
    let isLate = false;
    void sleep(clock, maxMs, over.signal).then(() => {
      isLate = !over.signal.aborted;
      over.abort();
    });
    const answered = answerOf(process, say);
    process.stdin.on('error', () => {});
    const asked: RehearsalOrder = { ...wish, featureGates };
    process.stdin.write(`${JSON.stringify(asked)}\n`);
    try {
      say({ state: 'reads' });
      // With a policy that is wrong nobody waits until a large cluster has been read.
      const snapshot = await Promise.race([wholeOf(read, ends), answered.then(() => undefined)]);
      if (snapshot !== undefined) await Promise.race([send(process.stdin, linesOf(snapshot), ends), answered]);
      const answer = await answered;
      if (!answer.isTold && !stop.aborted) say({ state: 'failed', text: this.#why(answer, isLate) });
    } catch (error) {
      process.kill();
      await answered;
      if (!(error instanceof UserError)) throw error;
      if (!stop.aborted) say({ state: 'failed', text: error.message });
    } finally {
      over.abort();
      await process.ended;
    }
  }

  /** Why it has ended without an answer. */
  #why({ problem }: Answer, isLate: boolean): string {
    const { memoryMiB, maxMs = usualMaxMs } = this.#options;
    const less = 'let less fail, or look for a shorter time; fenceline simulate --from-cluster has no such limit';
    if (isLate) return `it took longer than ${maxMs / 60_000} min, and was ended: ${less}`;
    if (/heap out of memory|Allocation failed/.test(problem))
      return `it took more than ${memoryMiB} MiB of memory: ${less}`;
    const [first = ''] = problem.split('\n', 1);
    return `the process that rehearses has ended by itself${first === '' ? '' : `: ${first}`}`;
  }
}

interface Answer {
  /** The answer has been said. */
  isTold: boolean;
  /** What it has written about its end. */
  problem: string;
}

/** What the process says is said on; ends with it. */
async function answerOf(process: RehearsalProcess, say: RehearsalRequest['say']): Promise<Answer> {
  let problem = '';
  let bytes = 0;
  process.stderr.on('data', (chunk) => (problem = (problem + String(chunk)).slice(0, 8192)));
  process.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) process.kill();
  });
  let isTold = false;
  createInterface({ input: process.stdout }).on('line', (line) => {
    if (isTold || bytes > maxAnswerBytes) return;
    const news = newsOf(line);
    if (news === undefined) return;
    isTold = ['done', 'wrong', 'failed'].includes(news.state);
    say(news);
  });
  await process.ended;
  return { isTold, problem };
}

/** Undefined: it was ended in the middle of a line. */
function newsOf(line: string): RehearsalNews | undefined {
  try {
    return JSON.parse(line) as RehearsalNews;
  } catch {
    return undefined;
  }
}

async function wholeOf(read: RehearsalRequest['read'], signal: AbortSignal): Promise<Snapshot> {
  const snapshot = await read(signal);
  const missing = snapshot.unread.find(({ what }) => what === policies);
  if (missing === undefined) return snapshot;
  throw new UserError(`which policies are in force is not known: ${policies}: ${missing.why}${LISTING}`);
}

const policies = 'remedypolicies.fenceline.dev';

/** Piece by piece, so that a large cluster keeps nobody else waiting, nor is it in memory once more. */
async function send(to: Writable, lines: Iterable<string>, signal: AbortSignal): Promise<void> {
  for (const line of lines) {
    if (signal.aborted || to.destroyed) return;
    if (!to.write(`${line}\n`)) await once(to, 'drain', { signal }).catch(() => {});
  }
  to.end();
}
