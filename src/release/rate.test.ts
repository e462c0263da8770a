import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCase, aPod, aRecord, nowMs } from '../../test/support/release-case.ts';
import { withinRate } from './rate.ts';
import { releaseNode } from './release-node.ts';

test('[STM-4] what is new is limited, what was begun is followed to its end', () => {
  const pods = ['a', 'b', 'c'].map((uid) => aPod({ uid, name: `web-${uid}`, claims: [] }));
  const fates = pods.map((pod) => ({ ...releaseNode(aCase({ pods: [aPod()] }))[0], pod })) as ReturnType<
    typeof releaseNode
  >;
  assert.ok(fates.every(({ goes }) => goes));
  const begun = aRecord({ pods: [{ namespace: 'default', name: 'web-c', uid: 'c' }] });
  const allowance = { pods: 1, perMinute: 7, untilMs: nowMs + 5000 };
  const limited = withinRate(fates, [begun], allowance);
  assert.deepEqual(
    limited.map(({ goes }) => goes),
    [true, false, true],
  );
  const [, held] = limited;
  assert.deepEqual(
    held?.goes === false && held.objections.map(({ objection: { reason, untilMs } }) => [reason, untilMs]),
    [['ReleaseRate', nowMs + 5000]],
  );
  assert.deepEqual(withinRate(fates, [], { ...allowance, pods: 3 }), fates);
});
