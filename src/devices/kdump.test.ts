import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { manualClock } from '../../test/support/manual-clock.ts';
import { waitFor } from '../../test/support/wait.ts';
import { isKdumpMessage, KdumpListener, plainAddress, type KdumpListenerOptions, type KdumpMessage } from './kdump.ts';

const genuine = Buffer.from('402a301b01000000', 'hex');

describe('the message of fence_kdump', () => {
  test('[FEN-12] is eight bytes: magic number and version, in either byte order', () => {
    assert.ok(isKdumpMessage(genuine));
    assert.ok(isKdumpMessage(Buffer.from('1b302a4000000001', 'hex')));
  });

  test('[FEN-12] nothing else is taken for it', () => {
    for (const hex of [
      '',
      '402a301b',
      '402a301b010000',
      '402a301b0100000000',
      '402a301b02000000',
      '402a301b00000001',
      '1b302a4001000000',
      '412a301b01000000',
    ]) {
      assert.ok(!isKdumpMessage(Buffer.from(hex, 'hex')), hex);
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const hex = Buffer.from(bytes).toString('hex');
        assert.equal(isKdumpMessage(bytes), ['402a301b01000000', '1b302a4000000001'].includes(hex));
      }),
    );
  });

  test('is read where it lies in a larger buffer', () => {
    assert.ok(isKdumpMessage(Buffer.concat([Buffer.from([9, 9, 9]), genuine]).subarray(3)));
  });
});

test('addresses are compared in one form', () => {
  assert.equal(plainAddress('::ffff:10.0.0.7'), '10.0.0.7');
  assert.equal(plainAddress('10.0.0.7'), '10.0.0.7');
  assert.equal(plainAddress('FE80::1%eth0'), 'fe80::1');
  assert.equal(plainAddress('2001:db8::7'), '2001:db8::7');
});

describe('the listener', () => {
  function listener(nodes: Record<string, string[]>, options: Partial<KdumpListenerOptions> = {}) {
    const heard: KdumpMessage[] = [];
    const kdump = new KdumpListener({
      createSocket: () => createSocket('udp4'),
      clock: manualClock(),
      port: 0,
      address: '127.0.0.1',
      nodesAt: (address) => nodes[address] ?? [],
      onMessage: (message) => heard.push(message),
      onBroken: () => {},
      ...options,
    });
    return { kdump, heard };
  }

  /** A socket that is not there: what it is told to have received, it emits. */
  class FakeSocket extends EventEmitter {
    bind(_options: unknown, bound: () => void): void {
      bound();
    }
    address(): { port: number } {
      return { port: 1 };
    }
    close(closed?: () => void): void {
      closed?.();
    }
    receive(datagram: Buffer, address: string): void {
      this.emit('message', datagram, { address, family: 'IPv4', port: 1, size: datagram.length });
    }
  }

  test('[FEN-12] a message is its sender’s node’s; bad ones, strangers and claims of two nodes are counted only', async () => {
    const socket = new FakeSocket();
    const { kdump, heard } = listener(
      { '10.0.0.1': ['one'], '10.0.0.2': ['two', 'also-two'], '10.0.0.3': ['three', 'three'] },
      { createSocket: () => socket as never },
    );
    await kdump.start();
    socket.receive(genuine, '10.0.0.1');
    socket.receive(genuine, '::ffff:10.0.0.1');
    socket.receive(genuine, '10.0.0.3');
    socket.receive(genuine, '10.0.0.2');
    socket.receive(genuine, '10.0.0.9');
    socket.receive(Buffer.from('402a301b02000000', 'hex'), '10.0.0.1');
    await kdump.stop();
    assert.deepEqual(heard, [
      { node: 'one', address: '10.0.0.1' },
      { node: 'one', address: '10.0.0.1' },
      { node: 'three', address: '10.0.0.3' },
    ]);
    assert.deepEqual(kdump.counts, { heard: 3, repeated: 0, malformed: 1, stranger: 1, ambiguous: 1 });
  });

  test('[SEC-5] a flood from a thousand addresses hides no crash, and of one node so much is handed on in a second', async () => {
    const socket = new FakeSocket();
    const clock = manualClock();
    const { kdump, heard } = listener(
      { '10.0.0.1': ['one'], '10.0.0.2': ['two'] },
      { createSocket: () => socket as never, clock },
    );
    await kdump.start();
    for (let at = 0; at < 20_000; at += 1) {
      socket.receive(genuine, `192.0.${at % 8}.${at % 250}`);
      socket.receive(genuine, '10.0.0.1');
      socket.receive(Buffer.alloc(at % 64), '10.0.0.2');
    }
    socket.receive(genuine, '10.0.0.2');
    assert.deepEqual(heard.map(({ node }) => node).toSorted(), ['one', 'one', 'one', 'one', 'two']);
    assert.deepEqual(kdump.counts, { heard: 5, repeated: 19_996, malformed: 20_000, stranger: 20_000, ambiguous: 0 });
    clock.advance(1000);
    socket.receive(genuine, '10.0.0.1');
    assert.equal(heard.length, 6);
    await kdump.stop();
  });

  test('[SEC-5] the same by a real socket: every datagram that the kernel brings is counted, few are handed on', async () => {
    const { kdump, heard } = listener({ '127.0.0.2': ['crashed'], '127.0.0.3': ['forged'] });
    const port = await kdump.start();
    const from = async (address: string): Promise<(datagram: Buffer) => Promise<void>> => {
      const socket = createSocket('udp4').unref();
      await new Promise<void>((resolve) => {
        socket.bind(0, address, resolve);
      });
      return (datagram) =>
        new Promise((resolve, reject) => {
          socket.send(datagram, port, '127.0.0.1', (error) => (error === null ? resolve() : reject(error)));
        });
    };
    const [stranger, forger, crashed] = [await from('127.0.0.1'), await from('127.0.0.3'), await from('127.0.0.2')];
    const seen = (): number => Object.values(kdump.counts).reduce((sum, count) => sum + count, 0);
    for (let at = 1; at <= 1000; at += 1) {
      await Promise.all([stranger(genuine), stranger(Buffer.alloc(60_000)), forger(genuine)]);
      // Not faster than they are read: what the kernel drops says nothing about us.
      await waitFor('them to be read', () => seen() === at * 3, { intervalMs: 0 });
    }
    await crashed(genuine);
    await waitFor('the crash', () => heard.some(({ node }) => node === 'crashed'));
    assert.deepEqual(kdump.counts, { heard: 5, repeated: 996, malformed: 1000, stranger: 1000, ambiguous: 0 });
    await kdump.stop();
  });

  test('a port that is taken is told to who starts it', async () => {
    const first = listener({});
    const port = await first.kdump.start();
    const second = listener({}, { port });
    await assert.rejects(second.kdump.start(), /EADDRINUSE/);
    await first.kdump.stop();
  });

  test('a socket that breaks later is reported, not thrown', async () => {
    const socket = new FakeSocket();
    const broken: string[] = [];
    const { kdump } = listener(
      {},
      { createSocket: () => socket as never, onBroken: (error) => broken.push(error.message) },
    );
    await kdump.start();
    socket.emit('error', new Error('gone'));
    assert.deepEqual(broken, ['gone']);
    await kdump.stop();
    await kdump.stop();
  });
});
