/**
 * The API server's clock, as far as its answers tell: the one reading of it, for all that is decided. A Date is whole seconds and
 * was true at some moment between question and answer, so that each says at least and at most how far that clock is ahead of our
 * monotonic one. What all of them have in common is known ever better, and goes on by itself.
 *
 * Behind one address there may be several servers, and one of them may have a wrong clock. A Date that jumps by more than a few
 * seconds, in whichever direction, is not believed, and time goes on by our own measure: every patience would be over at once, or what
 * is written down now would be old when the next server answers. Where nobody has said anything else for minutes, it is followed.
 *
 * Who has just started has no last one to compare with: it has its own clock. What is behind that is believed at once, so that nothing
 * is over early by either of the two (POD-4). Whether what is ahead of it is right is settled by what most kubelets say, which renew their
 * Leases by clocks of their own, or else it waits for the same minutes: until then nothing may be decided (`isSettled`), because what would be
 * written down meanwhile would be old in the moment in which it is followed.
 *
 * What was written down before a clock was set forward is younger than it looks since: by `leptMs` and `continued` it is counted on.
 */
import type { Clock } from '../clock.ts';

/** Said of a clock that is not believed, or is from now on. */
export interface Astray {
  byMs: number;
  isFollowed: boolean;
  /** Nobody has been believed yet: which clock is right is not known. */
  isFirst: boolean;
}

/** What the clock showed when it was set, and by how much. */
interface Leap {
  fromMs: number;
  byMs: number;
}

/** As far apart servers may be that are looked after. */
const toleranceMs = 5000;
const followedAfterMs = 300_000;
const toldAgainAfterMs = 600_000;
/** A Date names a second. */
const secondMs = 1000;
/** One may be that of our own machine. */
const fewestWitnesses = 2;

export class ServerTime {
  readonly #clock: Clock;
  /** How far the server's clock is ahead of our monotonic one, at least. */
  #aheadMs: number;
  /** The same by what decisions were made at, in whole seconds. */
  #notedMs = -Infinity;
  /** No server has been believed yet. */
  #isOwn = true;
  /** Since when all that was heard is not believed, and the least of it. */
  #astray: { sinceMs: number; aheadMs: number } | undefined;
  /** By node: how far the clock of its kubelet is ahead of our monotonic one; asked for only while nobody is believed. */
  readonly #witnesses = new Map<string, number>();
  readonly #leaps: Leap[] = [];
  #last: { atMs: number; byMs: number } | undefined;
  #toldMs = -Infinity;
  /** A clock is off, or was believed after all; not for every answer. */
  onAstray: (astray: Astray) => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#aheadMs = clock.now() - clock.monotonic();
  }

  /** What time it is, by an answer of this Date to what was asked then. */
  read(dateMs: number, askedMs: number): number {
    const nowMs = this.#clock.monotonic();
    const [leastMs, mostMs] = [dateMs - nowMs, dateMs + secondMs - askedMs];
    if (this.#isOwn) this.#askWitnesses(leastMs);
    if (this.#isOwn && leastMs <= this.#aheadMs + toleranceMs) this.#believe(leastMs);
    if (leastMs - toleranceMs <= this.#aheadMs && this.#aheadMs <= mostMs + toleranceMs) {
      this.#believe(Math.min(Math.max(this.#aheadMs, leastMs), mostMs));
      return dateMs;
    }
    this.#doubt(leastMs, nowMs);
    return Math.floor((nowMs + this.#aheadMs) / secondMs) * secondMs;
  }

  /** At least this late it is. */
  now(): number {
    return this.#clock.monotonic() + this.#aheadMs;
  }

  /** Something was decided by this reading; what comes later is waited for by the best of these. */
  note(dateMs: number): void {
    this.#notedMs = Math.max(this.#notedMs, dateMs - this.#clock.monotonic());
  }

  /** How long until its clock shows `atMs`, after an answer dated `dateMs` has shown that it does not yet. */
  until(atMs: number, dateMs: number): number {
    const waitMs = atMs - (this.#clock.monotonic() + this.#notedMs);
    if (waitMs > 0) return waitMs;
    // It should have come by now: the clock was set back, or another server answers.
    this.#notedMs = dateMs - this.#clock.monotonic();
    return Math.max(100, atMs - dateMs);
  }

  /** By how much a clock was off that was heard within the last minutes; 0: none was. */
  get astrayByMs(): number {
    const { atMs = -Infinity, byMs = 0 } = this.#last ?? {};
    return this.#clock.monotonic() - atMs < followedAfterMs ? byMs : 0;
  }

  /** It is known which clock is right: that of a server, or our own. */
  get isSettled(): boolean {
    return !this.#isOwn;
  }

  /** A kubelet has renewed its Lease just now, and said by its own clock when that was. */
  witness(node: string, renewedMs: number): void {
    if (this.#isOwn) this.#witnesses.set(node, renewedMs - this.#clock.monotonic());
  }

  /** By how much the clock that is believed was set, in all: by so much what is on record since before is off. */
  get leptMs(): number {
    return this.#leaps.reduce((sum, { byMs }) => sum + byMs, 0);
  }

  /** A moment that somebody has written down, counted on where the clock was set forward since. */
  continued(writtenMs: number): number {
    return this.#leaps.reduce((ms, { fromMs, byMs }) => (byMs > 0 && ms <= fromMs ? ms + byMs : ms), writtenMs);
  }

  /** Of this server's clock and our own the one that most of them have. */
  #askWitnesses(serverMs: number): void {
    const howMany = (aheadMs: number): number =>
      [...this.#witnesses.values()].filter((witness) => Math.abs(witness - aheadMs) <= toleranceMs).length;
    const [his, ours] = [howMany(serverMs), howMany(this.#aheadMs)];
    if (Math.max(his, ours) >= fewestWitnesses && his !== ours) this.#believe(his > ours ? serverMs : this.#aheadMs);
  }

  #believe(aheadMs: number): void {
    this.#aheadMs = aheadMs;
    this.#isOwn = false;
    this.#astray = undefined;
    this.#witnesses.clear();
  }

  /** What was counted by our own clock before anybody was believed is on no record. */
  #follow(aheadMs: number, nowMs: number): void {
    if (!this.#isOwn) this.#leaps.push({ fromMs: nowMs + this.#aheadMs, byMs: aheadMs - this.#aheadMs });
    this.#believe(aheadMs);
  }

  #doubt(leastMs: number, nowMs: number): void {
    const byMs = leastMs - this.#aheadMs;
    const { sinceMs = nowMs, aheadMs = leastMs } = this.#astray ?? {};
    this.#last = { atMs: nowMs, byMs };
    this.#astray = { sinceMs, aheadMs: Math.min(aheadMs, leastMs) };
    const isFollowed = nowMs - sinceMs >= followedAfterMs;
    const isFirst = this.#isOwn;
    if (isFollowed) this.#follow(this.#astray.aheadMs, nowMs);
    if (!isFollowed && nowMs - this.#toldMs < toldAgainAfterMs) return;
    this.#toldMs = nowMs;
    this.onAstray({ byMs, isFollowed, isFirst });
  }
}
