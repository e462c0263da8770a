/**
 * For one person on loopback: who starts the console looks with the identity of their own kubeconfig. Others on the same machine reach
 * loopback too, so that the address that is printed has a key in it.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Gate, Refusal, Session } from './console-server.ts';
import { cookieOf, cookieWith } from './cookie.ts';

const stranger: Refusal = {
  status: 401,
  text: 'open the address that fenceline console has printed, or write its key here',
};

export class OwnGate implements Gate {
  readonly key = randomBytes(24).toString('base64url');
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async admit(request: IncomingMessage): Promise<Session | Refusal> {
    return this.#isKey(cookieOf(request) ?? '') ? this.#session : stranger;
  }

  enter(key: string): string | undefined {
    return this.#isKey(key) ? cookieWith(this.key, { isSecure: false }) : undefined;
  }

  async signIn(token: string): Promise<{ cookie: string; user: string } | Refusal> {
    const cookie = this.enter(token);
    return cookie === undefined ? stranger : { cookie, user: '' };
  }

  #isKey(text: string): boolean {
    const hash = (one: string): Buffer => createHash('sha256').update(one).digest();
    return timingSafeEqual(hash(text), hash(this.key));
  }
}
