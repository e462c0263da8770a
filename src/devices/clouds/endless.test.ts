/** A cloud, or who answers for it, that does not come to an end: nobody waits for it, and what is read of it is bounded. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { RedfishBmc, type Mischief } from '../../../test/support/redfish-bmc.ts';
import { realClock } from '../../clock.ts';
import { BODY_LIMIT_BYTES } from '../http.ts';
import { ANSWERS_LIMIT_BYTES, Failure, Turn } from './turn.ts';

const { signal } = new AbortController();
const gigabyte = 2 ** 30;
const chunk = 'x'.repeat(64 * 1024);

/** A server, and somebody who asks it. */
async function asking(mischief: Mischief, callTimeoutMs = 60_000) {
  const server = await RedfishBmc.start();
  server.mischief = mischief;
  const way = { ca: await readFile(server.trustFile, 'utf8') };
  const turn = new Turn({
    world: realClock,
    signal,
    deadline: realClock.monotonic() + 120_000,
    callTimeoutMs,
    way,
    hide: () => {},
  });
  const call = () => turn.call({ method: 'GET', url: new URL(`https://127.0.0.1:${server.port}/instances`) });
  return { call, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const unknown =
  (why: RegExp) =>
  (error: unknown): boolean =>
    error instanceof Failure && error.kind === 'unknown' && why.test(error.message);

describe('[SEC-5] the API of a cloud that answers', () => {
  test('with a gigabyte is cut off long before', async () => {
    let sentBytes = 0;
    await using cloud = await asking((_, response) => {
      response.writeHead(200, { 'content-length': gigabyte });
      const more = (): void => {
        sentBytes += chunk.length;
        if (!response.destroyed && sentBytes < gigabyte) response.write(chunk, () => setImmediate(more));
      };
      more();
    });
    await assert.rejects(cloud.call(), unknown(/the answer is too long/));
    assert.ok(sentBytes < 8 * BODY_LIMIT_BYTES, String(sentBytes));
  });

  test('a byte at a time is given up in time', async () => {
    await using cloud = await asking((_, response) => {
      response.writeHead(200);
      const more = (): void => void (response.destroyed || response.write(' ', () => setTimeout(more, 5)));
      more();
    }, 300);
    await assert.rejects(cloud.call(), unknown(/no answer within 0\.3 s/));
  });

  test('with one page after the other is asked for no more than all of its pages may say', async () => {
    const page = 'x'.repeat(BODY_LIMIT_BYTES - 1);
    await using cloud = await asking((_, response) => void response.end(page));
    let readBytes = 0;
    const all = async (): Promise<void> => {
      for (let one = 0; one < 20; one += 1) readBytes += (await cloud.call()).body.length;
    };
    await assert.rejects(all(), unknown(/the answer is too long/));
    assert.ok(readBytes > BODY_LIMIT_BYTES && readBytes <= ANSWERS_LIMIT_BYTES, String(readBytes));
  });
});
