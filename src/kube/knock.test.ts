import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { KubeletDoor } from '../../test/support/kubelet-door.ts';
import { knock } from './knock.ts';

describe('a knock at a port', () => {
  test('[SAF-18] somebody listens, or the machine says that nobody does', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    const { port } = server.address() as AddressInfo;
    const door = { address: '127.0.0.1', port };
    assert.equal(await knock(door, 5000), 'open');
    await new Promise((resolve) => server.close(resolve));
    assert.equal(await knock(door, 5000), 'refused');
  });

  test('S26: what does not let us knock says nothing of the machine', async () => {
    assert.equal(await knock({ address: '255.255.255.255', port: 10_250 }, 5000), 'unknown');
  });

  test('[SAF-18] who does not answer in time has not refused', async () => {
    const door = await KubeletDoor.make();
    try {
      assert.equal(await knock(door, 5000), 'open');
      await door.shut();
      assert.equal(await knock(door, 50), 'silent');
      door.open();
      assert.equal(await knock(door, 5000), 'open');
    } finally {
      await door.close();
    }
  });
});
