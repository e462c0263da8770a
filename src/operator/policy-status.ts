/**
 * Writes what is found out about policies into their status: mistakes in them and in fence configurations the moment they
 * are written (FEN-7), contending policies (REM-8), risks, and which nodes could not be fenced (EXP-3). Only the leader
 * does, a moment after something changed, and only what differs from what is there.
 */
import { isDeepStrictEqual } from 'node:util';
import type { DeviceProvider } from '../act/device-tasks.ts';
import type { Condition } from '../api/common.ts';
import type { PolicyFacts } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { remedyPolicies } from '../kube/resources.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { Observer } from '../observe/observer.ts';
import { projectPolicy } from '../observe/project-release.ts';
import type { CheckReason, PolicyFindings } from '../report/policy-conditions.ts';
import { findingsOf, withFindings } from '../report/policy-conditions.ts';
import type { WrittenSpec } from '../report/policy-risks.ts';
import { checkNode } from './device-check.ts';
import { DeviceRounds } from './device-rounds.ts';
import { listNodes } from './list-nodes.ts';
import type { NodeFindings } from './policy-findings.ts';
import { PolicyFinder } from './policy-findings.ts';

export interface PolicyStatusOptions {
  client: KubeClient;
  clock: Clock;
  observer: Observer;
  cluster: ClusterView;
  provider: DeviceProvider;
  /** Where the configuration of fences is. */
  namespace: string;
  isLeading: () => boolean;
  /** How often the devices of all nodes are asked. */
  checkEveryMs?: number;
  onProblem: (source: string, error: KubeError) => void;
}

interface StoredPolicy extends KubeObject {
  spec?: WrittenSpec;
  status?: { observedGeneration?: number; nodes?: number; conditions?: Condition[] };
}

export const defaultCheckEveryMs = 600_000;
/** Whoever writes several objects is not done with the first. */
const settleMs = 2000;
/** In a large cluster a look takes long; it is not to be most of what the operator does. */
const shareOfTime = 10;
/** A kubelet renews its Lease every 10 s. */
const renewalMs = 12_000;
const callTimeoutMs = 10_000;

export class PolicyStatus {
  readonly #options: PolicyStatusOptions;
  readonly #rounds: DeviceRounds;
  readonly #finder: PolicyFinder;
  #touched = Promise.withResolvers<void>();

  constructor(options: PolicyStatusOptions) {
    this.#options = options;
    const { client, clock, cluster, provider, namespace, checkEveryMs = defaultCheckEveryMs } = options;
    this.#finder = new PolicyFinder({ client, clock, provider, namespace, knownForMs: checkEveryMs });
    this.#rounds = new DeviceRounds({
      clock,
      everyMs: checkEveryMs,
      check: ({ node, config }) =>
        checkNode({ ...node, ready: this.#isAlive(node.name) ? 'True' : 'Unknown' }, config, { provider, clock }),
      isBusy: (name) => cluster.fencingNodes.includes(name),
      onChange: () => this.touch(),
    });
  }

  /** Something changed that policies depend on. */
  touch(): void {
    this.#touched.resolve();
  }

  /** Nodes that could not be fenced, with why. */
  get unfenceable(): Map<string, CheckReason> {
    return new Map(
      this.#rounds.results.flatMap(({ node, problem }) => (problem === undefined ? [] : [[node, problem.reason]])),
    );
  }

  /** For as long as this instance leads. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, checkEveryMs = defaultCheckEveryMs } = this.#options;
    let pauseMs = settleMs;
    while (!signal.aborted) {
      await sleep(clock, pauseMs, signal);
      if (signal.aborted) break;
      this.#touched = Promise.withResolvers<void>();
      const startedMs = clock.monotonic();
      await this.#refresh(signal);
      pauseMs = Math.max(settleMs, shareOfTime * (clock.monotonic() - startedMs));
      const wake = new AbortController();
      void this.#touched.promise.then(() => wake.abort());
      await sleep(clock, checkEveryMs, AbortSignal.any([signal, wake.signal]));
    }
    this.#rounds.close();
  }

  /** Now, not when the nodes were listed: a device that says off is right about a node that has just lost its power. */
  #isAlive(name: string): boolean {
    const { observer } = this.#options;
    const { node, lease } = observer.view(name);
    const isReady = node?.conditions.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
    return isReady && lease !== undefined && lease.unchangedForMs < renewalMs;
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { client, clock, cluster, onProblem } = this.#options;
    if (!cluster.synced) {
      this.touch();
      return;
    }
    const listed = await client.list<StoredPolicy>(remedyPolicies, {}, { signal, timeoutMs: callTimeoutMs });
    if (!listed.ok) {
      // Without the CRDs there are no policies.
      if (listed.error.kind !== 'notFound') onProblem('policy status', listed.error);
      return;
    }
    const policies = listed.value.items;
    if (policies.length === 0) {
      this.#rounds.update([]);
      return;
    }
    const nodes = await listNodes(client, signal);
    if (!nodes.ok) {
      onProblem('policy status', nodes.error);
      return;
    }
    const facts = policies.flatMap((policy): PolicyFacts | [] => projectPolicy(policy) ?? []);
    const found = await this.#finder.find(nodes.value, facts, cluster.fenceConfigs);
    if (signal.aborted) return;
    this.#rounds.update(found.targets);
    for (const policy of policies) {
      await this.#write(policy, this.#findings(policy, found), listed.serverTime ?? clock.now());
    }
  }

  #findings(policy: StoredPolicy, found: NodeFindings): PolicyFindings {
    const { name } = policy.metadata;
    const facts = projectPolicy(policy);
    const nodes = found.nodes.get(name) ?? [];
    return {
      name,
      spec: policy.spec ?? {},
      lacksDefaults: facts === undefined,
      nodes,
      conflicts: found.conflicts.get(name) ?? [],
      configProblems: found.configProblems.get(name) ?? [],
      unconfigured: found.unconfigured.get(name) ?? [],
      unreadableSecrets: found.unreadableSecrets.get(name) ?? [],
      unsupported: facts?.remedy?.unsupported ?? [],
      checks: this.#rounds.results.filter(({ node }) => nodes.includes(node)),
    };
  }

  async #write(policy: StoredPolicy, findings: PolicyFindings, nowMs: number): Promise<void> {
    const { client, isLeading, onProblem } = this.#options;
    const { name, generation = 0 } = policy.metadata;
    const before = policy.status ?? {};
    const conditions = withFindings(before.conditions ?? [], findingsOf(findings), { generation, nowMs });
    const status = { ...before, observedGeneration: generation, nodes: findings.nodes.length, conditions };
    if (isDeepStrictEqual(status, before) || !isLeading()) return;
    const calls = { guard: isLeading, timeoutMs: callTimeoutMs };
    const written = await client.replace({ resource: remedyPolicies, name }, { ...policy, status }, 'status', calls);
    if (written.ok) return;
    // Somebody wrote to it meanwhile: what is said next is said of that.
    if (written.error.kind === 'conflict' || written.error.kind === 'notFound') this.touch();
    else onProblem('policy status', written.error);
  }
}
