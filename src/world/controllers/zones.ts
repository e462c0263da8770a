/**
 * How fast nodes of a zone may get a NoExecute taint. A zone of which most is down slows down or stops, because more
 * likely the network is at fault than the nodes; when every zone is down altogether, nobody is evicted at all.
 */
import type { Node } from '../objects/nodes.ts';
import type { ControllerTimings } from './timings.ts';

export type ZoneState = 'Initial' | 'Normal' | 'PartialDisruption' | 'FullDisruption';

export function zoneOf(node: Node): string {
  const labels = node.metadata.labels ?? {};
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`;
}

/** A token bucket that holds one token. */
class Limiter {
  readonly perSecond: number;
  #tokens: number;
  #countedAt: number;

  constructor(perSecond: number, nowMs: number) {
    this.perSecond = perSecond;
    this.#tokens = perSecond > 0 ? 1 : 0;
    this.#countedAt = nowMs;
  }

  tryAccept(nowMs: number): boolean {
    if (this.waitMs(nowMs) > 0) return false;
    this.#tokens = 0;
    return true;
  }

  waitMs(nowMs: number): number {
    const earned = ((nowMs - this.#countedAt) * this.perSecond) / 1000;
    this.#tokens = Math.min(1, this.#tokens + earned);
    this.#countedAt = nowMs;
    if (this.perSecond === 0) return Infinity;
    // Rounding must not leave a wait of nothing that never ends.
    return this.#tokens >= 1 - 1e-9 ? 0 : ((1 - this.#tokens) / this.perSecond) * 1000;
  }
}

export class Zone {
  state: ZoneState = 'Initial';
  /** Nodes that are to be tainted, in order. */
  readonly queue = new Set<string>();
  #limiter: Limiter;

  constructor(perSecond: number, nowMs: number) {
    this.#limiter = new Limiter(perSecond, nowMs);
  }

  limit(perSecond: number, nowMs: number): void {
    if (this.#limiter.perSecond === perSecond) return;
    const next = new Limiter(perSecond, nowMs);
    // Whoever had to wait goes on waiting: changing the rate is no way round it.
    if (perSecond > 0 && !this.#limiter.tryAccept(nowMs)) next.tryAccept(nowMs);
    this.#limiter = next;
  }

  tryAccept(nowMs: number): boolean {
    return this.#limiter.tryAccept(nowMs);
  }

  waitMs(nowMs: number): number {
    return this.#limiter.waitMs(nowMs);
  }
}

export interface ZoneCount {
  ready: number;
  notReady: number;
}

export class Zones {
  readonly #timings: ControllerTimings;
  readonly #zones = new Map<string, Zone>();

  constructor(timings: ControllerTimings) {
    this.#timings = timings;
  }

  of(node: Node, nowMs: number): Zone {
    const name = zoneOf(node);
    let zone = this.#zones.get(name);
    if (zone === undefined) {
      zone = new Zone(this.#timings.nodeEvictionRate, nowMs);
      this.#zones.set(name, zone);
    }
    return zone;
  }

  all(): Iterable<Zone> {
    return this.#zones.values();
  }

  /** `allDown`: every zone is down, and was not before. `allWereDown`: the first zone came back. */
  update(counts: ReadonlyMap<string, ZoneCount>, nowMs: number): 'allDown' | 'allWereDown' | undefined {
    for (const name of this.#zones.keys()) {
      if (!counts.has(name)) this.#zones.delete(name);
    }
    const zones = [...this.#zones].map(([name, zone]) => ({
      zone,
      count: counts.get(name) ?? { ready: 0, notReady: 0 },
    }));
    const next = zones.map(({ count }) => this.#stateOf(count));
    const allAre = next.every((state) => state === 'FullDisruption');
    const allWere = zones.every(({ zone }) => zone.state === 'FullDisruption');
    if (zones.length === 0 || (allAre && allWere)) return undefined;
    for (const [at, { zone, count }] of zones.entries()) {
      const state = next[at] ?? 'Normal';
      if (allAre) zone.limit(0, nowMs);
      else if (allWere || zone.state !== state) zone.limit(this.#rateOf(state, count), nowMs);
      zone.state = state;
    }
    return allAre ? 'allDown' : allWere ? 'allWereDown' : undefined;
  }

  #stateOf({ ready, notReady }: ZoneCount): ZoneState {
    if (ready === 0 && notReady > 0) return 'FullDisruption';
    const share = notReady / (ready + notReady);
    return notReady > 2 && share >= this.#timings.unhealthyZoneThreshold ? 'PartialDisruption' : 'Normal';
  }

  #rateOf(state: ZoneState, { ready, notReady }: ZoneCount): number {
    const { nodeEvictionRate, secondaryNodeEvictionRate, largeClusterSize } = this.#timings;
    if (state !== 'PartialDisruption') return nodeEvictionRate;
    return ready + notReady > largeClusterSize ? secondaryNodeEvictionRate : 0;
  }
}
