/** Whether a device and a node speak of the same machine (S29). */
import { isSameSystem } from '../api/machine.ts';
import type { Identity } from './device.ts';

/** Of two identities of the same kind; others cannot be compared. */
export function isSameMachine(one: Identity, other: Identity): boolean {
  if (one.kind !== other.kind) return false;
  if (one.kind === 'systemUUID') return isSameSystem(one.value, other.value);
  // Azure writes the same ID in upper and lower case; no provider has two that differ by that alone.
  if (one.kind === 'providerID') return one.value.toLowerCase() === other.value.toLowerCase();
  return one.value === other.value;
}
