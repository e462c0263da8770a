/**
 * Stands in for an operator that does what the product never may, to see that the checkers notice. It speaks to the
 * server directly: the product's client has no way to do these things.
 */
import type { Clock } from '../../src/clock.ts';
import { sleep } from '../../src/clock.ts';
import type { HttpRequest, Transport } from '../../src/kube/transport.ts';
import { Document } from '../../src/kube/transport.ts';
import type { RunOptions } from '../../src/scenario/runner.ts';

export class Rogue {
  readonly clock: Clock;
  readonly #transport: Transport;

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport;
    this.clock = clock;
  }

  /** Throws unless the server carries it out. */
  async ask<T = { metadata: { uid: string; resourceVersion: string } }>(
    method: HttpRequest['method'],
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<T> {
    const response = await this.#transport.send({
      method,
      path,
      purpose: 'call',
      timeoutMs: 10_000,
      headers: { accept: 'application/json', 'content-type': contentType, 'user-agent': 'rogue' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const [first] = chunks;
    const answer = first instanceof Document ? first.value : JSON.parse(Buffer.concat(chunks).toString('utf8'));
    if (response.status > 299) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer as T;
  }

  get<T>(path: string): Promise<T> {
    return this.ask<T>('GET', path);
  }
}

/** Does `act` so long after its start, once; `onDone` hears how it went, because a run itself goes on regardless. */
export function rogueOperator(
  afterMs: number,
  act: (rogue: Rogue) => Promise<void>,
  onDone: (error?: unknown) => void,
): NonNullable<RunOptions['program']> {
  return ({ transport, clock }) => ({
    async run() {
      await sleep(clock, afterMs);
      await act(new Rogue(transport, clock)).then(() => onDone(), onDone);
      await new Promise(() => {});
    },
  });
}
