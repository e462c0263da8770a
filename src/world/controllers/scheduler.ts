/**
 * The scheduler: gives each pod a node that fits, and says why where none does. Simplified against the stock one: it
 * spreads and balances but weighs no preferences, and it never preempts.
 */
import { controllerOf, isTerminating } from '../objects/meta.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import { apiTime } from '../objects/times.ts';
import type { Api } from './api.ts';
import type { HostOptions } from './host.ts';
import { ControllerHost } from './host.ts';
import type { Informer } from './informer.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { indexPods } from './pod-indexes.ts';
import { nodes, persistentVolumeClaims, persistentVolumes, pods, storageClasses } from './resources.ts';
import type { FitSources } from './scheduler-fit.ts';
import { antiAffinityOf, filtersFor, namedNodes } from './scheduler-fit.ts';
import { factsOf, NodeLoads } from './scheduler-nodes.ts';
import { SchedulerVolumes } from './scheduler-volumes.ts';
import type { WorkQueue } from './work-queue.ts';

export type SchedulerOptions = HostOptions & { indexes?: PodIndexes };

const who = 'system:kube-scheduler';
const schedulerName = 'default-scheduler';
const backoff = { firstMs: 1000, maxMs: 10_000 };
/** A pod that found no place is tried again after this even if nothing seems to have changed. */
const flushMs = 300_000;

export class Scheduler {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #volumes: SchedulerVolumes;
  readonly #sources: FitSources;
  readonly #repelling = new Map<string, Pod>();
  readonly #queue: WorkQueue;
  /** Pods that found no place: how often, and when they were last tried. */
  readonly #unplaced = new Map<string, { attempts: number; triedAt: number }>();

  constructor(options: SchedulerOptions) {
    this.#host = new ControllerHost(who, options);
    this.#api = this.#host.apiFor(who);
    const { informers } = this.#host;
    const indexes = options.indexes ?? indexPods(informers);
    this.#pods = informers.of(pods);
    this.#nodes = informers.of(nodes);
    this.#volumes = new SchedulerVolumes(informers, indexes);
    const loads = new NodeLoads(this.#pods);
    this.#sources = { nodes: this.#nodes, loads, indexes, repelling: this.#repelling };
    // One after the other: two decisions at once would fill the same gap twice.
    this.#queue = this.#host.queue(who, (key) => this.#schedule(key), { workers: 1 });
    this.#pods.on(({ key, object, previous }) => this.#podChanged(key, object, previous));
    this.#nodes.on(({ object, previous }) => {
      if (object !== undefined && (previous === undefined || isNews(object, previous))) this.#wakeAll();
    });
    for (const resource of [persistentVolumeClaims, persistentVolumes, storageClasses]) {
      informers.of(resource).on(() => this.#wakeAll());
    }
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#host.run(signal);
  }

  #podChanged(key: string, pod: Pod | undefined, previous: Pod | undefined): void {
    if (pod === undefined) {
      this.#unplaced.delete(key);
      this.#repelling.delete(key);
    } else {
      if (antiAffinityOf(pod).length > 0) this.#repelling.set(key, pod);
      const isOurs = (pod.spec.schedulerName ?? schedulerName) === schedulerName;
      if (isOurs && pod.spec.nodeName === undefined && !this.#unplaced.has(key)) this.#queue.add(key);
    }
    // Whoever leaves makes room, and whoever arrives may be one to be near to.
    const left =
      previous?.spec.nodeName !== undefined && (pod === undefined || (isFinished(pod) && !isFinished(previous)));
    const arrived = pod?.spec.nodeName !== undefined && previous?.spec.nodeName === undefined;
    if (left || arrived) this.#wakeAll();
  }

  #wakeAll(): void {
    const now = this.#host.clock.monotonic();
    for (const [key, { attempts, triedAt }] of this.#unplaced) {
      const waitMs = Math.min(backoff.maxMs, backoff.firstMs * 2 ** (attempts - 1)) - (now - triedAt);
      if (waitMs > 0) this.#queue.addAfter(key, waitMs);
      else this.#queue.add(key);
    }
  }

  async #schedule(key: string): Promise<number | undefined> {
    const pod = this.#pods.get(key);
    if (pod === undefined || pod.spec.nodeName !== undefined || isTerminating(pod) || isFinished(pod)) return undefined;
    if ((pod.spec.schedulingGates?.length ?? 0) > 0 || this.#sources.loads.nodeOf(pod) !== undefined) return undefined;
    const found = this.#place(pod);
    if ('reason' in found) return this.#refuse(key, pod, found.reason);
    if (found.waiting.length > 0 && !(await this.#volumes.bind(this.#api, found.waiting, found.node))) {
      this.#unplaced.set(key, { attempts: 1, triedAt: this.#host.clock.monotonic() - backoff.firstMs });
      return backoff.firstMs;
    }
    this.#unplaced.delete(key);
    this.#sources.loads.assume(pod, found.node.metadata.name);
    try {
      if (!(await this.#api.bind(pod, found.node.metadata.name))) this.#sources.loads.forget(pod);
    } catch (error) {
      this.#sources.loads.forget(pod);
      throw error;
    }
    return undefined;
  }

  #place(pod: Pod): { node: Node; waiting: Parameters<SchedulerVolumes['bind']>[1] } | { reason: string } {
    const needs = this.#volumes.needsOf(pod);
    const total = `0/${this.#nodes.size} nodes are available`;
    if (needs.kind === 'refused') return { reason: `${total}: ${needs.reason}.` };
    const filters = [...filtersFor(pod, this.#sources), needs.filter];
    const reasons = new Map<string, number>();
    const fitting: Node[] = [];
    const named = namedNodes(pod);
    const candidates = named?.flatMap((name) => this.#nodes.get(name) ?? []) ?? this.#nodes.values();
    let looked = 0;
    for (const node of candidates) {
      looked += 1;
      let reason: string | undefined;
      for (const filter of filters) {
        reason = filter(node);
        if (reason !== undefined) break;
      }
      if (reason === undefined) fitting.push(node);
      else reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    const node = this.#best(pod, fitting);
    if (node !== undefined) return { node, waiting: needs.waiting };
    if (looked === 0 && named === undefined) return { reason: 'no nodes available to schedule pods' };
    if (looked < this.#nodes.size) {
      reasons.set("node(s) didn't match Pod's node affinity/selector", this.#nodes.size - looked);
    }
    const told = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
    return { reason: `${total}: ${told.join(', ')}.` };
  }

  /** Away from its siblings first, then where most is free; among equals by chance. */
  #best(pod: Pod, fitting: readonly Node[]): Node | undefined {
    const { loads } = this.#sources;
    const uid = controllerOf(pod)?.uid;
    const siblings = new Map<string, number>();
    if (fitting.length > 1 && uid !== undefined) {
      for (const node of this.#nodes.values()) {
        const count = loads.of(node.metadata.name).byController.get(uid) ?? 0;
        const { zone } = factsOf(node);
        if (count > 0) siblings.set(zone, (siblings.get(zone) ?? 0) + count);
      }
    }
    let best: Node[] = [];
    let bestScore = -Infinity;
    for (const node of fitting) {
      const load = loads.of(node.metadata.name);
      const facts = factsOf(node);
      const here = uid === undefined ? 0 : (load.byController.get(uid) ?? 0);
      const full = Math.max(load.cpu / (facts.cpu || 1), load.pods / (facts.pods || 1));
      const score = -1000 * here - 100 * (siblings.get(facts.zone) ?? 0) - full;
      if (score > bestScore) best = [];
      if (score >= bestScore) best.push(node);
      bestScore = Math.max(score, bestScore);
    }
    return best[Math.floor(this.#host.random() * best.length)];
  }

  async #refuse(key: string, pod: Pod, message: string): Promise<number> {
    const attempts = (this.#unplaced.get(key)?.attempts ?? 0) + 1;
    this.#unplaced.set(key, { attempts, triedAt: this.#host.clock.monotonic() });
    const lastTransitionTime = apiTime(this.#host.clock.now());
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime };
    await this.#api.status(pods, pod, { fields: {}, conditions: [condition] });
    return flushMs;
  }
}

/** Something that can make a pod fit that did not. */
function isNews(node: Node, previous: Node): boolean {
  const facts = ({ metadata, spec, status }: Node): string =>
    JSON.stringify([
      metadata.labels,
      spec?.taints?.map(({ key, value, effect }) => [key, value, effect]),
      spec?.unschedulable,
      status?.allocatable,
    ]);
  return facts(node) !== facts(previous);
}
