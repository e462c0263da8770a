/**
 * What a case holds beyond what is read of its node: what all nodes share, as it is in the tick of the decision, and what
 * this process has begun and claimed.
 */
import type { ConfigResult } from '../api/fence-config.ts';
import type { LiveNode, NodeCase, PolicyMatch, TroubleFacts } from '../api/release-view.ts';
import type { Judgement, LeaseFacts } from '../api/view.ts';
import type { LongActs } from '../act/long-acts.ts';
import type { Clock } from '../clock.ts';
import type { NodeDecision } from '../decide/decide-node.ts';
import { configFor } from '../decide/policy-nodes.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import { matchPolicy } from '../judge/match-policy.ts';
import type { CountedNode } from '../judge/storm.ts';
import { countTrouble } from '../judge/storm.ts';
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

  complete(read: ReadCase): NodeCase {
    const { devices, namespace, identity, observer, cluster, longActs } = this.#options;
    const { name, node, policy, serverNowMs } = read;
    const { lease } = observer.view(name);
    const conditions = node === undefined ? [] : this.#conditions.of(node);
    const allowance = this.#claims.allowance(policy, cluster.released, serverNowMs);
    const fencing = new Set([...cluster.fencingNodes, ...this.#claims.slots]);
    return {
      ...read,
      identity,
      namespace,
      config:
        node === undefined
          ? unconfigured
          : configFor(node, {
              maps: cluster.fenceConfigs,
              unwritten: (one) => devices.defaultConfig?.(one),
              allowed: devices.allowed,
            }),
      trouble: { conditions, ...silenceOf(lease) },
      count: countTrouble(name, this.#counted(), fencing),
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

  #counted(): CountedNode[] {
    const { observer } = this.#options;
    const verdicts = this.#options.verdicts();
    return [...observer.nodeNames].map((name) => ({
      name,
      zone: observer.view(name).node?.zone ?? '',
      // Of a node that nobody has judged yet it is not known: after a change of leaders that is every one.
      isUnresponsive: verdicts.get(name)?.verdict !== 'healthy',
    }));
  }
}

/** Not before a live read has found it so. */
function silenceOf(lease: LeaseFacts | undefined): Pick<TroubleFacts, 'leaseSilentMs' | 'leaseDurationMs'> {
  if (lease?.confirmed !== true) return {};
  const { unchangedForMs, durationMs } = lease;
  return { leaseSilentMs: unchangedForMs, ...(durationMs === undefined ? {} : { leaseDurationMs: durationMs }) };
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
