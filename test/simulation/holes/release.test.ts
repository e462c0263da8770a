/** What goes from a node, and how often. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '../../../src/kube/client.ts';
import { allStories } from '../../mutants/stories.ts';
import { observe } from '../release/observed.ts';
import { failuresOf, run, scenarioOf, seedsOf } from '../run-file.ts';
import { blindScheduler, boundLate, janitor, strippedBare } from './endless.ts';

function holds(title: string, name: string): void {
  test(title, async () => {
    const scenario = scenarioOf(`holes/${name}`);
    for (const seed of seedsOf(scenario)) {
      assert.deepEqual(failuresOf(await run({ ...scenario, seed })), [], `with seed ${seed}`);
    }
  });
}

describe('a person says in the middle that nothing runs there', () => {
  holds('[FEV-3, FEV-5] what is released on another basis is brought to its end first', 'evicted-by-hand-while-off');
});

describe('nothing is done for ever', () => {
  holds('[SAF-9] what tolerates the quarantine goes once, and holds nothing up', 'made-again-tolerating');
  holds(
    '[SAF-9, POD-6] of more pods than one record holds all go, and none is taken for one that came later',
    'more-pods-than-a-record-holds',
  );
  holds('[SAF-9] what its controller binds by name goes once, and holds nothing up', 'made-again-by-name');
  holds('[SAF-9] what a template binds by name goes once, and holds nothing up', 'made-again-in-template');

  test('[SAF-9] what a scheduler binds that has not seen the quarantine goes once for its controller', async () => {
    const seen = await observe(boundLate, blindScheduler());
    assert.deepEqual(failuresOf(seen.report), []);
    const gone = seen.writes.filter(({ what }) => what === 'delete pods/default/web-0');
    assert.equal(gone.length, 2, 'the one that was there, and the first that came');
    assert.equal(Math.max(...seen.statuses.map(({ status }) => status.incident?.late.length ?? 0)), 1);
  });

  test('[SAF-9] where somebody undoes what we do, it has an end, and that is an alarm', async () => {
    const seen = await observe(strippedBare, janitor());
    assert.deepEqual(failuresOf(seen.report), []);
    const marks = seen.writes.filter(({ what }) => /^patch nodes\/node-1$/.test(what));
    assert.ok(marks.length < 250, `${marks.length} times`);
    const alarmed = seen.statuses.find(({ status: { conditions } }) =>
      conditions.some(({ type, status, reason }) => type === 'Alarm' && status === 'True' && reason === 'TooManyActs'),
    );
    assert.equal(alarmed?.status.hold?.reason, 'TooManyActs');
    const last = Math.max(...marks.map(({ atMs }) => atMs));
    assert.ok(alarmed.atMs >= last, 'then nothing more is done');
  });
});

describe('what is kept', () => {
  holds('[SAF-13] an inline volume of a pod that stays keeps its attachment', 'staying-inline-volume');
});

describe('what proves nothing', () => {
  holds('[NGS-2] a driver that does without attaching releases nothing', 'safe-detach-without-attach');

  test('[NGS-2] and whoever waits for the pod is told why', async () => {
    const seen = await observe(scenarioOf('holes/safe-detach-without-attach'));
    const told = seen.events.find(({ reason }) => reason === 'NotReleased')?.note ?? '';
    assert.match(told, /volume pv-0: CSIDriver files\.example\.com has attachRequired: false/);
  });
});

describe('disruption budgets of a dead node', () => {
  holds('[STM-5] a pod that runs no more goes whatever its budget says', 'budget-overruled');
  holds('[STM-5] unless the policy respects budgets: then it stays, and nothing waits for it', 'budget-respected');

  test('[STM-5] also one that is made between the decision and the act', async () => {
    const story = allStories().find(
      ({ name }) => name === 'between, power: a budget forbids it that the policy respects',
    );
    assert.ok(story !== undefined);
    const { wrong = () => [], ...options } = story.options?.() ?? {};
    const seen = await observe(story.scenario(), options);
    assert.deepEqual([...failuresOf(seen.report), ...wrong(seen.report)], []);
    // Then somebody else sends it away, and nobody asks about it again.
    const gone = seen.writes.find(({ what }) => what.startsWith('delete pods/'));
    const isTerminating = (gone?.before as KubeObject | undefined)?.metadata.deletionTimestamp !== undefined;
    assert.ok(isTerminating, 'it was not deleted before');
  });

  test('[STM-5] that a budget was overruled is on record, and told', async () => {
    const { statuses } = await observe(scenarioOf('holes/budget-overruled'));
    const { releases = [], history = [] } = statuses.findLast(({ status }) => status.releases.length > 0)?.status ?? {};
    assert.deepEqual(
      releases.map(({ basis, budgets }) => [basis, budgets]),
      [['PowerOff', ['default/web']]],
    );
    assert.match(
      history.find(({ reason }) => reason === 'Releasing')?.message ?? '',
      /^1 pod on the basis PowerOff \(.*\), whatever the budget default\/web says$/,
    );
  });
});
