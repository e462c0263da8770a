import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeClient } from '../kube/client.ts';
import type { KubeErrorKind } from '../kube/errors.ts';
import { failure } from '../kube/errors.ts';
import { nodes } from '../kube/resources.ts';
import { listAll } from './list-all.ts';

type Answer = { names: string[]; next?: string } | { kind: KubeErrorKind; retryAfterMs?: number };

/** Answers in turn; what is asked beyond that is a mistake. */
async function listed(...answers: Answer[]): Promise<{ names: string[] | string; asked: string[] }> {
  const asked: string[] = [];
  const stream: Pick<KubeClient, 'stream'>['stream'] = async (path) => {
    asked.push(path);
    const answer = answers.shift();
    assert.ok(answer !== undefined, `asked once too often: ${path}`);
    if ('kind' in answer) return failure({ ...answer, message: 'no', mayHaveHappened: false });
    const items = answer.names.map((name) => ({ metadata: { name } }));
    const text = JSON.stringify({ metadata: { continue: answer.next ?? '' }, items });
    return { ok: true, value: { body: [Buffer.from(text)] } as never };
  };
  const wanted = {
    resource: nodes,
    pageSize: 2,
    keep: ({ metadata }: { metadata: { name: string } }) => metadata.name,
  };
  const read = await listAll({ stream } as KubeClient, wanted, new AbortController().signal);
  return { names: read.ok ? read.value.items : read.error.kind, asked };
}

test('[EXP-2] a list begins anew where its history is gone, or a busy server asks for that, and not for ever', async () => {
  const whole = [{ names: ['a', 'b'], next: 'x' }, { names: ['c'] }];
  assert.deepEqual((await listed(...whole)).names, ['a', 'b', 'c']);
  const [first] = whole;
  assert.ok(first !== undefined);
  assert.deepEqual((await listed(first, { kind: 'gone' }, ...whole)).names, ['a', 'b', 'c'], 'and nothing twice');
  const busy = { kind: 'timeout', retryAfterMs: 1000 } as const;
  assert.deepEqual((await listed(busy, first, busy, ...whole)).names, ['a', 'b', 'c']);
  assert.deepEqual(await listed(busy, busy, busy).then(({ names, asked }) => [names, asked.length]), ['timeout', 3]);
  for (const kind of ['timeout', 'forbidden', 'unreachable'] as const) {
    assert.deepEqual(await listed({ kind }).then(({ names, asked }) => [names, asked.length]), [kind, 1]);
  }
});
