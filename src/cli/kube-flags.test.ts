import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { withDevices } from './check.ts';

/** A connection that somebody has forgotten stays open: then this waits for ever. */
test(
  '[ADM-4] a command that fails leaves no connection open, which would keep it from ending',
  { timeout: 30_000 },
  async (t) => {
    const sockets: Socket[] = [];
    const server = createServer({ keepAliveTimeout: 0 }, (_, response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"kind":"Status","code":404,"reason":"NotFound","message":"namespaces \\"nowhere\\" not found"}');
    });
    server.on('connection', (socket) => sockets.push(socket));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const flags = { allowAgentParameters: [], server: `http://127.0.0.1:${port}`, namespace: 'nowhere' };
    await assert.rejects(
      withDevices(flags, () => assert.fail('no such namespace')),
      /nowhere/,
    );
    assert.ok(sockets.length > 0, 'it was asked');
    for (const socket of sockets) if (!socket.destroyed) await once(socket, 'close');
  },
);
