/**
 * Chance from a seed: sfc32, a small generator that passes the usual statistical tests. Every consumer has a stream of
 * its own, found by name, so that one more consumer, or one that draws more often, does not change what the others get.
 */
export class Random {
  readonly #seed: number;

  constructor(seed: number) {
    if (!Number.isSafeInteger(seed)) throw new RangeError(`a seed is a whole number, not ${seed}`);
    this.#seed = seed;
  }

  /** Numbers from 0 up to, but without, 1. The same name gives the same numbers again. */
  stream(name: string): () => number {
    return sfc32(`${this.#seed}/${name}`);
  }
}

function sfc32(name: string): () => number {
  let [a, b, c] = hash(name);
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return (sum >>> 0) / 2 ** 32;
  };
  // The first numbers still show how alike two seeds were.
  for (let round = 0; round < 12; round += 1) next();
  return next;
}

/** FNV-1a with three different starts, each well mixed at the end: names that differ in one letter share nothing. */
function hash(text: string): [number, number, number] {
  const starts = [0x811c9dc5, 0x01000193, 0x9e3779b9] as const;
  return starts.map((start) => {
    let value: number = start;
    for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
    value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
    value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
    return (value ^ (value >>> 16)) | 0;
  }) as [number, number, number];
}
