/** The operators of a scenario: the product's own, as users run it, each a process that can be killed at any moment. */
import { REMEDY_NAMESPACE } from '../api/fence-names.ts';
import { operatorNamespace } from './namespaces.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import { featureGates } from '../api/feature-gates.ts';
import type { Forbiddable } from '../api/forbidden.ts';
import type { Clock } from '../clock.ts';
import { defaultLimits } from '../judge/judge-node.ts';
import { KubeClient } from '../kube/client.ts';
import type { HttpRequest, Transport } from '../kube/transport.ts';
import type { Log } from '../report/log.ts';
import type { Pass } from '../report/pass.ts';
import { Operator } from '../operator/operator.ts';
import { version } from '../version.ts';
import type { Bmc } from '../world/machines/bmc.ts';
import type { Machine } from '../world/machines/machine.ts';
import { uuid } from '../world/machines/machine.ts';
import { Life } from '../world/network/life.ts';
import { LinkedTransport } from '../world/network/linked-transport.ts';
import type { Random } from '../world/random.ts';
import { SkewedClock } from '../world/time/skewed-clock.ts';
import type { WireEvent } from './checkers/checker.ts';
import type { Knock } from '../kube/knock.ts';
import type { StorageSwitch } from './simulated-devices.ts';
import type { PortAt } from './simulated-doors.ts';
import { simulatedDoors } from './simulated-doors.ts';
import { simulatedDevices } from './simulated-devices.ts';
import { tapped } from './wire-tap.ts';

const restartMs = 5000;

/** Something that is run like the operator; tests put others in its place. */
export interface Program {
  run(shutdown: AbortSignal): Promise<void>;
  /** A datagram of a crashed kernel has arrived. */
  crashed?(message: { node: string; address: string }): void;
}

export interface ProgramContext {
  number: number;
  transport: Transport;
  clock: Clock;
  random: () => number;
  log: Log;
  featureGates: Readonly<Record<string, boolean>>;
  forbidden?: readonly Forbiddable[];
  devices: DeviceProvider;
  knock: Knock;
  /** Absent: it runs outside of the cluster. */
  nodeName?: string;
  onPass?: (pass: Pass) => void;
}

export interface OperatorHostOptions {
  number: number;
  clock: Clock;
  random: Random;
  transport: Transport;
  /** The machine that it runs on; absent: one outside the cluster, which never fails. */
  machine?: Machine;
  featureGates: Readonly<Record<string, boolean>>;
  forbidden?: readonly Forbiddable[];
  bmcs: ReadonlyMap<string, Bmc>;
  storage: StorageSwitch;
  portAt: PortAt;
  program?: (context: ProgramContext) => Program;
  onWire: (event: WireEvent) => void;
  onSend?: (request: HttpRequest) => void;
  onPass?: (pass: Pass) => void;
  /** It has ended by itself, or says that it could not decide. */
  onMistake: (what: string) => void;
  /** For the history: what it says that it saw or did. */
  onLog: (what: string, object: string) => void;
}

/** Where one operator runs: starts it, and starts it again five seconds after it died. */
export class OperatorHost {
  readonly #options: OperatorHostOptions;
  #life: Life | undefined;
  #program: Program | undefined;
  #clock: SkewedClock | undefined;
  #skewMs = 0;
  #isolated = false;
  #starts = 0;
  #ended = false;
  /** Of every life. Node keeps a signal that somebody listens to until it fires, and with it the world around a program. */
  readonly #shutdowns: AbortController[] = [];
  #cancelRestart: () => void = () => {};

  constructor(options: OperatorHostOptions) {
    this.#options = options;
    options.machine?.on((event) => {
      if (event.type === 'off') this.#kill();
      if (event.type === 'booted') this.#startIn(restartMs);
    });
  }

  start(): void {
    if (this.#life !== undefined || this.#ended || this.#options.machine?.alive === false) return;
    const { number, random, onWire } = this.#options;
    this.#starts += 1;
    const life = this.#newLife();
    this.#life = life;
    this.#clock = new SkewedClock(life.clock, { byMs: this.#skewMs });
    onWire({ type: 'started', operator: number });
    const program = (this.#options.program ?? productOperator)({
      number,
      transport: tapped(life.transport, { operator: number, clock: this.#options.clock, onWire }),
      clock: this.#clock,
      random: random.stream(`operator-${number}/${this.#starts}`),
      log: this.#log(),
      featureGates: this.#options.featureGates,
      ...(this.#options.forbidden && { forbidden: this.#options.forbidden }),
      knock: simulatedDoors(this.#options.portAt, life.clock),
      ...(this.#options.machine && { nodeName: this.#options.machine.name }),
      ...(this.#options.onPass && { onPass: this.#options.onPass }),
      devices: simulatedDevices(this.#options, {
        holder: life,
        onAsk: (node, action, feed) =>
          onWire({ type: 'device', operator: number, node, action, ...(feed === undefined ? {} : { feed }) }),
        onAnswer: (node, said, power) => onWire({ type: 'answered', operator: number, node, power, said }),
        onPort: (node, action) => onWire({ type: 'port', operator: number, node, action }),
      }),
    });
    this.#program = program;
    const shutdown = new AbortController();
    this.#shutdowns.push(shutdown);
    program.run(shutdown.signal).then(
      () => this.#stopped(life, 'ended by itself'),
      (error: unknown) => this.#stopped(life, `failed: ${error instanceof Error ? error.message : String(error)}`),
    );
  }

  /** A crashed kernel reports itself, to whoever listens just now. */
  hear(node: string, address: string): void {
    if (!this.#isolated) this.#program?.crashed?.({ node, address });
  }

  crash(): void {
    this.#kill();
    this.#startIn(restartMs);
  }

  isolate(): void {
    this.#isolated = true;
    this.#life?.isolate();
  }

  restore(): void {
    this.#isolated = false;
    this.#life?.restore();
  }

  /** Sets its wall clock, which stays wrong across restarts: it is the machine's. */
  skew(byMs: number): void {
    this.#skewMs += byMs;
    this.#clock?.jump(byMs);
  }

  end(): void {
    this.#ended = true;
    this.#kill();
    for (const shutdown of this.#shutdowns) shutdown.abort();
  }

  #newLife(): Life {
    const { clock, transport, machine, onSend } = this.#options;
    const life = new Life({
      clock: machine?.clock ?? clock,
      transport: machine === undefined ? transport : new LinkedTransport(transport, machine),
      ...(onSend === undefined ? {} : { onSend }),
    });
    if (this.#isolated) life.isolate();
    return life;
  }

  #kill(): void {
    this.#cancelRestart();
    this.#life?.kill();
    this.#life = undefined;
    this.#program = undefined;
  }

  #startIn(delayMs: number): void {
    this.#cancelRestart();
    if (!this.#ended) this.#cancelRestart = this.#options.clock.after(delayMs, () => this.start());
  }

  #stopped(life: Life, how: string): void {
    if (this.#life !== life) return;
    const { onLog, onMistake, number } = this.#options;
    onLog(how, `operator-${number}`);
    onMistake(how);
    this.crash();
  }

  #log(): Log {
    const { onLog, onMistake, number } = this.#options;
    const say = (fields: object, message: string): void => {
      const { node, verdict, reason, problem } = fields as Record<string, string>;
      if (message === 'cannot decide') onMistake(`${message} about ${node}: ${problem}`);
      else if (message === 'verdict') onLog(`${verdict}: ${reason}`, `node/${node}`);
      else if (message === 'leading' || message === 'no longer leading') onLog(message, `operator-${number}`);
    };
    return { info: say, warn: say, debug: () => {} };
  }
}

/** As `fenceline run` makes it, but for the ports that a simulation does not have. */
export function productOperator({
  number,
  transport,
  clock,
  random,
  log,
  featureGates: gates,
  forbidden = [],
  devices,
  knock,
  nodeName,
  onPass,
}: ProgramContext): Operator {
  const client = new KubeClient({ transport, clock, userAgent: `fenceline/${version}`, fieldManager: 'fenceline' });
  const identity = `operator-${number}_${uuid(random)}`;
  return new Operator({
    client,
    clock,
    random,
    log,
    version,
    limits: defaultLimits,
    namespace: operatorNamespace,
    remedyNamespace: REMEDY_NAMESPACE,
    devices,
    knock,
    gates: featureGates(gates),
    forbidden,
    identity,
    ...(nodeName !== undefined && { nodeName }),
    ...(onPass && { onPass }),
    election: { namespace: operatorNamespace, name: 'fenceline' },
  });
}
