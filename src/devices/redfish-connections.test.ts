import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { RedfishConnections } from './redfish-connections.ts';

test('[EVD-4] whom to trust is read again once a minute: connections that others vouched for are not used any more', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'redfish-trust-'));
  t.after(() => rm(dir, { recursive: true }));
  const file = join(dir, 'trusted.pem');
  const trust = (name: string): Promise<void> => writeFile(file, createCertificateAuthority(name).certPem);
  await trust('first');
  const connections = new RedfishConnections(file);
  const at = (ms: number): unknown => connections.open({ monotonic: () => ms });
  const first = at(0);
  assert.equal(at(60_000), first, 'the same authorities, the same connections');
  await trust('second');
  assert.equal(at(119_999), first, 'not for every question');
  const second = at(120_000);
  assert.notEqual(second, first);
  assert.equal(at(180_000), second);
  await rm(file);
  assert.throws(() => at(240_000), /ENOENT/, 'and who cannot be read vouches for nobody');
});
