/** The standard taint by which a node is out of service, where it is ours (EVD-5). */
import type { TaintFacts } from './release-view.ts';
import { OUT_OF_SERVICE_KEY } from './release-view.ts';

/**
 * Told from that of an administrator by its value, also where nothing is on record any more. Whoever heeds it heeds its key; by
 * NoExecute it would also drive pods out, past budgets, and a controller that makes them for this very node would make the next one
 * at once, for as long as it stands (SAF-9).
 */
export const OUR_OUT_OF_SERVICE = { key: OUT_OF_SERVICE_KEY, value: 'fenceline', effect: 'NoSchedule' } as const;

export function isOurOutOfService({ key, effect, value }: TaintFacts): boolean {
  const ours = OUR_OUT_OF_SERVICE;
  return key === ours.key && effect === ours.effect && value === ours.value;
}

/** By us, and not by an administrator, whose word it would be. */
export function isOutOfServiceByUs(node: { taints: readonly TaintFacts[] } | undefined): boolean {
  return node?.taints.some(isOurOutOfService) ?? false;
}
