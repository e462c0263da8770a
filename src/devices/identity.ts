/** Whether a device and a node speak of the same machine (S29). */
import type { Identity } from './device.ts';

/** Of two identities of the same kind; others cannot be compared. */
export function isSameMachine(one: Identity, other: Identity): boolean {
  if (one.kind !== other.kind) return false;
  if (one.kind === 'systemUUID') return isSameSystem(one.value, other.value);
  // Azure writes the same ID in upper and lower case; no provider has two that differ by that alone.
  if (one.kind === 'providerID') return one.value.toLowerCase() === other.value.toLowerCase();
  return one.value === other.value;
}

/** Neither all zeros nor all ones, as in machines whose firmware was never told. */
export function isUuid(text: string | undefined): text is string {
  const hex = (text ?? '').toLowerCase().replaceAll('-', '');
  return /^[0-9a-f]{32}$/.test(hex) && !/^(0{32}|f{32})$/.test(hex);
}

/** The bytes of a UUID as firmware stores them: the first three fields have their bytes turned round. */
export function firmwareOrder(hex: string): string {
  const bytes = hex.match(/../g) ?? [];
  const turned = [
    ...bytes.slice(0, 4).toReversed(),
    ...bytes.slice(4, 6).toReversed(),
    ...bytes.slice(6, 8).toReversed(),
    ...bytes.slice(8),
  ].join('');
  return [0, 8, 12, 16, 20].map((start, index, starts) => turned.slice(start, starts[index + 1])).join('-');
}

/**
 * Whether two UUIDs are of one machine. Controllers, firmware and kernels disagree about the order of the bytes, so the
 * same bytes in any of the orders in use count as the same. Two machines that differ only by that do not exist.
 */
export function isSameSystem(one: string, other: string): boolean {
  const plain = (uuid: string): string => uuid.toLowerCase().replaceAll(/[^0-9a-f]/g, '');
  const [left, right] = [plain(one), plain(other)];
  if (left.length !== 32 || right.length !== 32) return false;
  return ordersOf(left).includes(right) || ordersOf(right).includes(left);
}

function ordersOf(hex: string): string[] {
  const reversed = (hex.match(/../g) ?? []).toReversed().join('');
  return [hex, reversed, ...[hex, reversed].map((one) => firmwareOrder(one).replaceAll('-', ''))];
}
