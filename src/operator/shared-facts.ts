/**
 * What a case holds beyond what is read of its node: what all nodes share, as it is in the tick of the decision, and what
 * this process has begun and claimed.
 */
import { timeOf } from '../api/facts.ts';
import type { ConfigResult } from '../api/fence-config.ts';
import { isSilent, silentAfterMs, silentForMs } from '../api/life.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { powerMethods } from '../api/power.ts';
import type { LiveNode, NodeCase, PolicyMatch, TroubleCount, TroubleFacts } from '../api/release-view.ts';
import type { SilentNode } from '../api/surroundings.ts';
import type { Judgement, LeaseFacts, NodeFacts } from '../api/view.ts';
import type { DeviceMemory } from '../act/device-memory.ts';
import type { LongActs } from '../act/long-acts.ts';
import type { Clock } from '../clock.ts';
import type { NodeDecision } from '../decide/decide-node.ts';
import { configFor } from '../decide/policy-nodes.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { CountedNode } from '../judge/storm.ts';
import { countTrouble, harshThresholds, lifeOf } from '../judge/storm.ts';
import type { ReadCase } from '../observe/case-reader.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import { ConditionTimes } from '../observe/condition-times.ts';
import type { Observer } from '../observe/observer.ts';
import { ClaimBook } from './claims.ts';

export interface SharedFactsOptions {
  clock: Clock;
  observer: Observer;
  cluster: ClusterView;
  devices: DeviceProvider;
  memory: DeviceMemory;
  longActs: LongActs;
  /** Where the Jobs of remedies are made. */
  namespace: string;
  identity: string;
  verdicts: () => ReadonlyMap<string, Judgement>;
}

/** Of a machine that is gone nothing is switched. */
const unconfigured: ConfigResult = { ok: true, config: { isolation: [], powerManagement: [], recovery: [] } };

export class SharedFacts {
  readonly #options: SharedFactsOptions;
  readonly #claims = new ClaimBook();
  readonly #conditions: ConditionTimes;

  constructor(options: SharedFactsOptions) {
    this.#options = options;
    this.#conditions = new ConditionTimes(options.clock);
  }

  complete(seen: ReadCase): NodeCase {
    const { power: _, ...read } = seen;
    const { devices, namespace, identity, observer, cluster, longActs } = this.#options;
    const { name, node, policy, serverNowMs } = read;
    const { lease } = observer.view(name);
    const conditions = node === undefined ? [] : this.#conditions.of(node);
    const allowance = this.#claims.allowance(policy, cluster.released, serverNowMs);
    const config =
      node === undefined
        ? unconfigured
        : configFor(node, {
            maps: cluster.fenceConfigs,
            devices: cluster.writtenDevices,
            unwritten: (one) => devices.defaultConfig?.(one),
            allowed: devices.allowed,
          });
    return {
      ...read,
      identity,
      namespace,
      config,
      pause: cluster.pause,
      trouble: { conditions, ...silenceOf(lease) },
      count: this.#count(read),
      ...this.#around(read),
      ...this.#beside(read, config),
      ...this.#others(read, config),
      ...this.#rehearsed(read, config),
      ...(allowance === undefined ? {} : { allowance }),
      ...longActs.of(name),
    };
  }

  claim({ name, serverNowMs }: NodeCase, { claims }: NodeDecision): void {
    this.#claims.take(name, claims, serverNowMs);
  }

  forget(name: string): void {
    this.#conditions.forget(name);
    this.#claims.forget(name);
  }

  /** A Node has changed: since when it has the conditions that policies look for is known from here on. */
  noteNode(name: string): void {
    const { observer, cluster } = this.#options;
    const types = new Set(cluster.policySummary.thresholds.map(({ condition }) => condition?.type));
    const conditions = observer.view(name).node?.conditions ?? [];
    this.#conditions.note(
      name,
      conditions.filter(({ type }) => types.has(type)),
    );
  }

  #count({ name, policy, fence, serverNowMs }: ReadCase): TroubleCount {
    const { cluster } = this.#options;
    const remedy = policy.kind === 'one' ? policy.policy.remedy : undefined;
    const thresholds = remedy === undefined ? [] : harshThresholds(remedy);
    const fencing = new Set([...cluster.nodesWith('fencing'), ...this.#claims.slots('fence')]);
    const fenced = new Set([...cluster.nodesWith('fenced'), ...fencing]);
    const remedying = new Set([...cluster.nodesWith('remedying'), ...this.#claims.slots('remedy')]);
    const types = new Set(thresholds.map(({ condition }) => condition?.type));
    const ongoing = { fenced, fencing, remedying };
    const storm = policy.kind === 'one' ? lastStorm(cluster.storms(policy.policy.name, name), fence, serverNowMs) : {};
    return { ...countTrouble(name, this.#counted(types), ongoing, thresholds), ...storm };
  }

  #counted(types: ReadonlySet<string | undefined>): CountedNode[] {
    const { observer } = this.#options;
    const verdicts = this.#options.verdicts();
    return [...observer.nodeNames].map((name) => {
      const { node } = observer.view(name);
      const conditions = (node?.conditions ?? []).filter(({ type }) => types.has(type));
      return {
        name,
        zone: node?.zone ?? '',
        isControlPlane: node?.isControlPlane === true,
        life: lifeOf(verdicts.get(name)),
        conditions: this.#conditions.note(name, conditions),
      };
    });
  }

  /** The same for the fence that a policy only rehearses. */
  #rehearsed(read: ReadCase, config: ConfigResult): Pick<NodeCase, 'rehearsed'> {
    const { policy, fence } = read;
    const rehearsed = fence?.status.rehearsal?.fence;
    if (rehearsed === undefined || policy.kind !== 'one' || policy.policy.mode !== 'DryRun') return {};
    return { rehearsed: { ...this.#around(read, rehearsed), ...this.#beside(read, config, rehearsed) } };
  }

  /** Who was alive when the fence was called for, and has not been heard of since. */
  #around(
    { name, fence: record, serverNowMs }: ReadCase,
    fence: FenceTimes | undefined = record?.status.fence,
  ): Pick<NodeCase, 'around'> {
    const startedAt = fence?.startedAt;
    if (startedAt === undefined) return {};
    const { observer } = this.#options;
    const verdicts = this.#options.verdicts();
    // Times are those of the API server, in whole seconds.
    const sinceMs = serverNowMs - Date.parse(startedAt) - 1000;
    const names: string[] = [];
    let [unheard, inMs] = [0, 0];
    for (const other of observer.nodeNames) {
      const lease = other === name ? undefined : observer.leaseSign(other);
      if (lease === undefined || lifeOf(verdicts.get(other)) !== 'well') continue;
      if (lease.renewed === true && lease.unchangedForMs < sinceMs) continue;
      unheard += 1;
      if (names.length < namedAtMost) names.push(other);
      inMs = Math.max(inMs, silentAfterMs(lease) - silentForMs(lease));
    }
    return { around: { unheard, names, settledAtMs: serverNowMs + inMs } };
  }

  /** Where no device says whose power it is: who has been heard of since it was confirmed to be off (SAF-17). */
  #beside(
    { name, fence: record, serverNowMs }: ReadCase,
    config: ConfigResult,
    fence: FenceTimes | undefined = record?.status.fence,
  ): Pick<NodeCase, 'beside'> {
    const { observer, memory } = this.#options;
    if (fence === undefined) return {};
    if (!this.#isBlind(name, config)) return {};
    const offAt = fence.switched.flatMap(({ step, confirmedAt }) =>
      step === 'power-management' && confirmedAt !== undefined ? [Date.parse(confirmedAt)] : [],
    );
    const sinceMs = offAt.length === 0 ? 0 : serverNowMs - Math.max(...offAt) - underwayMs;
    const outlets = memory.outlets(serverNowMs - begunMs(fence) - underwayMs);
    // Whatever device they have, or none: an outlet may feed any of them.
    const others = [...observer.nodeNames].flatMap((other) => {
      const lease = observer.leaseSign(other);
      const isHeard = lease?.renewed === true && lease.unchangedForMs < sinceMs;
      if (other === name || isHeard) return [];
      return [{ name: other, isSilent: lease === undefined || isSilent(lease) }];
    });
    const unheard = others.filter((one) => !one.isSilent).map((one) => one.name);
    const silent = others
      .filter((one) => one.isSilent)
      .map((one) => ({
        name: one.name,
        isOff: outlets.get(one.name)?.isOff === true,
        ...unknownSince(observer.view(one.name).node),
      }));
    const named = { unheard: unheard.length, names: unheard.slice(0, namedAtMost) };
    const waitedMs = serverNowMs - Date.parse(fence.startedAt);
    const inMs = unheard.length > 0 ? lookAgainMs : Math.min(Math.max(lookAgainMs, waitedMs / 10), lookAtLeastEveryMs);
    const present = this.#present(name, fence.others?.at ?? timeOf(serverNowMs));
    return { beside: { ...named, silent, present, settledAtMs: serverNowMs + inMs } };
  }

  /** Counted before there is a fence: the first decision may send the command. */
  #others({ name, serverNowMs }: ReadCase, config: ConfigResult): Pick<NodeCase, 'others'> {
    return this.#isBlind(name, config) ? { others: this.#present(name, timeOf(serverNowMs)) } : {};
  }

  /** A device of it cannot say whose power it is, and no drill has shown it. */
  #isBlind(name: string, config: ConfigResult): boolean {
    const { memory } = this.#options;
    return powerMethods(config).some((method) => memory.isUnproven(name, method));
  }

  /** How many other nodes there are that were there by then. The API server says in whole seconds when a Node was made. */
  #present(name: string, countedAt: string): number {
    const { observer } = this.#options;
    let present = 0;
    for (const other of observer.nodeNames) {
      const { createdAt = '' } = observer.view(other).node ?? {};
      if (other !== name && Date.parse(createdAt) + 1000 <= Date.parse(countedAt)) present += 1;
    }
    return present;
  }
}

/** When a fence began, and when each cut of it was confirmed. */
type FenceTimes = Pick<NonNullable<NodeFenceStatus['fence']>, 'startedAt' | 'switched' | 'others'>;

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
/** One that is silent takes somebody who looks at it: the longer that takes, the less often we look. */
const lookAtLeastEveryMs = 60_000;
const namedAtMost = 3;
/** One that is still on record as going on has ended by now, if it has. */
function lastStorm(
  ends: readonly (number | 'open')[],
  fence: ReadCase['fence'],
  nowMs: number,
): Pick<TroubleCount, 'stormEndedMs'> {
  const own = fence?.status.storm;
  const all = [
    ...ends,
    ...(own === undefined ? [] : [own.endedAt === undefined ? ('open' as const) : Date.parse(own.endedAt)]),
  ];
  return all.length === 0 ? {} : { stormEndedMs: Math.max(...all.map((end) => (end === 'open' ? nowMs : end))) };
}

/** Only the node controller says so, of a kubelet that it does not hear of. */
function unknownSince(node: NodeFacts | undefined): Pick<SilentNode, 'unknownSince'> {
  const ready = node?.conditions.find(({ type }) => type === 'Ready');
  return ready?.status === 'Unknown' ? { unknownSince: ready.since } : {};
}

/** Not before a live read has found it so. */
function silenceOf(lease: LeaseFacts | undefined): Pick<TroubleFacts, 'leaseSilentMs' | 'leaseDurationMs'> {
  if (lease?.confirmed !== true) return {};
  const { durationMs } = lease;
  return { leaseSilentMs: silentForMs(lease), ...(durationMs === undefined ? {} : { leaseDurationMs: durationMs }) };
}

/** Where there is no Node object the policy last recorded for it applies (POD-3); none recorded means none. */
export function policyFor(
  { policies }: ClusterView,
  node: LiveNode | undefined,
  recorded: string | undefined,
): PolicyMatch {
  if (node !== undefined) return matchPolicy(policies, node.labels);
  const policy = policies.find(({ name }) => name === recorded);
  return policy === undefined ? { kind: 'none' } : { kind: 'one', policy };
}
