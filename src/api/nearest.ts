/** The valid word with the fewest letters to change, or one that only begins like it; letter case does not count. */
export function nearest(word: string, valid: readonly string[]): string {
  const lower = word.toLowerCase();
  const score = (one: string): number =>
    one.toLowerCase().startsWith(lower) || lower.startsWith(one.toLowerCase())
      ? 0.5
      : distance(lower, one.toLowerCase());
  const scored = valid.map((one) => ({ one, score: score(one) }));
  return scored.reduce((best, next) => (next.score < best.score ? next : best)).one;
}

/** Undefined: none is near enough to be what was meant. */
export function likeliest(word: string, valid: readonly string[]): string | undefined {
  if (valid.length === 0) return undefined;
  const best = nearest(word, valid);
  const [lower, found] = [word.toLowerCase(), best.toLowerCase()];
  const isBeginning = found.startsWith(lower) || lower.startsWith(found);
  return isBeginning || distance(lower, found) <= Math.max(2, lower.length / 3) ? best : undefined;
}

/** How many letters to change, add or leave out. */
export function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      current[column] = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      );
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
