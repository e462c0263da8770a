import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aFence, nowMs } from '../../test/support/release-case.ts';
import { aStored } from '../../test/support/fenced-case.ts';
import { SharedStage } from '../../test/support/shared-stage.ts';

test('[STM-1] in brief, a case has who is counted, and not who is silent beside it or still to be heard of', () => {
  const stage = new SharedStage();
  stage.storms = [{ node: 'a', sinceMs: nowMs - 60_000, nodes: 4, troubled: 3, policy: 'release' }];
  stage.fall('a');
  const change = { fence: aFence({ fence: aStored('waiting') }) };
  const [whole, brief] = [stage.complete(change), stage.completeInBrief(change)];
  assert.ok(whole.beside);
  const { beside: _, rehearsed: __, ...rest } = whole;
  assert.deepEqual({ ...brief, around: rest.around }, rest);
});
