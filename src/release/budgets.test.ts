import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase, aPod, inForce } from '../../test/support/release-case.ts';
import type { NodeCase, PodFacts } from '../api/release-view.ts';
import { budgeted, budgetsAgainst, withinBudgets } from './budgets.ts';

const { deletionAtMs: _, ...living } = aPod();
const over = (matchLabels: Record<string, string>, namespace = 'default') => ({
  namespace,
  name: 'web',
  selector: { matchLabels, matchExpressions: [] },
});
const respected = (change: Partial<NodeCase>): NodeCase =>
  aCase({ policy: inForce({ budgets: 'Respect' }), ...change });
const budgets = [over({ app: 'web' })];
const waits = (nodeCase: NodeCase, pod: PodFacts): boolean => {
  const [fate] = withinBudgets(nodeCase, [{ pod, goes: true, way: 'power', frees: [] }]);
  return fate?.goes === false;
};

describe('a disruption budget that allows nothing', () => {
  test('[STM-5] is about the pods that it selects, in its namespace', () => {
    const against = (one: ReturnType<typeof over>, pod: PodFacts = living): string[] =>
      budgetsAgainst(aCase({ budgets: [one] }), pod);
    assert.deepEqual(against(over({ app: 'web' })), ['default/web']);
    assert.deepEqual(against(over({})), ['default/web'], 'an empty selector is everybody there');
    assert.deepEqual(against(over({ app: 'shop' })), []);
    assert.deepEqual(against(over({ app: 'web' }, 'other')), []);
    assert.deepEqual(against(over({ app: 'web' }), aPod()), [], 'what terminates was sent away already');
  });

  test('[STM-5] keeps a pod only where the policy respects it', () => {
    assert.equal(waits(respected({ budgets }), living), true);
    assert.equal(waits(respected({ budgets: [] }), living), false);
    assert.equal(waits(respected({ budgets }), aPod()), false);
    assert.equal(waits(aCase({ budgets }), living), false);
    assert.equal(waits(aCase({ budgets, policy: { kind: 'none' } }), living), false);
  });

  test('[STM-5] is looked at again before a pod goes whose budget is respected, and that nobody else has sent away', () => {
    const { namespace, name, labels } = living;
    assert.deepEqual(budgeted(respected({}), [living, aPod()]), [{ namespace, name, labels }]);
    assert.deepEqual(budgeted(aCase(), [living]), []);
    assert.deepEqual(budgeted(aCase({ policy: { kind: 'none' } }), [living]), []);
  });

  test('[STM-5] changes nothing for a pod that stays anyway', () => {
    const objections = [{ way: 'power', objection: { reason: 'DoNothing', message: '' } }] as const;
    const stays = { pod: living, goes: false, objections } as const;
    assert.deepEqual(withinBudgets(respected({ budgets }), [stays]), [stays]);
  });

  test('[STM-5] keeps it too where budgets could not be read: unknown is not no', () => {
    assert.equal(waits(respected({}), living), true);
    assert.equal(waits(respected({}), aPod()), false, 'it was sent away already');
    assert.equal(waits(aCase({}), living), false);
  });
});
