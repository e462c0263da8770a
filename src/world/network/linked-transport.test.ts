import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ManualClock, manualClock } from '../../../test/support/manual-clock.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../kube/transport.ts';
import { TransportError } from '../../kube/transport.ts';
import { Machine } from '../machines/machine.ts';
import { LinkedTransport } from './linked-transport.ts';

const request: HttpRequest = { method: 'GET', path: '/', purpose: 'watch', timeoutMs: 1000 };

/** A server whose answer comes when the test says so, and whose body is what the test sends. */
class Server implements Transport {
  readonly answer = Promise.withResolvers<void>();
  requests = 0;
  #chunks: string[] = [];
  #more = Promise.withResolvers<void>();

  async send({ signal }: HttpRequest): Promise<HttpResponse> {
    this.requests += 1;
    const aborted = this.#aborted(signal);
    await Promise.race([this.answer.promise, aborted]);
    return { status: 200, headers: {}, body: this.#body(aborted) };
  }

  push(chunk: string): void {
    this.#chunks.push(chunk);
    this.#more.resolve();
    this.#more = Promise.withResolvers<void>();
  }

  close(): void {}

  async *#body(aborted: Promise<never>): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) yield Buffer.from(chunk);
      else await Promise.race([this.#more.promise, aborted]);
    }
  }

  #aborted(signal: AbortSignal | undefined): Promise<never> {
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    const reject = (): void => aborted.reject(new TransportError('aborted', 'given up'));
    signal?.addEventListener('abort', reject);
    if (signal?.aborted) reject();
    return aborted.promise;
  }
}

function setUp(): { clock: ManualClock; machine: Machine; server: Server; transport: LinkedTransport } {
  const clock = manualClock();
  const machine = new Machine({ name: 'node-1', clock, random: () => 0.5, bootTimeMs: 1000 });
  machine.powerOn(0);
  clock.advance(0);
  const server = new Server();
  return { clock, machine, server, transport: new LinkedTransport(server, machine) };
}

const failure = (expected: string) => (error: unknown) => error instanceof TransportError && error.failure === expected;

/** Long enough for everything that is ready to happen without time passing. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

describe('the link of a machine', () => {
  test('carries nothing while it is down or the machine is off', async () => {
    const { clock, machine, server, transport } = setUp();
    machine.partition();
    await assert.rejects(transport.send(request), failure('broken'));
    machine.heal();
    machine.reset();
    await assert.rejects(transport.send(request), failure('broken'));
    assert.equal(server.requests, 0);
    clock.advance(1000);
    server.answer.resolve();
    assert.equal((await transport.send(request)).status, 200);
  });

  test('breaks what is under way, and so does the loss of power', async () => {
    for (const cut of ['partition', 'powerOff'] as const) {
      const { machine, transport } = setUp();
      const sent = transport.send(request);
      await settle();
      machine[cut]();
      await assert.rejects(sent, failure('broken'));
    }
  });

  test('breaks open watches', async () => {
    const { machine, server, transport } = setUp();
    server.answer.resolve();
    const { body } = await transport.send(request);
    const chunks = body[Symbol.asyncIterator]();
    server.push('one');
    assert.equal(String((await chunks.next()).value), 'one');
    const next = chunks.next();
    machine.partition();
    await assert.rejects(next, failure('broken'));
  });

  test('leaves it to the caller to give up', async () => {
    const { transport } = setUp();
    const caller = new AbortController();
    const sent = transport.send({ ...request, signal: caller.signal });
    caller.abort();
    await assert.rejects(sent, failure('aborted'));
  });

  test('of a hung machine: answers wait until it resumes', async () => {
    const { machine, server, transport } = setUp();
    let answered = false;
    const sent = transport.send(request).then((response) => {
      answered = true;
      return response;
    });
    machine.hang();
    server.answer.resolve();
    await settle();
    assert.equal(answered, false);
    machine.resume();
    const { body } = await sent;

    const chunks = body[Symbol.asyncIterator]();
    let read = false;
    const next = chunks.next().then((chunk) => {
      read = true;
      return chunk;
    });
    await settle();
    machine.hang();
    server.push('one');
    await settle();
    assert.equal(read, false);
    machine.resume();
    assert.equal(String((await next).value), 'one');
  });

  test('of a hung machine that then loses power: broken', async () => {
    const { machine, server, transport } = setUp();
    const sent = transport.send(request);
    machine.hang();
    server.answer.resolve();
    await settle();
    machine.powerOff();
    await assert.rejects(sent, failure('broken'));
  });
});
