/**
 * The node lifecycle controller: calls nodes Unknown that are silent, taints them, and marks their pods not ready.
 *
 * Silence is measured by its own clock, from when it saw a heartbeat change; the times written in it are never read.
 */
import type { Condition } from '../objects/meta.ts';
import { conditionOf, isReady } from '../objects/meta.ts';
import type { Lease, Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { statusPatch } from '../objects/status-patch.ts';
import { apiTime } from '../objects/times.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informer } from './informer.ts';
import { hasTaint, noScheduleSwap, notReadyTaint, swapTaints, unreachableTaint } from './node-taints.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { leases, nodes, pods } from './resources.ts';
import type { WorkQueue } from './work-queue.ts';
import type { ZoneCount } from './zones.ts';
import { zoneOf, Zones } from './zones.ts';

interface Health {
  probedAt: number;
  heartbeat: string | undefined;
  renewal: string | undefined;
}

const who = 'node-controller';
const atOnce = 8;
/** Of a node that fell silent; the network condition is somebody else's. */
const conditionTypes = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
const noExecute = (key: string): { key: string; effect: string } => ({ key, effect: 'NoExecute' });

export class NodeLifecycle {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #nodes: Informer<Node>;
  readonly #leases: Informer<Lease>;
  readonly #podsByNode: Index<Pod>;
  readonly #zones: Zones;
  readonly #health = new Map<string, Health>();
  readonly #retryPods = new Set<string>();
  readonly #evicting: WorkQueue;

  constructor(host: ControllerHost, { podsByNode }: PodIndexes) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#nodes = host.informers.of(nodes);
    this.#leases = host.informers.of(leases);
    this.#podsByNode = podsByNode;
    this.#zones = new Zones(host.timings);
    const scheduling = host.queue(who, (name) => this.#taintNoSchedule(name), { workers: 8 });
    this.#nodes.on(({ key, object }) => {
      if (object === undefined) return;
      const { add, remove } = noScheduleSwap(object);
      if (add.length + remove.length > 0) scheduling.add(key);
    });
    const bound = host.queue(who, (key) => this.#podBound(key));
    host.informers.of<Pod>(pods).on(({ key, object, previous }) => {
      if (object?.spec.nodeName !== undefined && previous?.spec.nodeName === undefined && isReady(object))
        bound.add(key);
    });
    this.#evicting = host.queue(who, () => this.#taintNoExecute());
    host.every(who, host.timings.nodeMonitorPeriodMs, () => this.#monitor());
  }

  async #taintNoSchedule(name: string): Promise<undefined> {
    const node = this.#nodes.get(name);
    if (node !== undefined) await swapTaints(this.#api, node, noScheduleSwap(node), this.#host.clock.now());
  }

  /** A pod that comes to a node which is not ready is not ready either, whatever was said of it before. */
  async #podBound(key: string): Promise<undefined> {
    const pod = this.#host.informers.of<Pod>(pods).get(key);
    const node = this.#nodes.get(pod?.spec.nodeName ?? '');
    if (pod === undefined || node === undefined || isReady(node)) return;
    if (conditionOf(node, 'Ready') !== undefined) await this.#markNotReady(pod);
  }

  async #monitor(): Promise<void> {
    const all = [...this.#nodes.values()];
    for (const name of this.#health.keys()) if (this.#nodes.get(name) === undefined) this.#health.delete(name);
    const counts = new Map<string, ZoneCount>();
    for (let at = 0; at < all.length; at += atOnce) {
      const batch = all.slice(at, at + atOnce);
      // Most nodes need no call at all; awaiting nothing keeps a large fleet cheap.
      const calls = batch.flatMap((node) => this.#look(node) ?? []);
      if (calls.length > 0) await Promise.all(calls);
    }
    for (const { metadata } of all) {
      const node = this.#nodes.get(metadata.name);
      if (node === undefined || node.metadata.labels?.['node.kubernetes.io/exclude-disruption'] !== undefined) continue;
      const zone = zoneOf(node);
      this.#zones.of(node, this.#host.clock.monotonic());
      const count = counts.get(zone) ?? { ready: 0, notReady: 0 };
      counts.set(zone, count);
      if (isReady(node)) count.ready += 1;
      else count.notReady += 1;
    }
    await this.#weighZones(counts);
    this.#evicting.add('');
  }

  /** What there is to do about one node; undefined: nothing. */
  #look(node: Node): Promise<void> | undefined {
    const { name } = node.metadata;
    const { clock, timings } = this.#host;
    const now = clock.monotonic();
    const health = this.#observe(node, now);
    const ready = conditionOf(node, 'Ready');
    const graceMs = ready === undefined ? timings.nodeStartupGraceMs : timings.nodeMonitorGraceMs;
    const silent = now - health.probedAt >= graceMs;
    if (silent && (ready === undefined || ready.status !== 'Unknown')) return this.#declareUnknown(node);
    if (this.#retryPods.has(name) && ready?.status !== 'True') return this.#markPods(name);
    return this.#taintBy(node);
  }

  #observe(node: Node, now: number): Health {
    const { name } = node.metadata;
    const heartbeat = conditionOf(node, 'Ready')?.lastHeartbeatTime;
    const renewal = this.#leases.get(`kube-node-lease/${name}`)?.spec?.renewTime;
    let health = this.#health.get(name);
    if (health === undefined) {
      health = { probedAt: now, heartbeat, renewal };
      this.#health.set(name, health);
    }
    const renewed = renewal !== undefined && (health.renewal === undefined || renewal > health.renewal);
    if (heartbeat !== health.heartbeat || renewed) health.probedAt = now;
    health.heartbeat = heartbeat;
    if (renewed) health.renewal = renewal;
    return health;
  }

  async #declareUnknown(seen: Node): Promise<void> {
    const { name } = seen.metadata;
    const wasReady = isReady(seen);
    const done = await this.#host.attempt(who, async () => {
      const patch = statusPatch(seen, { fields: {}, conditions: unknownConditions(seen, this.#host.clock.now()) });
      if (patch === undefined) return;
      await this.#api.patch(nodes, seen, patch.operations, { subresource: 'status', exact: true });
    });
    if (!done) {
      // It has changed under us: perhaps it is back.
      const fresh = this.#nodes.get(name);
      if (fresh !== undefined && fresh.metadata.resourceVersion !== seen.metadata.resourceVersion) {
        return this.#look(fresh);
      }
      return;
    }
    if (wasReady) await this.#markPods(name);
    const node = this.#nodes.get(name);
    if (node !== undefined) await this.#taintBy(node);
  }

  async #markPods(nodeName: string): Promise<void> {
    this.#retryPods.delete(nodeName);
    for (const pod of this.#podsByNode.of(nodeName).values()) {
      const done = await this.#host.attempt(who, () => this.#markNotReady(pod));
      if (!done) this.#retryPods.add(nodeName);
    }
  }

  async #markNotReady(pod: Pod): Promise<void> {
    const condition = conditionOf(pod, 'Ready');
    if (condition === undefined || condition.status === 'False') return;
    const conditions = [{ ...condition, status: 'False', lastTransitionTime: apiTime(this.#host.clock.now()) }];
    await this.#api.status(pods, pod, { fields: {}, conditions });
  }

  /** Swaps the taint at once where one of the two is there, else puts the node into the queue of its zone. */
  #taintBy(node: Node): Promise<void> | undefined {
    const zone = this.#zones.of(node, this.#host.clock.monotonic());
    const { name } = node.metadata;
    const notReady = hasTaint(node, notReadyTaint, 'NoExecute');
    const unreachable = hasTaint(node, unreachableTaint, 'NoExecute');
    switch (conditionOf(node, 'Ready')?.status) {
      case 'True':
        zone.queue.delete(name);
        return notReady || unreachable ? this.#removeNoExecute(node) : undefined;
      case 'False':
        if (unreachable) return this.#swap(node, notReadyTaint, unreachableTaint);
        if (!notReady) zone.queue.add(name);
        return undefined;
      case 'Unknown':
        if (notReady) return this.#swap(node, unreachableTaint, notReadyTaint);
        if (!unreachable) zone.queue.add(name);
        return undefined;
      default:
        return undefined;
    }
  }

  async #swap(node: Node, add: string, remove: string): Promise<void> {
    const swap = { add: [noExecute(add)], remove: [noExecute(remove)] };
    await this.#host.attempt(who, () => swapTaints(this.#api, node, swap, this.#host.clock.now()));
  }

  async #removeNoExecute(node: Node): Promise<void> {
    const swap = { add: [], remove: [noExecute(notReadyTaint), noExecute(unreachableTaint)] };
    await this.#host.attempt(who, () => swapTaints(this.#api, node, swap, this.#host.clock.now()));
  }

  async #weighZones(counts: ReadonlyMap<string, ZoneCount>): Promise<void> {
    const now = this.#host.clock.monotonic();
    const turn = this.#zones.update(counts, now);
    if (turn === 'allDown') {
      for (const node of this.#nodes.values()) {
        this.#zones.of(node, now).queue.delete(node.metadata.name);
        await this.#removeNoExecute(node);
      }
    }
    // Nobody could report while everything was down: all get their full time once more.
    if (turn === 'allWereDown') for (const health of this.#health.values()) health.probedAt = now;
  }

  async #taintNoExecute(): Promise<number | undefined> {
    let nextMs = Infinity;
    for (const zone of this.#zones.all()) {
      for (const name of zone.queue) {
        const now = this.#host.clock.monotonic();
        if (!zone.tryAccept(now)) {
          nextMs = Math.min(nextMs, zone.waitMs(now));
          break;
        }
        if (await this.#host.attempt(who, () => this.#evict(name))) zone.queue.delete(name);
        else nextMs = Math.min(nextMs, zone.waitMs(now));
      }
    }
    return nextMs === Infinity ? undefined : nextMs;
  }

  async #evict(name: string): Promise<void> {
    const node = this.#nodes.get(name);
    const status = conditionOf(node, 'Ready')?.status;
    if (node === undefined || status === undefined || status === 'True') return;
    const [add, remove] = status === 'False' ? [notReadyTaint, unreachableTaint] : [unreachableTaint, notReadyTaint];
    const swap = { add: [noExecute(add)], remove: [noExecute(remove)] };
    await swapTaints(this.#api, node, swap, this.#host.clock.now());
  }
}

function unknownConditions(node: Node, nowMs: number): Condition[] {
  const lastTransitionTime = apiTime(nowMs);
  return conditionTypes.map((type) => {
    const known = conditionOf(node, type);
    if (known === undefined) {
      return {
        type,
        status: 'Unknown',
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
        lastHeartbeatTime: node.metadata.creationTimestamp ?? lastTransitionTime,
        lastTransitionTime,
      };
    }
    if (known.status === 'Unknown') return known;
    return {
      ...known,
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
      lastTransitionTime,
    };
  });
}
