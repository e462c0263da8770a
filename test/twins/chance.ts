/** Choices from a stream of random numbers. */
export class Chance {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** True so often. */
  maybe(share: number): boolean {
    return this.#random() < share;
  }

  /** From `least` to `most`, both included, in whole numbers. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }

  one<T>(choices: readonly T[]): T {
    const choice = choices[Math.floor(this.#random() * choices.length)];
    if (choice === undefined) throw new RangeError('nothing to choose from');
    return choice;
  }

  /** By weight; undefined when nothing has any. */
  weighted<T>(choices: readonly { weight: number; choice: T }[]): T | undefined {
    const total = choices.reduce((sum, { weight }) => sum + weight, 0);
    let left = this.#random() * total;
    for (const { weight, choice } of choices) {
      left -= weight;
      if (left < 0) return choice;
    }
    return undefined;
  }

  some<T>(choices: readonly T[], count: number): T[] {
    const rest = [...choices];
    return Array.from({ length: Math.min(count, rest.length) }, () => {
      const [taken] = rest.splice(Math.floor(this.#random() * rest.length), 1);
      return taken as T;
    });
  }
}
