/**
 * Takes credentials out of what devices and their programs say (S28). Error texts quote requests, URLs and headers, so a
 * credential is looked for in every form in which it is known to travel, not only as it was written.
 */
import { Buffer } from 'node:buffer';
import { escapeXml } from './clouds/xml.ts';

const MARK = '[redacted]';

/** Answers a function that replaces every form of every secret. An empty secret hides nothing. */
export function redactor(secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.filter((secret) => secret !== '').flatMap((secret) => formsOf(secret)))]
    // The longest first: otherwise a short form eats into a longer one and leaves its rest behind.
    .sort((one, other) => other.length - one.length);
  return (text) => forms.reduce((rest, form) => rest.replaceAll(form, MARK), text);
}

function formsOf(secret: string): string[] {
  const url = encodeURIComponent(secret);
  const strictUrl = url.replaceAll(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const lower = (text: string): string => text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  const hex = Buffer.from(secret).toString('hex');
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    url,
    strictUrl,
    lower(url),
    lower(strictUrl),
    strictUrl.replaceAll('%20', '+'),
    json,
    // How Python and shells quote it.
    secret.replaceAll('\\', '\\\\').replaceAll("'", "\\'"),
    secret.replaceAll("'", `'"'"'`),
    secret.replaceAll("'", `'\\''`),
    escapeXml(secret),
    // Four bytes in hexadecimal could be anything else.
    ...(secret.length > 4 ? [hex, hex.toUpperCase()] : []),
    ...base64Forms(secret),
  ].filter((form) => form !== '');
}

/**
 * In base64 three bytes become four characters, so a secret inside something longer (`user:password`) appears in one of
 * three ways, depending on what stands before it. The characters at its ends also carry bits of its neighbours: only
 * those in between are known, and are enough to find it by when there are some.
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const forms: string[] = [bytes.toString('base64'), bytes.toString('base64url')];
  for (const before of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]);
    const usableBits = whole.length * 8 - ((whole.length * 8) % 6);
    const first = Math.ceil((before * 8) / 6);
    const inner = whole.toString('base64').slice(first, usableBits / 6);
    if (inner.length >= 6) forms.push(inner, inner.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return forms;
}
