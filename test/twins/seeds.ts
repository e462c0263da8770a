/**
 * The twenty. Taken from the first hundred and fifty by two rules: shaken, with every call late by another time, every controller
 * elsewhere in its round and every step a bit later, they keep their history, so that it does not depend on how busy a
 * machine is; and between them they hold every kind of workload and fault.
 */
import type { Scenario } from './scenario.ts';
import { firstBlackoutSeed, generate } from './generator.ts';

const seeds = [7, 19, 21, 23, 36, 41, 43, 46, 64, 65, 69, 71, 77, 97, 106, 115, 117, 121, 133, 1001];

export const theTwenty: readonly Scenario[] = seeds.map((seed) => generate(seed));

/** It touches the nodes of all others, and runs on a cluster of its own. */
export function isBlackout({ seed }: Scenario): boolean {
  return seed >= firstBlackoutSeed;
}
