/** Which machines operators have really cut, and where something of before is still to be let go: who works at what. */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { MachineEvent } from '../../world/machines/machine.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { CheckContext, WireEvent } from './checker.ts';
import { isMovable } from './movable.ts';

interface Cut {
  atMs: number;
  /** What ran there, by UID. */
  pods: readonly string[];
}

/** A device that has not done it by then is not going to. */
const takesAtMostMs = 60_000;
/** What has not gone by then is held up by something else than the fence. */
const goesWithinMs = 120_000;

export class Cuts {
  readonly #context: CheckContext;
  readonly #cuts = new Map<string, Cut>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  ask(event: WireEvent): void {
    if (event.type !== 'device') return;
    const { node, action } = event;
    if (action === 'on') this.#cuts.delete(node);
    if (action !== 'off' || this.#context.machineOf(node)?.power !== 'on') return;
    this.#cuts.set(node, { atMs: this.#context.nowMs(), pods: this.#podsOf(node) });
  }

  happen({ type }: MachineEvent, machine: string): void {
    if (type === 'booting') this.#cuts.delete(machine);
  }

  /** Nodes with a command under way, or with pods that are still to go. At what a person has stopped, nobody works (SAF-10). */
  busy(): string[] {
    const { nowMs, machineOf, state } = this.#context;
    const there = new Set([...state.pods.values()].map(({ metadata }) => metadata.uid ?? ''));
    return [...this.#cuts].flatMap(([node, { atMs, pods }]) => {
      if (state.fences.get(nodeFenceName(node))?.spec?.stop === true) return [];
      if (this.#waitsForOthers(node)) return [];
      const isOn = machineOf(node)?.power === 'on';
      const ageMs = nowMs() - atMs;
      const isWorked = isOn ? ageMs < takesAtMostMs : ageMs < goesWithinMs && pods.some((uid) => there.has(uid));
      return isWorked ? [node] : [];
    });
  }

  /** No device says whose power went, and somebody else is silent: until that one is heard of nobody can go on (SAF-17). */
  #waitsForOthers(node: string): boolean {
    const { machineOf, deviceOf, pulseOf, state } = this.#context;
    if (machineOf(node)?.power === 'on' || deviceOf(node)?.hasIdentity !== false) return false;
    return [...state.nodes.keys()].some((other) => {
      const pulse = pulseOf(other);
      return other !== node && pulse !== undefined && pulse.silentForMs >= pulse.silentAfterMs;
    });
  }

  /** Those that a power cut lets go; where the remedy frees nothing there are none. */
  #podsOf(node: string): string[] {
    const { state } = this.#context;
    if (state.fences.get(nodeFenceName(node))?.status?.fence?.cleanResources === false) return [];
    return [...state.pods.values()].filter((pod) => pod.spec.nodeName === node && isMovable(pod)).map(uidOf);
  }
}

function uidOf({ metadata }: Pod): string {
  return metadata.uid ?? '';
}
