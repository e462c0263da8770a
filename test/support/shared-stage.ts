/** What all nodes share, over a cluster that a test says: who is there, who was heard of and when, and what devices say. */
import { timeOf } from '../../src/api/facts.ts';
import type { Method } from '../../src/api/fence-config.ts';
import type { LeaseSign, NodeCase, PolicySummary } from '../../src/api/release-view.ts';
import type { StormSign } from '../../src/api/storm-sign.ts';
import type { OwnNode } from '../../src/api/surroundings.ts';
import type { Judgement, NodeFacts, Verdict } from '../../src/api/view.ts';
import type { NodeDecision } from '../../src/decide/decide-node.ts';
import type { Age } from '../../src/operator/roll.ts';
import type { SharedFactsOptions } from '../../src/operator/shared-facts.ts';
import { SharedFacts } from '../../src/operator/shared-facts.ts';
import type { Released } from '../../src/release/rate.ts';
import { config } from './fenced-case.ts';
import { manualClock } from './manual-clock.ts';
import { aCase, nowMs, withoutNode } from './release-case.ts';

export const secondsAgo = (seconds: number): string => timeOf(nowMs - seconds * 1000);

export function seenNode(name: string, change: Partial<NodeFacts> = {}): NodeFacts {
  return {
    name,
    uid: `uid-${name}`,
    bootId: 'boot-1',
    addresses: [],
    machine: [],
    machineId: 'm',
    createdAt: secondsAgo(600),
    zone: '',
    unschedulable: false,
    marks: [],
    conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', since: secondsAgo(600) }],
    ...change,
  };
}

/** Renewed a second ago, and silent after twelve. */
export function pulse(change: Partial<LeaseSign> = {}): LeaseSign {
  return { renewTime: 't', renewedSinceNotReady: false, renewed: true, unchangedForMs: 1000, ...change };
}

export const silent = pulse({ unchangedForMs: 600_000 });

/** Changed by tests as they go on. */
export class SharedStage {
  readonly clock = manualClock();
  readonly nodes = new Map<string, NodeFacts>();
  readonly leases = new Map<string, LeaseSign>();
  readonly renewedForMs = new Map<string, number>();
  readonly verdicts = new Map<string, Judgement>();
  /** By what the records say. */
  readonly records: Record<'fenced' | 'told' | 'fencing' | 'remedying', string[]> = {
    fenced: [],
    told: [],
    fencing: [],
    remedying: [],
  };
  released = new Map<string, Released[]>();
  storms: StormSign[] = [];
  fencedSince: number[] = [];
  policySummary: PolicySummary = { count: 1, thresholds: [], hasAlarms: false, fencesSilence: false, stamp: '' };
  /** Devices that cannot say whose they are, by method. */
  blind = new Set(['ipmi-off']);
  unshown = new Set<string>();
  /** Whose device is being told just now. */
  cutting: string[] = [];
  maps: { name: string; data: Record<string, string> }[] = [];
  own: (OwnNode & { node: string }) | undefined;
  /** By how much the clock of the API server was set forward, after all that is written down. */
  leaptMs = 0;
  readonly configured: string[] = [];
  /** Who was to be looked at again. */
  readonly woken: string[] = [];
  /** For how long an outlet of a node has been known to be off. */
  readonly offForMs = new Map<string, number>();
  readonly memory = this.#remembered();
  readonly shared: SharedFacts;

  constructor(names: readonly string[] = ['node-1', 'a', 'b', 'c']) {
    for (const name of names) this.add(name);
    const options = {
      clock: this.clock,
      serverTime: { continued: (ms: number) => ms + (this.leaptMs > 0 ? this.leaptMs : 0) },
      observer: this.#observer(),
      cluster: this.#cluster(),
      devices: { defaultConfig: () => config },
      memory: this.memory,
      longActs: this.#acts(),
      namespace: 'fenceline',
      identity: 'me',
      verdicts: () => this.verdicts,
      own: () => this.own,
      onNode: (name: string) => void this.woken.push(name),
    };
    this.shared = new SharedFacts(options as unknown as SharedFactsOptions);
  }

  add(name: string, change: Partial<NodeFacts> = {}): void {
    this.nodes.set(name, seenNode(name, change));
    this.leases.set(name, pulse());
    this.renewedForMs.set(name, 1000);
    this.judge(name, 'healthy');
  }

  /** It has not been heard of for long. */
  fall(name: string): void {
    this.leases.set(name, silent);
    this.renewedForMs.set(name, 600_000);
    this.judge(name, 'suspect');
  }

  judge(name: string, verdict: Verdict): void {
    this.verdicts.set(name, { verdict, reason: 'LeaseStale', evidence: [], recheckInMs: 1000 });
  }

  complete(change: Partial<NodeCase> = {}, age: Age = 'now'): NodeCase {
    return this.shared.complete(aCase(change), age);
  }

  completeInBrief(change: Partial<NodeCase> = {}): NodeCase {
    return this.shared.inBrief(aCase(change), 'now');
  }

  completeGone(change: Partial<NodeCase> = {}): NodeCase {
    return this.shared.complete(withoutNode(aCase(change)), 'now');
  }

  claim(
    nodeCase: Partial<NodeCase>,
    claims: Partial<NodeDecision['claims']>,
    record?: NodeDecision['record'],
    storm?: NodeDecision['storm'],
  ): void {
    const decision = { claims: { fence: false, remedy: false, pods: 0, ...claims }, record, storm };
    this.shared.claim(aCase(nodeCase), decision as unknown as NodeDecision);
  }

  #observer() {
    const nodes = () => this.nodes;
    return {
      get nodeNames(): Iterable<string> {
        return nodes().keys();
      },
      get nodeCount(): number {
        return nodes().size;
      },
      view: (name: string) => ({ name, node: this.nodes.get(name), lease: this.leases.get(name) }),
      nodeOf: (name: string) => this.nodes.get(name),
      leaseSign: (name: string) => this.leases.get(name),
      renewedForMs: (name: string) => this.renewedForMs.get(name),
      leftWithin: () => [],
    };
  }

  #cluster() {
    const of = (): SharedStage => this;
    return {
      get released() {
        return of().released;
      },
      get fenceConfigs() {
        return of().maps;
      },
      get policySummary() {
        return of().policySummary;
      },
      writtenDevices: [],
      pause: { namespace: 'fenceline' },
      nodesWith: (what: keyof SharedStage['records']) => this.records[what],
      storms: () => this.storms,
      fencedSince: () => this.fencedSince,
    };
  }

  #acts() {
    const cutting = (): Iterable<string> => this.cutting;
    return {
      of: () => ({ unsent: 'kept' }),
      get cutting(): Iterable<string> {
        return cutting();
      },
    };
  }

  #remembered() {
    /** An outlet of a node has said off. */
    const onOff: (node: string) => void = () => {};
    return {
      configureNode: (name: string) => void this.configured.push(name),
      isUnproven: (_: string, { name }: Method) => this.blind.has(name),
      isUnshown: (_: string, { name }: Method) => this.unshown.has(name),
      isOutletOff: (name: string, withinMs: number) => (this.offForMs.get(name) ?? Infinity) <= withinMs,
      onOff,
    };
  }
}
