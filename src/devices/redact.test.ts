import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { redactor } from './redact.ts';

const secret = `c4n&ry's "p\\w/ö+ü`;

describe('redaction', () => {
  const forms: Record<string, string> = {
    plain: secret,
    'in a URL': encodeURIComponent(secret),
    'in a URL, as Python writes it': encodeURIComponent(secret).replaceAll("'", '%27'),
    'in a URL in lower case': encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase()),
    'in JSON': JSON.stringify({ password: secret }),
    'in XML': `<LOGIN PASSWORD="c4n&amp;ry&apos;s &quot;p\\w/ö+ü">`,
    'in base64': Buffer.from(secret).toString('base64'),
    'in base64 for URLs': Buffer.from(secret).toString('base64url'),
    'in hexadecimal': Buffer.from(secret).toString('hex'),
    'quoted for a shell': `ipmitool -P '${secret.replaceAll("'", `'"'"'`)}'`,
  };
  for (const [name, text] of Object.entries(forms)) {
    test(`finds a secret ${name}`, () => {
      const redacted = redactor([secret])(`before ${text} after`);
      assert.match(redacted, /^before .*\[redacted\].* after$/);
      assert.ok(!redacted.includes('c4n') && !redacted.includes('YzRu'), redacted);
    });
  }

  test('finds a secret in the header of basic authentication, whatever the name before it', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 12 }),
        fc.stringMatching(/^[A-Za-z0-9]{10,24}$/),
        fc.string({ maxLength: 5 }),
        (user, password, rest) => {
          const header = Buffer.from(`${user}:${password}${rest}`).toString('base64');
          const redacted = redactor([password])(`Authorization: Basic ${header}`);
          const left = Buffer.from(redacted.replace('Authorization: Basic ', '').replace('[redacted]', ''), 'base64');
          assert.ok(redacted.includes('[redacted]'));
          // What is left of it: at most the bits that share a character with a neighbour.
          assert.ok(!left.includes(password.slice(2, -2)), redacted);
        },
      ),
    );
  });

  test('of two secrets of which one holds the other, both go', () => {
    assert.equal(redactor(['abc', 'abcdef'])('abcdef abc'), '[redacted] [redacted]');
  });

  test('an empty secret takes nothing out', () => {
    assert.equal(redactor([''])('all of it'), 'all of it');
  });
});
