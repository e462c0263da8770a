/**
 * S18: of two operators that both believe they lead, only one moves a machine. Whoever tells a device to switch something
 * holds the record of that node at this moment, and the record says what is going on: an operator that has lost the record
 * to another, or has none, tells devices nothing.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Invariant } from './checker.ts';

export const s18: Invariant = {
  id: 'S18',
  check: ({ state, violated }) => ({
    onWire(event) {
      if (event.type !== 'device' || event.action === 'status') return;
      const { node, operator, action } = event;
      const status = state.fences.get(nodeFenceName(node))?.status;
      const told = `operator-${operator} told the device of ${node} ${action}`;
      if (status?.fence?.irrevocableSince === undefined) violated(`${told} without a record of that`);
      else if (!isOf(status.holder, operator))
        violated(`${told} although ${status.holder ?? 'nobody'} holds its record`);
    },
  }),
};

function isOf(holder: string | undefined, operator: number): boolean {
  return holder === `operator-${operator}` || (holder?.startsWith(`operator-${operator}_`) ?? false);
}
