/**
 * Cuts what the API server streams into single objects while it arrives, so that each can be projected to the few
 * fields that matter and forgotten. Parsing a page as a whole would hold hundreds of full objects at once: at 5,000
 * nodes that is 57 MB of JSON and several times as much on the heap.
 */
import { Document } from './transport.ts';

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const newline = 0x0a;

/** What the server sent is not what the protocol promises: cut short, not JSON, or not the JSON of Kubernetes. */
export class ProtocolError extends Error {}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ProtocolError(`not JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** Bytes of a value that may span several chunks. Chunks belong to the caller only until the next one arrives. */
class Pieces {
  #kept: Buffer[] = [];

  keep(chunk: Buffer, start: number, end: number): void {
    if (end > start) this.#kept.push(Buffer.from(chunk.subarray(start, end)));
  }

  take(chunk: Buffer, start: number, end: number): string {
    if (this.#kept.length === 0) return chunk.toString('utf8', start, end);
    const whole = Buffer.concat([...this.#kept, chunk.subarray(start, end)]);
    this.#kept = [];
    return whole.toString('utf8');
  }

  get empty(): boolean {
    return this.#kept.length === 0;
  }
}

class LineCutter {
  readonly #pieces = new Pieces();

  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      yield this.#pieces.take(chunk, start, end);
      start = end + 1;
    }
    this.#pieces.keep(chunk, start, chunk.length);
  }

  *end(): Generator<string> {
    if (!this.#pieces.empty) yield this.#pieces.take(Buffer.alloc(0), 0, 0);
  }
}

/** A watch is one JSON document per line. */
export async function* documents(body: AsyncIterable<Uint8Array>): AsyncGenerator {
  const cutter = new LineCutter();
  for await (const bytes of body) {
    if (bytes instanceof Document) yield bytes.value;
    else for (const line of cutter.push(asBuffer(bytes))) yield parseJson(line);
  }
  for (const line of cutter.end()) yield parseJson(line);
}

/** What a list says besides its items. */
export interface ListEnvelope {
  metadata?: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
}

/**
 * Calls `onItem` with each element of the list's `items`, in order, and answers with the rest of the document. The
 * order of the document's keys does not matter: built-in resources put `metadata` first, custom ones put it last.
 * Rejects with a ProtocolError if the document is cut short or is not JSON, and with whatever `onItem` throws.
 */
export async function readList(
  body: AsyncIterable<Uint8Array>,
  onItem: (item: unknown) => void,
): Promise<ListEnvelope> {
  const scanner = new ListScanner(onItem);
  for await (const bytes of body) scanner.push(asBuffer(bytes));
  return scanner.end();
}

/**
 * Follows strings and nesting byte by byte; everything else is left to JSON.parse. Depth 1 is the list itself, depth 2
 * the `items` array, depth 3 an item.
 */
class ListScanner {
  readonly #onItem: (item: unknown) => void;
  readonly #envelope: string[] = [];
  readonly #pieces = new Pieces();
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inItems = false;
  /** The last string at depth 1: before a `[` it can only be that array's key. */
  #lastString = '';
  readonly #string = new Pieces();
  /** Where in the current chunk the value that is being collected starts. */
  #from = 0;

  constructor(onItem: (item: unknown) => void) {
    this.#onItem = onItem;
  }

  push(chunk: Buffer): void {
    this.#from = 0;
    let stringFrom = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#inString) {
        at = this.#skipString(chunk, at);
        if (this.#inString) break;
        if (this.#depth === 1) this.#lastString = this.#string.take(chunk, stringFrom, at);
        continue;
      }
      switch (chunk[at]) {
        case quote:
          this.#inString = true;
          stringFrom = at + 1;
          break;
        case openBrace:
        case openBracket:
          this.#open(chunk, at);
          break;
        case closeBrace:
        case closeBracket:
          this.#close(chunk, at);
          break;
        default:
      }
    }
    if (this.#inString && this.#depth === 1) this.#string.keep(chunk, stringFrom, chunk.length);
    this.#pieces.keep(chunk, this.#from, chunk.length);
  }

  end(): ListEnvelope {
    this.#envelope.push(this.#pieces.take(Buffer.alloc(0), 0, 0));
    if (this.#inItems) throw new ProtocolError('the list ends in the middle of its items');
    return parseJson(this.#envelope.join('')) as ListEnvelope;
  }

  /** Index of the closing quote, or of the last byte when the string goes on in the next chunk. */
  #skipString(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length) {
      if (this.#escaped) {
        this.#escaped = false;
        at += 1;
        continue;
      }
      const byte = chunk[at];
      if (byte === backslash) this.#escaped = true;
      else if (byte === quote) {
        this.#inString = false;
        return at;
      }
      at += 1;
    }
    return at;
  }

  #open(chunk: Buffer, at: number): void {
    this.#depth += 1;
    if (this.#inItems && this.#depth === 3) {
      this.#pieces.take(chunk, this.#from, at);
      this.#from = at;
    } else if (this.#depth === 2 && chunk[at] === openBracket && this.#lastString === 'items') {
      this.#inItems = true;
      this.#envelope.push(this.#pieces.take(chunk, this.#from, at + 1));
      this.#from = at + 1;
    }
  }

  #close(chunk: Buffer, at: number): void {
    this.#depth -= 1;
    if (!this.#inItems) return;
    if (this.#depth === 2) {
      const item = this.#pieces.take(chunk, this.#from, at + 1);
      this.#from = at + 1;
      this.#onItem(parseJson(item));
    } else if (this.#depth === 1) {
      // What stands between the items is commas and white space.
      this.#pieces.take(chunk, this.#from, at);
      this.#from = at;
      this.#inItems = false;
    }
  }
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
