import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { KubeClient } from './client.ts';
import { leases, nodes, pods } from './resources.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';
import { TransportError } from './transport.ts';

type Answer = { status: number; body?: unknown; headers?: Record<string, string> } | TransportError;

/** Answers in the given order, the last one for ever. */
function stage(...answers: Answer[]) {
  const sent: HttpRequest[] = [];
  const clock = manualClock();
  const send = (request: HttpRequest): Promise<HttpResponse> => {
    sent.push(request);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === undefined || answer instanceof Error) return Promise.reject(answer);
    const body = (async function* () {
      yield Buffer.from(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {}));
    })();
    return Promise.resolve({ status: answer.status, headers: answer.headers ?? {}, body });
  };
  const client = new KubeClient({
    transport: { send, close: () => {} },
    clock,
    userAgent: 'agent/1',
    fieldManager: 'me',
  });
  return { client, sent, clock };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const node = { resource: nodes, name: 'a' };
const uid = { uid: 'u1' };

describe('client', () => {
  test('a read is a quorum read: it carries no resourceVersion', async () => {
    const { client, sent } = stage({ status: 200, body: { items: [], metadata: {} } });
    await client.get(node);
    await client.list(pods, { fieldSelector: 'spec.nodeName=a', limit: 5 });
    assert.deepEqual(
      sent.map(({ path }) => path),
      ['/api/v1/nodes/a', '/api/v1/pods?fieldSelector=spec.nodeName%3Da&limit=5'],
    );
  });

  test('every write carries its precondition', async () => {
    const { client, sent } = stage({ status: 200 });
    await client.patch(node, { uid: 'u1', resourceVersion: '7' }, [{ op: 'remove', path: '/spec/taints/0' }]);
    await client.delete({ resource: pods, namespace: 'n', name: 'p' }, uid, { gracePeriodSeconds: 0 });
    await client.evict({ resource: pods, namespace: 'n', name: 'p' }, uid);
    await client.apply(node, { metadata: { name: 'a' } });
    assert.deepEqual(
      sent.map(({ method, path, body }) => [method, path, JSON.parse(body ?? 'null')]),
      [
        [
          'PATCH',
          '/api/v1/nodes/a?fieldManager=me',
          [
            { op: 'test', path: '/metadata/uid', value: 'u1' },
            { op: 'test', path: '/metadata/resourceVersion', value: '7' },
            { op: 'remove', path: '/spec/taints/0' },
          ],
        ],
        [
          'DELETE',
          '/api/v1/namespaces/n/pods/p',
          { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: uid, gracePeriodSeconds: 0 },
        ],
        [
          'POST',
          '/api/v1/namespaces/n/pods/p/eviction',
          {
            apiVersion: 'policy/v1',
            kind: 'Eviction',
            metadata: { name: 'p', namespace: 'n' },
            deleteOptions: { preconditions: uid },
          },
        ],
        [
          'PATCH',
          '/api/v1/nodes/a?fieldManager=me&force=false',
          { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } },
        ],
      ],
    );
    assert.throws(() => client.replace(node, { metadata: { name: 'a' } }), /without a resourceVersion would clobber/);
    const unidentified = { metadata: { name: 'a', resourceVersion: '1' } };
    assert.throws(() => client.replace(node, unidentified), /without a UID could resurrect/);
    assert.throws(() => client.get({ resource: leases, name: 'l' }), /a namespace is needed/);
    assert.throws(() => client.get({ ...node, namespace: 'n' }), /a namespace is wrong/);
  });

  test('what the server says becomes a kind, and a failed write says whether it may have happened', async () => {
    const table: [Answer, string, boolean][] = [
      [{ status: 404 }, 'notFound', false],
      [{ status: 409, body: { reason: 'AlreadyExists' } }, 'alreadyExists', false],
      [{ status: 409, body: { reason: 'Conflict' } }, 'conflict', false],
      [{ status: 410 }, 'gone', false],
      [{ status: 422 }, 'invalid', false],
      [{ status: 403 }, 'forbidden', false],
      [{ status: 401 }, 'unauthorized', false],
      [{ status: 500 }, 'serverError', true],
      [{ status: 503 }, 'serverError', true],
      [{ status: 504 }, 'timeout', true],
      [{ status: 200, body: '{"half' }, 'malformed', true],
      [new TransportError('notSent', 'refused'), 'unreachable', false],
      [new TransportError('broken', 'reset'), 'unreachable', true],
      [new TransportError('timeout', 'late'), 'timeout', true],
      [new TransportError('aborted', 'gave up'), 'aborted', true],
    ];
    for (const [answer, kind, mayHaveHappened] of table) {
      const result = await stage(answer).client.delete(node, uid);
      assert.ok(!result.ok);
      assert.deepEqual(
        [result.error.kind, result.error.mayHaveHappened],
        [kind, mayHaveHappened],
        JSON.stringify(answer),
      );
    }
  });

  test('a failed test of a JSON patch is a conflict, in all the server’s wordings; another mistake is not', async () => {
    for (const [message, kind] of [
      ['the server rejected our request due to an error in our request', 'conflict'],
      ['Node "a" is invalid: spec.taints[0].effect: Unsupported value', 'invalid'],
      [
        'the server rejected our request due to an error in our request: testing value /metadata/uid failed: test failed',
        'conflict',
      ],
      [
        "error in test for path: '/spec/taints/3': Unable to access invalid index: 3: invalid index referenced",
        'conflict',
      ],
      ['test operation does not apply: is missing path: /spec/taints/0: missing value', 'conflict'],
      ['remove operation does not apply: doc is missing path', 'invalid'],
    ] as const) {
      const result = await stage({ status: 422, body: { message, reason: 'Invalid' } }).client.patch(node, uid, []);
      assert.equal(!result.ok && result.error.kind, kind, message);
    }
  });

  test('429: waits as long as the server says, and tries again; an eviction does not', async () => {
    const busy = { status: 429, headers: { 'retry-after': '3' } };
    const { client, sent, clock } = stage(busy, { status: 200, body: { ok: 1 } });
    const result = client.delete(node, uid);
    await settle();
    clock.advance(2999);
    await settle();
    assert.equal(sent.length, 1);
    clock.advance(1);
    assert.ok((await result).ok);

    const held = stage({ status: 429, body: { details: { causes: [{ reason: 'DisruptionBudget' }] } } });
    const evicted = await held.client.evict({ resource: pods, namespace: 'n', name: 'p' }, uid);
    assert.ok(!evicted.ok);
    assert.deepEqual(
      [evicted.error.kind, evicted.error.causes, held.sent.length],
      ['tooManyRequests', ['DisruptionBudget'], 1],
    );
  });

  test('429: what rests on what was read right before is not sent again after a pause', async () => {
    const busy = stage({ status: 429, headers: { 'retry-after': '3' } }, { status: 200 });
    const result = await busy.client.delete(node, uid, { isAtOnce: true });
    assert.deepEqual([!result.ok && result.error.kind, busy.sent.length], ['tooManyRequests', 1]);
    const expired = stage({ status: 401 }, { status: 200, body: {} });
    assert.ok((await expired.client.delete(node, uid, { isAtOnce: true })).ok, 'fresh credentials take no pause');
  });

  test('a Retry-After beyond the time that the caller has is not waited for', async () => {
    const { client, sent } = stage({ status: 429, headers: { 'retry-after': '60' } });
    const result = await client.get(node, { timeoutMs: 5000 });
    assert.equal(!result.ok && result.error.kind, 'tooManyRequests');
    assert.equal(sent.length, 1);
  });

  test('a client that wakes up from a pause after the deadline does not send again', async () => {
    const { client, sent, clock } = stage({ status: 429, headers: { 'retry-after': '3' } }, { status: 200 });
    const result = client.delete(node, uid, { timeoutMs: 10_000 });
    await settle();
    clock.advance(60_000);
    assert.ok(!(await result).ok);
    assert.equal(sent.length, 1);
  });

  test('a read is repeated after a broken connection, a write never', async () => {
    const broken = new TransportError('broken', 'reset');
    const read = stage(broken, { status: 200 });
    assert.ok((await read.client.get(node)).ok);
    const write = stage(broken, { status: 200 });
    assert.ok(!(await write.client.patch(node, uid, [])).ok);
    assert.equal(write.sent.length, 1);
  });

  test('a 401 is tried once more, with whatever credentials there are then', async () => {
    const { client, sent } = stage({ status: 401 }, { status: 200 });
    assert.ok((await client.delete(node, uid)).ok);
    assert.equal(sent.length, 2);
  });

  test('the server’s clock comes with its answer', async () => {
    const date = 'Mon, 16 Nov 2026 12:00:00 GMT';
    const result = await stage({ status: 200, headers: { date } }).client.get(node);
    assert.equal(result.ok && result.serverTime, Date.parse(date));
    const without = await stage({ status: 200 }).client.get(node);
    assert.ok(without.ok && !('serverTime' in without));
  });

  test('characters that Go escapes are escaped, so that the server’s comparison of bytes holds', async () => {
    const { client, sent } = stage({ status: 200 });
    await client.patch(node, uid, [{ op: 'test', path: '/metadata/annotations/x', value: 'a<b>&\u2028' }]);
    assert.match(sent[0]?.body ?? '', /a\\u003cb\\u003e\\u0026\\u2028/);
  });

  test('what is no failure of the network is a bug, and is thrown', async () => {
    const { client } = stage(new TypeError('bug') as never);
    await assert.rejects(client.get(node), TypeError);
  });
});
