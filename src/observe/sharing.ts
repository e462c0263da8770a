/**
 * Which nodes say the same of themselves: a boot, a machine. Asked in every look at a node, so that nobody goes through thousands of them
 * each time.
 */
export class Sharing {
  readonly #first = new Map<string, string>();
  /** Where more than one says so. */
  readonly #second = new Map<string, string>();

  note(key: string, name: string): void {
    const first = this.#first.get(key);
    if (first === undefined) this.#first.set(key, name);
    else if (first !== name && !this.#second.has(key)) this.#second.set(key, name);
  }

  /** Another node than this one that says so. */
  otherThan(name: string, key: string): string | undefined {
    const first = this.#first.get(key);
    return first === name ? this.#second.get(key) : first;
  }
}
