/** Whether a node lives is read in one way, and what it has said since voids what was said of it before. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresOf, run, scenarioOf } from '../run-file.ts';
import { runHoles } from './files.ts';

const fenced = 'left alone while it is renewed, fenced when it is not, back in service afterwards';
runHoles('a Lease says itself how long its silence means nothing', {
  'lease-of-20s': `[SAF-14] 20 s: ${fenced}`,
  'lease-of-40s': `[SAF-14] 40 s: ${fenced}`,
  'lease-of-80s': `[SAF-14] 80 s: ${fenced}`,
});

runHoles('a Lease is looked at in time, whatever happened to it before', {
  'lease-made-again': '[EVD-2] deleted, and made again: its silence is suspected as that of any other',
  'lease-shortened-again':
    '[EVD-2, SAF-14] made to last longer for a while: its silence is suspected as that of any other',
});

runHoles('that there is no Lease is neither life nor death', {
  'lease-deleted-cut-off': '[EVD-2] deleted while its node is cut off: it is fenced all the same',
  'lease-deleted-power-lost': '[EVD-2] deleted when its machine has lost its power: found off in seconds all the same',
  'node-without-lease': '[SAF-18] a Node of which no kubelet has ever reported is not cut, and says why it waits',
  'lease-deleted-alive': '[EVD-2, SAF-18] deleted while its node is well: nothing is wrong',
  'leases-deleted-alive': '[STM-1, SAF-18] all of them deleted while everybody is well: nothing is wrong',
  'lease-namespace-deleted':
    '[STM-1, SAF-18] no kubelet can make its own again, and each goes on to report: nobody is cut',
  'lease-namespace-deleted-cut-off': '[EVD-2] nobody has a Lease, and one is cut off: it is fenced',
});

runHoles('a sign of life voids what was said before it', {
  'kdump-then-alive': '[SAF-3] a message of a crashed kernel, five minutes of renewals, then a partition',
  'taint-then-alive': '[SAF-3] a taint that the node has outlived by five minutes, then a partition',
  'taint-set-again': '[SAF-3] the same taint counts when it is set again',
});

test('[EVD-2] whoever leads after the Lease was deleted has never seen it, and fences the node all the same', async () => {
  const scenario = scenarioOf('holes/lease-deleted-cut-off');
  const events = [
    ...scenario.events,
    { atMs: 20_000, act: { do: 'crashOperator', operator: 1 } as const, where: 'test' },
  ];
  assert.deepEqual(failuresOf(await run({ ...scenario, events })), []);
});

describe('what was said before a sign of life', () => {
  test('[SAF-3] is void also for an operator that was killed in between, and has only what is written down', async () => {
    const scenario = scenarioOf('holes/taint-then-alive');
    const where = 'test';
    const events = [...scenario.events, { atMs: 250_000, act: { do: 'crashOperator', operator: 1 } as const, where }];
    assert.deepEqual(failuresOf(await run({ ...scenario, events })), []);
  });

  test('[FEN-12, SAF-3] the word of a crashed kernel lapses when it is not repeated', async () => {
    assert.deepEqual(failuresOf(await run(scenarioOf('holes/crash-of-long-ago'))), []);
  });

  test('[SAF-3] what looks exactly like a crash is taken for one, and reported by the name of the exemption', async () => {
    const report = await run(scenarioOf('holes/forged-crash'));
    assert.deepEqual(failuresOf(report), []);
    assert.deepEqual([...new Set(report.exemptions.map(({ exemption }) => exemption))], ['ForgedCrash']);
  });
});

runHoles('a boot ID that several nodes share says nothing', {
  'shared-boot-id-second-fence':
    '[FEN-16, SAF-4] a machine that was off in an earlier fence of the incident is not taken for rebooted in this one',
  'shared-boot-id': '[FEN-16] the fence of such a node ends when its power went on and a kubelet has started since',
  'shared-boot-id-on-while-held':
    '[FEN-16, SAF-3] nothing goes on the strength of a cut that is over, and the fence ends as well',
  'shared-boot-id-on-by-hand': '[FEN-16] also where somebody switches it on by hand, because its device does not',
  'shared-boot-id-peer-gone': '[FEN-16] also where the other node with its ID is deleted meanwhile',
});
