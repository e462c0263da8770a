/** Sabotages that more than one mutant is made with. */
import type { Sabotage } from './mutant.ts';
import { place } from './trouble.ts';

/** A kubelet that is back is taken at its first word. */
export const believedAtOnce: Sabotage = {
  file: 'src/return/return-node.ts',
  line: 'return reportsUntilBelieved * Math.max(reportMs, renewalMs(lease));',
  instead: 'return lease === undefined ? reportsUntilBelieved * Math.max(reportMs, renewalMs(lease)) : 0;',
};

/** What was cut off is connected as soon as the node is back. */
export const connectedAtOnce: Sabotage = {
  file: 'src/fence/recovering.ts',
  line: 'const mayConnect = cuts.length === 0 || facts.isHarmless',
  instead: 'const mayConnect = cuts.length >= 0 || facts.isHarmless',
};

/**
 * For a node that is cut off, and whose kubelet is started anew before it is back: such a kubelet is Ready before it knows what its
 * machine has mounted, and says so later.
 */
export const kubeletAnew = [
  { at: '0s', partition: place },
  { at: '50s', kubeletStop: place },
  { at: '60s', heal: place },
  { at: '60s', kubeletStart: place },
];
