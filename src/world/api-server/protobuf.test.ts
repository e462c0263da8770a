/** What typed clients send, read field by field; what is broken or not known is refused with a sentence, and never guessed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProtobuf, readProtobuf } from './protobuf.ts';
import { ApiError } from './status-error.ts';

type Value = number | string | Buffer;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

function field(number: number, value: Value): Buffer {
  if (typeof value === 'number') return Buffer.concat([varint(number * 8), varint(value)]);
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

const message = (...fields: [number, Value][]): Buffer => Buffer.concat(fields.map(([at, value]) => field(at, value)));

function sent(apiVersion: string, kind: string, raw: Buffer): Buffer {
  const type = message([1, apiVersion], [2, kind]);
  return Buffer.concat([Buffer.from('k8s\0'), message([1, type], [2, raw], [3, ''], [4, ''])]);
}

/** As Go writes it: with everything that nobody has set. */
const named = (name: string): Buffer =>
  message([1, name], [2, ''], [3, ''], [4, ''], [5, ''], [6, ''], [7, 0], [8, Buffer.alloc(0)]);

function refusal(body: Buffer): ApiError {
  try {
    readProtobuf(body);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return assert.fail('it was read');
}

test('a ConfigMap: what is set, and nothing else', () => {
  const data = message([1, 'key'], [2, 'value']);
  const empty = message([1, '__proto__'], [2, '']);
  const raw = message([1, named('a')], [2, data], [2, empty], [4, 1]);
  const read = readProtobuf(sent('v1', 'ConfigMap', raw));
  assert.equal(
    JSON.stringify(read),
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"key":"value","__proto__":""},"immutable":true}',
  );
});

test('bytes are base64, a number may be negative or nought, and a share is a text', () => {
  const secret = readProtobuf(sent('v1', 'Secret', message([2, message([1, 'k'], [2, Buffer.from([0, 255])])])));
  assert.deepEqual(secret['data'], { k: 'AP8=' });
  const deployment = readProtobuf(sent('apps/v1', 'Deployment', message([2, message([1, 0])])));
  assert.deepEqual(deployment['spec'], { replicas: 0 });
  const eviction = readProtobuf(sent('policy/v1', 'Eviction', message([2, message([1, -1], [5, 'All'], [5, ''])])));
  assert.deepEqual(eviction['deleteOptions'], { gracePeriodSeconds: -1, dryRun: ['All', ''] });
  const share = message([1, 1], [2, 0], [3, '50%']);
  const count = message([1, 0], [2, 2], [3, '']);
  const budget = readProtobuf(sent('policy/v1', 'PodDisruptionBudget', message([2, message([1, share], [3, count])])));
  assert.deepEqual(budget['spec'], { minAvailable: '50%', maxUnavailable: 2 });
});

test('of another kind, or of a field that is not known and says something, nothing is guessed: the sentence says what to type', () => {
  const tells = /--dry-run=client -o yaml.*kubectl create -f -/;
  const kind = refusal(sent('autoscaling/v2', 'HorizontalPodAutoscaler', message([1, named('a')])));
  assert.equal(kind.code, 415);
  assert.match(kind.message, /reads a HorizontalPodAutoscaler as JSON or YAML only/);
  assert.match(kind.message, tells);
  const pod = message([2, message([40, 'x'])]);
  const unknown = refusal(sent('apps/v1', 'Deployment', message([2, message([3, pod])])));
  assert.match(unknown.message, /reads field 40 of Deployment\.spec\.template\.spec as JSON/);
  assert.match(unknown.message, tells);
  const unset = message([2, message([40, message([1, 0], [2, Buffer.alloc(0)])], [8, 0])]);
  const status = [3, Buffer.alloc(0)] as [number, Value];
  const read = readProtobuf(sent('apps/v1', 'Deployment', message([2, message([3, unset])], status)));
  assert.deepEqual(read['spec'], { template: { spec: {} } });
});

test('whatever is broken is refused as a bad request, and at once', () => {
  const good = sent('v1', 'ConfigMap', message([1, named('a')], [2, message([1, 'key'], [2, 'value'])]));
  for (let length = 0; length < good.length; length += 1) {
    // It may end where a whole one could have ended; whatever else it is, it is said.
    assert.ok([undefined, 400, 415].includes(codeOf(good.subarray(0, length))), `cut after ${length}`);
  }
  assert.equal(refusal(Buffer.from('{}')).code, 400);
  assert.equal(refusal(sent('v1', 'ConfigMap', message([1, 5]))).code, 400, 'a number for a message');
  assert.equal(
    refusal(sent('policy/v1', 'Eviction', message([2, message([1, 'x'])]))).code,
    400,
    'a text for a number',
  );
  const endless = Buffer.concat([Buffer.from('k8s\0'), Buffer.alloc(1_000_000, 0xff)]);
  assert.equal(refusal(endless).code, 400);
  // As deep as a body may be long.
  let deep: Buffer = Buffer.alloc(0);
  for (let at = 0; at < 5000; at += 1) deep = message([40, deep]);
  assert.equal(refusal(sent('v1', 'ConfigMap', deep)).code, 415);
});

/** Undefined: it was read. */
function codeOf(body: Buffer): number | undefined {
  try {
    readProtobuf(body);
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    throw error;
  }
}

test('what is taken for protobuf is what says so', () => {
  assert.equal(isProtobuf('application/vnd.kubernetes.protobuf;type=x'), true);
  assert.equal(isProtobuf('application/json'), false);
  assert.equal(isProtobuf(undefined), false);
});
