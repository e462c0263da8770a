import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../clock.ts';
import { NO_ANSWER, UserError } from './user-error.ts';
import { watchText } from './watching.ts';

/** What is read, one after the other; then whoever looks has seen enough. */
async function watched(...answers: (string | Error)[]): Promise<string[]> {
  const ended = new AbortController();
  const seen: string[] = [];
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after(_, callback) {
      if (answers.length === 0) ended.abort();
      queueMicrotask(callback);
      return () => {};
    },
  };
  const read = async (): Promise<string> => {
    const answer = answers.shift() ?? '';
    if (typeof answer === 'string') return answer;
    throw answer;
  };
  await watchText(read, {
    clock,
    signal: ended.signal,
    write: (text) => seen.push(text),
    say: (line) => seen.push(`say: ${line}`),
  });
  return seen;
}

const lost = new UserError('connect ECONNREFUSED', NO_ANSWER);

test('[ADM-4] everything once, then each line that was not there before; what stays is not said again', async () => {
  assert.deepEqual(
    await watched('NAME\na well\nb well\n', 'NAME\na well\nb well\n', 'NAME\na gone\nb well\n', 'NAME\nb well\n'),
    ['NAME\na well\nb well\n', 'a gone\n'],
  );
  assert.deepEqual(await watched('a well\n', 'a gone\n', 'a well\n'), ['a well\n', 'a gone\n', 'a well\n']);
});

test('[ADM-4] a lost connection is said once, and when it is back; what has changed meanwhile is told', async () => {
  assert.deepEqual(await watched('a well\n', lost, lost, 'a gone\n', 'a gone\n'), [
    'a well\n',
    'say: no answer (connect ECONNREFUSED); what stands above may not be so any more; asking again',
    'say: the API server answers again',
    'a gone\n',
  ]);
});

test('[ADM-4] who is not answered at all, or is refused, is told so', async () => {
  await assert.rejects(watched(lost), /ECONNREFUSED/);
  await assert.rejects(watched('a\n', new UserError('nodes is forbidden')), /forbidden/);
});
