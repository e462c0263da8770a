/**
 * What kubectl sends in protobuf: `create namespace` and its like, evictions, `auth can-i`. It is read into the JSON that the server
 * understands, for the kinds below. Of any other kind, and of a field that is not below, nothing is guessed: whoever typed is told
 * how to send the same as JSON.
 */
import { ApiError, badRequest } from './status-error.ts';

type Type =
  | 'text'
  | 'bytes'
  | 'number'
  | 'flag'
  | 'intOrText'
  | { message: Message }
  | { list: Type }
  | { map: 'text' | 'bytes' };

/** By the numbers of its fields, as they are published with each version of Kubernetes and never change. */
type Message = Readonly<Record<number, readonly [name: string, type: Type]>>;

const metadata: Type = {
  message: {
    1: ['name', 'text'],
    2: ['generateName', 'text'],
    3: ['namespace', 'text'],
    5: ['uid', 'text'],
    6: ['resourceVersion', 'text'],
    11: ['labels', { map: 'text' }],
    12: ['annotations', { map: 'text' }],
    14: ['finalizers', { list: 'text' }],
  },
};

const selector: Type = {
  message: {
    1: ['matchLabels', { map: 'text' }],
    2: [
      'matchExpressions',
      { list: { message: { 1: ['key', 'text'], 2: ['operator', 'text'], 3: ['values', { list: 'text' }] } } },
    ],
  },
};

const deleteOptions: Type = {
  message: {
    1: ['gracePeriodSeconds', 'number'],
    2: ['preconditions', { message: { 1: ['uid', 'text'], 2: ['resourceVersion', 'text'] } }],
    3: ['orphanDependents', 'flag'],
    4: ['propagationPolicy', 'text'],
    5: ['dryRun', { list: 'text' }],
  },
};

const container: Message = {
  1: ['name', 'text'],
  2: ['image', 'text'],
  3: ['command', { list: 'text' }],
  4: ['args', { list: 'text' }],
  5: ['workingDir', 'text'],
  6: ['ports', { list: { message: { 1: ['name', 'text'], 3: ['containerPort', 'number'], 4: ['protocol', 'text'] } } }],
  7: ['env', { list: { message: { 1: ['name', 'text'], 2: ['value', 'text'] } } }],
  14: ['imagePullPolicy', 'text'],
};

const podTemplate: Type = {
  message: {
    1: ['metadata', metadata],
    2: [
      'spec',
      {
        message: {
          2: ['containers', { list: { message: container } }],
          3: ['restartPolicy', 'text'],
          4: ['terminationGracePeriodSeconds', 'number'],
          7: ['nodeSelector', { map: 'text' }],
          8: ['serviceAccountName', 'text'],
          10: ['nodeName', 'text'],
        },
      },
    ],
  },
};

const attributes = (...names: string[]): Type => ({
  message: Object.fromEntries(names.map((name, index) => [index + 1, [name, 'text'] as const])),
});

const kinds: Readonly<Record<string, Message>> = {
  'v1 Namespace': { 1: ['metadata', metadata], 2: ['spec', { message: { 1: ['finalizers', { list: 'text' }] } }] },
  'v1 ConfigMap': {
    1: ['metadata', metadata],
    2: ['data', { map: 'text' }],
    3: ['binaryData', { map: 'bytes' }],
    4: ['immutable', 'flag'],
  },
  'v1 Secret': {
    1: ['metadata', metadata],
    2: ['data', { map: 'bytes' }],
    3: ['type', 'text'],
    4: ['stringData', { map: 'text' }],
    5: ['immutable', 'flag'],
  },
  'v1 ServiceAccount': { 1: ['metadata', metadata], 4: ['automountServiceAccountToken', 'flag'] },
  'v1 DeleteOptions': deleteOptions.message,
  'meta.k8s.io/v1 DeleteOptions': deleteOptions.message,
  'policy/v1 Eviction': { 1: ['metadata', metadata], 2: ['deleteOptions', deleteOptions] },
  'policy/v1 PodDisruptionBudget': {
    1: ['metadata', metadata],
    2: [
      'spec',
      {
        message: {
          1: ['minAvailable', 'intOrText'],
          2: ['selector', selector],
          3: ['maxUnavailable', 'intOrText'],
          4: ['unhealthyPodEvictionPolicy', 'text'],
        },
      },
    ],
  },
  'apps/v1 Deployment': {
    1: ['metadata', metadata],
    2: [
      'spec',
      {
        message: {
          1: ['replicas', 'number'],
          2: ['selector', selector],
          3: ['template', podTemplate],
          4: ['strategy', { message: { 1: ['type', 'text'] } }],
        },
      },
    ],
  },
  'batch/v1 Job': {
    1: ['metadata', metadata],
    2: [
      'spec',
      {
        message: {
          1: ['parallelism', 'number'],
          2: ['completions', 'number'],
          6: ['template', podTemplate],
          7: ['backoffLimit', 'number'],
        },
      },
    ],
  },
  'authentication.k8s.io/v1 SelfSubjectReview': { 1: ['metadata', metadata] },
  'authorization.k8s.io/v1 SelfSubjectAccessReview': {
    1: ['metadata', metadata],
    2: [
      'spec',
      {
        message: {
          1: [
            'resourceAttributes',
            attributes('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'),
          ],
          2: ['nonResourceAttributes', attributes('path', 'verb')],
        },
      },
    ],
  },
  'authorization.k8s.io/v1 SelfSubjectRulesReview': {
    1: ['metadata', metadata],
    2: ['spec', { message: { 1: ['namespace', 'text'] } }],
  },
};

const magic = Buffer.from('k8s\0');

export function isProtobuf(contentType: string | undefined): boolean {
  return contentType?.startsWith('application/vnd.kubernetes.protobuf') === true;
}

/** The object as JSON would have it. Throws an ApiError: it cannot be read, or not all of it. */
export function readProtobuf(body: Buffer): Record<string, unknown> {
  if (!body.subarray(0, magic.length).equals(magic)) throw unreadable('it does not begin as it should');
  let type: Record<string, unknown> = {};
  let raw: Buffer = Buffer.alloc(0);
  for (const { number, value } of fieldsOf(body.subarray(magic.length))) {
    if (number === 1) type = messageOf({ 1: ['apiVersion', 'text'], 2: ['kind', 'text'] }, bytesIn(value), 'typeMeta');
    if (number === 2) raw = bytesIn(value);
  }
  const { apiVersion = '', kind = '' } = type as { apiVersion?: string; kind?: string };
  const known = kinds[`${apiVersion} ${kind}`];
  if (known === undefined) throw tellJson(kind === '' ? 'this' : `a ${kind}`);
  return { apiVersion, kind, ...messageOf(known, raw, kind) };
}

interface Field {
  number: number;
  value: bigint | Buffer;
}

function* fieldsOf(bytes: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let result = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) break;
      at += 1;
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return result;
    }
    throw unreadable('a number in it does not end');
  };
  while (at < bytes.length) {
    const key = varint();
    const number = Number(key >> 3n);
    const wire = Number(key & 7n);
    if (wire === 0) {
      yield { number, value: varint() };
      continue;
    }
    const length = wire === 2 ? Number(varint()) : wire === 1 ? 8 : wire === 5 ? 4 : NaN;
    if (!(at + length <= bytes.length)) throw unreadable('it ends too early');
    yield { number, value: bytes.subarray(at, at + length) };
    at += length;
  }
}

/** What Go writes of a field that nobody has set is as good as absent. */
function isUnset(value: bigint | Buffer): boolean {
  return typeof value === 'bigint' ? value === 0n : value.length === 0;
}

/** `path`: where it is, for whoever is told. */
function messageOf(message: Message, bytes: Buffer, path: string): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const { number, value } of fieldsOf(bytes)) {
    const [name, type] = message[number] ?? [];
    if (name === undefined || type === undefined) {
      if (isUnset(value) || isOnlyUnset(value)) continue;
      throw tellJson(`field ${number} of ${path}`);
    }
    if (type === 'text' && isUnset(value)) continue;
    if (typeof type === 'object' && 'list' in type) {
      const list = (result[name] ??= []) as unknown[];
      list.push(valueOf(type.list, value, `${path}.${name}`));
    } else if (typeof type === 'object' && 'map' in type) {
      const [key, of] = entryOf(type.map, bytesIn(value));
      Object.defineProperty((result[name] ??= {}), key, {
        value: of,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    } else result[name] = valueOf(type, value, `${path}.${name}`);
  }
  return result;
}

/** A status, a time or resources in which nothing is said. */
function isOnlyUnset(value: bigint | Buffer): boolean {
  if (typeof value === 'bigint') return false;
  try {
    return [...fieldsOf(value)].every((one) => isUnset(one.value) || isOnlyUnset(one.value));
  } catch {
    return false;
  }
}

function valueOf(type: Type, value: bigint | Buffer, path: string): unknown {
  if (type === 'text') return bytesIn(value).toString('utf8');
  if (type === 'bytes') return bytesIn(value).toString('base64');
  if (type === 'number') return numberIn(value);
  if (type === 'flag') return numberIn(value) !== 0;
  if (type === 'intOrText') {
    const { kind, number, text } = messageOf(
      { 1: ['kind', 'number'], 2: ['number', 'number'], 3: ['text', 'text'] },
      bytesIn(value),
      path,
    );
    return kind === 1 ? (text ?? '') : (number ?? 0);
  }
  if ('message' in type) return messageOf(type.message, bytesIn(value), path);
  throw tellJson(path);
}

function entryOf(type: 'text' | 'bytes', bytes: Buffer): [string, unknown] {
  let key = '';
  let of: unknown = '';
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) key = bytesIn(value).toString('utf8');
    if (number === 2) of = valueOf(type, value, key);
  }
  return [key, of];
}

function bytesIn(value: bigint | Buffer): Buffer {
  if (typeof value === 'bigint') throw unreadable('a number is where a text should be');
  return value;
}

function numberIn(value: bigint | Buffer): number {
  if (typeof value !== 'bigint') throw unreadable('a text is where a number should be');
  return Number(BigInt.asIntN(64, value));
}

function unreadable(why: string): ApiError {
  return badRequest(`the body cannot be read as protobuf: ${why}`);
}

function tellJson(what: string): ApiError {
  const message =
    `this API server reads ${what} as JSON or YAML only: type the same with ` +
    `"--dry-run=client -o yaml" and pipe it into "kubectl create -f -"`;
  return new ApiError(415, 'UnsupportedMediaType', message);
}
