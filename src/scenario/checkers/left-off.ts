/**
 * Machines that operators have cut, and that are off although nothing keeps them so: their devices do what they are told, and whatever
 * else is broken has nothing to do with that. Told by what was said on the wire and what became of the machine, in whatever boot.
 */
import type { MachineEvent } from '../../world/machines/machine.ts';
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Act } from '../format.ts';
import type { CheckContext, WireEvent } from './checker.ts';

/** So long a command may take: what goes off within that time was told to. */
const commandTakesMs = 180_000;
/** By then what can be switched on is. */
const patienceMs = 10 * 60_000;

/** What keeps nobody from telling a device to switch on: it is about machines and their nodes. */
const besides: ReadonlySet<Act['do']> = new Set<Act['do']>([
  'partition',
  'heal',
  'zonePartition',
  'zoneHeal',
  'storagePartition',
  'storageHeal',
  'hang',
  'resume',
  'reboot',
  'powerOff',
  'powerOn',
  'kubeletStop',
  'kubeletStart',
  'condition',
  'cordon',
]);

interface Cut {
  offMs: number;
  /** How often it has lost its power since, for whatever reason. */
  losses: number;
}

export class LeftOff {
  readonly #context: CheckContext;
  /** When an operator last told the device of a node to switch off. */
  readonly #toldMs = new Map<string, number>();
  /** Machines that have not booted since an operator has cut them. */
  readonly #cut = new Map<string, Cut>();
  /** What the scenario did to a machine last. */
  readonly #actedMs = new Map<string, number>();
  /** Machines that shut down in good order, by themselves, and go off in their own time. */
  readonly #shuttingDown = new Set<string>();
  readonly #brokenDevices = new Set<string>();
  readonly #brokenElsewhere = new Set<string>();
  #disturbedMs = -Infinity;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWire(event: WireEvent): void {
    if (event.type === 'device' && event.action === 'off') this.#toldMs.set(event.node, this.#context.nowMs());
    if (event.type === 'started') this.#disturbedMs = this.#context.nowMs();
  }

  onMachine({ type }: MachineEvent, machine: string): void {
    if (type === 'booted') this.#cut.delete(machine);
    if (type !== 'off') return;
    const isByItself = this.#shuttingDown.delete(machine);
    const offMs = this.#context.nowMs();
    const known = this.#cut.get(machine);
    const isTold = offMs - (this.#toldMs.get(machine) ?? -Infinity) <= commandTakesMs;
    const isOurs = isTold && this.#actedMs.get(machine) !== offMs && !isByItself;
    if (known !== undefined || isOurs) this.#cut.set(machine, { offMs, losses: (known?.losses ?? 0) + 1 });
  }

  onAct(act: Act, node: string | undefined): void {
    const nowMs = this.#context.nowMs();
    if (node !== undefined) this.#actedMs.set(node, nowMs);
    if (act.do === 'gracefulShutdown' && node !== undefined) this.#shuttingDown.add(node);
    if (besides.has(act.do)) return;
    this.#disturbedMs = nowMs;
    if (act.do === 'device' && node !== undefined) note(this.#brokenDevices, node, act.fault === 'none');
    else if ('fault' in act) note(this.#brokenElsewhere, whatOf(act), act.fault === 'none');
    else if (act.do === 'apiDown' || act.do === 'apiUp') note(this.#brokenElsewhere, 'api', act.do === 'apiUp');
    else if (act.do === 'isolateOperator' || act.do === 'restoreOperator')
      note(this.#brokenElsewhere, `operator ${act.operator}`, act.do === 'restoreOperator');
    else if (act.do === 'swapDevices' || act.do === 'clockSkew')
      note(this.#brokenElsewhere, whatOf(act), this.#brokenElsewhere.has(whatOf(act)));
  }

  /** It was an operator that has cut it, however late that was. */
  isOurs(node: string): boolean {
    return this.#cut.has(node);
  }

  /** How often it has lost its power since it was last up. */
  losses(node: string): number {
    return this.#cut.get(node)?.losses ?? 0;
  }

  /** Cut, off, and nobody switches it on. What is let go while it is off takes its time, and is judged by what is said of it. */
  isLeft(node: string): boolean {
    const { machineOf, nowMs, state } = this.#context;
    const cut = this.#cut.get(node);
    const { phase } = state.fences.get(nodeFenceName(node))?.status?.fence ?? {};
    if (cut === undefined || machineOf(node)?.power !== 'off' || phase === 'off') return false;
    if (this.#brokenDevices.has(node) || this.#brokenElsewhere.size > 0) return false;
    return nowMs() - Math.max(cut.offMs, this.#disturbedMs) >= patienceMs;
  }
}

function whatOf(act: Act): string {
  const whom = 'operator' in act ? act.operator : 'driver' in act ? act.driver : '';
  return `${act.do} ${whom}`;
}

function note(broken: Set<string>, what: string, isWhole: boolean): void {
  if (isWhole) broken.delete(what);
  else broken.add(what);
}
