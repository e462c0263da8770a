/** What is true of the device of a node, for whoever judges what rests on its word. */
import type { Storage } from '../../world/storage/storage.ts';
import type { CheckContext, WireEvent } from './checker.ts';

/** What is true of the ports of a node, and what they say. */
export function portFacts(
  storage: Storage,
): Pick<CheckContext, 'isPortClosed' | 'saysPort' | 'saysPortOpen' | 'isPortShut' | 'portLies'> {
  const { ports } = storage;
  return {
    isPortClosed: (node) => storage.isPortClosed(node),
    saysPort: (node) => (ports.saysClosed(node) ? 'off' : 'on'),
    saysPortOpen: (node) => ports.saysOpen(node),
    isPortShut: (node) => ports.isShut(node),
    portLies: (node) => ports.lies(node),
  };
}

/**
 * It said off for the first time after the last sign of life: from outside that looks like death. Not where the Lease is not overdue
 * and the machine answers whoever knocks at the port of its kubelet.
 */
export function isLying({ deviceOf, machineOf, pulseOf, nowMs }: CheckContext, node: string): boolean {
  const sinceMs = deviceOf(node)?.liesSinceMs;
  const pulse = pulseOf(node);
  const machine = machineOf(node);
  const answers = machine !== undefined && machine.alive && machine.linked;
  if (answers && pulse !== undefined && pulse.silentForMs < pulse.silentAfterMs) return false;
  return sinceMs !== undefined && (pulse === undefined || sinceMs >= nowMs() - pulse.silentForMs);
}

/** Who has switched on which machine, and whether it really was off when its device was last asked. */
export class Offs {
  readonly #context: CheckContext;
  /** Whom an operator has told to switch on, since they were last off. */
  readonly #toldOn = new Set<string>();
  /** Nodes whose device has last said off, and it was so. */
  readonly #trulyOff = new Set<string>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  take(event: WireEvent): void {
    if (event.type === 'device' && event.action === 'on') this.#toldOn.add(event.node);
    if (event.type !== 'answered') return;
    const isTrue = event.power === 'off' && this.#context.machineOf(event.node)?.power === 'off';
    if (isTrue) this.#trulyOff.add(event.node);
    else this.#trulyOff.delete(event.node);
  }

  /** Its power has gone. */
  fell(machine: string): void {
    this.#toldOn.delete(machine);
  }

  isToldOn(node: string): boolean {
    return this.#toldOn.has(node);
  }

  /** It is off, and its device has said so: nobody has to wait for its Lease to know. */
  isSeenOff(node: string): boolean {
    return this.#trulyOff.has(node) && this.#context.machineOf(node)?.power === 'off';
  }

  /** What is said only of a machine that is off. Told of one that is not, unless nobody could know. */
  judge(node: string, told: string): void {
    const { machineOf, exempt, violated } = this.#context;
    const machine = machineOf(node);
    if (machine === undefined || machine.power === 'off') return;
    if (isLying(this.#context, node)) exempt('LyingDevice', told);
    // Somebody has switched it on between the answer and the act.
    else if (this.#trulyOff.has(node) && !this.isToldOn(node)) exempt('PersonsAct', told);
    else violated(told);
  }
}
