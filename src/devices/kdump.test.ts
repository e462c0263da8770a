import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import fc from 'fast-check';
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
    assert.deepEqual(kdump.counts, { heard: 3, malformed: 1, fromStranger: 1, ambiguous: 1 });
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
