/** Runs one scenario in virtual time: settle, let happen what it says, look at every moment, report. */
import { customResourceDefinitions } from '../api/crds.ts';
import { KubeClient } from '../kube/client.ts';
import type { Transport } from '../kube/transport.ts';
import { defaultControllerTimings } from '../world/controllers/timings.ts';
import { deviceKey } from '../world/machines/feeds.ts';
import { Random } from '../world/random.ts';
import { VirtualClock } from '../world/time/virtual-clock.ts';
import { World } from '../world/world.ts';
import { Actor } from './acts.ts';
import { portFacts } from './checkers/devices.ts';
import { Baseline } from './baseline.ts';
import type { CheckContext, Checker, Invariant } from './checkers/checker.ts';
import { invariants } from './checkers/index.ts';
import type { Moment } from './moment.ts';
import { evaluate } from './evaluate.ts';
import type { Scenario } from './format.ts';
import { driversOf, hasCordonsOfPeople } from './demands.ts';
import { Manifests } from './manifests.ts';
import { administrator, operatorUser } from './operator-user.ts';
import type { OperatorHostOptions } from './operators.ts';
import { ownNamespaces } from './namespaces.ts';
import { OperatorHost } from './operators.ts';
import { ScenarioError } from './reader.ts';
import { Recorder } from './recorder.ts';
import type { Report } from './report.ts';
import { ownMistake } from './report.ts';
import { stopsOf, Tracker } from './tracker.ts';

export interface RunOptions {
  /** In the operator's place, for tests of the checkers. */
  program?: NonNullable<OperatorHostOptions['program']>;
  invariants?: readonly Invariant[];
  /** Makes it an error to change what the API server holds: for tests. */
  freezes?: boolean;
  /** What lies between a user of the API, operators and kubelets among them, and the server. */
  wire?: (user: string, inner: Transport) => Transport;
  /** Sees the world when it is built, before anything runs. */
  onWorld?: (world: World, clock: VirtualClock) => void;
  /** Time 0 has come. */
  onZero?: () => void;
  /** Asked after every moment; what it answers with is thrown, and the run is over. */
  abandon?: () => Error | undefined;
  /** Each operator, as it can be killed. */
  onOperator?: (operator: { number: number; crash: () => void }) => void;
  /** Each pass of each operator over a node in trouble. */
  onPass?: NonNullable<OperatorHostOptions['onPass']>;
}

/** Long enough for the operators to lead and to know every node. */
const leastSettleMs = 30_000;
const nodesUpMs = 1000;
const { nodeMonitorPeriodMs } = defaultControllerTimings;
const mostSettleMs = 900_000;

export async function runScenario(
  scenario: Scenario,
  wallNow: () => number,
  options: RunOptions = {},
): Promise<Report> {
  const startedAt = wallNow();
  const run = new Run(scenario, options);
  try {
    await run.settle();
    options.onZero?.();
    await run.play();
    run.conclude();
  } finally {
    await run.end();
  }
  return run.report(wallNow() - startedAt);
}

class Run {
  readonly #scenario: Scenario;
  readonly #clock = new VirtualClock();
  readonly #world: World;
  readonly #recorder: Recorder;
  readonly #client: KubeClient;
  readonly #manifests: Manifests;
  readonly #operators: OperatorHost[];
  readonly #checkers: Checker[];
  readonly #drains = new Map<string, 'running' | 'done' | 'failed'>();
  readonly #trackers: Tracker[];
  #zeroMs = 0;
  #baseline: Baseline | undefined;

  constructor(scenario: Scenario, options: RunOptions) {
    this.#scenario = scenario;
    this.#abandon = options.abandon;
    this.#trackers = scenario.expectations.map((expectation) => new Tracker(expectation));
    const { nodes, others, kubernetes, operators, longhorn } = scenario.cluster;
    const random = new Random(scenario.seed);
    this.#recorder = new Recorder(
      () => this.#sinceZero(),
      () => this.#clock.monotonic(),
    );
    this.#world = new World({
      clock: this.#clock,
      random,
      nodes,
      others,
      drivers: driversOf(scenario),
      ...(longhorn === undefined ? {} : { longhorn }),
      onReplicas: () => {
        this.#recorder.touched();
        for (const checker of this.#checkers) checker.onReplicas?.();
      },
      bootTimeMs: kubernetes.bootTimeMs,
      fleet: {
        kubelet: {
          leaseDurationSeconds: kubernetes.leaseDurationMs / 1000,
          leaseRenewMs: kubernetes.leaseDurationMs / 4,
        },
      },
      fieldOwnership: hasCordonsOfPeople(scenario) ? 'nodes' : false,
      freezes: options.freezes ?? false,
      ...(options.wire === undefined ? {} : { wire: options.wire }),
      timings: {
        nodeMonitorGraceMs: kubernetes.nodeMonitorGracePeriodMs,
        maxWaitForUnmountMs: kubernetes.forceDetachAfterMs,
      },
      onWriter: (change) => {
        this.#recorder.touched();
        for (const checker of this.#checkers) checker.onWriter?.(change);
      },
      onKdump: (node, forged) => {
        for (const checker of this.#checkers) checker.onKdump?.(node, forged);
        for (const host of this.#operators) host.hear(node, `the address of ${node}`);
      },
      onDevice: (node, action) => this.#recorder.note('device', `asked for ${action}`, `node/${node}`),
    });
    this.#recorder.follow(this.#world, {
      onWrite: (write) => {
        for (const checker of this.#checkers) checker.onWrite?.(write);
      },
      onStored: (change, user) => {
        for (const checker of this.#checkers) checker.onStored?.(change, user);
      },
      onRenewed: (node) => {
        for (const checker of this.#checkers) checker.onRenewed?.(node);
      },
    });
    for (const machine of this.#world.fleet.machines) {
      machine.on((event, { name }) => {
        for (const checker of this.#checkers) checker.onMachine?.(event, name);
      });
    }
    this.#checkers = (options.invariants ?? invariants).map((invariant) => invariant.check(this.#contextOf(invariant)));
    this.#client = this.#clientFor(administrator);
    this.#manifests = new Manifests(this.#client);
    this.#operators = Array.from({ length: operators.count }, (_, index) => this.#operator(index + 1, random, options));
    options.onWorld?.(this.#world, this.#clock);
  }

  /** Until time 0: everything applied, started and at rest, and every node freshly seen by the node controller. */
  async settle(): Promise<void> {
    await this.#during(this.#install());
    const startMs = this.#clock.monotonic();
    this.#world.start();
    // The nodes first, as in life: pods that wait for a node in thousands cost more than the run.
    await this.#clock.runUntil(startMs + nodesUpMs);
    await this.#during(this.#applyObjects());
    for (const operator of this.#operators) operator.start();
    const nodeCount = this.#world.nodeCount;
    // The node controller looks every five seconds from its start on: time 0 is right after such a look, and the nodes
    // have all just reported.
    for (let atMs = startMs + leastSettleMs; ; atMs += nodeMonitorPeriodMs) {
      await this.#clock.runUntil(atMs - 1);
      this.#world.heartbeat();
      await this.#clock.runUntil(atMs);
      if (atMs - startMs >= mostSettleMs || this.#recorder.unsettled(nodeCount).length === 0) break;
    }
    this.#zeroMs = this.#clock.monotonic();
    this.#baseline = new Baseline(this.#recorder.state);
    this.#recorder.begin(this.#baseline);
    for (const what of this.#recorder.unsettled(nodeCount)) this.#recorder.note('scenario', 'not settled', what);
  }

  async play(): Promise<void> {
    const { events, runForMs } = this.#scenario;
    const actor = this.#actor();
    const firstMs = events[0]?.atMs ?? 0;
    for (const { atMs, act, where } of events) {
      this.#clock.after(atMs, () => {
        this.#perform(actor.perform(act), where);
      });
    }
    const stops = [...new Set([...this.#trackers.flatMap(stopsOf), runForMs])].sort((a, b) => a - b);
    for (const stop of stops) {
      await this.#clock.runUntil(this.#zeroMs + stop, () => this.#look(firstMs));
      this.#throwIfBroken();
      this.#settleTrackers(stop, stop === runForMs);
    }
  }

  /** What can be judged only when all is over. */
  conclude(): void {
    for (const checker of this.#checkers) checker.onEnd?.();
  }

  async end(): Promise<void> {
    this.#recorder.finish();
    for (const operator of this.#operators) operator.end();
    await this.#during(this.#world.stop());
  }

  report(wallMs: number): Report {
    const expectations = this.#trackers.map(({ report }) => report);
    const { violations, exemptions, timeline } = this.#recorder;
    return {
      scenario: this.#scenario.name,
      seed: this.#scenario.seed,
      ok: violations.length === 0 && expectations.every(({ ok }) => ok),
      expectations,
      violations,
      exemptions,
      timeline,
      virtualMs: this.#scenario.runForMs,
      wallMs: Math.round(wallMs),
    };
  }

  async #install(): Promise<void> {
    const own = [...customResourceDefinitions(), ...ownNamespaces];
    for (const object of own) {
      const wrong = await this.#manifests.apply(object);
      if (wrong !== undefined) throw new Error(wrong);
    }
  }

  async #applyObjects(): Promise<void> {
    const problems: string[] = [];
    for (const { object, where } of this.#scenario.objects) {
      const wrong = await this.#manifests.apply(object);
      if (wrong !== undefined) problems.push(`${where}: ${object.kind} ${object.metadata.name}: ${wrong}`);
    }
    if (problems.length > 0) throw new ScenarioError(problems);
  }

  /** Work that needs time to pass, if only because its answers come as timers. */
  async #during(work: Promise<void>): Promise<void> {
    const state = { over: false };
    const outcome = work.finally(() => (state.over = true));
    outcome.catch(() => {});
    while (!state.over) await this.#clock.runUntil(this.#clock.monotonic() + 1000, () => state.over);
    await outcome;
  }

  #broken: { error: unknown } | undefined;
  readonly #abandon: (() => Error | undefined) | undefined;

  #throwIfBroken(): void {
    if (this.#broken !== undefined) throw this.#broken.error;
  }

  #perform(work: Promise<string | undefined>, where: string): void {
    this.#recorder.touched();
    work.then(
      (wrong) => {
        if (wrong !== undefined) this.#recorder.note('scenario', `could not: ${wrong}`, where);
        this.#recorder.touched();
      },
      (error: unknown) => (this.#broken = { error }),
    );
  }

  /** The end of a moment. */
  #look(firstMs: number): boolean {
    const reason = this.#abandon?.();
    if (reason !== undefined) this.#broken ??= { error: reason };
    if (this.#broken !== undefined) return true;
    const nowMs = Math.floor(this.#sinceZero());
    if (nowMs < firstMs || !this.#recorder.takeTouched()) return false;
    const moment = this.#moment();
    for (const tracker of this.#trackers) {
      if (tracker.watches) tracker.look(nowMs, evaluate(tracker.expectation.state, moment));
    }
    return false;
  }

  #settleTrackers(nowMs: number, isEnd: boolean): void {
    const moment = this.#moment();
    for (const tracker of this.#trackers) {
      const { when } = tracker.expectation;
      const due = 'atMs' in when ? when.atMs === nowMs : isEnd;
      if (due) tracker.settle(nowMs, evaluate(tracker.expectation.state, moment));
    }
  }

  #moment(): Moment {
    const { state, fences } = this.#recorder;
    return {
      state,
      fences,
      baseline: this.#baselineNow(),
      drainOf: (node) => this.#drains.get(node),
      ledgerOf: (volume) => this.#world.storage.ledger.report(volume),
      replicatedOf: (volume) => this.#world.longhorn?.report(volume),
    };
  }

  #baselineNow(): Baseline {
    if (this.#baseline === undefined) throw new Error('before time 0');
    return this.#baseline;
  }

  #actor(): Actor {
    return new Actor({
      world: this.#world,
      client: this.#client,
      manifests: this.#manifests,
      clock: this.#clock,
      baseline: this.#baselineNow(),
      operators: this.#operators,
      onNote: (what, object) => this.#recorder.note('scenario', what, object),
      onAct: (act, node) => {
        for (const checker of this.#checkers) checker.onAct?.(act, node);
      },
      onDrain: (node, state) => {
        this.#drains.set(node, state);
        this.#recorder.note('drain', state, `node/${node}`);
        this.#recorder.touched();
      },
    });
  }

  /** The node that an operator runs on. */
  #homeOf(number: number): string | undefined {
    const { nodes, operators } = this.#scenario.cluster;
    return operators.onNodes ? nodes[(number - 1) % Math.max(1, nodes.length)]?.name : undefined;
  }

  #operator(number: number, random: Random, options: RunOptions): OperatorHost {
    const { featureGates, forbid: forbidden = [] } = this.#scenario.cluster;
    const name = this.#homeOf(number);
    const user = operatorUser(number);
    const direct = this.#world.server.transport(user, { shares: true });
    const host = new OperatorHost({
      number,
      clock: this.#clock,
      random,
      transport: options.wire?.(user, direct) ?? direct,
      featureGates,
      forbidden,
      bmcs: this.#world.bmcs,
      storage: this.#world.storage,
      portAt: (address) => this.#world.portAt(address),
      onWire: (event) => {
        this.#recorder.records.heard(event);
        for (const checker of this.#checkers) checker.onWire?.(event);
      },
      onMistake: (what) => this.#recorder.violated(ownMistake, `operator-${number} ${what}`),
      onLog: (what, object) => this.#recorder.note(`operator-${number}`, what, object),
      ...(name !== undefined ? { machine: this.#world.fleet.machine(name) } : {}),
      ...(options.program === undefined ? {} : { program: options.program }),
      ...(options.onPass === undefined ? {} : { onPass: options.onPass }),
    });
    options.onOperator?.({ number, crash: () => host.crash() });
    return host;
  }

  #contextOf({ id }: Invariant): CheckContext {
    return {
      state: this.#recorder.state,
      recordsOf: (user, node) => this.#recorder.records.of(user, node),
      machineOf: (node) => this.#world.fleet.kubelets.get(node)?.machine,
      homeOf: (number) => this.#homeOf(number),
      nowMs: () => this.#clock.monotonic(),
      wallMs: () => this.#clock.now(),
      pulseOf: (node) => this.#recorder.pulseOf(node),
      feedsOff: (node) => this.#world.feedsOf(node).filter((feed) => this.#world.isFeedOff(node, feed)),
      deviceOf: (node, feed = this.#world.feedsOf(node)[0]) => {
        const bmc = this.#world.bmcs.get(deviceKey(node, feed));
        if (bmc === undefined) return undefined;
        const { hasIdentity, liesSinceMs, strikes } = bmc;
        return {
          hasIdentity,
          ...(liesSinceMs === undefined ? {} : { liesSinceMs }),
          ...(strikes === undefined ? {} : { strikes: strikes.name }),
        };
      },
      ...portFacts(this.#world.storage),
      isActive: (machine, process) => this.#world.isActive(machine, process),
      volumes: () => this.#world.longhorn?.reports() ?? [],
      violated: (detail) => this.#recorder.violated(id, detail),
      exempt: (exemption, detail) => this.#recorder.exempted(id, exemption, detail),
    };
  }

  #clientFor(user: string): KubeClient {
    const transport = this.#world.server.transport(user);
    return new KubeClient({ transport, clock: this.#clock, userAgent: user, fieldManager: 'kubectl' });
  }

  #sinceZero(): number {
    return this.#clock.monotonic() - this.#zeroMs;
  }
}
