/** The storage of real clusters has to tell two writers, or no test that finds none means anything. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { UNPUBLISH_FENCE_ANNOTATION } from '../../src/api/release-view.ts';
import type { VolumeAttachment } from '../../src/world/objects/volumes.ts';
import { BlockController } from '../support/real-node/block-controller.ts';
import { BlockLedger } from '../support/real-node/block-ledger.ts';
import { BlockServer } from '../support/real-node/block-server.ts';
import { safeDriver } from '../support/real-node/cluster.ts';

const run = promisify(execFile);

describe('the ledger of the storage', () => {
  test('one after the other is one writer, also when the first comes back by a new connection', () => {
    const ledger = new BlockLedger();
    for (const from of ['a', 'b', 'a']) {
      const connection = ledger.open(from, 'disk');
      ledger.write(connection, 0, 512);
      ledger.write(connection, 512, 512);
      ledger.close(connection);
    }
    assert.deepEqual(ledger.twoWriters(), []);
  });

  test('a connection that writes behind a newer one is a second writer, from the same machine too', () => {
    const ledger = new BlockLedger();
    const old = ledger.open('a', 'disk');
    const other = ledger.open('a', 'another disk');
    const young = ledger.open('a', 'disk');
    for (const connection of [old, young, other, old, old, young]) ledger.write(connection, 0, 512);
    const [found, ...more] = ledger.twoWriters();
    assert.deepEqual(more, []);
    assert.equal(found?.late.connection, old);
    assert.equal(found?.since.connection, young);
  });
});

describe('the storage of a real cluster', () => {
  test('it keeps what is written, and carries out nothing of a machine whose access is revoked', async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'fenceline-storage-'));
    const server = await BlockServer.start('127.0.0.1', 2 ** 20);
    t.after(async () => {
      await server.stop();
      await rm(dir, { recursive: true });
    });
    const file = join(dir, 'content');
    const back = join(dir, 'back');
    const content = Buffer.alloc(2 ** 20, 'fenceline');
    await writeFile(file, content);
    const volume = `nbd://127.0.0.1:${server.port}/disk`;
    const copy = (from: string, to: string) => run('nbdcopy', [from, to]);
    await copy(file, volume);
    await copy(volume, back);
    assert.ok((await readFile(back)).equals(content));
    const written = server.ledger.writes.length;

    server.revoke('127.0.0.1');
    await assert.rejects(copy(file, volume));
    assert.equal(server.ledger.writes.length, written);
    server.allow('127.0.0.1');
    await copy(file, volume);
    assert.ok(server.ledger.writes.length > written);
    assert.deepEqual(server.ledger.complaints, []);
  });

  test('once it was granted to somebody, a volume is served to nobody else, and to him until it is withdrawn', async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'fenceline-storage-'));
    const server = await BlockServer.start('127.0.0.1', 2 ** 20);
    t.after(async () => {
      await server.stop();
      await rm(dir, { recursive: true });
    });
    const file = join(dir, 'content');
    await writeFile(file, Buffer.alloc(2 ** 20, 'fenceline'));
    const copy = () => run('nbdcopy', [file, `nbd://127.0.0.1:${server.port}/disk`]);
    server.grant('disk', '192.0.2.1');
    await assert.rejects(copy());
    assert.equal(server.ledger.writes.length, 0);
    server.grant('disk', '127.0.0.1');
    await copy();
    const written = server.ledger.writes.length;
    assert.ok(written > 0);
    server.withdraw('disk', '127.0.0.1');
    await assert.rejects(copy());
    assert.equal(server.ledger.writes.length, written);
  });
});

describe('the controller of the driver', () => {
  const addresses: Record<string, string> = { 'worker-1': '192.0.2.1', 'worker-2': '192.0.2.2' };

  function attachment(nodeName: string, annotations: Record<string, string> = {}): VolumeAttachment {
    return {
      metadata: { name: `csi-${nodeName}`, annotations },
      spec: { attacher: safeDriver, nodeName, source: { persistentVolumeName: 'disk' } },
    };
  }

  test('it takes a volume from nobody who has it open, unless it is to fence, and gives it to one at a time', async (t) => {
    const server = await BlockServer.start('127.0.0.1', 2 ** 20);
    t.after(() => server.stop());
    const controller = new BlockController(server, (node) => addresses[node]);
    assert.equal(controller.publish(attachment('worker-1')), undefined);
    assert.equal(controller.publish(attachment('worker-1')), undefined);
    assert.match(controller.publish(attachment('worker-2')) ?? '', /is published to node worker-1/);
    const connection = server.ledger.open('192.0.2.1', 'disk');
    const stillUsed = /is still in use on node worker-1/;
    assert.match(controller.unpublish(attachment('worker-1')) ?? '', stillUsed);
    const no = { [UNPUBLISH_FENCE_ANNOTATION]: 'false' };
    assert.match(controller.unpublish(attachment('worker-1', no)) ?? '', stillUsed);
    assert.match(controller.publish(attachment('worker-2')) ?? '', /is published to node worker-1/);
    const yes = { [UNPUBLISH_FENCE_ANNOTATION]: 'true' };
    assert.equal(controller.unpublish(attachment('worker-1', yes)), undefined);
    assert.deepEqual(controller.fenced, [{ volume: 'disk', node: 'worker-1' }]);
    assert.equal(controller.publish(attachment('worker-2')), undefined);
    server.ledger.close(connection);
    // Who has let go of it by himself is not fenced.
    assert.equal(controller.unpublish(attachment('worker-2', yes)), undefined);
    assert.equal(controller.fenced.length, 1);
  });
});
