import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { createCertificateAuthority } from '../../test/support/certificates.ts';
import { manualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { basicAuth, clientCertificate, combined, CredentialError, staticToken, tokenFile } from './credentials.ts';

const directory = mkdtempSync(join(tmpdir(), 'fenceline-credentials-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const authority = createCertificateAuthority();
const first = authority.issue({ commonName: 'first' });
const second = authority.issue({ commonName: 'second' });
const path = (name: string): string => join(directory, name);
const write = (name: string, text: string): string => {
  writeFileSync(path(name), text);
  return path(name);
};
let clock: ManualClock;
beforeEach(() => {
  clock = manualClock();
});

test('a static token becomes a bearer header, without the line break that editors add', async () => {
  assert.deepEqual(await staticToken('abc\n', 'user "u"').current(), { authorization: 'Bearer abc' });
});

test('a token that cannot be a header is refused without being shown (S28)', () => {
  assert.throws(
    () => staticToken('topsecret\r\nX-Evil: 1', 'user "u"'),
    (error: Error) =>
      error instanceof CredentialError &&
      /user "u".*blanks or line breaks/.test(error.message) &&
      !/topsecret/.test(error.message),
  );
});

test('a login becomes a basic header', async () => {
  const { authorization } = await basicAuth('ann', 'pässword').current();
  assert.equal(authorization, `Basic ${Buffer.from('ann:pässword').toString('base64')}`);
});

test('a token file is read again after a minute, and not before', async () => {
  const source = tokenFile({ path: write('token', 'one\n'), where: 'user "u"', clock });
  const given = await source.current();
  write('token', 'two');
  clock.advance(59_999);
  assert.equal(await source.current(), given);
  clock.advance(1);
  assert.equal((await source.current()).authorization, 'Bearer two');
});

test('an unchanged file gives the very same credential, so that connections are kept', async () => {
  const source = tokenFile({ path: write('token', 'one'), where: 'user "u"', clock });
  const given = await source.current();
  clock.advance(60_000);
  assert.equal(await source.current(), given);
});

test('after a 401 the token file is read at once', async () => {
  const source = tokenFile({ path: write('token', 'one'), where: 'user "u"', clock });
  await source.current();
  write('token', 'two');
  source.rejected();
  assert.equal((await source.current()).authorization, 'Bearer two');
});

test('a late 401 for a credential that was replaced does not count against the new one', async () => {
  const source = tokenFile({ path: write('token', 'one'), where: 'user "u"', clock });
  const old = await source.current();
  write('token', 'two');
  source.rejected(old);
  const fresh = await source.current();
  write('token', 'three');
  source.rejected(old);
  assert.equal(await source.current(), fresh);
});

test('a token file that is gone for a moment leaves the last token in use, and is tried again soon', async () => {
  const source = tokenFile({ path: write('token', 'one'), where: 'user "u"', clock });
  const given = await source.current();
  unlinkSync(path('token'));
  clock.advance(60_000);
  assert.equal(await source.current(), given);
  write('token', 'two');
  clock.advance(5_000);
  assert.equal((await source.current()).authorization, 'Bearer two');
});

test('a token that the server refused is not used again because its file is gone', async () => {
  const source = tokenFile({ path: write('token', 'one'), where: 'user "u"', clock });
  await source.current();
  unlinkSync(path('token'));
  source.rejected();
  await assert.rejects(source.current(), {
    name: 'CredentialError',
    message: /user "u": cannot read .*token \(no such file\)/,
  });
  await assert.rejects(source.current(), CredentialError);
  write('token', 'two');
  assert.equal((await source.current()).authorization, 'Bearer two');
});

test('an empty token file is an error, not an anonymous request', async () => {
  const source = tokenFile({ path: write('token', ' \n'), where: 'user "u"', clock });
  await assert.rejects(source.current(), /token is empty/);
});

test('with a token as well, the file goes first and the token stands in for it', async () => {
  const source = tokenFile({ path: path('absent'), where: 'user "u"', clock, fallback: 'inline' });
  assert.equal((await source.current()).authorization, 'Bearer inline');
  const both = tokenFile({ path: write('token', 'filed'), where: 'user "u"', clock, fallback: 'inline' });
  assert.equal((await both.current()).authorization, 'Bearer filed');
});

test('certificate files are read again within a minute of their rotation', async () => {
  const cert = { path: write('tls.crt', first.certPem) };
  const key = { path: write('tls.key', first.keyPem) };
  const source = clientCertificate({ cert, key, where: 'user "u"', clock });
  assert.deepEqual(await source.current(), { clientCertificate: { cert: first.certPem, key: first.keyPem } });
  write('tls.crt', second.certPem);
  write('tls.key', second.keyPem);
  clock.advance(60_000);
  assert.equal((await source.current()).clientCertificate?.cert, second.certPem);
});

test('a rotation caught half way keeps the old pair until the other half is there', async () => {
  const cert = { path: write('tls.crt', first.certPem) };
  const key = { path: write('tls.key', first.keyPem) };
  const source = clientCertificate({ cert, key, where: 'user "u"', clock });
  const given = await source.current();
  write('tls.crt', second.certPem);
  clock.advance(60_000);
  assert.equal(await source.current(), given);
  write('new.key', second.keyPem);
  renameSync(path('new.key'), path('tls.key'));
  clock.advance(5_000);
  assert.deepEqual((await source.current()).clientCertificate, { cert: second.certPem, key: second.keyPem });
});

test('a certificate that is none, a key that is none and a key of another are told apart, and not shown', async () => {
  const problem = async (cert: string, key: string): Promise<string> => {
    const source = clientCertificate({ cert: { data: cert }, key: { data: key }, where: 'user "u"', clock });
    return source.current().then(
      () => 'no problem',
      (error: Error) => error.message,
    );
  };
  assert.equal(
    await problem('rubbish', first.keyPem),
    'user "u": the client certificate is not a certificate in PEM form',
  );
  assert.equal(
    await problem(first.certPem, 'sesame'),
    'user "u": the client key is not an unencrypted private key in PEM form',
  );
  assert.equal(
    await problem(first.certPem, second.keyPem),
    'user "u": the client key does not belong to the client certificate',
  );
});

test('certificate and token go together, and a 401 reaches both', async () => {
  const cert = { path: write('tls.crt', first.certPem) };
  const key = { path: write('tls.key', first.keyPem) };
  const source = combined([
    tokenFile({ path: write('token', 'one'), where: 'user "u"', clock }),
    clientCertificate({ cert, key, where: 'user "u"', clock }),
  ]);
  const given = await source.current();
  assert.deepEqual(given, {
    authorization: 'Bearer one',
    clientCertificate: { cert: first.certPem, key: first.keyPem },
  });
  assert.equal(await source.current(), given);
  write('token', 'two');
  write('tls.crt', second.certPem);
  write('tls.key', second.keyPem);
  source.rejected({ authorization: 'Bearer other' });
  assert.equal(await source.current(), given);
  source.rejected(given);
  const fresh = await source.current();
  assert.deepEqual(fresh, {
    authorization: 'Bearer two',
    clientCertificate: { cert: second.certPem, key: second.keyPem },
  });
});
