/**
 * Writes what is found out about policies into their status: mistakes in them and in fence configurations the moment they
 * are written (FEN-7), contending policies (REM-8), risks, and which nodes could not be fenced (EXP-3). Only the leader
 * does, a moment after something changed, and only what differs from what is there.
 */
import { isDeepStrictEqual } from 'node:util';
import type { DeviceProvider } from '../devices/provider.ts';
import { isRenewing } from '../api/life.ts';
import type { Condition } from '../api/common.ts';
import type { ConfigProblem } from '../api/fence-config.ts';
import type { Forbiddable } from '../api/forbidden.ts';
import { beyondOf } from '../api/forbidden.ts';
import type { DoubtAbout } from '../api/power.ts';
import { policyFacts } from '../api/policy-facts.ts';
import type { PolicyFacts } from '../api/release-view.ts';
import type { Judgement } from '../api/view.ts';
import type { WrittenPolicy } from '../api/written.ts';
import type { Clock } from '../clock.ts';
import { inTurns, sleep } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { remedyPolicies } from '../kube/resources.ts';
import type { ClusterView } from '../observe/cluster-view.ts';
import type { Observer } from '../observe/observer.ts';
import type { CheckReason } from '../api/node-check.ts';
import type { PolicyFindings } from '../report/policy-conditions.ts';
import { findingsOf, withFindings } from '../report/policy-conditions.ts';
import type { CheckOptions } from '../act/device-check.ts';
import { checkNode } from '../act/device-check.ts';
import type { DeviceMemory } from '../act/device-memory.ts';
import type { Hear } from '../act/device-tasks.ts';
import { DeviceRounds } from '../act/device-rounds.ts';
import type { PowerWatch } from '../act/power-watch.ts';
import { doubtAbout } from '../fence/belief.ts';
import { placesOf } from '../fence/places.ts';
import { listNodes } from '../observe/list-nodes.ts';
import type { ConfigFindings, FencedNode, PolicyNodes, WrittenConfigs } from '../decide/policy-nodes.ts';
import {
  configFindings,
  configuredDevices,
  namedDevices,
  deviceFindings,
  fencesBy,
  policyNodes,
  secretsOf,
  sharedDevices,
  strayProblems,
  uncheckedNodes,
  unprovenNodes,
  unshownNodes,
  unwrittenMethod,
  watchedNodes,
} from '../decide/policy-nodes.ts';
import type { SetUp } from '../observe/others-set-up.ts';
import { readSetUp, tellSetUp } from '../observe/others-set-up.ts';
import { SecretStates } from '../observe/secret-states.ts';

export interface PolicyStatusOptions {
  client: KubeClient;
  clock: Clock;
  observer: Observer;
  cluster: ClusterView;
  provider: DeviceProvider;
  memory: DeviceMemory;
  /** Told whose power is to be watched. */
  watch: Pick<PowerWatch, 'update'>;
  /** Where the configuration of fences is. */
  namespace: string;
  /** What nobody may write, as the operator was started. */
  forbidden?: readonly Forbiddable[] | undefined;
  isLeading: () => boolean;
  /** What is thought of the nodes. */
  verdicts: () => ReadonlyMap<string, Judgement>;
  /** How often the devices of all nodes are asked. */
  checkEveryMs?: number;
  onProblem: (source: string, error: KubeError) => void;
}

interface StoredPolicy extends KubeObject {
  spec?: WrittenPolicy;
  status?: {
    observedGeneration?: number;
    nodes?: number;
    unresponsive?: number;
    fencing?: number;
    conditions?: Condition[];
  };
}

/** What was found out about the policies as they were then. */
interface Found extends PolicyNodes, ConfigFindings {
  /** Nodes for which nothing is written and whose machines no provider knows, by policy. */
  unconfigured: ReadonlyMap<string, PolicyFindings['unconfigured']>;
  /** Nodes with a device that nobody looks whose machine it is, by policy. */
  unchecked: ReadonlyMap<string, readonly string[]>;
  /** Who else is set up to act on nodes that are fenced, by policy. */
  others: ReadonlyMap<string, PolicyFindings['others']>;
  /** In configurations of nodes that are not there. */
  strays: readonly ConfigProblem[];
  fencing: ReadonlySet<string>;
  of: ReadonlyMap<string, string>;
  atMs: number;
}

export const defaultCheckEveryMs = 600_000;
/** Whoever writes several objects is not done with the first. */
const settleMs = 2000;
/** In a large cluster a look takes long; it is not to be most of what the operator does. */
const shareOfTime = 10;
const callTimeoutMs = 10_000;
const devicesAtATime = 8;

export class PolicyStatus {
  readonly #options: PolicyStatusOptions;
  readonly #rounds: DeviceRounds;
  /** Whose last fence has failed, as of the last recount. */
  #failed: ReadonlySet<string> = new Set();
  readonly #secrets: SecretStates;
  #touched = Promise.withResolvers<void>();
  /** Undefined: something has changed since that it depends on. */
  #found: Found | undefined;
  #setUp: (SetUp & { atMs: number }) | undefined;
  /** Something changed while it was being found out. */
  #isTouched = false;

  constructor(options: PolicyStatusOptions) {
    this.#options = options;
    const { client, clock, cluster, provider, memory, namespace, checkEveryMs = defaultCheckEveryMs } = options;
    this.#secrets = new SecretStates({ client, clock, namespace, knownForMs: checkEveryMs });
    const doubt: DoubtAbout = ({ name }, answer, about) =>
      doubtAbout(answer, { ...about, ready: this.#isAlive(name) ? 'True' : 'Unknown' });
    const hear: Hear = (node, asked, said) => memory.hear(node, asked, { said, by: 'check' });
    const onChecked: CheckOptions['onChecked'] = (node, method, problem) => memory.checked(node, method, problem);
    this.#rounds = new DeviceRounds({
      clock,
      everyMs: checkEveryMs,
      check: ({ node, config }) =>
        checkNode(node, config, {
          provider,
          clock,
          doubt,
          hear,
          onChecked,
          places: placesOf(node.name, config, cluster.fenceConfigs),
        }),
      isBusy: (name) => cluster.nodesWith('fencing').includes(name),
      isFenced: (name) => cluster.nodesWith('fenced').includes(name),
      hasFailed: (name) => this.#failed.has(name),
      onChange: () => this.touch(),
    });
  }

  /** Something changed that policies depend on. */
  touch(): void {
    this.#found = undefined;
    this.#isTouched = true;
    this.#touched.resolve();
  }

  /** Another node responds, or does not, or is fenced: what was found out about the policies stands. */
  recount(): void {
    this.#failed = new Set(this.#options.cluster.failedNodes);
    this.#rounds.recheck();
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
    return isReady && lease !== undefined && isRenewing(lease);
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
    if (policies.length === 0 && cluster.writtenDevices.length === 0) {
      this.#rounds.update([]);
      this.#options.watch.update([]);
      return;
    }
    const found = this.#isFoundOf(policies) ?? (await this.#find(policies, signal));
    if (found === undefined || signal.aborted) return;
    for (const policy of policies) {
      await this.#write(policy, this.#findings(policy, found), listed.serverTime ?? clock.now());
    }
  }

  /** Only of the very policies that are there now: of another text nothing may be said by it. */
  #isFoundOf(policies: readonly StoredPolicy[]): Found | undefined {
    const { clock, checkEveryMs = defaultCheckEveryMs } = this.#options;
    const found = this.#found;
    if (found === undefined || clock.monotonic() - found.atMs >= checkEveryMs) return undefined;
    return isDeepStrictEqual(found.of, versionsOf(policies)) ? found : undefined;
  }

  async #find(policies: readonly StoredPolicy[], signal: AbortSignal): Promise<Found | undefined> {
    const { client, clock, cluster, provider, onProblem } = this.#options;
    const atMs = clock.monotonic();
    this.#isTouched = false;
    const nodes = await listNodes(client, signal);
    if (!nodes.ok) {
      onProblem('policy status', nodes.error);
      return undefined;
    }
    const facts = policies.flatMap((policy): PolicyFacts | [] => policyFacts(policy) ?? []);
    const configs: WrittenConfigs = {
      maps: cluster.fenceConfigs,
      devices: cluster.writtenDevices,
      unwritten: (node) => provider.defaultConfig?.(node),
      namespace: this.#options.namespace,
      allowed: provider.allowed,
      forbidden: this.#options.forbidden,
    };
    const matched = policyNodes(nodes.value, facts, configs);
    const named = new Set(matched.fenced.flatMap(({ config }) => [...secretsOf(config)]));
    const findings = configFindings(matched, configs, await this.#secrets.of(named));
    const unconfigured = await this.#unconfigured(matched.fenced);
    const others = await this.#others(matched.fenced);
    if (signal.aborted) return undefined;
    this.#options.memory.share(sharedDevices(matched.fenced));
    this.#options.memory.configure(configuredDevices(matched.fenced));
    this.#options.memory.records.noteNamed(namedDevices(matched.fenced));
    for (const [name, { nodes: count, problem }] of deviceFindings(nodes.value, configs)) {
      const told = problem && `${problem.key}: ${problem.reason}`;
      this.#options.memory.report(name, { nodes: count, problem: told });
    }
    this.#rounds.update(findings.targets);
    this.#options.watch.update(watchedNodes(matched.fenced, facts));
    const strays = strayProblems(nodes.value, configs);
    const fencing = new Set(facts.filter(fencesBy).map(({ name }) => name));
    const unchecked = uncheckedNodes(matched.fenced);
    const of = versionsOf(policies);
    const found = { ...matched, ...findings, unconfigured, unchecked, others, strays, fencing, of, atMs };
    if (!this.#isTouched) this.#found = found;
    return found;
  }

  async #unconfigured(fenced: readonly FencedNode[]): Promise<Found['unconfigured']> {
    const found: { policy: string; node: string; why: string }[] = [];
    await inTurns(fenced, devicesAtATime, async (one) => {
      const method = unwrittenMethod(one);
      const device = method === undefined ? undefined : await this.#options.provider.device(one.node, method);
      if (device?.ok === false) found.push({ policy: one.policy, node: one.node.name, why: device.problem });
    });
    return Map.groupBy(found, ({ policy }) => policy);
  }

  /** Nobody is in the way where nothing is fenced; what others have set up changes seldom. */
  async #others(fenced: readonly FencedNode[]): Promise<Found['others']> {
    const { client, clock, checkEveryMs = defaultCheckEveryMs } = this.#options;
    if (fenced.length === 0) return new Map();
    const atMs = clock.monotonic();
    if (this.#setUp === undefined || atMs - this.#setUp.atMs >= checkEveryMs) {
      this.#setUp = { ...(await readSetUp(client)), atMs };
    }
    const { read, unread } = this.#setUp;
    const byPolicy = Map.groupBy(fenced, ({ policy }) => policy);
    return new Map(
      [...byPolicy].map(([policy, of]) => {
        const nodes = of.map(({ node }) => node);
        return [policy, { findings: tellSetUp({ read }, nodes), unread }];
      }),
    );
  }

  #findings(policy: StoredPolicy, found: Found): PolicyFindings {
    const { name } = policy.metadata;
    const facts = policyFacts(policy);
    const nodes = found.inForce.get(name) ?? [];
    const strays = found.fencing.has(name) ? found.strays : [];
    return {
      name,
      spec: policy.spec ?? {},
      lacksDefaults: facts === undefined,
      nodes,
      conflicts: found.conflicts.get(name) ?? [],
      configProblems: [...(found.configProblems.get(name) ?? []), ...strays],
      unconfigured: found.unconfigured.get(name) ?? [],
      unreadableSecrets: found.unreadableSecrets.get(name) ?? [],
      unsupported: facts?.remedy?.unsupported ?? [],
      beyond: beyondOf(facts ?? {}, this.#options.forbidden),
      unchecked: found.unchecked.get(name) ?? [],
      others: found.others.get(name),
      unproven:
        unprovenNodes(found.fenced, (node, method) => this.#options.memory.isOnTrust(node, method)).get(name) ?? [],
      unshown:
        unshownNodes(found.fenced, (node, method) => this.#options.memory.isSeenUnshown(node, method)).get(name) ?? [],
      checks: this.#rounds.results.filter(({ node }) => nodes.includes(node)),
    };
  }

  async #write(policy: StoredPolicy, findings: PolicyFindings, nowMs: number): Promise<void> {
    const { client, isLeading, onProblem } = this.#options;
    const { name, generation = 0 } = policy.metadata;
    const before = policy.status ?? {};
    const conditions = withFindings(before.conditions ?? [], findingsOf(findings), { generation, nowMs });
    const counts = { nodes: findings.nodes.length, ...this.#countsOf(findings.nodes) };
    const status = { ...before, observedGeneration: generation, ...counts, conditions };
    if (isDeepStrictEqual(status, before) || !isLeading()) return;
    const calls = { guard: isLeading, timeoutMs: callTimeoutMs };
    const written = await client.replace({ resource: remedyPolicies, name }, { ...policy, status }, 'status', calls);
    if (written.ok) return;
    // Somebody wrote to it meanwhile: what is said next is said of that.
    if (written.error.kind === 'conflict' || written.error.kind === 'notFound') this.touch();
    else onProblem('policy status', written.error);
  }

  /** As the brake counts them: a node that is being fenced does not respond, whatever its condition says. */
  #countsOf(nodes: readonly string[]): { unresponsive: number; fencing: number } {
    const { cluster, verdicts } = this.#options;
    const fencing = new Set(cluster.nodesWith('fenced'));
    const known = verdicts();
    // Whoever has not been judged yet, since we have just begun, is none of them.
    const isSuspect = (name: string): boolean => (known.get(name)?.verdict ?? 'healthy') !== 'healthy';
    return {
      unresponsive: nodes.filter((name) => isSuspect(name) || fencing.has(name)).length,
      fencing: nodes.filter((name) => fencing.has(name)).length,
    };
  }
}

function versionsOf(policies: readonly StoredPolicy[]): Map<string, string> {
  return new Map(policies.map(({ metadata: { name, uid, generation } }) => [name, `${uid} ${generation}`]));
}
