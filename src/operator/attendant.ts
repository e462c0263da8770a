/**
 * Attends to nodes, one pass at a time: look, decide, record, act, tell. A pass holds nothing over to the next but what is
 * stored in the NodeFence, so that another instance can go on at any point.
 */
import type { Started } from '../api/forbidden.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { NodeCase, Sighting } from '../api/release-view.ts';
import type { JudgeLimits, Judgement, Verdict } from '../api/view.ts';
import type { DeviceMemory } from '../act/device-memory.ts';
import { FenceStore } from '../act/fence-store.ts';
import type { LongActs } from '../act/long-acts.ts';
import type { ActOutcome } from '../act/act-outcome.ts';
import { perform } from '../act/perform.ts';
import { askAgainAfterMs } from '../act/power-questions.ts';
import { Turnstile } from '../act/turnstile.ts';
import type { DeedOutcome } from '../api/deed-names.ts';
import { clockTime } from '../api/facts.ts';
import { MAX_DEEDS } from '../api/fence-names.ts';
import { firstPowerMethods, storageMethods } from '../api/power.ts';
import type { Clock } from '../clock.ts';
import type { NodeDecision } from '../decide/decide-node.ts';
import { disprovenBy } from '../decide/never-off.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { compareVersions } from '../kube/resource-version.ts';
import type { ServerTime } from '../kube/server-time.ts';
import type { CaseReader, ReadCase } from '../observe/case-reader.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { Observer } from '../observe/observer.ts';
import type { Pass } from '../report/pass.ts';
import type { PassReporter } from '../report/pass-reporter.ts';
import { comesToAnything, decided, isOnlyHeld, Undecided } from './decided.ts';
import { deedOutcome } from './deed-outcome.ts';
import type { Again, Why } from './keyed-loop.ts';
import { latelyMs, type Age } from './roll.ts';
import type { SharedFacts } from './shared-facts.ts';

export interface AttendantOptions extends Started {
  client: KubeClient;
  clock: Clock;
  serverTime: ServerTime;
  observer: Observer;
  cluster: ClusterView;
  reader: CaseReader;
  longActs: LongActs;
  shared: SharedFacts;
  limits: JudgeLimits;
  identity: string;
  /** Asked at the wire before every write. */
  isLeading: () => boolean;
  /** What is thought of a node; answers when to judge it again, in milliseconds. */
  publish: (name: string, judgement: Judgement) => number | undefined;
  reporter: Pick<PassReporter, 'report' | 'undecided' | 'forget'>;
  onPass?: ((pass: Pass) => void) | undefined;
  /** Waits for a device, and takes nobody's place meanwhile (S27). */
  aside: <Answer>(name: string, wait: Promise<Answer>) => Promise<Answer>;
  /** Another instance has to lead before anything more is done about this node. */
  onSuccessor: (node: string) => void;
  /** Remembers which devices are found to be wrong. */
  memory: Pick<DeviceMemory, 'suspect' | 'disprove'>;
  onProblem: (source: string, error: KubeError) => void;
  /** What became of the write of a record; undefined: it is stored. */
  onKept?: (error: KubeError | undefined) => void;
}

const callTimeoutMs = 10_000;
const laterMs = 60_000;
/** How old the last answer may be, by how much somebody wants to know. */
const paces = [
  ['device', askAgainAfterMs],
  ['deviceLater', laterMs],
] as const;
const firstRetryMs = 500;
const maxRetryMs = 15_000;
/** While nothing changes, a node that is attended to is looked at again after this. */
const restMs = 30_000;
const conflictRetryMs = 100;
/** Acts under way at a time, over all nodes. */
const maxActs = 100;
/** After another instance has taken over a node, it is left to that one for so long: otherwise two would take turns for ever. */
const deposedForMs = 15_000;

export class Attendant {
  readonly #options: AttendantOptions;
  readonly #store: FenceStore;
  readonly #failures = new Map<string, number>();
  /** Acts on each node that are not on record yet. */
  readonly #deeds = new Map<string, number>();
  /** What came of acts on each node that is not on record yet. */
  readonly #outcomes = new Map<string, readonly DeedOutcome[]>();
  readonly #turnstile = new Turnstile(maxActs);
  /** The epoch that we last wrote of each node, and until when we leave it to the instance that has taken it. */
  readonly #held = new Map<string, number>();
  readonly #deposedUntilMs = new Map<string, number>();
  /** When we looked at the alarms of nodes with problems: at which state of the policies, and when to look again. */
  readonly #alarms = new Map<string, { stamp: string; againMs: number }>();
  /** Of whom nothing is to be done, by their verdict and as they are on record: until when that is so, if nothing happens. */
  readonly #resting = new Map<string, { verdict: Verdict; version: string; untilMs: number }>();

  constructor(options: AttendantOptions) {
    this.#options = options;
    const { client, isLeading: guard, onKept } = options;
    this.#store = new FenceStore({ client, guard, timeoutMs: callTimeoutMs, ...(onKept && { onKept }) });
  }

  /**
   * One look at a node; answers when to come back, in milliseconds. `isServing`: the term has not ended. What cannot be decided about
   * one node is told and tried again, longer apart each time: it keeps nobody from the others (S27).
   */
  async consider(name: string, isServing: () => boolean, why: Why = 'asked'): Promise<Again> {
    try {
      return await this.#look(name, isServing, why);
    } catch (error) {
      if (!(error instanceof Undecided)) throw error;
      this.#options.reporter.undecided(name, this.#options.observer.view(name).node, error);
      return { inMs: this.#pause(name, firstRetryMs) };
    }
  }

  async #look(name: string, isServing: () => boolean, why: Why): Promise<Again> {
    const { observer, publish } = this.#options;
    let seen = this.#sight(name);
    let decision = decided(seen);
    if (decision.wants.includes('liveLease')) {
      await observer.confirmLease(name);
      seen = { ...this.#sight(name), leaseWasRead: true };
      decision = decided(seen);
    }
    // The term may have ended while the Lease was read.
    if (!isServing()) return {};
    const judgeInMs = publish(name, decision.judgement);
    switch (decision.attention) {
      case 'blind':
        return { inMs: judgeInMs };
      case 'none':
        this.#leave(name);
        return { inMs: judgeInMs };
      case 'needed': {
        const resting = why === 'timer' ? this.#resting.get(name) : undefined;
        if (resting?.verdict === decision.judgement.verdict) {
          return { inMs: judgeInMs, idleMs: resting.untilMs - this.#options.clock.monotonic() };
        }
        if (why !== 'asked' && why !== 'turn' && this.#isOneOfMany(seen)) return { inMs: judgeInMs, inTurn: true };
        const { inMs = Infinity, idleMs = restMs } = await this.#attend(seen, why);
        const soonMs = Math.min(inMs, judgeInMs ?? Infinity);
        // To judge it again after a while is no more than a look.
        return { idleMs, ...(inMs < Infinity || soonMs < restMs ? { inMs: soonMs } : {}) };
      }
    }
  }

  /**
   * In a storm everybody is judged at once, and attended to in turn: to say of thousands why nothing is done about them is not to keep
   * the operator from anything else. Whoever was begun with, or is found off, does not wait.
   */
  #isOneOfMany({ name, view, power }: Sighting): boolean {
    const { reader, cluster } = this.#options;
    if (reader.hasRoomFor(name) || cluster.isBegunWith(name)) return false;
    return (view.node?.marks ?? []).length === 0 && !(power?.answers ?? []).some((answer) => answer.power === 'off');
  }

  /** Something is being done about it, or may be at any moment: its pods are watched. */
  isAtWork(name: string): boolean {
    return this.#options.reader.isWatched(name);
  }

  /** Of one that rests: its record as we have written it ourselves, or as it was before. */
  isKnown(name: string, version: string): boolean {
    const { version: known = '' } = this.#resting.get(name) ?? {};
    return known !== '' && compareVersions(version, known) <= 0;
  }

  get watch(): LongActs['watch'] {
    return this.#options.longActs.watch;
  }

  close(): void {
    this.#options.longActs.watch.close();
    for (const name of this.#options.reader.attended) this.#leave(name);
    this.#options.reader.endTerm();
    this.#options.shared.close();
    this.#alarms.clear();
  }

  #sight(name: string): Sighting {
    const { observer, cluster, limits, gates, forbidden = [], clock, longActs } = this.#options;
    const looked = this.#alarms.get(name);
    return {
      name,
      view: observer.view(name),
      limits,
      gates,
      ...(forbidden.length === 0 ? {} : { forbidden }),
      policies: cluster.policySummary,
      hasOpenRecord: cluster.hasOpenFence(name),
      ...longActs.powerOf(name),
      alarm: {
        problems: cluster.problemsOf(name),
        ...(looked && { looked: { stamp: looked.stamp, isDue: clock.monotonic() >= looked.againMs } }),
      },
    };
  }

  #leave(name: string): void {
    const { reader, longActs, shared, cluster, reporter } = this.#options;
    reporter.forget(name);
    longActs.forget(name);
    shared.forget(name);
    reader.forget(name);
    this.#failures.delete(name);
    this.#deeds.delete(name);
    this.#outcomes.delete(name);
    this.#held.delete(name);
    this.#deposedUntilMs.delete(name);
    this.#resting.delete(name);
    // Otherwise it is remembered how its alarm stands: that is why nobody has to look.
    if (cluster.problemsOf(name) === 'none') this.#alarms.delete(name);
  }

  /** `isWanted`: nothing can be said of it before its pods are read. */
  async #attend(seen: Sighting, why: Why, isWanted = false): Promise<Again> {
    const { clock, isLeading, reader, shared, longActs, reporter, onPass, memory } = this.#options;
    const { name } = seen;
    this.#resting.delete(name);
    const pods = reader.ready(name, isWanted);
    if (pods === undefined) return { inMs: maxRetryMs };
    const startedMs = clock.monotonic();
    const read = await reader.read(seen, pods);
    if (!read.ok) return { inMs: this.#undecided(name, read.error) };
    this.#options.serverTime.note(read.value.serverNowMs);
    const deposedMs = this.#deposedFor(name, read.value.fence);
    if (deposedMs > 0) return { inMs: deposedMs };
    if (!isLeading()) return { inMs: maxRetryMs };
    // Nothing is awaited between the look at what others have taken and the claim: two never take the same share.
    const { nodeCase, decision, isOld } = this.#weigh(read.value);
    if (nodeCase.isUnread === true && decision.wants.includes('pods')) return this.#attend(seen, why, true);
    shared.claim(nodeCase, decision);
    longActs.want(name, decision.steps);
    const recorded = await this.#record(nodeCase, decision);
    if (!recorded.ok) return { inMs: this.#undecided(name, recorded.error) };
    const fence = recorded.value;
    if (decision.record !== undefined) reader.kept(name);
    // Before our own write is heard of, which is no news of one that rests.
    const rest = nodeCase.isUnread === true ? this.#rest(nodeCase, decision, fence) : undefined;
    this.#noteAlarm(nodeCase, decision);
    if (fence?.status.holder === this.#options.identity) this.#held.set(name, fence.status.epoch);
    for (const [want, olderThanMs] of paces) {
      if (nodeCase.node === undefined || !decision.wants.includes(want)) continue;
      longActs.wonder(nodeCase.node, firstPowerMethods(nodeCase.config), olderThanMs);
    }
    if (nodeCase.node !== undefined && decision.wants.includes('storage'))
      longActs.wonderAboutStorage(nodeCase.node, storageMethods(nodeCase.config), laterMs);
    const { swapped, phase } = decision.findings?.remedy.fence ?? {};
    if (swapped !== undefined && phase === 'poweringOn') memory.suspect(name, swapped);
    const disproven = fence && disprovenBy(nodeCase, fence.status);
    if (disproven !== undefined) memory.disprove(name, disproven);
    if (nodeCase.node !== undefined && decision.wants.includes('kubelet')) longActs.wonderAboutKubelet(nodeCase.node);
    if (decision.record?.status !== undefined) {
      this.#deeds.delete(name);
      this.#outcomes.delete(name);
    }
    const acts = await this.#perform(nodeCase, decision, (uid, version) => {
      if (pods !== 'unread') pods.wrote(uid, version);
    });
    this.#deeds.set(name, (this.#deeds.get(name) ?? 0) + acts.filter(({ kind }) => kind === 'done').length);
    this.#outcomes.set(
      name,
      [...(this.#outcomes.get(name) ?? []), ...acts.flatMap((act) => deedOutcome(act) ?? [])].slice(-MAX_DEEDS),
    );
    if (acts.some(({ kind }) => kind === 'changed')) reader.doubt(name);
    longActs.refusals.noteActs(name, acts);
    const pass = { nodeCase, decision, acts, fence, tookMs: clock.monotonic() - startedMs };
    onPass?.(pass);
    reporter.report(pass);
    if (decision.wants.includes('successor')) this.#options.onSuccessor(name);
    if (rest !== undefined) return rest;
    const again = this.#again(nodeCase, decision, acts);
    // What it has heard of may be younger than what it was decided by.
    return isOld === true && why !== 'timer' ? { inMs: Math.min(again.inMs ?? Infinity, latelyMs) } : again;
  }

  /** Where there are many, by everybody as of a moment ago; what comes of that, if anything does, by everybody as they are now. */
  #weigh(read: ReadCase): { nodeCase: NodeCase; decision: NodeDecision; isOld?: true } {
    const { shared } = this.#options;
    const deeds = this.#deeds.get(read.name) ?? 0;
    const outcomes = this.#outcomes.get(read.name) ?? [];
    const weighed = (known: NodeCase): { nodeCase: NodeCase; decision: NodeDecision } => {
      const nodeCase = { ...known, deeds, ...(outcomes.length === 0 ? {} : { outcomes }) };
      return { nodeCase, decision: decided(nodeCase) };
    };
    const by = (age: Age): ReturnType<typeof weighed> => weighed(shared.complete(read, age));
    if (read.isUnread === true) {
      const brief = weighed(shared.inBrief(read, 'lately'));
      return isOnlyHeld(brief.decision, read.fence?.status) ? brief : by('lately');
    }
    const first = shared.hasMany ? by('lately') : undefined;
    return first === undefined || comesToAnything(first.decision, read.fence?.status)
      ? by('now')
      : { ...first, isOld: true };
  }

  /** One of many about whom nothing is done: whatever it waits for, it takes its turn. */
  #rest(
    { name, serverNowMs }: NodeCase,
    { judgement, recheckAtMs }: NodeDecision,
    fence: NodeFence | undefined,
  ): Again {
    const { verdict } = judgement;
    const isOver = verdict === 'healthy' && recheckAtMs !== undefined;
    const idleMs = isOver ? this.#options.serverTime.until(recheckAtMs, serverNowMs) : askAgainAfterMs;
    const { resourceVersion: version = '' } = (fence as (NodeFence & KubeObject) | undefined)?.metadata ?? {};
    this.#failures.delete(name);
    this.#resting.set(name, { verdict, version, untilMs: this.#options.clock.monotonic() + idleMs });
    return { idleMs };
  }

  #record({ name, fence }: NodeCase, { record }: NodeDecision): ReturnType<FenceStore['keep']> | StoredAsIs {
    return record === undefined ? { ok: true, value: fence } : this.#store.keep(name, fence, record);
  }

  #perform(
    { name, node, serverNowMs }: NodeCase,
    { steps, findings }: NodeDecision,
    onPod: (uid: string, version: string | undefined) => void,
  ): Promise<ActOutcome[]> {
    const { client, clock, isLeading, longActs, aside } = this.#options;
    const since = findings?.remedy.fence?.stepStartedAt ?? '';
    return perform(steps, node === undefined ? { name } : { name, node }, {
      client,
      clock,
      guard: isLeading,
      at: clockTime(serverNowMs),
      timeoutMs: callTimeoutMs,
      onPod,
      turnstile: this.#turnstile,
      ask: (question) => aside(name, longActs.notOff(node, question, since)),
      longActs,
    });
  }

  #noteAlarm({ name, serverNowMs }: NodeCase, { alarm }: NodeDecision): void {
    if (alarm === undefined) return;
    const inMs = alarm.untilMs === undefined ? Infinity : this.#options.serverTime.until(alarm.untilMs, serverNowMs);
    this.#alarms.set(name, { stamp: alarm.stamp, againMs: this.#options.clock.monotonic() + inMs });
  }

  #deposedFor(name: string, fence: NodeFence | undefined): number {
    const nowMs = this.#options.clock.monotonic();
    const held = this.#held.get(name);
    const { epoch = 0, holder } = fence?.status ?? {};
    if (held !== undefined && epoch > held && holder !== this.#options.identity) {
      this.#held.delete(name);
      this.#deposedUntilMs.set(name, nowMs + deposedForMs);
    }
    return Math.max(0, (this.#deposedUntilMs.get(name) ?? 0) - nowMs);
  }

  #again(nodeCase: NodeCase, { recheckAtMs, wants }: NodeDecision, acts: readonly ActOutcome[]): Again {
    const { name, serverNowMs } = nodeCase;
    const failed = acts.find((act) => act.kind === 'failed');
    if (failed?.kind === 'failed') return { inMs: this.#failed(name, failed.error) };
    if (acts.some(({ kind }) => kind === 'changed')) return { inMs: this.#pause(name, conflictRetryMs) };
    if (acts.some(({ kind }) => kind === 'unconfirmed')) return { inMs: this.#pause(name, firstRetryMs) };
    this.#failures.delete(name);
    const inMs = recheckAtMs === undefined ? Infinity : this.#options.serverTime.until(recheckAtMs, serverNowMs);
    const isSoon = wants.some((want) => want !== 'deviceLater' && want !== 'storage');
    const soonMs = isSoon ? Math.min(inMs, askAgainAfterMs) : inMs;
    return soonMs < Infinity ? { inMs: soonMs } : {};
  }

  /** Nothing was tried: the API server is away, and does not refuse anything. */
  #undecided(name: string, error: KubeError): number {
    this.#options.longActs.away(name);
    return this.#failed(name, error);
  }

  #failed(name: string, error: KubeError): number {
    // By name there would be a series of a metric for each node that ever was in trouble.
    this.#options.onProblem('release', { ...error, message: `${name}: ${error.message}` });
    return this.#pause(name, error.kind === 'conflict' ? conflictRetryMs : firstRetryMs);
  }

  /** Longer each time in a row: what does not change by itself must not keep us busy. */
  #pause(name: string, firstMs: number): number {
    const failures = this.#failures.get(name) ?? 0;
    this.#failures.set(name, failures + 1);
    return Math.min(maxRetryMs, firstMs * 2 ** failures);
  }
}

interface StoredAsIs {
  ok: true;
  value: NodeFence | undefined;
}
