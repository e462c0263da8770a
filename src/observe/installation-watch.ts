/** Watches one installation of a storage system: its objects, and the budgets of its namespace. */
import { EVICTING_FOR } from '../api/drain-names.ts';
import type { BudgetFacts } from '../api/drain-view.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { ListWatch } from '../kube/list-watch.ts';
import { compareVersions } from '../kube/resource-version.ts';
import type { Resource } from '../kube/resources.ts';
import type { WatchState } from './watch-state.ts';
import { stateOf } from './watch-state.ts';

/** What there is to watch, and what is kept of it. */
export interface InstallationSource {
  resources: readonly Resource[];
  slim: (object: KubeObject) => KubeObject;
  budgets: Resource;
  budgetFacts: (object: KubeObject) => BudgetFacts;
}

export interface InstallationOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  namespace: string;
  source: InstallationSource;
  onChange: () => void;
  onProblem: (watch: string, error: KubeError) => void;
}

export interface Refusal {
  resource: Resource;
  kind: 'notFound' | 'forbidden';
}

/** What we have written: this version of an object, or that it is gone. */
export interface OwnWrite {
  resource: Resource;
  name: string;
  uid: string;
  /** Absent: deleted. */
  version?: string;
}

export class InstallationWatch {
  readonly namespace: string;
  readonly #storage: Map<Resource, ListWatch<KubeObject>>;
  readonly #budgets: ListWatch<BudgetFacts>;
  readonly #source: InstallationSource;
  readonly #clock: Clock;
  readonly #refused = new Map<Resource, { kind: Refusal['kind']; atMs: number }>();
  readonly #stop = new AbortController();
  #written: OwnWrite[] = [];
  #storageVersion = 0;
  #budgetsVersion = 0;

  constructor(options: InstallationOptions) {
    const { source, namespace } = options;
    this.namespace = namespace;
    this.#source = source;
    this.#clock = options.clock;
    this.#storage = new Map(
      source.resources.map((resource) => [
        resource,
        this.#watch(options, resource, source.slim, () => (this.#storageVersion += 1)),
      ]),
    );
    this.#budgets = this.#watch(options, source.budgets, source.budgetFacts, () => (this.#budgetsVersion += 1));
  }

  /** Ends with `signal` or `close`. */
  async run(signal: AbortSignal): Promise<void> {
    const both = AbortSignal.any([signal, this.#stop.signal]);
    await Promise.all([...this.#storage.values(), this.#budgets].map((watch) => watch.run(both)));
  }

  close(): void {
    this.#stop.abort();
  }

  get synced(): boolean {
    return this.#budgets.synced && [...this.#storage.values()].every(({ synced }) => synced);
  }

  /** A resource that the API server does not know, or does not show us; until it has answered since. */
  get refused(): Refusal | undefined {
    const nowMs = this.#clock.monotonic();
    for (const [resource, { kind, atMs }] of this.#refused) {
      const watch = resource === this.#source.budgets ? this.#budgets : this.#storage.get(resource);
      if (watch !== undefined && nowMs - atMs <= watch.silentMs) return { resource, kind };
    }
    return undefined;
  }

  /** Grow with every change, so that what was worked out from an old state is known to be old. */
  get versions(): { storage: number; budgets: number } {
    return { storage: this.#storageVersion, budgets: this.#budgetsVersion };
  }

  get watches(): WatchState[] {
    const storage = [...this.#storage].map(([{ plural, group }, watch]) => stateOf(`${plural}.${group}`, watch));
    return [...storage, stateOf(this.#source.budgets.plural, this.#budgets)];
  }

  *objectsOf(resource: Resource): Generator<KubeObject> {
    for (const { value } of this.#storage.get(resource)?.entries.values() ?? []) yield value;
  }

  get budgets(): BudgetFacts[] {
    return [...this.#budgets.entries.values()].map(({ value }) => value);
  }

  wrote(write: OwnWrite): void {
    this.#written.push(write);
  }

  /** Whether the view shows all that we have written (S17). */
  get showsOwnWrites(): boolean {
    this.#written = this.#written.filter((write) => !this.#shows(write));
    return this.#written.length === 0;
  }

  /** Whoever waits no longer for what was written decides by what is there: each write tests what it was decided on. */
  forgetOwnWrites(): void {
    this.#written = [];
  }

  /** Nothing of ours is left in it. */
  get isClean(): boolean {
    if (!this.#budgets.synced || this.budgets.some(({ ours }) => ours)) return false;
    if (this.refused?.kind === 'notFound') return true;
    if (!this.synced) return false;
    const all = [...this.#storage.values()].flatMap((watch) => [...watch.entries.values()]);
    return all.every(({ value }) => value.metadata.annotations?.[EVICTING_FOR] === undefined);
  }

  #shows({ resource, name, uid, version }: OwnWrite): boolean {
    const watch = resource === this.#source.budgets ? this.#budgets : this.#storage.get(resource);
    const entry = watch?.entries.get(`${this.namespace}/${name}`);
    if (version === undefined) return entry?.uid !== uid;
    if (entry === undefined) return compareVersions(watch?.version ?? '0', version) >= 0;
    return entry.uid !== uid || compareVersions(entry.resourceVersion, version) >= 0;
  }

  #watch<T>(
    options: InstallationOptions,
    resource: Resource,
    project: (object: KubeObject) => T,
    onVersion: () => void,
  ): ListWatch<T> {
    const { client, clock, random, namespace, onChange, onProblem } = options;
    return new ListWatch<T>({
      client,
      clock,
      random,
      resource,
      namespace,
      project,
      onChange: () => {
        onVersion();
        onChange();
      },
      onSync: onChange,
      onProblem: (error) => {
        const { kind } = error;
        // A condition of the policy says so; a message every ten seconds would not help.
        if (kind !== 'notFound' && kind !== 'forbidden') return onProblem(resource.plural, error);
        this.#refused.set(resource, { kind, atMs: clock.monotonic() });
        onChange();
      },
    });
  }
}
