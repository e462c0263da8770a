/**
 * Watches what drains depend on. Of a cluster without a DrainPolicy that is only whether there is one: Nodes with their
 * labels, the storage system and its budgets are watched from the first policy on, and until nothing of ours is left.
 */
import type { DrainPolicyFacts } from '../api/drain-view.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { ListWatch } from '../kube/list-watch.ts';
import { drainPolicies, nodes } from '../kube/resources.ts';
import type { Change } from '../kube/view.ts';
import type { InstallationSource } from './installation-watch.ts';
import { InstallationWatch } from './installation-watch.ts';
import type { CordonFacts } from '../api/drain-view.ts';
import { drainPolicyFacts } from '../api/policy-facts.ts';
import { projectCordon } from './project-drain.ts';
import type { WatchState } from './watch-state.ts';
import { stateOf } from './watch-state.ts';

export interface DrainWatchOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  source: InstallationSource;
  /** `urgent`: of a Node or a policy; somebody may be about to drain. */
  onChange: (urgent: boolean) => void;
  onProblem: (watch: string, error: KubeError) => void;
}

export class DrainWatch {
  readonly #options: DrainWatchOptions;
  readonly #policies: ListWatch<DrainPolicyFacts | undefined>;
  readonly #installations = new Map<string, InstallationWatch>();
  readonly #running = new Set<Promise<void>>();
  #broken = Promise.withResolvers<never>();
  #nodes: { watch: ListWatch<CordonFacts>; stop: AbortController } | undefined;
  #signal: AbortSignal | undefined;

  constructor(options: DrainWatchOptions) {
    this.#options = options;
    const { client, clock, random, onProblem } = options;
    this.#policies = new ListWatch({
      client,
      clock,
      random,
      resource: drainPolicies,
      project: drainPolicyFacts,
      onChange: (change) => this.#policyChanged(change),
      onSync: () => this.tidy(),
      onProblem: (error) => onProblem('drainpolicies', error),
    });
  }

  /** Ends with `signal`; rejects only when something is broken beyond repair. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    await Promise.race([this.#policies.run(signal), this.#broken.promise]);
    await Promise.all(this.#running);
  }

  get policiesSynced(): boolean {
    return this.#policies.synced;
  }

  get synced(): boolean {
    return this.#policies.synced && (this.#nodes?.watch.synced ?? false);
  }

  get policies(): DrainPolicyFacts[] {
    return [...this.#policies.entries.values()].flatMap(({ value }) => value ?? []);
  }

  get nodes(): CordonFacts[] {
    return [...(this.#nodes?.watch.entries.values() ?? [])].map(({ value }) => value);
  }

  get installations(): InstallationWatch[] {
    return [...this.#installations.values()];
  }

  get watches(): WatchState[] {
    const cordons = this.#nodes === undefined ? [] : [stateOf('nodes (drains)', this.#nodes.watch)];
    const storage = this.installations.flatMap(({ watches }) => watches);
    return [stateOf('drainpolicies', this.#policies), ...cordons, ...storage];
  }

  /** Also where no policy wants it: something of ours was left there. */
  open(namespace: string): void {
    if (this.#installations.has(namespace) || this.#signal?.aborted !== false) return;
    const { client, clock, random, source, onChange, onProblem } = this.#options;
    const base = { client, clock, random, namespace, source, onProblem };
    const installation = new InstallationWatch({ ...base, onChange: () => onChange(false) });
    this.#installations.set(namespace, installation);
    this.#keep(installation.run(this.#signal));
    this.#nodes ??= this.#watchNodes(this.#signal);
  }

  /** Opens what a policy wants, and closes what none wants any more once nothing of ours is left in it. */
  tidy(): void {
    const wanted = new Set(this.policies.map(({ namespace }) => namespace));
    for (const namespace of wanted) this.open(namespace);
    for (const installation of this.installations) {
      if (wanted.has(installation.namespace) || !this.#policies.synced || !installation.isClean) continue;
      installation.close();
      this.#installations.delete(installation.namespace);
    }
    if (this.#installations.size === 0) {
      this.#nodes?.stop.abort();
      this.#nodes = undefined;
    }
    this.#options.onChange(true);
  }

  #policyChanged({ type, entry }: Change<DrainPolicyFacts | undefined>): void {
    if (type !== 'deleted' && entry.value === undefined) {
      const message = `DrainPolicy ${entry.key} lacks fields that its CRD fills in, and is not in force: install the CRDs of this version`;
      this.#options.onProblem('drainpolicies', { kind: 'malformed', message, mayHaveHappened: false });
    }
    this.tidy();
  }

  #watchNodes(signal: AbortSignal): { watch: ListWatch<CordonFacts>; stop: AbortController } {
    const { client, clock, random, onChange, onProblem } = this.#options;
    const stop = new AbortController();
    const watch = new ListWatch<CordonFacts>({
      client,
      clock,
      random,
      resource: nodes,
      project: projectCordon,
      onChange: (change) => {
        if (change.type !== 'updated' || isNews(change.previous.value, change.entry.value)) onChange(true);
      },
      onSync: () => onChange(true),
      onProblem: (error) => onProblem('nodes', error),
      timings: { pageSize: 100 },
    });
    this.#keep(watch.run(AbortSignal.any([signal, stop.signal])));
    return { watch, stop };
  }

  #keep(running: Promise<void>): void {
    const kept = running
      .catch((error: unknown) => this.#broken.reject(error))
      .finally(() => this.#running.delete(kept));
    this.#running.add(kept);
  }
}

/** Kubelets write to their Node all the time; of that nothing matters here. */
function isNews(before: CordonFacts, now: CordonFacts): boolean {
  if (before.cordoned !== now.cordoned) return true;
  const entries = Object.entries(now.labels);
  return (
    entries.length !== Object.keys(before.labels).length || entries.some(([key, value]) => before.labels[key] !== value)
  );
}
