import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { KubeClient } from '../kube/client.ts';
import type { KubeObject } from '../kube/client.ts';
import type { Result } from '../kube/errors.ts';
import { Random } from '../world/random.ts';
import { World } from '../world/world.ts';
import { OwnGate } from './own-gate.ts';
import type { ConsoleSource } from './source.ts';
import { TokenGate } from './token-gate.ts';

function request(headers: Record<string, string> = {}): IncomingMessage {
  return { headers, socket: { remoteAddress: '10.0.0.1' } } as unknown as IncomingMessage;
}

interface Scene extends Disposable {
  gate: TokenGate;
  clock: ReturnType<typeof manualClock>;
  known: Map<string, string>;
  reviews: string[];
  /** Tokens that something was read with. */
  used: string[];
  fails: { is: boolean };
}

function scene(): Scene {
  const clock = manualClock();
  const known = new Map([['good', 'jane']]);
  const reviews: string[] = [];
  const used: string[] = [];
  const fails = { is: false };
  const world = new World({ clock, random: new Random(1), nodes: [] });
  const reviewer = {
    create: async <T extends KubeObject>(_: unknown, object: T): Promise<Result<T>> => {
      const { token } = (object as unknown as { spec: { token: string } }).spec;
      reviews.push(token);
      if (fails.is) return { ok: false, error: { kind: 'unreachable', message: 'down' } } as unknown as Result<T>;
      const username = known.get(token);
      const isKnown = username?.startsWith('-') === false;
      const status = username === undefined ? { authenticated: false } : { authenticated: isKnown, user: { username } };
      return { ok: true, value: { ...object, status } } as unknown as Result<T>;
    },
  };
  const gate = new TokenGate({
    clock,
    random: () => 0.5,
    reviewer,
    clientFor: (token) => {
      used.push(token);
      const transport = world.server.transport(known.get(token) ?? 'nobody');
      return new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
    },
    isSecure: true,
  });
  return { gate, clock, known, reviews, used, fails, [Symbol.dispose]: () => gate.close() };
}

function sourceOf(answer: Awaited<ReturnType<TokenGate['admit']>>): ConsoleSource {
  assert.ok('source' in answer);
  return answer.source;
}

describe('[USE-4] who signs in to the console', () => {
  test('nobody without a token, nobody with one that the API server does not know', async () => {
    using at = scene();
    assert.deepEqual(await at.gate.admit(request()), {
      status: 401,
      text: 'sign in with a bearer token of this cluster',
    });
    const refused = await at.gate.admit(request({ authorization: 'Bearer bad' }));
    assert.deepEqual(refused, { status: 401, text: 'the API server does not know this token' });
    assert.deepEqual(at.used, [], 'nothing was read with it');
  });

  test('a token is kept here behind a cookie that no script reads and no other site sends; after the end it opens nothing', async () => {
    using at = scene();
    const signed = await at.gate.signIn('good', request());
    assert.ok('cookie' in signed);
    assert.equal(signed.user, 'jane');
    assert.match(signed.cookie, /^fenceline-console=\S+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=28800; Secure$/);
    assert.doesNotMatch(signed.cookie, /good/);
    const cookie = signed.cookie.split(';')[0] ?? '';
    assert.ok('source' in (await at.gate.admit(request({ cookie }))));
    assert.match(at.gate.signOut(request({ cookie })), /Max-Age=0/);
    assert.ok('status' in (await at.gate.admit(request({ cookie }))));
  });

  test('a token that is revoked is found out within a minute; while the API server does not say, nobody new is let in', async () => {
    using at = scene();
    const headers = { authorization: 'Bearer good' };
    assert.ok('source' in (await at.gate.admit(request(headers))));
    assert.ok('source' in (await at.gate.admit(request(headers))));
    assert.deepEqual(at.reviews, ['good'], 'asked once');
    at.clock.advance(61_000);
    at.fails.is = true;
    assert.ok('source' in (await at.gate.admit(request(headers))), 'who was in stays in');
    const stranger = await at.gate.admit(request({ authorization: 'Bearer other' }));
    assert.equal('status' in stranger && stranger.status, 503);
    at.fails.is = false;
    at.known.delete('good');
    at.clock.advance(61_000);
    assert.ok('status' in (await at.gate.admit(request(headers))));
  });

  test('a user who is named and not authenticated is nobody', async () => {
    using at = scene();
    at.known.set('half', '-jane');
    const refused = await at.gate.admit(request({ authorization: 'Bearer half' }));
    assert.deepEqual(refused, { status: 401, text: 'the API server does not know this token' });
    assert.deepEqual(at.used, []);
  });

  test('whose token is revoked is begun anew when it is known again, and watched for no longer', async () => {
    using at = scene();
    const headers = { authorization: 'Bearer good' };
    const first = await at.gate.admit(request(headers));
    at.known.delete('good');
    at.clock.advance(61_000);
    await at.gate.admit(request(headers));
    at.known.set('good', 'jane');
    at.clock.advance(61_000);
    const second = await at.gate.admit(request(headers));
    assert.ok('source' in first && 'source' in second);
    assert.notEqual(first.source, second.source);
    assert.deepEqual(at.used, ['good', 'good']);
  });

  test('who has not looked for ten minutes is not watched for any more; who is looking stays', async () => {
    using at = scene();
    const headers = { authorization: 'Bearer good' };
    at.known.set('other', 'joe');
    const first = await at.gate.admit(request(headers));
    assert.ok('source' in first);
    const leave = first.source.onChange(() => {});
    at.clock.advance(601_000);
    await at.gate.admit(request({ authorization: 'Bearer other' }));
    assert.equal(first.source, sourceOf(await at.gate.admit(request(headers))), 'a page is open');
    leave();
    at.clock.advance(601_000);
    await at.gate.admit(request({ authorization: 'Bearer other' }));
    assert.notEqual(first.source, sourceOf(await at.gate.admit(request(headers))));
  });

  test('guesses are bounded: so many a second of one address', async () => {
    using at = scene();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => at.gate.admit(request({ authorization: `Bearer guess-${index}` }))),
    );
    const statuses = answers.map((answer) => ('status' in answer ? answer.status : 200));
    assert.equal(statuses.filter((status) => status === 429).length, 16);
    assert.equal(at.reviews.length, 4);
  });
});

test('[USE-4] the console of one person opens by its key, and by nothing else', async () => {
  const gate = new OwnGate({
    source: {} as ConsoleSource,
    act: async () => ({ ok: true, text: '' }),
    read: () => Promise.reject(new Error('nothing is rehearsed here')),
  });
  assert.ok('status' in (await gate.admit(request())));
  assert.equal(gate.enter('guess'), undefined);
  const cookie = gate.enter(gate.key)?.split(';')[0] ?? '';
  assert.ok('source' in (await gate.admit(request({ cookie }))));
  assert.ok('status' in (await gate.signIn('guess')));
  assert.ok('cookie' in (await gate.signIn(gate.key)));
});
