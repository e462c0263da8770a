/** Where the pages have what they show: a cluster that is watched, and in `make run` also its machines. */
import type { WorkloadReport } from '../cli/check-workloads.ts';
import { workloadReport } from '../cli/check-workloads.ts';
import type { ClusterWatch } from './cluster-watch.ts';
import { decoded } from './decoded.ts';
import { nodePage } from './incidents.ts';
import type { Looker } from './now.ts';
import { devicesPage, drainsPage, policiesPage, recordPage, workloadsPage } from './pages.ts';
import { rehearsePage } from './rehearse-page.ts';
import { nowParts } from './now.ts';

export interface ConsoleSource {
  /** Everything on a page, by name. */
  parts(page: string): ReadonlyMap<string, unknown>;
  /** Calls back whenever something may be otherwise; the answer stops it. */
  onChange(callback: () => void): () => void;
  /** By the API server's clock. */
  readonly nowMs: number;
  /** Since the API server last said anything. */
  readonly silentMs: number;
  /** How many look. */
  readonly watchers: number;
}

const workloadsEveryMs = 60_000;
/** What only time changes is not looked at more often. */
const sameMomentMs = 50;

export class ClusterSource implements ConsoleSource {
  readonly #cluster: ClusterWatch;
  readonly #looker: Looker;
  #watchers = 0;
  #lookedMs = -Infinity;
  #workloads: { at: string; found?: WorkloadReport; problem?: string } | undefined;
  #made: { atMs: number; parts: ReadonlyMap<string, unknown> } | undefined;

  constructor(cluster: ClusterWatch, looker: Looker) {
    this.#cluster = cluster;
    this.#looker = looker;
    cluster.onChange(() => {
      this.#made = undefined;
    });
  }

  get nowMs(): number {
    return this.#cluster.nowMs;
  }

  get silentMs(): number {
    return this.#cluster.silentMs;
  }

  get watchers(): number {
    return this.#watchers;
  }

  onChange(callback: () => void): () => void {
    this.#watchers += 1;
    const stop = this.#cluster.onChange(callback);
    return () => {
      this.#watchers -= 1;
      stop();
    };
  }

  /** What every page has at its head is on all of them, and behind it what the page is about. */
  parts(page: string): Map<string, unknown> {
    const parts = new Map(this.#head());
    const [kind = '', node = '', incident] = page.split('/').map(decoded);
    const shown = kind === 'node' ? (nodePage(this.#cluster, node, incident) ?? { missing: node }) : this.#page(kind);
    return shown === undefined ? parts : parts.set('page', shown);
  }

  #page(kind: string): object | undefined {
    switch (kind) {
      case 'workloads':
        this.#lookAtWorkloads();
        return workloadsPage(this.#cluster, this.#workloads);
      case 'devices':
        return devicesPage(this.#cluster);
      case 'policies':
        return policiesPage(this.#cluster);
      case 'rehearse':
        return rehearsePage(this.#cluster);
      case 'drains':
        return drainsPage(this.#cluster);
      case 'record':
        return recordPage(this.#cluster);
      default:
        return undefined;
    }
  }

  /** The whole cluster is read for it: only while somebody looks, and not more often than once in a while. */
  #lookAtWorkloads(): void {
    const { nowMs } = this;
    const { place } = this.#cluster;
    if (place === undefined || nowMs - this.#lookedMs < workloadsEveryMs) return;
    this.#lookedMs = nowMs;
    const at = new Date(nowMs).toISOString();
    const flags = { allowAgentParameters: [] };
    void workloadReport(this.#cluster.client, place.namespace, { names: [], flags }).then(
      (found) => (this.#workloads = { at, found }),
      (error: unknown) => (this.#workloads = { at, problem: error instanceof Error ? error.message : String(error) }),
    );
  }

  /** Made once for all who look in the same moment. */
  #head(): ReadonlyMap<string, unknown> {
    const atMs = this.nowMs;
    if (this.#made === undefined || Math.abs(atMs - this.#made.atMs) >= sameMomentMs) {
      this.#made = { atMs, parts: nowParts(this.#cluster, this.#looker) };
    }
    return this.#made.parts;
  }
}
