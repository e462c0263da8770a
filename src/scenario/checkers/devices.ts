/** What is true of the device of a node, for whoever judges what rests on its word. */
import type { CheckContext } from './checker.ts';

/** It said off for the first time after the last sign of life: from outside that looks like death. */
export function isLying({ deviceOf, pulseOf, nowMs }: CheckContext, node: string): boolean {
  const sinceMs = deviceOf(node)?.liesSinceMs;
  const pulse = pulseOf(node);
  return sinceMs !== undefined && (pulse === undefined || sinceMs >= nowMs() - pulse.silentForMs);
}
