/**
 * S5: a taint of ours that says that nothing runs on a node is not on one that restarts. The machine itself says when it
 * does; whose the taint is says who put it there.
 */
import type { Node, Taint } from '../../world/objects/nodes.ts';
import { isOperator } from '../operator-user.ts';
import type { Invariant } from './checker.ts';
import { succeeded } from './checker.ts';

const outOfService = 'node.kubernetes.io/out-of-service';
const whileReleasing = 'fenceline';
export const assertingKeys = ['fenceline.dev/force-eviction', outOfService];

export const s5: Invariant = {
  id: 'S5',
  check: ({ state, machineOf, violated, exempt }) => {
    /** `node key:effect`: beside a taint of ours somebody else may put one of the same key. */
    const ours = new Set<string>();
    /** Whom an operator has told to switch on, since they were last off. */
    const toldOn = new Set<string>();
    const judge = (node: string): void => {
      const machine = machineOf(node);
      if (machine === undefined || machine.power === 'off' || machine.alive) return;
      for (const taint of assertingTaints(state.nodes.get(node))) {
        const { key, value } = taint;
        if (!ours.has(nameOf(node, taint))) continue;
        const told = `${node} restarts with the taint ${key}, which is ours`;
        // One that stands while something is let go: nobody can take it away before a person presses the button.
        if (key === outOfService && value === whileReleasing && !toldOn.has(node)) exempt('PersonsAct', told);
        else violated(told);
      }
    };
    return {
      onWire(event) {
        if (event.type === 'device' && event.action === 'on') toldOn.add(event.node);
      },
      // Whoever sets it otherwise, or takes it away, makes it theirs.
      onStored({ object, previous }, user) {
        if (object.kind !== 'Node' || isOperator(user)) return;
        const now = assertingTaints(object);
        for (const taint of assertingTaints(previous)) {
          if (!now.some((left) => isSame(left, taint) && left.value === taint.value))
            ours.delete(nameOf(object.metadata.name, taint));
        }
      },
      onWrite(write) {
        if (write.resource !== 'nodes' || !succeeded(write)) return;
        const had = assertingTaints(write.before);
        const node = write.after?.metadata.name ?? '';
        for (const taint of assertingTaints(write.after)) {
          if (!had.some((known) => isSame(known, taint))) ours.add(nameOf(node, taint));
        }
        judge(node);
      },
      onMachine({ type }, machine) {
        if (type === 'off') toldOn.delete(machine);
        if (type === 'booting') judge(machine);
      },
    };
  },
};

function assertingTaints(node: Node | undefined): Taint[] {
  return (node?.spec?.taints ?? []).filter(({ key }) => assertingKeys.includes(key));
}

function isSame(one: Taint, other: Taint): boolean {
  return one.key === other.key && one.effect === other.effect;
}

function nameOf(node: string, { key, effect }: Taint): string {
  return `${node} ${key}:${effect}`;
}
