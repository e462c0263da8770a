/** The embedded server, in memory, on a clock that moves when a case says so. */
import { ApiServer } from '../../src/world/api-server/server.ts';
import type { Feature } from '../../src/world/api-server/kind.ts';
import { manualClock } from '../support/manual-clock.ts';
import type { CallOptions, Driver, Json, OpenWatch, Reply, WatchEvent } from './contract.ts';

export class Crash extends Error {}
export class NoEvent extends Error {}

export function embeddedDriver(without: readonly Feature[] = []): Driver {
  const clock = manualClock();
  let state = 1;
  // Any generator will do, as long as it is the same one every time.
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  // The real one is started with 5 s.
  const server = new ApiServer({ clock, random, without, defaultTolerationSeconds: 5, freezes: true });
  const send = (method: string, path: string, body: unknown, options: CallOptions) =>
    server.handle({
      method,
      path,
      user: 'admin',
      headers: {
        accept: options.accept ?? 'application/json',
        'user-agent': 'contract/1',
        'content-type': options.contentType ?? 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    async call(method, path, body, options): Promise<Reply> {
      const answer = await send(method, path, body, options);
      // A watch that a case expected to be refused has no end.
      if (answer.status === 200 && path.includes('watch=1')) return { status: 200, headers: answer.headers, body: {} };
      let text = '';
      for await (const chunk of answer.body) text += Buffer.from(chunk).toString('utf8');
      const reply = { status: answer.status, headers: answer.headers, body: parsed(text) };
      // A server that breaks down is not one that lacks a feature.
      if (reply.body?.reason === 'InternalError' && /\n +at /.test(reply.body.message))
        throw new Crash(reply.body.message);
      return reply;
    },
    async watch(path): Promise<OpenWatch> {
      const answer = await send('GET', path, undefined, {});
      const lines = linesOf(answer.body);
      return {
        status: answer.status,
        next: () => orNothing(lines.next()),
        close: () => void answer.body[Symbol.asyncIterator]().return?.(),
      };
    },
    async pass(ms) {
      clock.advance(ms);
      await turn();
    },
  };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<WatchEvent> {
  for await (const chunk of body) {
    for (const line of Buffer.from(chunk).toString('utf8').split('\n')) {
      if (line !== '') yield JSON.parse(line) as WatchEvent;
    }
  }
}

/** In memory there is nothing to wait for: what has not come after a turn of the loop does not come. */
async function orNothing(next: Promise<IteratorResult<WatchEvent>>): Promise<WatchEvent | undefined> {
  const nothing = turn().then(() => 'nothing' as const);
  const first = await Promise.race([next, nothing]);
  if (first === 'nothing') throw new NoEvent('no event came');
  return first.done ? undefined : first.value;
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
