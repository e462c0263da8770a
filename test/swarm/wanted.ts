/** What is asked of the swarm, or why it cannot be: a mistyped word must not look like a swarm that has found nothing. */
import type { Kind } from './record.ts';
import { kinds } from './record.ts';

export interface Wanted {
  from: number;
  seeds: number;
  size: Kind;
}

/** A text: what to write instead. */
export function wantedOf(written: Readonly<Record<keyof Wanted, string>>): Wanted | string {
  for (const name of ['seeds', 'from'] as const) {
    if (!/^[1-9]\d{0,8}$/.test(written[name])) {
      return `${name.toUpperCase()}=${written[name]}: write a whole number of at least 1`;
    }
  }
  const size = kinds.find((kind) => kind === written.size);
  if (size === undefined) return `SIZE=${written.size}: write one of ${kinds.join(', ')}`;
  return { from: Number(written.from), seeds: Number(written.seeds), size };
}
