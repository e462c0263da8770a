/** Bodies of answers: one piece for a call, a queue that may end or break for a watch. */

export function onePiece(text: string | Uint8Array): AsyncIterable<Uint8Array> {
  const chunk = typeof text === 'string' ? Buffer.from(text) : text;
  return {
    [Symbol.asyncIterator]() {
      let done = false;
      return {
        next() {
          if (done) return Promise.resolve({ done: true as const, value: undefined });
          done = true;
          return Promise.resolve({ done: false as const, value: chunk });
        },
      };
    },
  };
}

type Step = IteratorResult<Uint8Array, undefined>;

/** Has one reader. Pieces wait until they are read; an error comes at once, as from a broken connection. */
export class ByteQueue implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array, undefined> {
  readonly #pieces: Uint8Array[] = [];
  #first = 0;
  #waiting: { resolve: (step: Step) => void; reject: (error: Error) => void } | undefined;
  #end: { error: Error | undefined } | undefined;
  readonly #onClose: (() => void)[] = [];

  onClose(listener: () => void): void {
    this.#onClose.push(listener);
  }

  get closed(): boolean {
    return this.#end !== undefined;
  }

  push(piece: Uint8Array): void {
    if (this.#end !== undefined) return;
    if (this.#waiting === undefined) {
      this.#pieces.push(piece);
      return;
    }
    const { resolve } = this.#waiting;
    this.#waiting = undefined;
    resolve({ done: false, value: piece });
  }

  /** No more pieces; those that wait are still read. */
  end(): void {
    this.#close(undefined);
  }

  fail(error: Error): void {
    this.#close(error);
  }

  next(): Promise<Step> {
    if (this.#end?.error !== undefined) return Promise.reject(this.#end.error);
    const piece = this.#pieces[this.#first];
    if (piece !== undefined) {
      this.#first += 1;
      if (this.#first === this.#pieces.length) {
        this.#pieces.length = 0;
        this.#first = 0;
      }
      return Promise.resolve({ done: false, value: piece });
    }
    if (this.#end !== undefined) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  return(): Promise<Step> {
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #close(error: Error | undefined): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const listener of this.#onClose) listener();
    if (waiting === undefined) return;
    if (error === undefined) waiting.resolve({ done: true, value: undefined });
    else waiting.reject(error);
  }
}
