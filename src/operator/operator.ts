/**
 * The operator: watches, judges, publishes, and attends to nodes in trouble.
 *
 * Every instance watches, so that a standby takes over with warm views; only the leader judges, publishes and acts.
 */
import type { DeviceProvider } from '../devices/provider.ts';
import { signsOf } from '../api/life.ts';
import type { Started } from '../api/forbidden.ts';
import { pauseOf } from '../api/pause.ts';
import type { JudgeLimits, Judgement } from '../api/view.ts';
import { LongActs } from '../act/long-acts.ts';
import type { DeviceMemory } from '../act/device-memory.ts';
import { timedDevices } from '../act/timed-devices.ts';
import type { StoredDevice } from '../act/device-records.ts';
import type { Clock } from '../clock.ts';
import type { KubeError } from '../kube/errors.ts';
import type { Knock } from '../kube/knock.ts';
import type { LeaderTimings } from '../kube/leader.ts';
import { LeaderElector } from '../kube/leader.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { ServerTime } from '../kube/server-time.ts';
import { CaseReader } from '../observe/case-reader.ts';
import { ClusterView } from '../observe/cluster-view.ts';
import { type NodeChange, Observer } from '../observe/observer.ts';
import type { MetricSources } from '../report/metrics.ts';
import { Metrics } from '../report/metrics.ts';
import type { VerdictChange } from '../report/verdict-board.ts';
import { VerdictBoard } from '../report/verdict-board.ts';
import { FenceStore } from '../act/fence-store.ts';
import { RecordUpkeep } from './upkeep.ts';
import { CrashReports } from '../observe/crash-reports.ts';
import { Attendant } from './attendant.ts';
import { memoryBy, weighedBy } from './device-rules.ts';
import { Doors, type DoorOptions } from './doors.ts';
import { recorderFor } from './event-recorder.ts';
import { Draining } from './draining.ts';
import { tellElection } from './election-problems.ts';
import { unhealthy, unready } from './health.ts';
import { jobObjectsOf } from './job-objects.ts';
import { KeyedLoop } from './keyed-loop.ts';
import type { Pass } from '../report/pass.ts';
import { PassReporter } from '../report/pass-reporter.ts';
import { PolicyStatus } from './policy-status.ts';
import { policyFor } from './policy-for.ts';
import { Recording, type Around } from './recording.ts';
import { SharedFacts } from './shared-facts.ts';
import { serverTimeFor, timeSettled, witnessed } from './server-clock.ts';
import { Succession } from './succession.ts';

export interface OperatorOptions extends DoorOptions, Started {
  random: () => number;
  version: string;
  limits: JudgeLimits;
  /** Where the configuration of fences is. */
  namespace: string;
  /** Where the Jobs of remedies run: another one, or who writes a policy could use the operator's account and Secrets. */
  remedyNamespace: string;
  devices: DeviceProvider;
  /** How the ports of kubelets are reached; default: over the network. */
  knock?: Knock;
  /** How often the devices of all nodes are asked whether they could be used; default: every ten minutes. */
  checkDevicesEveryMs?: number;
  /** The node that this process runs on; absent: nobody knows, or it is outside of the cluster. */
  nodeName?: string | undefined;
  /** Never used by another process: the holder of records, and who reports events. */
  identity: string;
  /** What came of the messages of crashed kernels; absent: nobody listens for them. */
  kdump?: MetricSources['kdump'];
  /** Each pass, for whoever wants to keep them. */
  onPass?: (pass: Pass) => void;
  /** Absent: no election; this instance leads. */
  election?: { namespace: string; name: string; timings?: Partial<LeaderTimings> };
}

type Wiring = Pick<OperatorOptions, 'client' | 'clock' | 'random' | 'nodeName'> & {
  serverTime: ServerTime;
  observer: Observer;
  cluster: ClusterView;
  isLeading: () => boolean;
  onNode: (name: string) => void;
  onProblem: (source: string, error: KubeError) => void;
};

/** How many nodes may be worked on at a time, and how many of those about which nothing is being done. */
const concurrency = 64;
const ordinary = 16;
const eventsFlushMs = 2000;
const callTimeoutMs = 10_000;

export class Operator {
  readonly #options: OperatorOptions;
  readonly #serverTime: ServerTime;
  readonly #observer: Observer;
  readonly #board: VerdictBoard;
  readonly metrics: Metrics;
  readonly #loop: KeyedLoop;
  readonly #cluster: ClusterView;
  readonly #attendant: Attendant;
  readonly #reader: CaseReader;
  readonly #events: EventRecorder;
  readonly #crashes: CrashReports;
  readonly #devices: DeviceMemory;
  readonly #reporter: PassReporter;
  readonly #policies: PolicyStatus;
  readonly #upkeep: RecordUpkeep;
  readonly #draining: Draining;
  readonly #elector: LeaderElector | undefined;
  readonly #doors: Doors;
  #shared: SharedFacts | undefined;
  #leading = false;
  readonly #succession: Succession;
  readonly #recording: Recording;

  constructor(options: OperatorOptions) {
    this.#serverTime = serverTimeFor(options);
    this.#options = {
      ...options,
      client: options.client.readingTimeBy(this.#serverTime),
      devices: timedDevices(options.devices, options.clock, (answered) => this.metrics.answered(answered)),
    };
    const { client, clock, random, nodeName, election, log } = this.#options;
    const base = { client, clock, random, nodeName, serverTime: this.#serverTime };
    const onProblem = (source: string, error: KubeError): void => this.#problem(source, error);
    const onNode = (name: string): void => this.#loop.hear(name);
    this.#crashes = new CrashReports(clock);
    this.#board = new VerdictBoard((change) => this.#announce(change));
    this.#observer = new Observer({ ...base, onNode: (name, what) => this.#touched(name, what), onProblem });
    this.#cluster = new ClusterView({
      ...base,
      namespace: options.namespace,
      onNode: (name, version) => this.#recorded(name, version),
      onAll: () => this.#changedForAll(),
      onFencing: () => this.#policies.recount(),
      onDevice: (object, type) => this.#devices.records.notice(object as StoredDevice, type),
      onProblem,
    });
    this.#loop = this.#loopFor(clock);
    this.#elector = election && this.#electorFor(election);
    this.#succession = new Succession(this.#options, this.#elector);
    const isLeading = (): boolean => this.#leading && (this.#elector?.isLeading() ?? true);
    this.#recording = this.#recordingFor(this.#elector);
    const onKept = (error?: KubeError): void => this.#recording.note('fencedevices', error);
    this.#devices = memoryBy(this.#observer, { ...base, namespace: options.namespace, isLeading, onProblem, onKept });
    this.#events = recorderFor(base, this.#options);
    this.#reporter = new PassReporter({ log, events: this.#events });
    const views = { observer: this.#observer, cluster: this.#cluster };
    const { forbidden = [] } = options;
    const wiring = { ...base, ...views, forbidden, isLeading, onNode, onProblem };
    this.#reader = new CaseReader({
      ...wiring,
      crashes: this.#crashes,
      policyOf: (node, recorded) => policyFor(this.#cluster, node, recorded),
    });
    this.#attendant = this.#attendantFor(wiring);
    this.#policies = new PolicyStatus({
      ...wiring,
      provider: this.#options.devices,
      memory: this.#devices,
      watch: this.#attendant.watch,
      namespace: options.namespace,
      verdicts: () => this.#board.verdicts,
      ...(options.checkDevicesEveryMs !== undefined && { checkEveryMs: options.checkDevicesEveryMs }),
    });
    this.#upkeep = new RecordUpkeep({
      ...wiring,
      log,
      devices: this.#devices.records,
      store: new FenceStore({ client, guard: isLeading, timeoutMs: callTimeoutMs }),
      isSeen: (node) => this.#observer.view(node).node !== undefined,
    });
    this.#draining = new Draining({ ...base, events: this.#events, isLeading, log, onProblem });
    this.metrics = new Metrics(this.#metricSources(isLeading), options.version);
    this.#doors = new Doors(this.#options, {
      unhealthy: () => unhealthy(this.#observer, options.limits),
      unready: () => unready(this.#observer, options.limits) ?? this.#recording.refused,
      metrics: () => this.metrics.text(),
    });
  }

  #loopFor(clock: Clock): KeyedLoop {
    return new KeyedLoop({
      clock,
      concurrency,
      ordinary,
      comesFirst: (name) => this.#attendant.isAtWork(name),
      work: (name, why) => this.#attendant.consider(name, () => this.#leading, why),
    });
  }

  #attendantFor(wiring: Wiring): Attendant {
    const { devices, remedyNamespace: namespace, identity, limits, gates, onPass } = this.#options;
    const verdicts = (): ReadonlyMap<string, Judgement> => this.#board.verdicts;
    const longActs = new LongActs({
      ...wiring,
      provider: devices,
      namespace,
      timeoutMs: callTimeoutMs,
      knock: this.#options.knock,
      ...weighedBy(this.#observer, this.#devices),
      isFenced: (name) => this.#cluster.nodesWith('fenced').includes(name),
      onChanged: (name) => this.#reader.doubt(name),
      elsewhere: (node) => this.#reader.others.live(node),
      jobObject: jobObjectsOf(this.#cluster),
    });
    const shared = new SharedFacts({
      ...wiring,
      devices,
      memory: this.#devices,
      longActs,
      namespace,
      identity,
      verdicts,
      own: () => this.#succession.own,
    });
    this.#shared = shared;
    return new Attendant({
      ...wiring,
      reader: this.#reader,
      longActs,
      shared,
      limits,
      gates,
      identity,
      publish: (name, judgement) => this.#publish(name, judgement),
      aside: (name, wait) => this.#loop.aside(name, wait),
      onSuccessor: (name) => this.#succession.handOver(name),
      memory: this.#devices,
      reporter: this.#reporter,
      onKept: (error) => this.#recording.note('nodefences', error),
      onPass,
    });
  }

  #recordingFor(elector: LeaderElector | undefined): Recording {
    const known: Around['known'] = () => ({ nodes: this.#cluster.fencedNodes, devices: this.#devices.records.all });
    return new Recording(this.#options, { elector, known });
  }

  #metricSources(isLeading: () => boolean): MetricSources {
    return {
      board: this.#board,
      watches: () => [...this.#observer.watches, ...this.#cluster.watches, ...this.#draining.watches],
      isLeading,
      isPaused: () => pauseOf(this.#cluster.pause, this.#serverTime.now()) !== undefined,
      clockAstrayMs: () => this.#serverTime.astrayByMs,
      releases: this.#reporter,
      drains: this.#draining,
      records: () => (isLeading() ? this.#cluster.records : []),
      unfenceable: () => this.#policies.unfenceable,
      kdump: this.#options.kdump ?? {},
    };
  }

  #electorFor({ namespace, name, timings }: NonNullable<OperatorOptions['election']>): LeaderElector {
    const { client, clock, random, identity } = this.#options;
    return new LeaderElector({
      client,
      clock,
      random,
      lease: { namespace, name },
      identity,
      ...(timings !== undefined && { timings }),
      onProblem: (problem) => tellElection(problem, { log: this.#options.log, metrics: this.metrics }),
    });
  }

  /** The nodes that have this address. */
  nodesAt(address: string): readonly string[] {
    return this.#observer.nodesAt(address);
  }

  /** The crashed kernel of a node has reported itself. */
  crashed({ node, address }: { node: string; address: string }): void {
    const seen = this.#observer.view(node);
    if (seen.node === undefined) return;
    const crash = { bootId: seen.node.bootId, address, signs: signsOf(seen) };
    // Whoever can send one datagram can send a million.
    const news = this.#crashes.heard(node, crash);
    if (news === 'crash') this.#options.log.info({ node, address }, 'the kernel has crashed');
    if (news !== 'none' && this.#leading) this.#loop.add(node);
  }

  /** What this instance thinks of each node; empty while it does not lead. */
  get verdicts(): ReadonlyMap<string, Judgement> {
    return this.#board.verdicts;
  }

  /** Ends when `shutdown` fires and everything is put down; rejects when something is broken beyond repair. */
  async run(shutdown: AbortSignal): Promise<void> {
    const { log, version, identity } = this.#options;
    log.info({ version, ...(await this.#doors.open()), identity }, 'started');
    const failed = new AbortController();
    const signal = AbortSignal.any([shutdown, failed.signal]);
    const watching = [this.#observer.run(signal), this.#cluster.run(signal), this.#draining.run(signal)];
    const parts = [...watching, this.#lead(signal)].map((part) =>
      part.catch((error: unknown) => {
        failed.abort();
        throw error;
      }),
    );
    const outcomes = await Promise.allSettled(parts);
    this.#recording.close();
    await this.#events.close(eventsFlushMs);
    await this.#doors.close();
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    log.info({}, 'stopped');
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([this.#observer.firstSync, aborted]);
    if (signal.aborted) return;
    const [nodes, leases] = this.#observer.watches;
    this.#options.log.info({ nodes: nodes?.objects, leases: leases?.objects }, 'views are complete');
    void this.#recording.probe();
    await timeSettled(this.#options, this.#serverTime, signal);
    if (signal.aborted) return;
    if (this.#elector === undefined) await this.#serve(signal);
    else await this.#elector.run(signal, (term) => this.#serve(term.signal, term.epoch));
  }

  async #serve(signal: AbortSignal, epoch?: number): Promise<void> {
    const { log } = this.#options;
    this.#leading = true;
    this.#succession.began(epoch);
    log.info({ epoch }, 'leading');
    void this.#recording.probe();
    try {
      const keys = new Set([...this.#cluster.fencedNodes, ...this.#observer.nodeNames]);
      const work = Promise.all([
        this.#loop.run(signal, keys),
        this.#policies.run(signal),
        this.#draining.serve(signal),
        this.#upkeep.run(signal),
      ]);
      await Promise.race([work, this.#reader.broken]);
    } finally {
      this.#leading = false;
      this.#attendant.close();
      for (const part of [this.#reporter, this.#board, this.#devices]) part.clear();
      log.info({ epoch }, 'no longer leading');
    }
  }

  /** A renewal of a healthy node's Lease is no news: its timer is set by that Lease. This is nearly all traffic. */
  #touched(name: string, what: NodeChange): void {
    this.#shared?.touched(name, what);
    if (what !== 'node') this.#devices.renewed(name);
    if (what === 'renewal' && !this.#serverTime.isSettled) witnessed(this.#serverTime, this.#observer.view(name));
    if (what === 'renewal' && this.#board.verdicts.get(name)?.verdict === 'healthy') return;
    this.#loop.hear(name);
  }

  /** What we have written ourselves of a node to which nothing happens is no news either. */
  #recorded(name: string, version: string | undefined): void {
    if (version === undefined || !this.#attendant.isKnown(name, version)) this.#loop.add(name);
  }

  #changedForAll(): void {
    this.#policies.touch();
    this.#reconsiderAll();
  }

  /** A policy or a driver changed: what was stuck may go now, or the other way round. */
  #reconsiderAll(): void {
    for (const [name, { verdict }] of this.#board.verdicts) if (verdict !== 'healthy') this.#loop.hear(name);
    for (const name of this.#reader.attended) this.#loop.hear(name);
    for (const name of this.#cluster.fencedNodes) this.#loop.hear(name);
  }

  #problem(source: string, error: KubeError): void {
    this.metrics.problem(source, error.kind);
    this.#options.log.warn({ source, kind: error.kind, problem: error.message }, 'API problem');
  }

  #publish(name: string, judgement: Judgement): number | undefined {
    const known = this.#board.verdicts.has(name);
    if (judgement.reason === 'NodeGone') {
      // A Lease may outlive its Node, or come before it: only a node that was there can be gone.
      if (known) this.#board.publish(name, judgement);
      if (known) this.#policies.touch();
      this.#board.forget(name);
      return undefined;
    }
    if (!known) this.#policies.touch();
    this.#board.publish(name, judgement);
    return judgement.recheckInMs;
  }

  #announce(change: VerdictChange): void {
    const { node, judgement, previous } = change;
    this.metrics.verdictChanged(change);
    if ((judgement.verdict === 'healthy') !== (previous?.verdict === 'healthy')) this.#policies.recount();
    const { verdict, reason, evidence } = judgement;
    const fields = { node, verdict, reason, previous: previous?.verdict, evidence };
    if (verdict !== 'healthy') this.#options.log.warn(fields, 'verdict');
    else if (previous === undefined) this.#options.log.debug(fields, 'verdict');
    else this.#options.log.info(fields, 'verdict');
  }
}
