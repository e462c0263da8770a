/**
 * A certificate authority for tests, in process: real chains, so that tests verify certificates instead of switching
 * verification off, and can make the ones that must be refused (expired, other name, other authority). Written by hand
 * on node:crypto because Node signs but does not issue, and the openssl command differs too much between machines.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';

export interface CertificatePair {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  /** Kubernetes reads these as groups. */
  readonly organizations?: readonly string[];
  /** DNS names and IPv4 addresses that a server answers to. */
  readonly hosts?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

export interface CertificateAuthority {
  readonly certPem: string;
  issue(request: CertificateRequest): CertificatePair;
}

export function createCertificateAuthority(commonName = 'fenceline-test-ca'): CertificateAuthority {
  const { publicKey, privateKey } = newKeyPair();
  const name = distinguishedName({ commonName });
  const certPem = certificate({
    issuer: name,
    request: { commonName },
    publicKey,
    signingKey: privateKey,
    issuerKey: publicKey,
    extensions: [
      extension('2.5.29.19', sequence(boolean(true)), true),
      extension('2.5.29.15', bitString(Buffer.from([0x06]), 1), true), // keyCertSign, cRLSign
    ],
  });
  return {
    certPem,
    issue(request) {
      const pair = newKeyPair();
      const leaf = certificate({
        issuer: name,
        request,
        publicKey: pair.publicKey,
        signingKey: privateKey,
        issuerKey: publicKey,
        extensions: leafExtensions(request.hosts ?? []),
      });
      return { certPem: leaf, keyPem: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
    },
  };
}

interface CertificateParts {
  readonly issuer: Buffer;
  readonly request: CertificateRequest;
  readonly publicKey: KeyObject;
  readonly signingKey: KeyObject;
  readonly issuerKey: KeyObject;
  readonly extensions: readonly Buffer[];
}

function certificate({ issuer, request, publicKey, signingKey, issuerKey, extensions }: CertificateParts): string {
  const hourMs = 3_600_000;
  const notBefore = request.notBefore ?? new Date(Date.now() - hourMs);
  const notAfter = request.notAfter ?? new Date(Date.now() + 365 * 24 * hourMs);
  const algorithm = sequence(objectId('1.2.840.10045.4.3.2')); // ecdsa-with-SHA256
  const keyIds = [
    extension('2.5.29.14', octetString(keyId(publicKey))),
    extension('2.5.29.35', sequence(tagged(0x80, keyId(issuerKey)))),
  ];
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    issuer,
    sequence(utcTime(notBefore), utcTime(notAfter)),
    distinguishedName(request),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions, ...keyIds)),
  );
  const whole = sequence(body, algorithm, bitString(sign('sha256', body, signingKey)));
  const base64 = whole.toString('base64').replace(/.{64}/g, '$&\n').trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
}

function leafExtensions(hosts: readonly string[]): Buffer[] {
  const usage = hosts.length > 0 ? '1.3.6.1.5.5.7.3.1' : '1.3.6.1.5.5.7.3.2'; // serverAuth, clientAuth
  const extensions = [
    extension('2.5.29.19', sequence(), true),
    extension('2.5.29.15', bitString(Buffer.from([0x80]), 7), true), // digitalSignature
    extension('2.5.29.37', sequence(objectId(usage))),
  ];
  if (hosts.length > 0) {
    const names = hosts.map((host) =>
      isIP(host) === 4
        ? tagged(0x87, Buffer.from(host.split('.').map(Number)))
        : tagged(0x82, Buffer.from(host, 'ascii')),
    );
    extensions.push(extension('2.5.29.17', sequence(...names)));
  }
  return extensions;
}

function newKeyPair(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
}

function keyId(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();
}

function distinguishedName({ commonName, organizations = [] }: CertificateRequest): Buffer {
  const attribute = (id: string, value: string) =>
    tagged(0x31, sequence(objectId(id), tagged(0x0c, Buffer.from(value, 'utf8'))));
  return sequence(
    ...organizations.map((organization) => attribute('2.5.4.10', organization)),
    attribute('2.5.4.3', commonName),
  );
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return critical
    ? sequence(objectId(id), boolean(true), octetString(value))
    : sequence(objectId(id), octetString(value));
}

// DER: tag, length, content.

function tagged(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const length: number[] = [];
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  const header = content.length < 128 ? [tag, content.length] : [tag, 0x80 + length.length, ...length];
  return Buffer.concat([Buffer.from(header), content]);
}

const sequence = (...contents: readonly Uint8Array[]): Buffer => tagged(0x30, ...contents);
const integer = (bytes: Uint8Array): Buffer => tagged(0x02, bytes);
const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]));
const octetString = (bytes: Uint8Array): Buffer => tagged(0x04, bytes);
const bitString = (bytes: Uint8Array, unusedBits = 0): Buffer => tagged(0x03, Buffer.from([unusedBits]), bytes);

function utcTime(time: Date): Buffer {
  const digits = time.toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`, 'ascii'));
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const septets = [arc % 128];
    for (let high = Math.floor(arc / 128); high > 0; high = Math.floor(high / 128)) septets.unshift(128 + (high % 128));
    bytes.push(...septets);
  }
  return tagged(0x06, Buffer.from(bytes));
}
