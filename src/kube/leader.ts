/**
 * Leader election on a Lease, with the timings and the record of client-go, so that operators know what they see.
 *
 * - A candidate takes a Lease over when it has seen the very same version of it for the whole lease duration, by its own
 *   monotonic clock. The times in the record are for people: two machines never agree on the time.
 * - A leader acts until the renew deadline, counted from the start of its last successful renewal (see term.ts). The
 *   deadline is shorter than the lease duration, and the difference is what clocks of different speed may use up.
 * - Every write carries the resourceVersion that was read. A write whose outcome is unknown counts as failed; whether it
 *   took place shows at the next read.
 * - A Lease that vanishes or names somebody else ends the term at once. Who remembers its holder waits for it to run out
 *   all the same. A candidate that never saw the Lease cannot: it creates one, and the old leader learns that with its
 *   next renewal.
 */
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { CallOptions, KubeClient, KubeObject } from './client.ts';
import type { KubeError, Result } from './errors.ts';
import { microTime } from './micro-time.ts';
import type { ObjectRef } from './resources.ts';
import { leases } from './resources.ts';
import type { Moment, Term, TermEnd } from './term.ts';
import { LeaseTerm, momentOf } from './term.ts';

export interface LeaderTimings {
  /** How long others wait for a silent leader. Whole seconds: that is what a Lease can hold. */
  leaseDurationMs: number;
  /** How long a leader that cannot renew goes on. */
  renewDeadlineMs: number;
  retryPeriodMs: number;
}

export const defaultLeaderTimings: LeaderTimings = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
};

export type LeaderProblem =
  | { kind: 'request'; during: 'acquire' | 'renew' | 'release'; error: KubeError }
  | { kind: 'lost'; epoch: number; reason: TermEnd }
  /** The term is over and its work goes on: this process cannot stand for election until it ends. */
  | { kind: 'stillWorking'; epoch: number; forMs: number };

export interface LeaderElectorOptions {
  client: KubeClient;
  clock: Clock;
  /** Between 0 and 1, as Math.random. */
  random: () => number;
  lease: { namespace: string; name: string };
  /** Never used by another process, not even by this one's next start: `<hostname>_<uuid>`. */
  identity: string;
  timings?: Partial<LeaderTimings>;
  onProblem: (problem: LeaderProblem) => void;
}

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

export interface Lease extends KubeObject {
  spec?: LeaseSpec;
}

/** Ends after which the Lease is still ours to give away. */
const released: ReadonlySet<TermEnd> = new Set(['shutdown', 'failed', 'handedOver', 'unable']);
/** Ends that are our own will. */
const willing: ReadonlySet<TermEnd> = new Set(['shutdown', 'handedOver', 'unable']);

/** When a leader has last handed over the lead: it stays in the Lease, for whoever leads next. */
export const HANDED_OVER = 'fenceline.dev/handed-over-at';
/** Why nobody leads: written by who gave the lead up because it can do nothing, gone with the next leader. */
export const UNABLE = 'fenceline.dev/unable';

/** As in client-go: a candidate waits one to 2.2 retry periods, so that candidates do not move in step. */
const jitterFactor = 1.2;

export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #timings: LeaderTimings;
  readonly #ref: ObjectRef;
  /** The Lease as last read or written, and when this version was first seen. */
  #seen: { lease: Lease; atMs: number } | undefined;
  #term: LeaseTerm | undefined;
  /** It leaves the Lease to others until then. */
  #standsFromMs = -Infinity;
  /** When the lead was last handed over, by this one or another. */
  #handedOverMs = -Infinity;
  #unable = '';

  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.#timings = checkedTimings({ ...defaultLeaderTimings, ...options.timings });
    this.#ref = { resource: leases, ...options.lease };
    if (options.identity === '') throw new Error('leader election needs an identity');
  }

  isLeading(): boolean {
    return this.#term?.isLeading() ?? false;
  }

  /** Ends the term, and leaves the Lease to others for so long; if nobody takes it, this one stands again. */
  handOver(forMs: number): void {
    this.#handedOverMs = this.#options.clock.monotonic();
    this.#standsFromMs = this.#handedOverMs + forMs;
    this.#term?.end('handedOver');
  }

  /** It would lead in vain: whoever can do more has the Lease for so long. Undefined: it can. */
  unable(why: string | undefined, forMs = 0): void {
    this.#unable = why ?? '';
    this.#standsFromMs = why === undefined ? -Infinity : this.#options.clock.monotonic() + forMs;
    if (why !== undefined) this.#term?.end('unable');
  }

  /** How long ago the lead was handed over, by whomever, as far as the Lease tells. */
  get handedOverForMs(): number {
    return this.#options.clock.monotonic() - this.#handedOverMs;
  }

  /** Who held the Lease when it was last seen; for people. */
  get holder(): string | undefined {
    return this.#seen?.lease.spec?.holderIdentity;
  }

  /**
   * Stands for election until `shutdown` fires, and leads whenever elected.
   *
   * `lead` is called once per term. If it answers with a promise, that is the work of the term: after the end of a term
   * this process is no candidate until the work has ended, so that the works of two terms never overlap. Work that
   * returns early keeps the term. Work that fails ends it, and the failure comes out of here.
   */
  async run(shutdown: AbortSignal, lead: (term: Term) => Promise<void> | void): Promise<void> {
    while (!shutdown.aborted) {
      const term = await this.#acquire(shutdown);
      if (term !== undefined) await this.#serve(term, shutdown, lead);
    }
  }

  async #acquire(shutdown: AbortSignal): Promise<LeaseTerm | undefined> {
    const { clock, random } = this.#options;
    while (!shutdown.aborted) {
      const stands = clock.monotonic() >= this.#standsFromMs;
      const term = stands ? await this.#stand(shutdown) : undefined;
      if (term?.isLeading()) return term;
      await sleep(clock, this.#timings.retryPeriodMs * (1 + jitterFactor * random()), shutdown);
    }
    return undefined;
  }

  /** One attempt at becoming leader. */
  async #stand(shutdown: AbortSignal): Promise<LeaseTerm | undefined> {
    const read = await this.#read({ signal: shutdown });
    if (!read.ok && read.error.kind !== 'notFound') {
      if (!shutdown.aborted) this.#report('acquire', read.error);
      return undefined;
    }
    if (shutdown.aborted || this.#heldByAnother()) return undefined;
    const startedAt = momentOf(this.#options.clock);
    const spec = this.#specOfNewTerm(read.ok, startedAt);
    // Not cut short by a shutdown: a Lease that is taken and not released keeps the others waiting.
    const written = await this.#write(read.ok ? noted(read.value, UNABLE, undefined) : undefined, spec);
    if (!written.ok) {
      // Another candidate was faster: that is what elections are.
      const lost = written.error.kind === 'conflict' || written.error.kind === 'alreadyExists';
      if (!lost) this.#report('acquire', written.error);
      return undefined;
    }
    const { renewDeadlineMs } = this.#timings;
    return new LeaseTerm({
      epoch: spec.leaseTransitions ?? 0,
      clock: this.#options.clock,
      renewDeadlineMs,
      renewedAt: startedAt,
    });
  }

  #heldByAnother(): boolean {
    if (this.#seen === undefined) return false;
    const { holderIdentity = '', leaseDurationSeconds: seconds } = this.#seen.lease.spec ?? {};
    if (holderIdentity === '' || holderIdentity === this.#options.identity) return false;
    const durationMs = seconds === undefined || seconds <= 0 ? this.#timings.leaseDurationMs : seconds * 1000;
    return this.#options.clock.monotonic() - this.#seen.atMs < durationMs;
  }

  #specOfNewTerm(exists: boolean, at: Moment): LeaseSpec {
    const { identity } = this.#options;
    const last = this.#seen?.lease.spec ?? {};
    const transitions = last.leaseTransitions ?? 0;
    // After a write of ours with unknown outcome, or a term that we let run out, the record is ours already.
    const ours = exists && last.holderIdentity === identity;
    // A vanished Lease that we remember goes on counting: the epoch must not fall back if that can be avoided.
    const first = this.#seen === undefined;
    return {
      ...this.#renewedSpec(at),
      holderIdentity: identity,
      acquireTime: ours ? (last.acquireTime ?? microTime(at.wallMs)) : microTime(at.wallMs),
      leaseTransitions: ours || first ? transitions : transitions + 1,
    };
  }

  #renewedSpec(at: Moment): LeaseSpec {
    const last = this.#seen?.lease.spec ?? {};
    let renewTime = microTime(at.wallMs);
    // A clock that was set back could give the same time twice. The server takes such a write for no change, keeps the
    // version, and the others count on from our renewal before.
    if (renewTime === last.renewTime) renewTime = renewTime.replace('000Z', '001Z');
    return { ...last, leaseDurationSeconds: this.#timings.leaseDurationMs / 1000, renewTime };
  }

  async #serve(term: LeaseTerm, shutdown: AbortSignal, lead: (term: Term) => Promise<void> | void): Promise<void> {
    const stop = (): void => term.end('shutdown');
    shutdown.addEventListener('abort', stop, { once: true });
    if (shutdown.aborted) stop();
    this.#term = term;
    const work = runWork(term, lead);
    try {
      await this.#renewUntilOver(term);
    } finally {
      term.end('failed');
      shutdown.removeEventListener('abort', stop);
      const reason = term.ended ?? 'failed';
      if (!willing.has(reason)) this.#options.onProblem({ kind: 'lost', epoch: term.epoch, reason });
      await this.#untilEnded(term, work.ended);
      if (released.has(reason)) await this.#release(term);
    }
    await work.outcome;
  }

  async #renewUntilOver(term: LeaseTerm): Promise<void> {
    while (term.isLeading()) {
      await sleep(this.#options.clock, this.#timings.retryPeriodMs, term.signal);
      if (term.isLeading()) await this.#renew(term);
    }
  }

  async #renew(term: LeaseTerm): Promise<void> {
    const first = await this.#tryRenew(term);
    if (first === 'conflict' && (await this.#reread(term))) await this.#tryRenew(term);
  }

  async #tryRenew(term: LeaseTerm): Promise<'done' | 'failed' | 'conflict'> {
    if (!term.isLeading()) return 'failed';
    const startedAt = momentOf(this.#options.clock);
    const written = await this.#write(this.#seen?.lease, this.#renewedSpec(startedAt), this.#limits(term));
    if (written.ok) {
      term.renewed(startedAt);
      return 'done';
    }
    // Its end, not the request, is then what matters; and an attempt cut short by it says nothing.
    if (!term.isLeading()) return 'failed';
    if (written.error.kind === 'conflict') return 'conflict';
    this.#report('renew', written.error);
    if (written.error.kind === 'notFound') term.end('deposed');
    return 'failed';
  }

  /** The Lease is not as we know it: after a renewal of unknown outcome, or an edit, or because somebody took it. */
  async #reread(term: LeaseTerm): Promise<boolean> {
    if (!term.isLeading()) return false;
    const before = this.#seen?.lease.spec;
    const read = await this.#read(this.#limits(term));
    if (!term.isLeading()) return false;
    if (!read.ok) {
      this.#report('renew', read.error);
      if (read.error.kind === 'notFound') term.end('deposed');
      return false;
    }
    const { holderIdentity, leaseTransitions, acquireTime } = read.value.spec ?? {};
    const ours =
      holderIdentity === this.#options.identity &&
      (leaseTransitions ?? 0) === term.epoch &&
      acquireTime === before?.acquireTime;
    if (!ours) term.end('deposed');
    return ours;
  }

  /** Hands the Lease over, so that the next leader need not wait for it to run out. The work must have ended. */
  async #release(term: LeaseTerm): Promise<void> {
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      if (term.remainingMs() <= 0 || this.holder !== this.#options.identity) return;
      const now = microTime(this.#options.clock.now());
      const spec = { ...this.#seen?.lease.spec, holderIdentity: '', leaseDurationSeconds: 1 };
      const limits = { timeoutMs: this.#timeoutMs(term), guard: () => term.remainingMs() > 0 };
      const written = await this.#write(
        this.#farewell(term, now),
        { ...spec, acquireTime: now, renewTime: now },
        limits,
      );
      if (written.ok) return;
      if (written.error.kind !== 'conflict' || attempt === 2) {
        this.#report('release', written.error);
        return;
      }
      // Most likely our last renewal took place after all.
      const read = await this.#read({ timeoutMs: this.#timeoutMs(term) });
      if (!read.ok) {
        this.#report('release', read.error);
        return;
      }
    }
  }

  #farewell({ ended }: LeaseTerm, now: string): Lease | undefined {
    const lease = this.#seen?.lease;
    if (ended === 'handedOver') return noted(lease, HANDED_OVER, now);
    return ended === 'unable' ? noted(lease, UNABLE, this.#unable) : lease;
  }

  async #read(options: CallOptions): Promise<Result<Lease>> {
    const limits = { timeoutMs: this.#timings.renewDeadlineMs / 2, ...options };
    const read = await this.#options.client.get<Lease>(this.#ref, limits);
    if (read.ok) this.#notice(read.value);
    return read;
  }

  /**
   * Without `known` the Lease is created; otherwise this very version of it is replaced. That needs its UID as well: a
   * PUT creates a Lease that is gone, resourceVersion or not, and a deleted one would come back with its old leader.
   */
  async #write(known: Lease | undefined, spec: LeaseSpec, options: CallOptions = {}): Promise<Result<Lease>> {
    const limits = { timeoutMs: this.#timings.renewDeadlineMs / 2, ...options };
    const written =
      known === undefined
        ? await this.#options.client.create<Lease>(leases, { metadata: { ...this.#options.lease }, spec }, limits)
        : await this.#options.client.replace<Lease>(this.#ref, { ...known, spec }, undefined, limits);
    if (written.ok) this.#notice(written.value);
    return written;
  }

  #notice(lease: Lease): void {
    if (this.#seen?.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return;
    const atMs = this.#options.clock.monotonic();
    const stamp = lease.metadata.annotations?.[HANDED_OVER];
    const isNew = stamp !== undefined && stamp !== this.#seen?.lease.metadata.annotations?.[HANDED_OVER];
    // Only of what was there before this process the time that somebody else's clock has shown says more than when it was seen.
    const agoMs = this.#seen === undefined ? this.#options.clock.now() - Date.parse(stamp ?? '') : 0;
    if (isNew) this.#handedOverMs = atMs - Math.max(0, Number.isNaN(agoMs) ? Infinity : agoMs);
    this.#seen = { lease, atMs };
  }

  #limits(term: LeaseTerm): CallOptions {
    return { signal: term.signal, timeoutMs: this.#timeoutMs(term), guard: term.isLeading };
  }

  #timeoutMs(term: LeaseTerm): number {
    return Math.max(1, Math.min(this.#timings.renewDeadlineMs / 2, term.remainingMs()));
  }

  async #untilEnded(term: LeaseTerm, work: Promise<void>): Promise<void> {
    const { clock, onProblem } = this.#options;
    const forMs = this.#timings.leaseDurationMs;
    const cancel = clock.after(forMs, () => onProblem({ kind: 'stillWorking', epoch: term.epoch, forMs }));
    await work;
    cancel();
  }

  #report(during: 'acquire' | 'renew' | 'release', error: KubeError): void {
    this.#options.onProblem({ kind: 'request', during, error });
  }
}

/** Undefined: without that note. */
function noted<Known extends Lease | undefined>(lease: Known, key: string, value: string | undefined): Known {
  if (lease === undefined) return lease;
  const { [key]: _, ...others } = lease.metadata.annotations ?? {};
  const annotations = value === undefined ? others : { ...others, [key]: value };
  return { ...lease, metadata: { ...lease.metadata, annotations } };
}

/** `ended` never rejects, so that cleaning up may wait for it; `outcome` does if the work failed. */
function runWork(
  term: LeaseTerm,
  lead: (term: Term) => Promise<void> | void,
): { ended: Promise<void>; outcome: Promise<void> } {
  const outcome = term.isLeading() ? (async () => lead(term))() : Promise.resolve();
  const ended = outcome.catch(() => term.end('failed'));
  return { ended, outcome };
}

function checkedTimings(timings: LeaderTimings): LeaderTimings {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = timings;
  if (leaseDurationMs % 1000 !== 0) throw new RangeError('the lease duration must be whole seconds');
  if (leaseDurationMs <= renewDeadlineMs)
    throw new RangeError('the lease duration must be longer than the renew deadline');
  if (renewDeadlineMs <= jitterFactor * retryPeriodMs) {
    throw new RangeError(`the renew deadline must be longer than ${jitterFactor} retry periods`);
  }
  if (retryPeriodMs <= 0) throw new RangeError('the retry period must be positive');
  return timings;
}
