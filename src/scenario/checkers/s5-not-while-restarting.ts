/**
 * S5: a taint of ours that says that nothing runs on a node is not on one that restarts. The machine itself says when it
 * does; whose the taint is says who put it there. Where somebody else switches the machine on nobody can take it away before; but an
 * operator that has seen the node in its new boot does so soon, and so does one that leads, and that nothing keeps from the API server,
 * whether or not it has looked: when the node is Ready, or somebody has stopped what the taint is for.
 */
import type { Node, Taint } from '../../world/objects/nodes.ts';
import { isOperator } from '../operator-user.ts';
import type { Invariant, ReadEvent } from './checker.ts';
import { succeeded } from './checker.ts';
import { Offs } from './devices.ts';
import { UntrueMarks } from './untrue-marks.ts';

export const outOfService = 'node.kubernetes.io/out-of-service';
const whileReleasing = 'fenceline';
export const assertingKeys = ['fenceline.dev/force-eviction', outOfService];

/** From the first look at a node in its new boot, by whoever goes on looking at it. */
const soonMs = 30_000;

export const s5: Invariant = {
  id: 'S5',
  check: (context) => {
    const { state, machineOf, nowMs, violated, exempt } = context;
    const offs = new Offs(context);
    /** `node key:effect`: beside a taint of ours somebody else may put one of the same key. */
    const ours = new Set<string>();
    /** `operator node`: since when it has seen one of them on a node in its new boot. */
    const seen = new Map<string, number>();
    const judge = (node: string, taints: readonly Taint[], isAdded: boolean): void => {
      const machine = machineOf(node);
      if (machine === undefined || machine.power === 'off' || machine.alive) return;
      for (const taint of taints) {
        if (!ours.has(nameOf(node, taint))) continue;
        const told = `${node} restarts with the taint ${taint.key}, which is ours`;
        const isForPower = taint.key === outOfService && taint.value === whileReleasing;
        if (isForPower && isAdded) offs.judge(node, told);
        // One that stands while something is let go: nobody can take it away before a person presses the button.
        else if (isForPower && !offs.isToldOn(node)) exempt('PersonsAct', told);
        else violated(told);
      }
    };
    const look = ({ operator, node }: ReadEvent): void => {
      const name = node?.metadata.name ?? '';
      const machine = machineOf(name);
      const isBack = machine?.alive === true && node?.status?.nodeInfo?.bootID === machine.bootId;
      const left = isBack ? assertingTaints(node).find((taint) => ours.has(nameOf(name, taint))) : undefined;
      const key = `${operator} ${name}`;
      const sinceMs = left && (seen.get(key) ?? nowMs());
      if (sinceMs === undefined || left === undefined) seen.delete(key);
      else if (nowMs() - sinceMs < soonMs) seen.set(key, sinceMs);
      else {
        seen.set(key, Infinity);
        violated(`${name} keeps the taint ${left.key}, which is ours, in its new boot`);
      }
    };
    const untrue = new UntrueMarks(context, (node) =>
      assertingTaints(node).find((taint) => ours.has(nameOf(node.metadata.name, taint))),
    );
    return {
      onAct: (act) => untrue.acted(act),
      onWire(event) {
        offs.take(event);
        if (event.type === 'read') look(event);
        if (event.type !== 'started') return;
        for (const key of seen.keys()) if (key.startsWith(`${event.operator} `)) seen.delete(key);
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
        if (write.resource === 'leases' && succeeded(write)) untrue.led(write.user);
        if (write.resource !== 'nodes' || !succeeded(write)) return;
        const had = assertingTaints(write.before);
        const node = write.after?.metadata.name ?? '';
        const added = assertingTaints(write.after).filter((taint) => !had.some((known) => isSame(known, taint)));
        for (const taint of added) ours.add(nameOf(node, taint));
        judge(node, added, true);
      },
      onMachine({ type }, machine) {
        if (type === 'off') offs.fell(machine);
        if (type === 'booting') judge(machine, assertingTaints(state.nodes.get(machine)), false);
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
