/** The nodes that operators run on are in trouble: somebody leads all the while, and nobody cuts the machine that it runs on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failuresOf, run, scenarioOf } from '../run-file.ts';
import { runHoles } from './files.ts';

runHoles('the nodes of both operators', {
  'own-nodes-after-a-storm':
    '[STM-8] S22: due at once after a storm: each is cut by the other one, and a third machine is let go',
  'own-nodes-approved':
    '[STM-8] S22: approved at once: what one has recorded a moment ago is not told by the other one',
});

test('[STM-8] the lead is not handed to and fro: once for the second of two nodes', async () => {
  const report = await run(scenarioOf('holes/own-nodes-to-and-fro'));
  assert.deepEqual(failuresOf(report), []);
  assert.equal(report.timeline.filter(({ what }) => what.endsWith('no longer leading')).length, 1);
});
