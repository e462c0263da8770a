/**
 * S29: a fence never strikes another machine. When an operator tells the device of a node to switch off, the machine that the
 * command really reaches is that of the node, whatever the device says and whatever is written. A device that can say whose power it
 * is has to be asked before: only what was plugged in elsewhere within the last seconds nobody could know. Of one that cannot say so
 * nobody knows it the first time; once another machine went off by it, it is not told again as long as it is plugged in there.
 */
import type { Invariant } from './checker.ts';

/** A question, its answer and the live reads between it and the command. */
const askedBeforeMs = 5000;

export const s29: Invariant = {
  id: 'S29',
  check: ({ deviceOf, machineOf, nowMs, violated, exempt }) => {
    /** When plugs were last changed, or a device was last broken, anywhere. */
    let changedMs = -Infinity;
    /** By node: the machine that it struck before. */
    const struck = new Map<string, string>();
    return {
      onAct(act) {
        if (act.do === 'swapDevices' || act.do === 'device') changedMs = nowMs();
      },
      onWire(event) {
        if (event.type !== 'device' || event.action !== 'off') return;
        const { node, operator, feed } = event;
        const { strikes = node, hasIdentity = true } = deviceOf(node, feed) ?? {};
        if (strikes === node || machineOf(strikes)?.power !== 'on') return;
        const told = `operator-${operator} told the device of ${node} off, and it is the machine ${strikes} that goes off`;
        const couldKnow = hasIdentity ? nowMs() - changedMs > askedBeforeMs : struck.get(node) === strikes;
        struck.set(node, strikes);
        if (couldKnow) violated(told);
        else exempt('BlindDevice', told);
      },
    };
  },
};
