/** The listener, against the program that the kernel of a dump really runs. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { realClock } from '../../src/clock.ts';
import { KdumpListener, type KdumpMessage } from '../../src/devices/kdump.ts';
import { waitFor } from '../support/wait.ts';

const sender = '/usr/libexec/fence-agents/fence_kdump_send';

test('[FEN-12] fence_kdump_send is heard, and is the node that has its address', async () => {
  const heard: KdumpMessage[] = [];
  const listener = new KdumpListener({
    createSocket: () => createSocket({ type: 'udp6', ipv6Only: false }),
    clock: realClock,
    port: 0,
    nodesAt: (address) => (address === '127.0.0.1' ? ['node-1'] : []),
    onMessage: (message) => heard.push(message),
    onBroken: (error) => assert.fail(error),
  });
  const port = await listener.start();
  try {
    await promisify(execFile)(sender, ['-p', String(port), '-f', 'ipv4', '-c', '2', '-i', '1', '127.0.0.1']);
    await waitFor('two messages', () => heard.length === 2);
    assert.deepEqual(heard[0], { node: 'node-1', address: '127.0.0.1' });
    assert.deepEqual(listener.counts, { heard: 2, repeated: 0, malformed: 0, stranger: 0, ambiguous: 0 });
  } finally {
    await listener.stop();
  }
});
