/**
 * Guards drains: decides for each installation of a storage system what keeps its replicas, has it carried out, and says
 * so in the status of the policies. Every instance watches; only the leader decides and writes.
 */
import { podDisruptionBudgets } from '../kube/resources.ts';
import { performDrainAction } from '../act/drain-guard.ts';
import { upgradeStorage } from '../act/drain-upgrade.ts';
import { GUARD_LABEL } from '../api/drain-names.ts';
import type { BudgetFacts, DrainAction, DrainDecision, NodeDrainDecision, StorageFacts } from '../api/drain-view.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import { decideDrain } from '../decide/decide-drain.ts';
import type { Memory } from '../drain/known.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import { DrainWatch } from '../observe/drain-watch.ts';
import type { InstallationWatch } from '../observe/installation-watch.ts';
import type { WatchState } from '../observe/watch-state.ts';
import { noStorageNode, whyNothingIsGuarded } from '../report/drain-status.ts';
import type { DrainMetrics } from '../report/metrics.ts';
import { Counter } from '../report/prometheus.ts';
import { budgetFacts } from '../storage/budgets.ts';
import { longhorn } from '../storage/longhorn.ts';
import { drainViewOf } from '../decide/drain-view.ts';
import { DrainStatus } from './drain-status.ts';

export interface DrainingOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  events: EventRecorder;
  isLeading: () => boolean;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  onProblem: (source: string, error: KubeError) => void;
}

const callTimeoutMs = 10_000;
/** Writes at a time, of those that may be carried out in any order. */
const writesAtOnce = 16;
/** After a write or a failure; whatever is seen to change brings the next look at once. */
const againMs = 1000;
const lookEveryMs = 60_000;
/** How often is worked out what drains of all the other nodes would wait for, and of how many at a time. */
const wholeEveryMs = 30_000;
const judgedAtOnce = 200;
/** Whether the storage system was installed meanwhile, or shown to us. */
const refusedAgainMs = 10_000;
/** A watch that has not shown our own write by then may not show it for long: the preconditions of writes are enough. */
const ownWritesWithinMs = 10_000;
/** In a large cluster a look takes long; it is not to be most of what the operator does. */
const shareOfTime = 4;

interface Known {
  storageVersion: number;
  budgetsVersion: number;
  facts: StorageFacts;
  budgets: readonly BudgetFacts[];
  memory: Memory;
  objects: WeakMap<KubeObject, unknown>;
  /** By node, what drains of nodes that are not cordoned would wait for; for reports alone. */
  judged: Map<string, NodeDrainDecision>;
  /** Of which it is to be worked out again. */
  unjudged: Set<string>;
  wholeAtMs: number;
  /** Since when every look had something to do. */
  actingSinceMs: number | undefined;
}

export class Draining {
  readonly #options: DrainingOptions;
  readonly #watch: DrainWatch;
  readonly #status: DrainStatus;
  readonly #known = new WeakMap<InstallationWatch, Known>();
  readonly #upgraded = new WeakSet<InstallationWatch>();
  readonly #decided = new Map<string, readonly NodeDrainDecision[]>();
  readonly requests: DrainMetrics['requests'] = new Counter();
  readonly refusals: DrainMetrics['refusals'] = new Counter();
  #touched = Promise.withResolvers<void>();
  #urgent = Promise.withResolvers<void>();
  #waitingSinceMs: number | undefined;

  constructor(options: DrainingOptions) {
    this.#options = options;
    const { client, clock, random, onProblem } = options;
    this.#watch = new DrainWatch({
      client,
      clock,
      random,
      source: { resources: longhorn.resources, slim: longhorn.slim, budgets: podDisruptionBudgets, budgetFacts },
      onChange: (urgent) => {
        this.#touched.resolve();
        if (urgent) this.#urgent.resolve();
      },
      onProblem: (watch, error) => onProblem(watch, error),
    });
    this.#status = new DrainStatus(options);
  }

  get watches(): WatchState[] {
    return this.#watch.watches;
  }

  /** What was last decided; empty while this instance does not lead. */
  get nodes(): NodeDrainDecision[] {
    return [...this.#decided.values()].flat();
  }

  /** Watches, for as long as the process lives. */
  run(signal: AbortSignal): Promise<void> {
    return this.#watch.run(signal);
  }

  /** Decides and acts, for as long as this instance leads. */
  async serve(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      while (!signal.aborted && !(await this.#findLeftovers(signal))) await sleep(clock, againMs, signal);
      while (!signal.aborted) {
        this.#touched = Promise.withResolvers<void>();
        this.#urgent = Promise.withResolvers<void>();
        const startedMs = clock.monotonic();
        const waitMs = await this.#look(signal);
        // What follows from an act of ours is what a drain waits for.
        const pauseMs = this.#isActing ? 0 : shareOfTime * (clock.monotonic() - startedMs);
        await this.#sleep(Math.min(pauseMs, againMs), signal, this.#urgent.promise);
        await this.#sleep(waitMs, signal, this.#touched.promise);
      }
    } finally {
      this.#decided.clear();
    }
  }

  async #sleep(ms: number, signal: AbortSignal, woken: Promise<void>): Promise<void> {
    if (signal.aborted || ms <= 0) return;
    const wake = new AbortController();
    void woken.then(() => wake.abort());
    await sleep(this.#options.clock, ms, AbortSignal.any([signal, wake.signal]));
  }

  /** A policy may have been deleted while nobody led: its budgets would hold drains up for ever. */
  async #findLeftovers(signal: AbortSignal): Promise<boolean> {
    const { client, onProblem } = this.#options;
    const found = await client.list<KubeObject>(
      podDisruptionBudgets,
      { labelSelector: GUARD_LABEL },
      { signal, timeoutMs: callTimeoutMs },
    );
    if (!found.ok) {
      if (!signal.aborted) onProblem('drains', found.error);
      // Whoever may not look there has left nothing there either.
      return found.error.kind === 'forbidden';
    }
    for (const { metadata } of found.value.items) this.#watch.open(metadata.namespace ?? '');
    return true;
  }

  async #look(signal: AbortSignal): Promise<number> {
    let waitMs = lookEveryMs;
    const namespaces = new Set(this.#watch.installations.map(({ namespace }) => namespace));
    for (const namespace of this.#decided.keys()) if (!namespaces.has(namespace)) this.#decided.delete(namespace);
    if (!this.#watch.synced) return lookEveryMs;
    for (const installation of this.#watch.installations) {
      if (signal.aborted) break;
      waitMs = Math.min(waitMs, await this.#guard(installation));
    }
    const wanted = new Set(this.#watch.policies.map(({ namespace }) => namespace));
    // A last look at what no policy wants any more, and which is clean by now.
    if (this.#watch.installations.some((one) => !wanted.has(one.namespace) && one.isClean)) this.#watch.tidy();
    return waitMs;
  }

  async #guard(installation: InstallationWatch): Promise<number> {
    const { clock } = this.#options;
    const { namespace, refused } = installation;
    if (refused !== undefined) {
      await this.#report(installation, { nodes: [], actions: [] }, whyNothingIsGuarded(refused));
      return refusedAgainMs;
    }
    if (!installation.synced) return lookEveryMs;
    if (!installation.showsOwnWrites) {
      this.#waitingSinceMs ??= clock.monotonic();
      if (clock.monotonic() - this.#waitingSinceMs < ownWritesWithinMs) return againMs;
      installation.forgetOwnWrites();
    }
    this.#waitingSinceMs = undefined;
    const known = this.#knownOf(installation);
    if (known.facts.ownPolicy === undefined && !(await this.#isUpgraded(installation))) return againMs;
    const { policies, nodes } = this.#watch;
    const view = drainViewOf({ namespace, policies, nodes, storage: known.facts, budgets: known.budgets });
    const alsoJudge = takeSome(known, nodes, clock.monotonic());
    const decision = decideDrain(view, { memory: known.memory, alsoJudge });
    const allDone = await this.#perform(installation, decision.actions);
    const isAtEase = ({ cordoned, reason }: NodeDrainDecision): boolean => cordoned === false && reason !== 'OwnCordon';
    for (const one of decision.nodes) if (alsoJudge.has(one.node) && isAtEase(one)) known.judged.set(one.node, one);
    const whole = decision.nodes.map((one) => (isAtEase(one) ? (known.judged.get(one.node) ?? one) : one));
    this.#decided.set(namespace, whole);
    if (this.#goesOn(known, decision.actions.length > 0 && allDone)) return againMs;
    const notFound = known.facts.nodes.length > 0 ? undefined : noStorageNode(namespace);
    const reportedMs = await this.#report(installation, { ...decision, nodes: whole }, notFound);
    return allDone && known.unjudged.size === 0 ? Math.min(reportedMs, wholeEveryMs) : againMs;
  }

  get #isActing(): boolean {
    return this.#watch.installations.some((one) => this.#known.get(one)?.actingSinceMs !== undefined);
  }

  /** What was done has a next step, which a drain waits for: the report comes after it, but it does come. */
  #goesOn(known: Known, hasActed: boolean): boolean {
    const nowMs = this.#options.clock.monotonic();
    known.actingSinceMs = hasActed ? (known.actingSinceMs ?? nowMs) : undefined;
    return known.actingSinceMs !== undefined && nowMs - known.actingSinceMs < againMs;
  }

  /** Before the first request; a storage system that enforces by itself has seen to that by itself. */
  async #isUpgraded(installation: InstallationWatch): Promise<boolean> {
    if (this.#upgraded.has(installation)) return true;
    const { client, isLeading, onProblem } = this.#options;
    const calls = { client, guard: isLeading, timeoutMs: callTimeoutMs };
    const wrong = await upgradeStorage(installation.namespace, calls);
    if (wrong === undefined) this.#upgraded.add(installation);
    else onProblem('drains', wrong);
    return wrong === undefined;
  }

  /** What is still the same as at the last look is not worked out again. */
  #knownOf(installation: InstallationWatch): Known {
    const { storage: storageVersion, budgets: budgetsVersion } = installation.versions;
    const known = this.#known.get(installation) ?? {
      storageVersion: -1,
      budgetsVersion: -1,
      facts: longhorn.facts(() => []),
      budgets: [],
      memory: {},
      objects: new WeakMap(),
      judged: new Map(),
      unjudged: new Set(),
      wholeAtMs: -Infinity,
      actingSinceMs: undefined,
    };
    this.#known.set(installation, known);
    if (known.storageVersion !== storageVersion) {
      known.facts = longhorn.facts((resource) => installation.objectsOf(resource), known.objects);
    }
    if (known.budgetsVersion !== budgetsVersion) known.budgets = installation.budgets;
    return Object.assign(known, { storageVersion, budgetsVersion });
  }

  async #report(installation: InstallationWatch, decision: DrainDecision, notFound?: string): Promise<number> {
    const policies = this.#watch.policies.filter(({ namespace }) => namespace === installation.namespace);
    return (await this.#status.write(policies, decision, notFound)) ? lookEveryMs : againMs;
  }

  /** What protects before what lets go; a node of which something failed is left as it is. */
  async #perform(installation: InstallationWatch, actions: readonly DrainAction[]): Promise<boolean> {
    const stopped = new Set<string>();
    for (const phase of phasesOf(actions)) {
      for (let start = 0; start < phase.length; start += writesAtOnce) {
        const some = phase.slice(start, start + writesAtOnce).filter(({ node }) => !stopped.has(node));
        const done = await Promise.all(some.map((action) => this.#one(installation, action)));
        for (const [index, { node }] of some.entries()) if (done[index] !== true) stopped.add(node);
      }
    }
    return stopped.size === 0;
  }

  async #one(installation: InstallationWatch, action: DrainAction): Promise<boolean> {
    const { client, isLeading, log, onProblem } = this.#options;
    const { namespace } = installation;
    const result = await performDrainAction(action, {
      client,
      storage: longhorn,
      namespace,
      objectsOf: (resource) => installation.objectsOf(resource),
      guard: isLeading,
      timeoutMs: callTimeoutMs,
    });
    switch (result.outcome) {
      case 'done':
        installation.wrote(result.wrote);
        log.info({ node: action.node, action: action.do, object: result.wrote.name }, 'drain');
        if ('event' in action) this.#tell(namespace, action);
        return true;
      case 'refused':
        this.refusals.increase({ action: action.do });
        log.warn({ node: action.node, action: action.do, problem: result.why }, 'drain');
        return false;
      case 'failed':
        onProblem('drains', result.error);
        return false;
    }
  }

  #tell(namespace: string, action: Extract<DrainAction, { event: string }>): void {
    const { name, uid } = action.replica;
    this.requests.increase({ event: action.event });
    this.#options.events.record({
      regarding: { apiVersion: 'longhorn.io/v1beta2', kind: 'Replica', namespace, name, uid },
      type: 'Normal',
      reason: action.event,
      action: 'Evict',
      note: action.message,
    });
  }
}

/** Some of those whose turn it is; a cordon that comes meanwhile is not to wait for all of them. */
function takeSome(known: Known, nodes: readonly { name: string }[], nowMs: number): Set<string> {
  if (nowMs - known.wholeAtMs >= wholeEveryMs) {
    known.wholeAtMs = nowMs;
    known.unjudged = new Set(nodes.map(({ name }) => name));
    known.judged = new Map([...known.judged].filter(([name]) => known.unjudged.has(name)));
  }
  const some = new Set([...known.unjudged].slice(0, judgedAtOnce));
  for (const name of some) known.unjudged.delete(name);
  return some;
}

/** Actions that follow each other with nothing else in between, by what they do. */
function phasesOf(actions: readonly DrainAction[]): DrainAction[][] {
  return [...Map.groupBy(actions, ({ do: what }) => (what === 'keepBudget' ? 'createBudget' : what)).values()];
}
