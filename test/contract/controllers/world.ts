/**
 * What a behaviour of the controllers is tried out in: an API server, some controllers, and the simulated fleet.
 *
 * In real time everything may be late, because the machine is busy: there only what comes too early is wrong, by the
 * times that the server and the controllers write down. In virtual time nothing is late, and being late is wrong too.
 */
import type { Clock } from '../../../src/clock.ts';
import { sleep } from '../../../src/clock.ts';
import type { KubeClient, KubeObject } from '../../../src/kube/client.ts';
import type { Transport } from '../../../src/kube/transport.ts';
import { Informers } from '../../../src/world/controllers/informer.ts';
import * as resources from '../../../src/world/controllers/resources.ts';
import type { FleetNode } from '../../../src/world/fleet.ts';
import { Fleet } from '../../../src/world/fleet.ts';
import type { Pod } from '../../../src/world/objects/pods.ts';

/** The times that the controllers under test run with. */
export interface ContractTimes {
  /** Silence until a node is Unknown. */
  graceMs: number;
  monitorMs: number;
  /** What a pod tolerates that says nothing else. */
  tolerationMs: number;
  /** One node of a zone after the other gets its NoExecute taint so far apart. */
  evictionGapMs: number;
  podGcMs: number;
  quarantineMs: number;
  attachSyncMs: number;
  /** How long a detach waits for its driver. */
  attachTimeoutMs: number;
  forceDetachMs: number;
}

export const driver = 'csi.contract.test';
/** A second one, for volumes that need no attaching. */
export const attachlessDriver = 'attachless.contract.test';

export interface WorldOptions {
  clock: Clock;
  random: () => number;
  client: KubeClient;
  transportFor: (user: string) => Transport;
  /** Those that are there all the time. */
  nodes: readonly FleetNode[];
  times: ContractTimes;
  /** Time is virtual: everything is done at the moment in which it is due. */
  exact: boolean;
}

const watched = [
  resources.pods,
  resources.nodes,
  resources.volumeAttachments,
  resources.persistentVolumes,
  resources.persistentVolumeClaims,
  resources.statefulSets,
  resources.replicaSets,
  resources.deployments,
  resources.daemonSets,
  resources.jobs,
  resources.podDisruptionBudgets,
  resources.namespaces,
];

export class ContractWorld {
  readonly clock: Clock;
  readonly client: KubeClient;
  readonly times: ContractTimes;
  readonly fleet: Fleet;
  /** An eye of its own: dozens of behaviours that ask the server ten times a second would be most of its load. */
  readonly seen: Informers;
  readonly exact: boolean;
  /** How each object was shown when it first was on its way out, and when it was gone, by UID. */
  readonly endings = new Map<string, { begun?: KubeObject; gone?: KubeObject }>();
  readonly #ended = new AbortController();
  readonly #running: Promise<unknown>[] = [];

  constructor(options: WorldOptions) {
    const { clock, random, client, times } = options;
    this.clock = clock;
    this.client = client;
    this.times = times;
    this.exact = options.exact;
    this.seen = new Informers({ client, clock, random, onProblem: () => {} });
    for (const resource of watched) this.seen.of(resource).on((change) => this.#note(change.object, change.previous));
    this.fleet = new Fleet({
      clock,
      random,
      transportFor: options.transportFor,
      nodes: options.nodes,
      drivers: [driver, attachlessDriver],
      bootTimeMs: 1500,
      // Many renewals fit into the grace period, so that it takes a very busy machine to make a living node silent.
      kubelet: {
        leaseRenewMs: times.graceMs / 8,
        statusEveryMs: times.graceMs / 8,
        reportEveryMs: 60_000,
        reconnectMs: 500,
      },
      behaviourOf,
    });
  }

  async start(): Promise<void> {
    this.#running.push(this.seen.run(this.#ended.signal));
    await new Promise<void>((resolve) => this.seen.whenSynced(resolve));
    this.fleet.start();
  }

  async stop(): Promise<void> {
    await this.fleet.stop();
    this.#ended.abort();
    await Promise.all(this.#running);
  }

  /** Machines that are there from now on. */
  join(nodes: readonly FleetNode[]): void {
    for (const node of nodes) this.fleet.add(node).powerOn(0);
  }

  /**
   * Looks until `look` answers something; what it last threw is told when it never does. Meanwhile `always` must hold:
   * what it throws ends the wait. `wantedMs` counts where time is exact.
   */
  async until<T>(
    what: string,
    look: () => T | Promise<T>,
    wantedMs?: number,
    always: () => void = () => {},
  ): Promise<Exclude<T, false | undefined>> {
    const withinMs = (this.exact ? wantedMs : undefined) ?? patienceMs;
    const deadline = this.clock.monotonic() + withinMs;
    let last: unknown;
    for (;;) {
      always();
      try {
        const answer = await look();
        if (answer !== undefined && answer !== false) return answer as Exclude<T, false | undefined>;
        last = undefined;
      } catch (error) {
        last = error;
      }
      if (this.clock.monotonic() >= deadline) {
        const detail = last instanceof Error ? `: ${last.message}` : '';
        throw new Error(`waited ${withinMs} ms in vain for ${what}${detail}`, { cause: last });
      }
      await sleep(this.clock, lookEveryMs);
    }
  }

  /** Something that must hold all the time. */
  async stays(forMs: number, check: () => void | Promise<void>): Promise<void> {
    const until = this.clock.monotonic() + forMs;
    for (;;) {
      await check();
      if (this.clock.monotonic() >= until) return;
      await sleep(this.clock, 100);
    }
  }

  #note(object: KubeObject | undefined, previous: KubeObject | undefined): void {
    const { uid = '' } = (object ?? previous)?.metadata ?? {};
    const known = this.endings.get(uid) ?? {};
    if (object === undefined && previous !== undefined)
      this.endings.set(uid, { begun: previous, ...known, gone: previous });
    if (object?.metadata.deletionTimestamp !== undefined) this.endings.set(uid, { begun: object, ...known });
  }
}

const lookEveryMs = 50;
/** Longer than anything takes that the controllers do by themselves, on however busy a machine. */
const patienceMs = 240_000;

/** How the containers of a pod behave, as its annotations want it. */
function behaviourOf(pod: Pod): { startupMs: number; stopMs: number; exit?: { afterMs: number; code: number } } {
  const { annotations = {} } = pod.metadata;
  const code = annotations['test/exit'];
  return {
    startupMs: Number(annotations['test/startup-ms'] ?? 100),
    stopMs: Number(annotations['test/stop-ms'] ?? 100),
    ...(code === undefined ? {} : { exit: { afterMs: 300, code: Number(code) } }),
  };
}
