/**
 * What a case holds beyond what is read of its node: what all nodes share, as it is in the tick of the decision, and what
 * this process has begun and claimed.
 */
import type { MadeNode } from '../api/beside.ts';
import { wereThere } from '../api/beside.ts';
import { goneNode, hasCut, timeOf } from '../api/facts.ts';
import type { ConfigResult } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import { isSilent, silentAfterMs, silentForMs } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { outletLevels, powerMethods, storageMethods } from '../api/power.ts';
import type { NodeCase, PolicySummary } from '../api/release-view.ts';
import { stormSign } from '../api/storm-sign.ts';
import type { SilentNode } from '../api/surroundings.ts';
import type { NodeFacts } from '../api/view.ts';
import type { DeviceMemory } from '../act/device-memory.ts';
import type { NodeDecision } from '../decide/decide-node.ts';
import { configFor } from '../decide/policy-nodes.ts';
import { quietOf, silenceOf } from '../decide/silence.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import { lifeOf } from '../judge/storm.ts';
import type { ServerTime } from '../kube/server-time.ts';
import type { ReadCase } from '../observe/case-reader.ts';
import { ConditionTimes } from '../observe/condition-times.ts';
import type { NodeChange } from '../observe/observer.ts';
import { ClaimBook } from './claims.ts';
import { Roll, type Age, type Listed } from './roll.ts';
import { StormMemory } from './storm-memory.ts';
import type { CountedCluster } from './trouble-count.ts';
import { TroubleCounter } from './trouble-count.ts';

export interface SharedFactsOptions extends CountedCluster {
  serverTime: Pick<ServerTime, 'continued'>;
  devices: DeviceProvider;
  memory: DeviceMemory;
  /** Where the Jobs of remedies are made. */
  namespace: string;
  identity: string;
  /** Somebody has to look at this node again. */
  onNode: (name: string) => void;
}

/** Of a machine that is gone nothing is switched but what is left cut of it. */
const unconfigured: ConfigResult = { ok: true, config: { isolation: [], powerManagement: [], recovery: [] } };

export class SharedFacts {
  readonly #options: SharedFactsOptions;
  readonly #claims: ClaimBook;
  readonly #storms = new StormMemory();
  readonly #conditions: ConditionTimes;
  readonly #counter: TroubleCounter;
  readonly #roll: Roll;
  #noted: PolicySummary | undefined;
  /** By node: of whom it waits to hear, and whether an outlet of that one has said off. */
  readonly #awaited = new Map<string, ReadonlyMap<string, boolean>>();

  constructor(options: SharedFactsOptions) {
    this.#options = options;
    this.#claims = new ClaimBook(options.clock);
    this.#conditions = new ConditionTimes(options.clock);
    this.#roll = new Roll(options);
    const book = { claims: this.#claims, storms: this.#storms, conditions: this.#conditions };
    this.#counter = new TroubleCounter({ ...options, ...book });
    options.memory.onOff = (name) => this.#wake(name, (wasOff) => !wasOff);
  }

  /** So many that a first look is by how they were a moment ago. */
  get hasMany(): boolean {
    return this.#roll.isLong;
  }

  /**
   * With who is counted alone: who is silent beside it, and who is still to be heard of, matters only where no storm holds it back, and
   * of thousands each would have to look at thousands for it.
   */
  inBrief(seen: ReadCase, age: Age): NodeCase {
    return this.#complete(seen, age, false);
  }

  complete(seen: ReadCase, age: Age): NodeCase {
    return this.#complete(seen, age, true);
  }

  #complete(seen: ReadCase, age: Age, isWhole: boolean): NodeCase {
    const { power: _, ...read } = seen;
    const { devices, namespace, identity, observer, cluster, longActs, memory } = this.#options;
    const { name, node, policy, serverNowMs } = read;
    const { lease } = observer.view(name);
    const conditions = node === undefined ? [] : this.#conditions.of(node);
    const allowance = this.#claims.allowance(policy, cluster.released, serverNowMs);
    const isCut = hasCut(read.fence?.status.fence);
    const config =
      node === undefined && !isCut
        ? unconfigured
        : configFor(node ?? goneNode(name), {
            maps: cluster.fenceConfigs,
            devices: cluster.writtenDevices,
            unwritten: (one) => devices.defaultConfig?.(one),
            allowed: devices.allowed,
            forbidden: read.forbidden,
          });
    // What is decided next is weighed by the level that its devices are in now.
    if (config.ok) memory.configureNode(name, outletLevels(config));
    const roll = this.#roll.of(age);
    const others = isWhole ? this.#aboutOthers(read, config, roll) : this.#others(read, config, roll);
    const own = this.#options.own();
    return {
      ...read,
      identity,
      namespace,
      config,
      pause: cluster.pause,
      trouble: { conditions, ...silenceOf(lease, conditions) },
      count: this.#counter.count(read, roll, age),
      ...others,
      ...this.#ports(name, config),
      ...(allowance === undefined ? {} : { allowance }),
      ...(own?.node === name ? { own: { handOver: own.handOver } } : {}),
      ...longActs.of(name),
    };
  }

  #aboutOthers(read: ReadCase, config: ConfigResult, roll: readonly Listed[]): Partial<NodeCase> {
    const beside = this.#beside(read, config, roll);
    const rehearsed = this.#rehearsed(read, config, roll);
    // Of many that wait each would have to know of all the others: they are looked at in turn anyway.
    this.#await(read.name, read.isUnread === true ? [] : [beside, rehearsed.rehearsed]);
    return { ...this.#around(read, roll), ...beside, ...this.#others(read, config, roll), ...rehearsed };
  }

  claim({ name, policy, fence, serverNowMs }: NodeCase, { claims, record, storm: unrecorded }: NodeDecision): void {
    this.#claims.take(name, claims);
    const storm = unrecorded ?? (record?.status ?? fence?.status)?.storm;
    const sign = stormSign(name, storm, policy.kind === 'one' ? policy.policy.name : undefined);
    this.#storms.note(name, sign, serverNowMs);
  }

  forget(name: string): void {
    this.#conditions.forget(name);
    this.#claims.forget(name);
    this.#storms.forget(name);
    this.#awaited.delete(name);
  }

  /** The term has ended: whoever leads now notices the end of what goes on, and writes it down. */
  close(): void {
    this.#storms.clear();
    this.#counter.endTerm();
  }

  /** Something about a node has changed. */
  touched(name: string, what: NodeChange): void {
    if (what === 'node') this.#noteNode(name);
    this.#noteAll();
    if (this.#isHeard(name)) this.#wake(name);
  }

  /** Whatever else happens to one that is silent is no news to those that wait for it; that its Node is gone is. */
  #isHeard(name: string): boolean {
    const { observer } = this.#options;
    const lease = observer.leaseSign(name);
    return observer.view(name).node === undefined || (lease !== undefined && !isSilent(lease));
  }

  /** Policies look for something else: how everybody is now is known before it changes. */
  #noteAll(): void {
    const { observer, cluster } = this.#options;
    if (this.#noted === cluster.policySummary) return;
    this.#noted = cluster.policySummary;
    for (const name of observer.nodeNames) this.#noteNode(name);
  }

  /** Whoever waits to hear of this one goes on at once: it may have been silent for hours, and is not asked after every second. */
  #wake(name: string, isNews: (wasOff: boolean) => boolean = () => true): void {
    for (const [waiting, others] of this.#awaited) {
      const wasOff = others.get(name);
      if (wasOff !== undefined && isNews(wasOff)) this.#options.onNode(waiting);
    }
  }

  #await(name: string, sides: readonly (Pick<NodeCase, 'beside'> | undefined)[]): void {
    const silent = new Map<string, boolean>();
    for (const one of sides.flatMap((side) => side?.beside?.silent ?? [])) {
      silent.set(one.name, one.isOff && silent.get(one.name) !== false);
    }
    if (silent.size === 0) this.#awaited.delete(name);
    else this.#awaited.set(name, silent);
  }

  /** Since when a Node has the conditions that policies look for is known from here on. */
  #noteNode(name: string): void {
    const { observer, cluster } = this.#options;
    const types = new Set(cluster.policySummary.thresholds.flatMap(({ condition }) => condition?.type ?? []));
    const { node } = observer.view(name);
    if (node === undefined) {
      this.#conditions.gone(name);
      return;
    }
    this.#conditions.look(
      name,
      types,
      node.conditions.filter(({ type }) => types.has(type)),
    );
  }

  /** The same for the fence that a policy only rehearses. */
  #rehearsed(read: ReadCase, config: ConfigResult, roll: readonly Listed[]): Pick<NodeCase, 'rehearsed'> {
    const { policy, fence } = read;
    const rehearsed = fence?.status.rehearsal?.fence;
    if (rehearsed === undefined || policy.kind !== 'one' || policy.policy.mode !== 'DryRun') return {};
    return { rehearsed: { ...this.#around(read, roll, rehearsed), ...this.#beside(read, config, roll, rehearsed) } };
  }

  /** Who was alive when the fence was called for, and has not been heard of since. */
  #around(
    read: ReadCase,
    roll: readonly Listed[],
    fence: FenceTimes | undefined = read.fence?.status.fence,
  ): Pick<NodeCase, 'around'> {
    if (fence === undefined) return {};
    const { name, serverNowMs } = read;
    const verdicts = this.#options.verdicts();
    const sinceMs = serverNowMs - suspectedMs(read, fence);
    const nowMs = this.#options.clock.monotonic();
    const names: string[] = [];
    let [unheard, inMs] = [0, 0];
    for (const { name: other, lease, renewedAtMs = -Infinity } of roll) {
      if (other === name || lease === undefined || lifeOf(verdicts.get(other)) !== 'well') continue;
      // What was heard before the API server was away says nothing of now: meanwhile all of them may have been lost.
      if (lease.hearableForMs === undefined && nowMs - renewedAtMs < sinceMs) continue;
      unheard += 1;
      if (names.length < namedAtMost) names.push(other);
      inMs = Math.max(inMs, silentAfterMs(lease) - silentForMs(lease));
    }
    return { around: { unheard, names, settledAtMs: serverNowMs + inMs } };
  }

  /**
   * Where no device says whose power it is: who has been heard of since it was confirmed to be off (SAF-17). Known before there is a
   * fence: one that begins because its node is found off, and finds out only then that nobody knows whose power that is, would end by
   * that and begin again without an end.
   */
  #beside(
    { name, fence: record, serverNowMs }: ReadCase,
    config: ConfigResult,
    roll: readonly Listed[],
    fence: FenceTimes = record?.status.fence ?? notBegun(record, serverNowMs),
  ): Pick<NodeCase, 'beside'> {
    const { clock, memory } = this.#options;
    if (!this.#isBlind(name, config)) return {};
    const offAt = fence.switched.flatMap(({ step, confirmedAt }) =>
      step === 'power-management' && confirmedAt !== undefined ? [Date.parse(confirmedAt)] : [],
    );
    const sinceMs = offAt.length === 0 ? 0 : serverNowMs - Math.max(...offAt) - underwayMs;
    const withinMs = serverNowMs - begunMs(fence) - underwayMs;
    // Whatever device they have, or none: an outlet may feed any of them.
    const nowMs = clock.monotonic();
    const others = roll.filter((one) => one.name !== name && nowMs - (one.renewedAtMs ?? -Infinity) >= sinceMs);
    const isQuiet = ({ lease }: Listed): boolean => lease === undefined || isSilent(lease);
    const unheard = others.filter((one) => !isQuiet(one)).map((one) => one.name);
    const silent = others.filter(isQuiet).map((one) => ({
      name: one.name,
      isOff: memory.isOutletOff(one.name, withinMs),
      ...unknownSince(one.node),
    }));
    const named = { unheard: unheard.length, names: unheard.slice(0, namedAtMost) };
    const waitedMs = serverNowMs - Date.parse(fence.startedAt);
    const inMs = unheard.length > 0 ? lookAgainMs : Math.min(Math.max(lookAgainMs, waitedMs / 10), lookAtLeastEveryMs);
    const counted = fence.others ?? { at: timeOf(serverNowMs) };
    const present = madeBeside(name, roll).filter(wereThere(counted)).length;
    return { beside: { ...named, silent, present, settledAtMs: serverNowMs + inMs } };
  }

  /**
   * Counted before there is a fence: the first decision may send the command. Who has lost its Node lately is counted as well, and is
   * missing from then on: its machine may run, and cannot be waited for.
   */
  #others(
    { name, serverNowMs }: ReadCase,
    config: ConfigResult,
    roll: readonly Listed[],
  ): Pick<NodeCase, 'others' | 'youngOthers'> {
    if (!this.#isBlind(name, config)) return {};
    const left = this.#options.observer.leftWithin(leftLatelyMs).filter((other) => other !== name);
    const made = madeBeside(name, roll);
    const wasThere = wereThere({ at: timeOf(serverNowMs) });
    const young = made.filter((other) => !wasThere(other));
    const youngOthers = young.length === 0 ? {} : { youngOthers: young.map(({ uid }) => uid) };
    return { others: made.length + left.length, ...youngOthers };
  }

  #ports(name: string, config: ConfigResult): Pick<NodeCase, 'unshownPorts'> {
    const { memory } = this.#options;
    const ports = storageMethods(config).filter((method) => memory.isUnshown(name, method));
    return ports.length === 0 ? {} : { unshownPorts: ports.flatMap((port) => deviceHash(port) ?? []) };
  }

  /** A device of it cannot say whose power it is, and no drill has shown it. */
  #isBlind(name: string, config: ConfigResult): boolean {
    const { memory } = this.#options;
    return powerMethods(config).some((method) => memory.isUnproven(name, method));
  }
}

/** Of each roll once, whoever asks. */
const madeOf = new WeakMap<readonly Listed[], readonly (MadeNode & { name: string })[]>();

function madeBeside(name: string, roll: readonly Listed[]): readonly MadeNode[] {
  const known = madeOf.get(roll);
  const all =
    known ??
    roll.flatMap((one) => (one.node === undefined ? [] : { name: one.name, uid: one.node.uid, madeMs: one.madeMs }));
  if (known === undefined) madeOf.set(roll, all);
  return all.filter((one) => one.name !== name);
}

/** When a fence began, and when each cut of it was confirmed. */
type FenceTimes = Pick<NonNullable<NodeFenceStatus['fence']>, 'startedAt' | 'switched' | 'others'>;

/**
 * By the API server's clock: when a cut was last called for. One that was heard of after its fence had begun, which is not over because
 * a command of it may still show, came under suspicion anew when it fell silent again.
 */
function suspectedMs(read: ReadCase, { startedAt }: FenceTimes): number {
  const startedMs = Date.parse(startedAt) + roundedMs;
  const quiet = quietOf(read);
  const isAnew = quiet?.isAlive === false && quiet.sinceMs > startedMs;
  return isAnew ? quiet.sinceMs + silentAfterMs(read.lease) : startedMs;
}

/** Times are those of the API server, in whole seconds. */
const roundedMs = 1000;

/** What would be its times: who has said off since the trouble began is accounted for. */
function notBegun(record: ReadCase['fence'], nowMs: number): FenceTimes {
  return { startedAt: record?.status.incident?.startedAt ?? timeOf(nowMs), switched: [] };
}

/** When its power was first told to go; where nothing was told, when it was first asked for. */
function begunMs({ startedAt, switched }: FenceTimes): number {
  const told = switched.flatMap(({ step, commandSentAt }) =>
    step === 'power-management' && commandSentAt !== undefined ? [Date.parse(commandSentAt)] : [],
  );
  return told.length === 0 ? Date.parse(startedAt) : Math.min(...told);
}

/** A renewal that was sent before the power went may be seen so long after; and times are in whole seconds. */
const underwayMs = 3000;
/** Renewals of nodes that are well bring no pass by themselves. */
const lookAgainMs = 1000;
/** Of one that is silent we are told when it is heard of; what that may miss is found the less often, the longer it takes. */
const lookAtLeastEveryMs = 60_000;
const namedAtMost = 3;
/** A machine that is removed in good order is off by then, or somewhere else. */
const leftLatelyMs = 600_000;

/** Only the node controller says so, of a kubelet that it does not hear of. */
function unknownSince(node: NodeFacts | undefined): Pick<SilentNode, 'unknownSince'> {
  const ready = node?.conditions.find(({ type }) => type === 'Ready');
  return ready?.status === 'Unknown' ? { unknownSince: ready.since } : {};
}
