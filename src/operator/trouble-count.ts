/**
 * How many nodes are in trouble, as the brake counts them (STM-1): everybody there is, by what is known in the tick of the decision, and
 * what this process has begun and claimed.
 */
import type { LadderThreshold, PolicyFacts, TroubleCount } from '../api/release-view.ts';
import { DEFAULT_STORM } from '../api/policy-facts.ts';
import { isSilentOrJustBack } from '../api/life.ts';
import type { OpenStorm, StormFacts, StormSign } from '../api/storm-sign.ts';
import { stormSign, witnessesOf } from '../api/storm-sign.ts';
import type { OwnNode, Placed } from '../api/surroundings.ts';
import type { Judgement } from '../api/view.ts';
import type { LongActs } from '../act/long-acts.ts';
import type { Clock } from '../clock.ts';
import { hasJoined, isStormFor, stormFacts } from '../judge/cohort.ts';
import { loneZone } from '../judge/standpoint.ts';
import type { CountedNode } from '../judge/storm.ts';
import { countTrouble, harshThresholds, lifeOf } from '../judge/storm.ts';
import type { ReadCase } from '../observe/case-reader.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { ConditionTimes } from '../observe/condition-times.ts';
import type { ServerTime } from '../kube/server-time.ts';
import type { Observer } from '../observe/observer.ts';
import type { ClaimBook } from './claims.ts';
import type { Age, Listed } from './roll.ts';
import type { StormMemory } from './storm-memory.ts';

/** Who is counted, and what is known of them. */
export interface CountedCluster {
  clock: Clock;
  observer: Observer;
  cluster: ClusterView;
  longActs: LongActs;
  verdicts: () => ReadonlyMap<string, Judgement>;
  /** The node that this process runs on; undefined: nobody knows, or it is outside of the cluster. */
  own: () => (OwnNode & { node: string }) | undefined;
}

/** Clocks that are looked after differ by less. */
const aheadMs = 60_000;

interface TroubleCounterOptions extends CountedCluster {
  serverTime: Pick<ServerTime, 'continued'>;
  claims: ClaimBook;
  storms: StormMemory;
  conditions: ConditionTimes;
}

interface Asked {
  thresholds: readonly LadderThreshold[];
  roll: readonly Listed[];
  age: Age;
}

/** Who is there, and which storms are on record. */
interface Counting {
  storm: StormFacts;
  counted: CountedNode[];
}

export class TroubleCounter {
  readonly #options: TroubleCounterOptions;
  /** Who was there when the storms that go on began: a Node of that name that is made again is no stranger. */
  #there: { sinceMs: number; names: ReadonlySet<string> } | undefined;
  /** By the end of a storm that is still to come: since when we have seen that, by our own clock. */
  readonly #aheadSince = new Map<number, number>();
  #recent: (Counting & { policy: PolicyFacts | undefined; roll: readonly Listed[] }) | undefined;

  constructor(options: TroubleCounterOptions) {
    this.#options = options;
  }

  /** Another instance may lead meanwhile: which storm goes on when this one does again is another question. */
  endTerm(): void {
    this.#there = undefined;
    this.#aheadSince.clear();
  }

  /** `roll`: everybody, of that age. */
  count(read: ReadCase, roll: readonly Listed[], age: Age): TroubleCount {
    const { name, policy, serverNowMs } = read;
    const { cluster, claims } = this.#options;
    const remedy = policy.kind === 'one' ? policy.policy.remedy : undefined;
    const thresholds = remedy === undefined ? [] : harshThresholds(remedy);
    const fencing = new Set([...cluster.nodesWith('fencing'), ...claims.slots('fence'), ...this.#unrecorded()]);
    const fenced = new Set([...cluster.nodesWith('fenced'), ...fencing]);
    const remedying = new Set([...cluster.nodesWith('remedying'), ...claims.slots('remedy')]);
    const { storm, counted } = this.#of(read, { thresholds, roll, age });
    const ongoing = { fenced, fencing, remedying, storm: storm.storm };
    const count = countTrouble(name, counted, ongoing, thresholds);
    // Whoever is being cut comes a step further, also where no view shows it yet.
    const steps = count.fencing.length > 0 ? [serverNowMs] : cluster.fencedSince(name);
    const fencedAt = steps.length === 0 ? {} : { fencedAtMs: Math.max(...steps) };
    return { ...count, ...storm, ...fencedAt, ...this.#placed(counted) };
  }

  /** Everybody, as the policy of this node counts. */
  #now({ name, policy, fence, serverNowMs }: ReadCase, { thresholds, roll }: Asked): Counting {
    const one = policy.kind === 'one' ? policy.policy : undefined;
    const own = { policy: one?.name, ...(one?.remedy?.storm ?? DEFAULT_STORM) };
    const onRecord = this.#options.cluster.storms(name);
    const known = [...onRecord, ...this.#options.storms.signs(serverNowMs)];
    const all = known.map((sign) => this.#timely(sign, serverNowMs));
    const signs = all.filter((sign) => isStormFor(sign, own));
    const ownSign = stormSign(name, fence?.status.storm);
    if (ownSign !== undefined) signs.push(ownSign);
    // What holds a node is told by those of its own policy.
    const witnesses = witnessesOf(onRecord.filter((sign) => sign.policy === own.policy));
    const storm = { ...this.#storm(signs, serverNowMs), ...witnesses };
    const types = new Set(thresholds.map(({ condition }) => condition?.type));
    const isOpen = storm.storm !== undefined || all.some(({ endedMs }) => endedMs === undefined);
    const there = this.#thereWhenItBegan(roll, isOpen, storm.storm);
    return { storm, counted: this.#counted(roll, types, { storm: storm.storm, signs, there }) };
  }

  /** Counted once for all those that are told by the same roll. */
  #of(read: ReadCase, asked: Asked): Counting {
    const { roll, age } = asked;
    if (age === 'now') return this.#now(read, asked);
    const policy = read.policy.kind === 'one' ? read.policy.policy : undefined;
    const known = this.#recent;
    if (known !== undefined && known.policy === policy && known.roll === roll) return known;
    this.#recent = { ...this.#now(read, asked), policy, roll };
    return this.#recent;
  }

  #placed(nodes: readonly CountedNode[]): Placed {
    const own = this.#options.own();
    if (own === undefined) return {};
    const lease = this.#options.observer.leaseSign(own.node);
    const zone = loneZone(own.node, nodes);
    const silent = lease !== undefined && isSilentOrJustBack(lease) ? { silent: own } : {};
    return { standpoint: { ...(zone === undefined ? {} : { zone }), ...silent } };
  }

  /** What was told goes on although nobody finds it on record any more, and has its slot until then; what is on record says so itself. */
  #unrecorded(): string[] {
    const recorded = new Set(this.#options.cluster.nodesWith('told'));
    return [...this.#options.longActs.cutting].filter((name) => !recorded.has(name));
  }

  /** Remembered for as long as any storm goes on, whichever policy calls it one. */
  #thereWhenItBegan(roll: readonly Listed[], isOpen: boolean, storm: OpenStorm | undefined): ReadonlySet<string> {
    if (!isOpen) this.#there = undefined;
    if (storm !== undefined && this.#there?.sinceMs !== storm.sinceMs) {
      const old = roll.flatMap(({ name, madeMs }) => (madeMs > storm.sinceMs ? [] : [name]));
      this.#there = { sinceMs: storm.sinceMs, names: new Set([...(this.#there?.names ?? []), ...old]) };
    }
    return this.#there?.names ?? new Set();
  }

  /**
   * An end that was written down by a clock that was set since: where it was set forward, it is not longer ago for that; where it was
   * ahead and is right again, it was when we first saw that, and not at some time that is still to come.
   */
  #timely(sign: StormSign, nowMs: number): StormSign {
    const { endedMs } = sign;
    if (endedMs === undefined) return sign;
    const { clock, serverTime } = this.#options;
    if (endedMs <= nowMs + aheadMs) {
      this.#aheadSince.delete(endedMs);
      const continuedMs = serverTime.continued(endedMs);
      return continuedMs === endedMs ? sign : { ...sign, endedMs: continuedMs };
    }
    const sinceMs = this.#aheadSince.get(endedMs) ?? clock.monotonic();
    this.#aheadSince.set(endedMs, sinceMs);
    return { ...sign, endedMs: nowMs - (clock.monotonic() - sinceMs) };
  }

  #storm(signs: readonly StormSign[], nowMs: number): StormFacts {
    return stormFacts(signs, nowMs, (name) => this.#options.observer.nodeOf(name)?.zone);
  }

  #counted(
    roll: readonly Listed[],
    types: ReadonlySet<string | undefined>,
    ongoing: { storm: OpenStorm | undefined; signs: readonly StormSign[]; there: ReadonlySet<string> },
  ): CountedNode[] {
    const verdicts = this.#options.verdicts();
    return roll.map(({ name, node, lease, madeMs }) => {
      const conditions = (node?.conditions ?? []).filter(({ type }) => types.has(type));
      return {
        name,
        zone: node?.zone ?? '',
        hasJoined: hasJoined({ name, madeMs }, ongoing),
        isControlPlane: node?.isControlPlane === true,
        isEtcd: node?.isEtcd === true,
        life: lifeOf(verdicts.get(name), lease),
        conditions: this.#options.conditions.atMost(name, conditions),
      };
    });
  }
}
