/** Sabotages that more than one mutant is made with. */
import type { Sabotage } from './mutant.ts';

/** A kubelet that is back is taken at its first word. */
export const believedAtOnce: Sabotage = {
  file: 'src/return/return-node.ts',
  line: 'return reportsUntilBelieved * Math.max(reportMs, renewalMs(lease));',
  instead: 'return lease === undefined ? reportsUntilBelieved * Math.max(reportMs, renewalMs(lease)) : 0;',
};

/** What was cut off is connected as soon as the node is back. */
export const connectedAtOnce: Sabotage = {
  file: 'src/fence/automaton.ts',
  line: 'if (cuts.length > 0 && !isSafe) return',
  instead: 'if (cuts.length > 99 && !isSafe) return',
};
