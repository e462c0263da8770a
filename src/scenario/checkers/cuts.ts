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
  /** How many nodes there were. */
  nodes: number;
}

/** A device that has not done it by then is not going to. */
const takesAtMostMs = 60_000;
/** What has not gone by then is held up by something else than the fence. */
const goesWithinMs = 120_000;

export class Cuts {
  readonly #context: CheckContext;
  readonly #cuts = new Map<string, Cut>();
  /** When the device of a node last said off. */
  readonly #saidOffMs = new Map<string, number>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  ask(event: WireEvent): void {
    const { nowMs, machineOf, state } = this.#context;
    if (event.type === 'answered' && event.power === 'off') this.#saidOffMs.set(event.node, nowMs());
    if (event.type !== 'device') return;
    const { node, action } = event;
    if (action === 'on') this.#cuts.delete(node);
    if (action !== 'off' || machineOf(node)?.power !== 'on') return;
    this.#cuts.set(node, { atMs: nowMs(), pods: this.#podsOf(node), nodes: state.nodes.size });
  }

  happen({ type }: MachineEvent, machine: string): void {
    if (type === 'booting') this.#cuts.delete(machine);
  }

  /**
   * Nodes with a command under way, or with pods that are still to go. Where a person holds that, nobody waits for them for longer
   * than a command takes (SAF-10).
   */
  busy(): string[] {
    const { nowMs, machineOf, state } = this.#context;
    const there = new Set([...state.pods.values()].map(({ metadata }) => metadata.uid ?? ''));
    return [...this.#cuts].flatMap(([node, cut]) => {
      const { atMs, pods } = cut;
      if (this.#waitsForOthers(node, cut)) return [];
      const ageMs = nowMs() - atMs;
      if (machineOf(node)?.power === 'on') return ageMs < takesAtMostMs ? [node] : [];
      const isWorked = ageMs < (this.#isHeld(node) ? takesAtMostMs : goesWithinMs);
      return isWorked && pods.some((uid) => there.has(uid)) ? [node] : [];
    });
  }

  #isHeld(node: string): boolean {
    const { fences, policies, nodes } = this.#context.state;
    const { spec } = fences.get(nodeFenceName(node)) ?? {};
    const { mode = 'Enforce' } = policies.get(spec?.policy ?? '')?.spec ?? {};
    const isMaintained = nodes.get(node)?.metadata.annotations?.['fenceline.dev/maintenance-until'] !== undefined;
    return spec?.stop === true || mode !== 'Enforce' || isMaintained;
  }

  /**
   * No device says whose power went, and somebody else is silent, and no such device of its own has said off since, or has no Node
   * any more: until that one is heard of nobody can go on (SAF-17).
   */
  #waitsForOthers(node: string, { atMs, nodes }: Cut): boolean {
    const { machineOf, deviceOf, pulseOf, state } = this.#context;
    if (machineOf(node)?.power === 'on' || deviceOf(node)?.hasIdentity !== false) return false;
    if (state.nodes.size < nodes) return true;
    return [...state.nodes.keys()].some((other) => {
      const pulse = pulseOf(other);
      const isOff = deviceOf(other)?.hasIdentity === false && (this.#saidOffMs.get(other) ?? -Infinity) >= atMs;
      return other !== node && !isOff && pulse !== undefined && pulse.silentForMs >= pulse.silentAfterMs;
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
