/** Which seeds are played: 200 of them, 10,000 in `make soak`, or those that somebody asks for. */
import type { Story } from './generate.ts';
import { generate } from './generate.ts';
import type { Finding } from './play.ts';
import { play, told } from './play.ts';

const isSoak = process.env['FENCELINE_EXHAUSTIVE'] === '1';
const first = Number(process.env['EDITS_FROM'] ?? 1);
const count = Number(process.env['EDITS'] ?? (isSoak ? 10_000 : 200));

export const stories: readonly Story[] = Array.from({ length: count }, (_, index) => generate(first + index));
export const calm = stories.filter(({ trouble }) => trouble === undefined);
export const troubled = stories.filter(({ trouble }) => trouble !== undefined);

/** So many at a time in one cluster; a line for each of which something is to be told. */
export async function playAll(all: readonly Story[], together: number): Promise<string[]> {
  const found: string[] = [];
  for (let from = 0; from < all.length; from += together) {
    const some = all.slice(from, from + together);
    const findings: readonly Finding[] = await play(some);
    found.push(...told(findings, some));
  }
  return found;
}
