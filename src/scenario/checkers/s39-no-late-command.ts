/**
 * S39: no device is told to cut what is well again: not where it was told nothing before in the same fence, and not where its machine
 * is on, whatever it was told before. Well is a node that is Ready, renews, and has none of the conditions that its policy acts upon;
 * judged by the renewals that reached the API server. What a person asks for today is theirs, and told by name.
 */
import { atCuts, besides } from './at-cuts.ts';

/** What comes back in the moment of the command could not be read before it. */
const tooLateMs = 1000;

export const s39 = atCuts('S39', ({ pulseOf, violated, exempt }, { troubles }) => ({
  onCut(cut) {
    const { operator, node, isFirst, isOn, request } = cut;
    const { silentForMs = 0, silentAfterMs = 0, renewingForMs = 0 } = pulseOf(node) ?? {};
    // One whose next renewal is due may be silent, or not.
    const isRenewing = silentForMs * 1.2 < silentAfterMs && renewingForMs >= tooLateMs;
    const isWell = !troubles.isSilent(node) && troubles.conditionsOf(node).length === 0;
    if (!(isFirst || isOn) || !isWell || !isRenewing) return;
    const told = `operator-${operator} told the device of ${node} off although its trouble was over`;
    if (request === 'current') exempt('PersonsAct', told);
    else violated(told + besides(cut));
  },
}));
