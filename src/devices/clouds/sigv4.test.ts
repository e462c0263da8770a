import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signed } from './sigv4.ts';

const key = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const scope = { region: 'us-east-1', service: 'iam', nowMs: Date.UTC(2015, 7, 30, 12, 36, 0) };
const request = {
  method: 'GET',
  url: new URL('https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08'),
  headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
  body: '',
};

test('[FEN-9] signs as the example that AWS publishes', () => {
  const headers = signed(request, key, scope);
  assert.equal(headers['x-amz-date'], '20150830T123600Z');
  assert.equal(
    headers['authorization'],
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, ' +
      'SignedHeaders=content-type;host;x-amz-date, ' +
      'Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  );
});

test('[FEN-9] the order of a query does not matter, all that is sent does', () => {
  const signatureOf = (changed: Partial<typeof request>, token?: string): string | undefined => {
    const used = { ...key, ...(token !== undefined && { sessionToken: token }) };
    return signed({ ...request, ...changed }, used, scope)['authorization']?.split('Signature=')[1];
  };
  const turned = new URL('https://iam.amazonaws.com/?Version=2010-05-08&Action=ListUsers');
  assert.equal(signatureOf({ url: turned }), signatureOf({}));
  const others = [
    signatureOf({ method: 'POST' }),
    signatureOf({ url: new URL('https://example.com/?Action=ListUsers&Version=2010-05-08') }),
    signatureOf({ url: new URL('https://iam.amazonaws.com/x?Action=ListUsers&Version=2010-05-08') }),
    signatureOf({ body: 'x' }),
    signatureOf({}, 'token'),
  ];
  assert.equal(new Set([...others, signatureOf({})]).size, others.length + 1);
});

test('[FEN-8] a session token is sent, and no secret key', () => {
  const headers = signed(request, { ...key, sessionToken: 'token' }, scope);
  assert.equal(headers['x-amz-security-token'], 'token');
  assert.match(headers['authorization'] ?? '', /SignedHeaders=content-type;host;x-amz-date;x-amz-security-token/);
  assert.ok(!JSON.stringify(headers).includes(key.secretAccessKey));
});
