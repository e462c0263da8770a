/**
 * Where the API server is and who we are to it, as one small value for the transport.
 *
 * A source answers the same object as long as nothing changed: the transport may compare identities to know when a
 * connection made with an older client certificate has to go. Nothing in this folder puts a credential into an error
 * (S28): messages name the file, the entry and the field, never the content.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Clock } from '../clock.ts';

/** Where the API server is and how to reach it. */
export interface Endpoint {
  url: URL;
  /** PEM. Absent: the certificate authorities of the system. */
  ca?: string;
  /** Where `ca` came from, if from a file: it may be rotated under a process that runs for months. */
  caFile?: string;
  insecureSkipTlsVerify: boolean;
  tlsServerName?: string;
  /** Already decided: kubeconfig's proxy-url, else the environment's. */
  proxyUrl?: URL;
}

export interface Credential {
  /** Value of the Authorization header. */
  authorization?: string;
  /** PEM. */
  clientCertificate?: { cert: string; key: string };
}

export interface CredentialSource {
  /** Cheap when nothing has expired. Rejects with a CredentialError. */
  current(): Promise<Credential>;
  /**
   * The server answered 401. With `given`, the credential that it refused, a late answer to one that has been replaced
   * since does not throw away the new one.
   */
  rejected(given?: Credential): void;
}

export interface Connection {
  endpoint: Endpoint;
  credentials: CredentialSource;
  /** Impersonate-* headers. */
  impersonation: Record<string, string | string[]>;
  namespace: string;
  contextName: string;
  /** From --request-timeout; absent: the caller's own limits. */
  requestTimeoutMs?: number;
}

/** A kubeconfig, a file it names or a plugin is not as it should be. The message is for the user. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
}

/** Half of the time between the kubelet's renewal of a projected token and its end, as other clients have it. */
export const rereadAfterMs = 60_000;
/** A file caught in the middle of its replacement is looked at again soon. */
const retryAfterMs = 5_000;

export function fixedCredential(credential: Credential): CredentialSource {
  return { current: async () => credential, rejected: () => undefined };
}

export const anonymous: CredentialSource = fixedCredential({});

/** `where` names the entry for the user: the token must not appear in what is wrong with it. */
export function bearer(token: string, where: string): string {
  const trimmed = token.trim();
  if (!/^[\x21-\x7e]+$/.test(trimmed)) {
    throw new CredentialError(
      `${where}: the token ${trimmed === '' ? 'is empty' : 'has blanks or line breaks inside'}; a bearer token is one line without blanks`,
    );
  }
  return `Bearer ${trimmed}`;
}

export function staticToken(token: string, where: string): CredentialSource {
  return fixedCredential({ authorization: bearer(token, where) });
}

export function basicAuth(username: string, password: string): CredentialSource {
  return fixedCredential({ authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` });
}

/** What a failed system call says without its path and arguments. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';
}

export async function readNamedFile(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = errorCode(error);
    const advice = code === 'ENOENT' ? 'no such file' : code;
    throw new CredentialError(`${what}: cannot read ${path} (${advice})`);
  }
}

/** A credential that lives in files which others replace. */
class ReloadingSource implements CredentialSource {
  #clock: Clock;
  #read: () => Promise<Credential>;
  #last: Credential | undefined;
  #rejected = false;
  #rereadAt = 0;
  #reading: Promise<Credential> | undefined;

  constructor(clock: Clock, read: () => Promise<Credential>) {
    this.#clock = clock;
    this.#read = read;
  }

  async current(): Promise<Credential> {
    if (this.#last && !this.#rejected && this.#clock.monotonic() < this.#rereadAt) return this.#last;
    this.#reading ??= this.#reload().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  rejected(given?: Credential): void {
    if (given === undefined || given === this.#last) this.#rejected = true;
  }

  async #reload(): Promise<Credential> {
    const afterRejection = this.#rejected;
    this.#rejected = false;
    try {
      const fresh = await this.#read();
      if (!this.#last || !sameCredential(fresh, this.#last)) this.#last = fresh;
      this.#rereadAt = this.#clock.monotonic() + rereadAfterMs;
      return this.#last;
    } catch (error) {
      // What was read last is likely still good, unless the server said that it is not.
      if (!this.#last || afterRejection) {
        this.#rejected = afterRejection;
        throw error;
      }
      this.#rereadAt = this.#clock.monotonic() + retryAfterMs;
      return this.#last;
    }
  }
}

function sameCredential(a: Credential, b: Credential): boolean {
  return (
    a.authorization === b.authorization &&
    a.clientCertificate?.cert === b.clientCertificate?.cert &&
    a.clientCertificate?.key === b.clientCertificate?.key
  );
}

export interface TokenFile {
  path: string;
  /** Names the entry in errors. */
  where: string;
  clock: Clock;
  /** Used as long as the file cannot be read, as when a kubeconfig has both token and tokenFile. */
  fallback?: string;
}

export function tokenFile(options: TokenFile): CredentialSource {
  const { path, where, fallback } = options;
  return new ReloadingSource(options.clock, async () => {
    try {
      const text = await readNamedFile(path, where);
      return { authorization: bearer(text, `${where}: ${path}`) };
    } catch (error) {
      if (fallback === undefined) throw error;
      return { authorization: bearer(fallback, where) };
    }
  });
}

export type Pem = { data: string } | { path: string };

export interface ClientCertificate {
  cert: Pem;
  key: Pem;
  where: string;
  clock: Clock;
}

export function clientCertificate(options: ClientCertificate): CredentialSource {
  const { cert, key, where } = options;
  return new ReloadingSource(options.clock, async () => {
    const pair = {
      cert: 'data' in cert ? cert.data : await readNamedFile(cert.path, `${where}: client-certificate`),
      key: 'data' in key ? key.data : await readNamedFile(key.path, `${where}: client-key`),
    };
    checkKeyPair(pair, where);
    return { clientCertificate: pair };
  });
}

/** Also tells a half-finished rotation: the certificate is the new one, the key still the old. */
export function checkKeyPair(pair: { cert: string; key: string }, where: string): void {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pair.cert);
  } catch {
    throw new CredentialError(`${where}: the client certificate is not a certificate in PEM form`);
  }
  let belongs: boolean;
  try {
    belongs = certificate.checkPrivateKey(createPrivateKey(pair.key));
  } catch {
    throw new CredentialError(`${where}: the client key is not an unencrypted private key in PEM form`);
  }
  if (!belongs) throw new CredentialError(`${where}: the client key does not belong to the client certificate`);
}

/** A user with a certificate and a token presents both, as kubectl does. */
export function combined(sources: CredentialSource[]): CredentialSource {
  const [only] = sources;
  if (only === undefined) return anonymous;
  if (sources.length === 1) return only;
  let last: { parts: Credential[]; whole: Credential } | undefined;
  return {
    async current() {
      const parts = await Promise.all(sources.map((source) => source.current()));
      const known = last;
      if (known && parts.every((part, index) => part === known.parts[index])) return known.whole;
      const whole: Credential = Object.assign({}, ...parts);
      last = { parts, whole };
      return whole;
    },
    rejected(given) {
      if (given !== undefined && given !== last?.whole) return;
      for (const [index, source] of sources.entries()) source.rejected(last?.parts[index]);
    },
  };
}
