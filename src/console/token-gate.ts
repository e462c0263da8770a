/**
 * For many people: each looks and acts with a bearer token of their own, and with no right of the console's. Whose token it is says the
 * API server (TokenReview), now and every minute; what they may do it decides itself, because every request is made with their token.
 * A token comes from the sign-in page, and is then kept here behind a cookie; or with each request, from a proxy in front.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { wholeCluster } from '../cli/snapshot-of.ts';
import type { Clock } from '../clock.ts';
import { PerSecond } from '../clock.ts';
import type { KubeClient, KubeObject } from '../kube/client.ts';
import { tokenReviews } from '../kube/resources.ts';
import { actAs } from './acts.ts';
import { ClusterWatch } from './cluster-watch.ts';
import type { Gate, Refusal, Session } from './console-server.ts';
import { cookieOf, cookieWith } from './cookie.ts';
import { allowedActs } from './rights.ts';
import { ClusterSource } from './source.ts';

export interface TokenGateOptions {
  clock: Clock;
  random: () => number;
  /** With the console's own identity: it may review tokens, and nothing else. */
  reviewer: Pick<KubeClient, 'create'>;
  /** A client that has this token and nothing of the console's. */
  clientFor: (token: string) => KubeClient;
  /** Of the operator; absent: wherever it is found. */
  namespace?: string;
  /** TLS ends here, or in a proxy before: the cookie is never sent in the clear. */
  isSecure: boolean;
}

interface Person {
  token: string;
  user: string;
  client: KubeClient;
  session: Session;
  stop: AbortController;
  reviewedMs: number;
  usedMs: number;
}

interface TokenReview extends KubeObject {
  status?: { authenticated?: boolean; user?: { username?: string } };
}

const maxPeople = 64;
const maxCookies = 1024;
const reviewEveryMs = 60_000;
/** Whoever has not looked for so long is not watched for any more. */
const idleMs = 600_000;
const aSecond = { each: 4, comers: 256 };
const unknown: Refusal = { status: 401, text: 'sign in with a bearer token of this cluster' };

export class TokenGate implements Gate {
  readonly #options: TokenGateOptions;
  readonly #rate: PerSecond;
  /** By a hash of the token. */
  readonly #people = new Map<string, Person>();
  /** Tokens of those who have signed in here, by cookie. */
  readonly #cookies = new Map<string, string>();
  readonly #underWay = new Map<string, Promise<Person | Refusal>>();

  constructor(options: TokenGateOptions) {
    this.#options = options;
    this.#rate = new PerSecond(options.clock, aSecond);
  }

  async admit(request: IncomingMessage): Promise<Session | Refusal> {
    const token = bearerOf(request) ?? this.#cookies.get(cookieOf(request) ?? '');
    if (token === undefined) return unknown;
    const person = await this.#personOf(token, request.socket.remoteAddress ?? '');
    return 'status' in person ? person : person.session;
  }

  async signIn(token: string, request: IncomingMessage): Promise<{ cookie: string; user: string } | Refusal> {
    const person = await this.#personOf(token, request.socket.remoteAddress ?? '');
    if ('status' in person) return person;
    const cookie = randomBytes(24).toString('base64url');
    this.#cookies.set(cookie, token);
    forgetOldest(this.#cookies, maxCookies);
    return { cookie: cookieWith(cookie, this.#options), user: person.user };
  }

  signOut(request: IncomingMessage): string {
    this.#cookies.delete(cookieOf(request) ?? '');
    return cookieWith('', this.#options);
  }

  close(): void {
    for (const key of this.#people.keys()) this.#forget(key);
  }

  async #personOf(token: string, from: string): Promise<Person | Refusal> {
    const nowMs = this.#options.clock.monotonic();
    this.#forgetIdle(nowMs);
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#people.get(key);
    if (known !== undefined) known.usedMs = nowMs;
    if (known !== undefined && nowMs - known.reviewedMs < reviewEveryMs) return known;
    const underWay = this.#underWay.get(key);
    if (underWay !== undefined) return underWay;
    if (!this.#rate.take(from)) return { status: 429, text: 'too many tokens at once; try again in a second' };
    const found = this.#review(token, key).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, found);
    return found;
  }

  async #review(token: string, key: string): Promise<Person | Refusal> {
    const { reviewer, clock } = this.#options;
    const object = { metadata: {}, spec: { token } } as unknown as TokenReview;
    const review = await reviewer.create<TokenReview>(tokenReviews, object);
    // Where the API server does not say, nobody is let in anew, and nobody is thrown out.
    const known = this.#people.get(key);
    if (!review.ok)
      return known ?? { status: 503, text: `whose token it is cannot be found out: ${review.error.message}` };
    const user = review.value.status?.user?.username;
    if (review.value.status?.authenticated !== true || user === undefined) {
      this.#forget(key);
      return { status: 401, text: 'the API server does not know this token' };
    }
    const nowMs = clock.monotonic();
    if (known !== undefined) {
      known.reviewedMs = nowMs;
      return known;
    }
    return this.#begin({ token, user, key, nowMs });
  }

  async #begin({
    token,
    user,
    key,
    nowMs,
  }: {
    token: string;
    user: string;
    key: string;
    nowMs: number;
  }): Promise<Person> {
    const { clock, random, clientFor, namespace } = this.#options;
    const client = clientFor(token);
    const watch = new ClusterWatch({ client, clock, random, ...(namespace === undefined ? {} : { namespace }) });
    const stop = new AbortController();
    const source = new ClusterSource(watch, { user, can: await allowedActs(client) });
    const session: Session = {
      source,
      act: (asked) => actAs(client, asked),
      read: (signal) => wholeCluster(client, namespace, signal),
    };
    const person = { token, user, client, session, stop, reviewedMs: nowMs, usedMs: nowMs };
    void watch.run(stop.signal);
    this.#people.set(key, person);
    for (const oldest of this.#people.keys()) {
      if (this.#people.size <= maxPeople) break;
      this.#forget(oldest);
    }
    return person;
  }

  #forgetIdle(nowMs: number): void {
    for (const [key, { usedMs, session }] of this.#people) {
      if (nowMs - usedMs > idleMs && session.source.watchers === 0) this.#forget(key);
    }
  }

  #forget(key: string): void {
    const person = this.#people.get(key);
    this.#people.delete(key);
    person?.stop.abort();
    person?.client.close();
  }
}

function bearerOf({ headers }: IncomingMessage): string | undefined {
  const [, token] = /^Bearer (\S+)$/i.exec(headers.authorization ?? '') ?? [];
  return token;
}

function forgetOldest(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}
