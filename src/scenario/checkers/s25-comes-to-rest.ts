/**
 * S25: when faults stop, every node ends healthy, or held with a stated reason, in bounded time. Judged at the end of a run in which
 * nothing was done to the cluster for five minutes and everything that was broken is whole again: what operators have left behind
 * by then, and nobody says why, stays so for ever.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import { isReady } from '../../world/objects/meta.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Act } from '../format.ts';
import type { CheckContext, Checker, Invariant } from './checker.ts';

const restMs = 5 * 60_000;
const cordonedByUs = 'fenceline.dev/cordoned';

export const s25: Invariant = { id: 'S25', check: (context) => new ComesToRest(context) };

/** What begins a fault, and what ends it. */
const ends: Partial<Record<Act['do'], Act['do']>> = {
  powerOff: 'powerOn',
  hang: 'resume',
  partition: 'heal',
  zonePartition: 'zoneHeal',
  storagePartition: 'storageHeal',
  kubeletStop: 'kubeletStart',
  apiDown: 'apiUp',
  isolateOperator: 'restoreOperator',
};

interface Left {
  what: string;
  taint?: string;
  isCut?: boolean;
}

class ComesToRest implements Checker {
  readonly #context: CheckContext;
  readonly #faults = new Set<string>();
  /** As `node key`. */
  readonly #taintedByHand = new Set<string>();
  /** Nodes whose record a person has deleted while they were cut off, or switched off: nobody remembers who did it (SAF-4). */
  readonly #forgotten = new Set<string>();
  #lastMs = -Infinity;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onAct(act: Act, node: string | undefined): void {
    this.#lastMs = this.#context.nowMs();
    if (act.do === 'delete' && act.kind === 'NodeFence') this.#onForgotten(act.name);
    if (act.do === 'taint') this.#taintedByHand.add(`${node} ${act.key}`);
    if (act.do === 'untaint') this.#taintedByHand.delete(`${node} ${act.key}`);
    const whom = 'operator' in act ? String(act.operator) : 'zone' in act ? act.zone : (node ?? '');
    if ('fault' in act) {
      const what = `${act.do} ${'driver' in act ? act.driver : whom}`;
      if (act.fault === 'none') this.#faults.delete(what);
      else this.#faults.add(what);
    } else if (act.do === 'swapDevices' || act.do === 'clockSkew') {
      // Two of them undo each other.
      const what = `${act.do} ${whom}`;
      if (!this.#faults.delete(what)) this.#faults.add(what);
    } else if (act.do === 'condition') {
      if (act.status === 'True') this.#faults.add(`${act.type} ${whom}`);
      else this.#faults.delete(`${act.type} ${whom}`);
    } else if (ends[act.do] !== undefined) {
      this.#faults.add(`${ends[act.do]} ${whom}`);
    } else this.#faults.delete(`${act.do} ${whom}`);
  }

  #onForgotten(record: string): void {
    const { state, isPortClosed, machineOf } = this.#context;
    const node = [...state.nodes.keys()].find((name) => nodeFenceName(name) === record);
    if (node !== undefined && (isPortClosed(node) || machineOf(node)?.power === 'off')) this.#forgotten.add(node);
  }

  onEnd(): void {
    const { state, nowMs, violated, exempt } = this.#context;
    if (this.#faults.size > 0 || nowMs() - this.#lastMs < restMs) return;
    for (const [name, node] of state.nodes) {
      const left = this.#leftOn(name, node);
      if (left === undefined || this.#statedFor(name) !== undefined) continue;
      const told = `${name} ${left.what} five minutes after the last fault, and nobody says why`;
      const isTheirs = left.taint !== undefined && this.#taintedByHand.has(`${name} ${left.taint}`);
      const isForgotten = left.isCut === true && this.#forgotten.has(name);
      if (isTheirs || isForgotten) exempt('PersonsAct', told);
      else violated(told);
    }
  }

  #leftOn(name: string, node: Node): Left | undefined {
    if (this.#context.machineOf(name)?.power === 'off') return { what: 'is still switched off', isCut: true };
    if (this.#context.isPortClosed(name)) return { what: 'is still cut off from its storage', isCut: true };
    const taint = node.spec?.taints?.find(({ key }) => key.startsWith('fenceline.dev/'))?.key;
    if (taint !== undefined) return { what: `still has the taint ${taint}`, taint };
    const annotations = node.metadata.annotations ?? {};
    const isOurs = annotations[cordonedByUs] !== undefined;
    if (node.spec?.unschedulable === true && isOurs) return { what: 'still has our cordon' };
    return isReady(node) ? undefined : { what: 'is still not Ready' };
  }

  #statedFor(name: string): string | undefined {
    const { spec, status } = this.#context.state.fences.get(nodeFenceName(name)) ?? {};
    if (spec?.stop === true) return 'it is stopped';
    // What went wrong on the way to a fence that has ended says nothing of now.
    const { status: at, waitsFor, message } = status?.fence ?? {};
    const said = at === 'final' ? undefined : (waitsFor ?? message);
    return status?.hold?.message ?? status?.return?.waitsFor ?? said;
  }
}
