/**
 * S18: of two operators that both believe they lead, only one moves a machine. Whoever tells a device to switch something
 * holds the record of that node at this moment, and the record says what is going on: an operator that has lost the record
 * to another, or has none, tells devices nothing.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import { hasSent } from '../cluster-state.ts';
import type { Invariant } from './checker.ts';

export const s18: Invariant = {
  id: 'S18',
  check: ({ state, violated }) => ({
    onWire(event) {
      if ((event.type !== 'device' && event.type !== 'port') || event.action === 'status') return;
      const { node, operator, action } = event;
      const record = state.fences.get(nodeFenceName(node));
      const status = record?.status;
      const told = `operator-${operator} told the device of ${node} ${action}`;
      const isRecorded = action === 'on' ? status?.fence !== undefined : hasSent(record);
      const holder = status?.holder;
      if (!isOf(holder, operator)) violated(`${told} although ${holder ?? 'nobody'} holds its record`);
      else if (!isRecorded) violated(`${told} without a record of that`);
    },
  }),
};

function isOf(holder: string | undefined, operator: number): boolean {
  return holder === `operator-${operator}` || (holder?.startsWith(`operator-${operator}_`) ?? false);
}
