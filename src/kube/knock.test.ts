import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
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

  test('[SAF-18] what cannot be reached has not refused', async () => {
    assert.equal(await knock({ address: '255.255.255.255', port: 10_250 }, 50), 'silent');
  });
});
