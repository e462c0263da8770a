/** What is true of the device of a node, for whoever judges what rests on its word. */
import type { CheckContext } from './checker.ts';

/**
 * It said off for the first time after the last sign of life: from outside that looks like death. Not where the Lease is not overdue
 * and the machine answers whoever knocks at the port of its kubelet.
 */
export function isLying({ deviceOf, machineOf, pulseOf, nowMs }: CheckContext, node: string): boolean {
  const sinceMs = deviceOf(node)?.liesSinceMs;
  const pulse = pulseOf(node);
  const machine = machineOf(node);
  const answers = machine !== undefined && machine.alive && machine.linked;
  if (answers && pulse !== undefined && pulse.silentForMs < pulse.silentAfterMs) return false;
  return sinceMs !== undefined && (pulse === undefined || sinceMs >= nowMs() - pulse.silentForMs);
}
