import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { sleep } from '../../clock.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../kube/transport.ts';
import { TransportError } from '../../kube/transport.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { Life } from './life.ts';

const call: HttpRequest = { method: 'GET', path: '/', purpose: 'call', timeoutMs: 1000 };

describe('one life of a program', () => {
  let clock: VirtualClock;
  let arrived: string[];
  let log: string[];
  let life: Life;

  /** Answers after 10 ms with a stream that says something every 10 ms. */
  const server: Transport = {
    async send(request: HttpRequest): Promise<HttpResponse> {
      arrived.push(request.path);
      await sleep(clock, 10, request.signal);
      if (request.signal?.aborted) throw new TransportError('aborted', 'given up');
      return { status: 200, headers: {}, body: ticks(request.signal) };
    },
    close: () => {},
  };

  async function* ticks(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    for (;;) {
      await sleep(clock, 10, signal);
      if (signal?.aborted) throw new TransportError('aborted', 'given up');
      yield new Uint8Array([1]);
    }
  }

  beforeEach(() => {
    clock = new VirtualClock();
    arrived = [];
    log = [];
    life = new Life({ clock, transport: server });
  });

  async function program(): Promise<void> {
    try {
      const { body } = await life.transport.send(call);
      log.push('answered');
      for await (const _chunk of body) log.push('heard');
      log.push('ended');
    } catch (error) {
      log.push(error instanceof TransportError ? error.failure : 'bug');
    } finally {
      log.push('over');
    }
  }

  for (const [when, before] of [
    [5, []],
    [15, ['answered']],
    [25, ['answered', 'heard']],
  ] as const) {
    test(`killed after ${when} ms, it never learns of it`, async () => {
      void program();
      life.clock.after(30, () => log.push('timer'));
      await clock.runUntil(when);
      life.kill();
      life.clock.after(1, () => log.push('timer after death'));
      void life.transport.send({ ...call, path: '/late' }).then(() => log.push('answer after death'));
      await clock.runUntil(1000);
      assert.deepEqual(log, before);
      assert.deepEqual(arrived, ['/']);
      assert.equal(clock.pending, 0, 'the other end has let go');
    });
  }

  test('an answer that was already on its way does not reach the dead', async () => {
    const deaf: Transport = { ...server, send: ({ signal: _signal, ...request }) => server.send(request) };
    life = new Life({ clock, transport: deaf });
    void program();
    await clock.runUntil(5);
    life.kill();
    await clock.runUntil(100);
    assert.deepEqual(log, []);
  });

  test('isolated, calls fail and streams break until it is restored', async () => {
    void program();
    await clock.runUntil(25);
    life.isolate();
    await clock.runUntil(30);
    assert.deepEqual(log, ['answered', 'heard', 'broken', 'over']);
    await assert.rejects(life.transport.send(call), { failure: 'notSent' });
    assert.deepEqual(arrived, ['/']);
    life.restore();
    void program();
    await clock.runUntil(45);
    assert.equal(log.at(-1), 'answered');
  });

  test('a call under way when the line is cut may have happened: it is broken, not unsent', async () => {
    void program();
    await clock.runUntil(5);
    life.isolate();
    await clock.runUntil(10);
    assert.deepEqual(log, ['broken', 'over']);
  });

  test('whoever gives up by itself hears that, not a broken line', async () => {
    const caller = new AbortController();
    const sent = life.transport.send({ ...call, signal: caller.signal });
    caller.abort();
    await assert.rejects(sent, { failure: 'aborted' });
  });
});
