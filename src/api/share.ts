/** Shares of the nodes, apart from their schema, so that the operator does not load that. */

/** `40%`, or a number of nodes. */
export type Share = number | string;

/**
 * How many of `total` a share allows. Rounded down: 40% of 4 nodes is one, since a limit that rounds up lets a storm in
 * on the smallest clusters, which can stand it least.
 */
export function shareOf(value: Share, total: number): number {
  if (typeof value === 'number') return value;
  return Math.floor((Number.parseInt(value, 10) * total) / 100);
}
