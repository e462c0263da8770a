/**
 * S29: a fence never strikes another machine. When an operator tells the device of a node to switch off, the machine that the
 * command really reaches is that of the node, whatever the device says and whatever is written. Of a device that cannot say whose
 * power it is nobody can know that the first time; once another machine went off by it, it is not told again as long as it is
 * plugged in there.
 */
import type { Invariant } from './checker.ts';

export const s29: Invariant = {
  id: 'S29',
  check: ({ deviceOf, machineOf, violated, exempt }) => {
    /** By node: the machine that its device reached when it last said how it is. */
    const answered = new Map<string, string | undefined>();
    /** By node: the machine that it struck before. */
    const struck = new Map<string, string>();
    return {
      onWire(event) {
        if (event.type === 'answered') answered.set(event.node, deviceOf(event.node)?.strikes);
        if (event.type !== 'device' || event.action !== 'off') return;
        const { node, operator } = event;
        const { strikes = node, hasIdentity = true } = deviceOf(node) ?? {};
        if (strikes === node || machineOf(strikes)?.power !== 'on') return;
        const told = `operator-${operator} told the device of ${node} off, and it is the machine ${strikes} that goes off`;
        const couldKnow = hasIdentity ? answered.get(node) === strikes : struck.get(node) === strikes;
        struck.set(node, strikes);
        if (couldKnow) violated(told);
        else exempt('BlindDevice', told);
      },
    };
  },
};
