import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { documents, ProtocolError, readList } from './json-stream.ts';
import { Document } from './transport.ts';

async function* chunked(text: string, sizes: number[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    // The scanner must not keep a chunk: this one is overwritten after use, as a socket's buffer would be.
    const chunk = Buffer.from(bytes.subarray(at, at + size));
    yield chunk;
    chunk.fill(0x2a);
    at += size;
  }
}

const json = fc.json({ maxDepth: 4 }).map((text) => JSON.parse(text) as unknown);
const item = fc.dictionary(fc.string(), json).map((object) => JSON.parse(JSON.stringify(object)) as object);
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

test('a list is read item by item, whatever its items hold, however it is cut, in whatever order its keys stand', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(item),
      fc.boolean(),
      fc.integer({ min: 0, max: 2 }),
      sizes,
      async (items, last, indent, cut) => {
        const metadata = { resourceVersion: '42', continue: 'a"b\\[{items' };
        const document = last ? { apiVersion: 'items', items, kind: 'L', metadata } : { kind: 'L', metadata, items };
        const seen: unknown[] = [];
        const envelope = await readList(chunked(JSON.stringify(document, null, indent), cut), (one) => seen.push(one));
        assert.deepEqual(seen, items);
        assert.deepEqual(envelope, { ...document, items: [] });
      },
    ),
  );
});

test('a list without items, or with null for them, is an empty list', async () => {
  for (const text of ['{"metadata":{"resourceVersion":"1"},"items":null}', '{"metadata":{"resourceVersion":"1"}}']) {
    const seen: unknown[] = [];
    const envelope = await readList(chunked(text, [7]), (one) => seen.push(one));
    assert.deepEqual(seen, []);
    assert.equal(envelope.metadata?.resourceVersion, '1');
  }
});

test('a list that is cut short is an error at every byte, never a short list', async () => {
  const text = JSON.stringify({ metadata: { resourceVersion: '1' }, items: [{ a: 1 }, { b: [2, '}'] }] });
  for (let length = 0; length < text.length; length += 1) {
    await assert.rejects(
      readList(chunked(text.slice(0, length), [5]), () => {}),
      ProtocolError,
      text.slice(0, length),
    );
  }
});

test('documents come whole, however their lines are cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { minLength: 1 }), sizes, async (input, cut) => {
      const text = input.map((one) => `${JSON.stringify(one)}\n`).join('');
      const seen: unknown[] = [];
      for await (const one of documents(chunked(text, cut))) seen.push(one);
      assert.deepEqual(seen, input);
    }),
  );
});

test('documents come as they were sent, in bytes or as values, and what is not JSON is an error', async () => {
  const value = { a: 1 };
  async function* body(last: string): AsyncGenerator<Uint8Array> {
    yield* chunked('{"b":2}\n[3]\n', [4]);
    yield new Document(value);
    yield* chunked(last, [2]);
  }
  const read = async (last: string): Promise<unknown[]> => {
    const seen: unknown[] = [];
    for await (const one of documents(body(last))) seen.push(one);
    return seen;
  };
  const seen = await read('{"c":4}');
  assert.deepEqual(seen, [{ b: 2 }, [3], value, { c: 4 }]);
  assert.equal(seen[2], value);
  await assert.rejects(read('{"c":'), ProtocolError);
});

test('an exception of the reader is not mistaken for a broken document', async () => {
  const mistake = new SyntaxError('the reader’s own');
  const reading = readList(chunked('{"items":[{}]}', [3]), () => {
    throw mistake;
  });
  await assert.rejects(reading, (error) => error === mistake);
});
