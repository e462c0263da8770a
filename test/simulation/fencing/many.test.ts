/** Many nodes at once: nobody's pods are read before it is known that something may be done about the node. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isOperator } from '../../../src/scenario/operator-user.ts';
import type { Transport } from '../../../src/kube/transport.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import { first, observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { everywhere, fenced } from './fenced.ts';

const many = Array.from({ length: 40 }, (_, index) => `node-${index + 1}`);
/** Of so many nodes pods are watched before anybody wants them. */
const atEase = 32;

/** Notes of which nodes an operator has asked for the pods, and how many watches of them it has opened. */
function listening(asked: Set<string>, watches: string[] = []): RunOptions {
  const wire = (user: string, inner: Transport): Transport => {
    if (!isOperator(user)) return inner;
    const send: Transport['send'] = (request) => {
      const node = /\/pods\?.*spec\.nodeName(?:=|%3D)([^&]+)/.exec(request.path)?.[1];
      if (node !== undefined) asked.add(node);
      if (node !== undefined && /[?&]watch=/.test(request.path)) watches.push(node);
      return inner.send(request);
    };
    return new Proxy(inner, { get: (target, key) => (key === 'send' ? send : Reflect.get(target, key, target)) });
  };
  return { wire };
}

describe('many nodes at once', () => {
  test('[STM-1] forty of sixty that say on: each says why it is held, and of most the pods are never read', async () => {
    const asked = new Set<string>();
    const watches: string[] = [];
    const seen = await observe(first(2, 'holes/broken-switch'), listening(asked, watches));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.ok(asked.size > 0 && asked.size <= atEase, `pods of ${asked.size} nodes were read`);
    assert.deepEqual(
      watches.toSorted(),
      [...asked].toSorted(),
      'each is watched once, and nobody else for as long as it lasts',
    );
    const last = new Map(seen.statuses.map(({ status }) => [status.incident?.id.replace(/-\d+$/, ''), status]));
    const reasons = many.map((name) => last.get(name)?.hold?.reason);
    assert.deepEqual(new Set(reasons), new Set(['StormLimit']));
  });

  test('[EVD-2, STM-1] forty of sixty that are off: all of them are let go', async () => {
    const asked = new Set<string>();
    const scenario = fenced('forty-dead', {
      cluster: { nodes: 60 },
      objects: [everywhere(60)],
      events: many.map((powerOff) => ({ at: '0s', powerOff })),
      runFor: '40s',
    });
    const seen = await observe(scenario, listening(asked));
    assert.deepEqual(failuresOf(seen.report), []);
    const released = new Set(
      seen.statuses.flatMap(({ status }) => (status.releases.length > 0 ? [status.incident?.nodeUid] : [])),
    );
    assert.equal(released.size, many.length);
  });
});
