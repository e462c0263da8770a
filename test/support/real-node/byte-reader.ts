/** Takes so many bytes at a time from a stream that delivers them in any pieces. */
import type { Socket } from 'node:net';

export class ByteReader {
  static readonly ended = 'the connection has ended';
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#pieces = (socket as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  async take(count: number): Promise<Buffer> {
    const pieces = [this.#rest];
    let length = this.#rest.length;
    while (length < count) {
      const next = await this.#pieces.next();
      if (next.done === true) throw new Error(ByteReader.ended);
      pieces.push(next.value);
      length += next.value.length;
    }
    const all = Buffer.concat(pieces);
    this.#rest = all.subarray(count);
    return all.subarray(0, count);
  }
}
