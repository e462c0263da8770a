/**
 * What the generator knows of a cluster while it thinks up what happens to it: enough to see what may happen next, and
 * where a pod would go. What it cannot know for sure counts as unknown, and nothing is built upon that.
 */
import type { Fault, NodeAt, Place, Scenario, Workload } from './scenario.ts';
import { poolSize, times } from './scenario.ts';

export type Trouble = 'off' | 'hung' | 'cutOff' | 'noKubelet';

interface NodeOutlook {
  trouble: Trouble | undefined;
  /** When that began or ended. */
  changedAtMs: number;
  cordoned: boolean;
  /** `key:effect` */
  taints: Set<string>;
  /** There is a Node. */
  known: boolean;
  /** The Node was made anew: what others had written on it is gone. */
  forgotten: boolean;
}

/** After this, what a node's silence leads to has begun or has been undone, with time to spare. */
export const certainAfterMs = times.graceMs + 6000;

export class Outlook {
  readonly nodes: NodeOutlook[];
  readonly replicas = new Map<string, number>();
  readonly #workloads: readonly Workload[];
  nowMs = 0;
  zoneDown: NodeAt[] = [];
  dark = false;
  detach: 'none' | 'errors' | 'hangs' = 'none';

  constructor({ workloads }: Pick<Scenario, 'workloads'>) {
    this.#workloads = workloads;
    this.nodes = Array.from({ length: poolSize }, () => ({
      trouble: undefined,
      changedAtMs: -certainAfterMs,
      cordoned: false,
      taints: new Set(),
      known: true,
      forgotten: false,
    }));
    for (const { name, places } of workloads) this.replicas.set(name, places.length);
  }

  at(node: NodeAt): NodeOutlook {
    const outlook = this.nodes[node];
    if (outlook === undefined) throw new RangeError(`no node ${node}`);
    return outlook;
  }

  /** Long enough as it is. */
  isSettled(node: NodeAt): boolean {
    return this.nowMs - this.at(node).changedAtMs >= certainAfterMs;
  }

  get troubled(): number {
    return this.nodes.filter(({ trouble, known }) => trouble !== undefined || !known).length;
  }

  /** Whether a pod that has to be placed now goes to a node that can be told beforehand, or has to wait. */
  isPlacementCertain({ home, spare }: Place): boolean {
    const doors = [this.#door(home), spare === undefined ? 'shut' : this.#door(spare, true)];
    return !doors.includes('unknown') && doors.filter((door) => door === 'open').length <= 1;
  }

  placeOf(workload: string, ordinal: number): Place | undefined {
    return this.#workloads.find(({ name }) => name === workload)?.places[ordinal];
  }

  #door(node: NodeAt, labelled = false): 'open' | 'shut' | 'unknown' {
    const { trouble, cordoned, taints, known, forgotten } = this.at(node);
    if (!known || (labelled && forgotten)) return 'shut';
    if (cordoned || taints.size > 0) return 'shut';
    if (!this.isSettled(node)) return 'unknown';
    return trouble === undefined ? 'open' : 'shut';
  }

  take(fault: Fault): void {
    switch (fault.do) {
      case 'powerOff':
        return this.#set(fault.node, 'off');
      case 'hang':
        return this.#set(fault.node, 'hung');
      case 'partition':
        return this.#set(fault.node, 'cutOff');
      case 'kubeletStop':
        return this.#set(fault.node, 'noKubelet');
      case 'powerOn':
      case 'reboot':
      case 'resume':
      case 'heal':
      case 'kubeletStart':
        if (['powerOn', 'reboot', 'kubeletStart'].includes(fault.do)) this.at(fault.node).known = true;
        return this.#set(fault.node, undefined);
      case 'cordon':
      case 'uncordon':
        this.at(fault.node).cordoned = fault.do === 'cordon';
        return undefined;
      case 'taint':
        this.at(fault.node).taints.add(`${fault.key}:${fault.effect}`);
        return undefined;
      case 'untaint':
        this.at(fault.node).taints.delete(`${fault.key}:${fault.effect}`);
        return undefined;
      case 'deleteNode':
        Object.assign(this.at(fault.node), { known: false, forgotten: true, cordoned: false });
        this.at(fault.node).taints.clear();
        return undefined;
      case 'zonePartition':
      case 'zoneHeal':
        this.zoneDown = fault.do === 'zonePartition' ? fault.nodes : [];
        for (const node of fault.nodes) this.#set(node, fault.do === 'zonePartition' ? 'cutOff' : undefined);
        return undefined;
      case 'blackout':
      case 'lightsOn':
        this.dark = fault.do === 'blackout';
        for (const node of this.nodes.keys()) this.#set(node as NodeAt, this.dark ? 'cutOff' : undefined);
        return undefined;
      case 'scale':
        this.replicas.set(fault.workload, fault.replicas);
        return undefined;
      case 'detach':
        this.detach = fault.fault;
        return undefined;
      case 'deletePod':
      case 'evict':
        return undefined;
    }
  }

  #set(node: NodeAt, trouble: Trouble | undefined): void {
    const outlook = this.at(node);
    outlook.trouble = trouble;
    outlook.changedAtMs = this.nowMs;
  }
}
