/** Whose the budgets are: they go with the last policy that wants them, and with none before. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decideDrain } from '../decide/decide-drain.ts';
import { cordoned, decide, ofNode, told } from '../../test/support/drain-asked.ts';
import { budget, drainView, node, replica } from '../../test/support/drain-case.ts';

const both = ['a', 'b'].map((name) => cordoned(name, 'block-if-contains-last-replica'));

describe('a budget of ours', () => {
  const strangers: Record<string, readonly string[]> = {
    'no policy owns': [],
    'another policy owns': ['policy-gone'],
    'only some policies own': ['policy-default'],
    'one that is gone owns too': ['policy-default', 'policy-other', 'policy-gone'],
    'one that is gone owns instead of another': ['policy-default', 'policy-gone'],
  };
  for (const [what, theirs] of Object.entries(strangers)) {
    test(`[DRN-2] one that ${what} is put right in its place, whatever is wished for its node`, () => {
      const owners = [...drainView().owners, { name: 'other', uid: 'policy-other' }];
      const { cordoned: _, ...unknown } = cordoned('d', 'block-if-contains-last-replica');
      const budgets = ['a', 'b', 'c', 'd'].map((name) => budget(name, { owners: theirs }));
      const decision = decideDrain(drainView({ nodes: [...both, node('c'), unknown], owners, budgets }));
      assert.deepEqual(told(decision), [
        ...['b', 'c', 'd'].map((name) => `repairBudget fenceline-im-${name}`),
        'announceWithdrawal fenceline-im-a',
      ]);
      const [first] = decision.actions;
      const version = { name: 'fenceline-im-b', uid: 'budget-b', resourceVersion: '1' };
      assert.deepEqual(first, { do: 'repairBudget', node: 'b', budget: version, owners });
    });
  }

  test('[DRN-2] one of somebody else, one that is on its way out, and one that no policy is left for is not touched', () => {
    const spared = [budget('a', { ours: false, owners: [] }), budget('b', { deleting: true, owners: [] })];
    assert.deepEqual(told(decideDrain(drainView({ budgets: [...spared, budget('c')] }))), []);
    const { cordoned: _, ...unknown } = cordoned('a', 'block-if-contains-last-replica');
    const view = drainView({ nodes: [unknown], owners: [], budgets: [budget('a', { owners: ['policy-gone'] })] });
    assert.deepEqual(told(decideDrain(view)), []);
  });

  test('[DRN-3] one whose owners are all gone is not counted upon: Kubernetes takes it away any moment', () => {
    const replicas = [replica('v', 'a'), replica('v', 'b')];
    const reasonWith = (owners: readonly string[]): string => {
      const budgets = [budget('a'), budget('b', { owners }), budget('c')];
      return ofNode(decide('block-if-contains-last-replica', { replicas, budgets })).reason;
    };
    assert.equal(reasonWith(['policy-gone']), 'LastReplica');
    assert.equal(reasonWith(['policy-gone', 'policy-default']), 'Allowed');
    // Of what never had an owner nobody takes anything away.
    assert.equal(reasonWith([]), 'Allowed');
  });
});
