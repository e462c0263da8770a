/**
 * How much is under way at a time, over all nodes together. An API server that is given two thousand writes at once
 * serves them no faster than a hundred, but the last of them so late that they have been given up by then, and everything
 * is tried again. Whoever enters waits here, before the live read that its acts rest on, and not after it.
 */
export class Turnstile {
  readonly #places: number;
  readonly #waiting: { places: number; enter: () => void }[] = [];
  #taken = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** First come, first served; answers how to leave. */
  async enter(wanted: number): Promise<() => void> {
    const places = Math.min(Math.max(1, wanted), this.#places);
    const entered = Promise.withResolvers<void>();
    this.#waiting.push({ places, enter: entered.resolve });
    this.#admit();
    await entered.promise;
    return () => {
      this.#taken -= places;
      this.#admit();
    };
  }

  #admit(): void {
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined || this.#taken + next.places > this.#places) return;
      this.#waiting.shift();
      this.#taken += next.places;
      next.enter();
    }
  }
}
