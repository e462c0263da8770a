/** What cannot be taken back waits for a person and for a storm to pass, whichever remedy it is. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresIn } from '../../mutants/run.ts';
import { storyNamed } from '../../mutants/stories.ts';
import { approval } from '../fencing/approved.ts';
import { fenced, fenceOf, place } from '../fencing/fenced.ts';
import type { Observed } from '../release/observed.ts';
import { observe, statusAt } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';

const container = { name: 'main', image: 'example/remedy:1' };
const remedies = [
  { name: 'job', podTemplate: { spec: { restartPolicy: 'Never', containers: [container] } } },
  { name: 'drain', drain: {} },
  { name: 'cordon', cordon: {} },
];
const ladderOf = (name: string): object => ({
  thresholds: [{ condition: { type: 'Ready', status: 'NotTrue', for: '5s' }, remedies: [{ name, period: '10m' }] }],
  remedies,
});
/** Of a node that is well and says that something is wrong. */
const onTrouble = (name: string): object => ({
  thresholds: [{ condition: { type: 'Trouble', status: 'True', for: '5s' }, remedies: [{ name, period: '10m' }] }],
  remedies,
});
const trouble = { at: '0s', condition: { node: place, type: 'Trouble', status: 'True' } };

/** When it was first done what the remedy does. */
function doneAt({ writes }: Observed, pattern: RegExp): number[] {
  return writes.filter(({ what }) => pattern.test(what)).map(({ atMs }) => atMs);
}

const acts = { job: /^create jobs\//, drain: /\/eviction$/ };

describe('remedies that cannot be taken back', () => {
  for (const [name, act] of Object.entries(acts)) {
    test(`[ADM-8] mode Approve: no ${name} before a person has approved of it`, async () => {
      const scenario = fenced(`approve-${name}`, {
        policy: { ...onTrouble(name), mode: 'Approve' },
        events: [trouble],
        runFor: '4m',
      });
      const held = await observe(scenario);
      assert.deepEqual(failuresOf(held.report), []);
      assert.deepEqual(doneAt(held, act), []);
      const status = statusAt(held);
      assert.deepEqual([status.hold?.reason, status.jobs], ['AwaitingApproval', []]);
      const approved = await observe(scenario, { onWorld: approval('node-3', 120_000) });
      assert.equal(doneAt(approved, act).length, 1);
      assert.ok((doneAt(approved, act)[0] ?? 0) > 60_000);
    });
  }

  test('[ADM-8] a cordon, which a person takes back with one command, does not wait', async () => {
    const seen = await observe(
      fenced('approve-cordon', {
        policy: { ...onTrouble('cordon'), mode: 'Approve' },
        events: [trouble],
        expect: [{ by: '20s', node: { name: place, schedulable: false } }],
        runFor: '1m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
  });

  test('[STM-1] while too many nodes do not respond no Job is made; when the others are back it is', async () => {
    const seen = await observe(
      fenced('storm-job', {
        cluster: { nodes: 4 },
        policy: { ...ladderOf('job'), storm: { cooldown: '10s' } },
        events: [
          { at: '0s', partition: 'node-1' },
          { at: '0s', partition: 'node-2' },
          { at: '3m', heal: 'node-1' },
        ],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const made = doneAt(seen, acts.job);
    assert.equal(made.length, 1);
    assert.ok((made[0] ?? 0) >= 180_000, `made at ${made[0]}`);
    const holds = seen.statuses.filter(({ atMs }) => atMs < 180_000).map(({ status }) => status.hold?.reason);
    assert.ok(holds.includes('StormLimit'));
    assert.equal(fenceOf(seen.world, 'node-2')?.status.hold, undefined);
  });

  test('[REM-4] a node that is back before its Job was made is left alone', async () => {
    assert.deepEqual(await failuresIn(storyNamed('between, a Job for silence: its Lease is renewed')), []);
  });
});
