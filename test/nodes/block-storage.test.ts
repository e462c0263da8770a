/** The storage of real clusters has to tell two writers, or no test that finds none means anything. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { BlockLedger } from '../support/real-node/block-ledger.ts';
import { BlockServer } from '../support/real-node/block-server.ts';

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
});
