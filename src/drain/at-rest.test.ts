/**
 * Whatever state a drain is in: if nothing else happens, the operator comes to rest after a few looks. Two nodes that are
 * let go because of each other's copy, and that take it back because of each other's next step, would else go on for ever.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DRAIN_POLICIES } from '../api/policy-defaults.ts';
import type { DrainAction, DrainPolicyName } from '../api/drain-view.ts';
import type { Model } from '../../test/support/drain-model.ts';
import { explore, modelNodes, operatorSteps, perform, viewOf, worldSteps } from '../../test/support/drain-model.ts';
import { decideDrain } from '../decide/decide-drain.ts';

const mostLooks = 10;

/** Two nodes to be drained, two copies on them, and one that is being made on the second of them or elsewhere. */
function starts(policy: DrainPolicyName): Model[] {
  const budgets = modelNodes.map((node) => ({ node, version: 1, announced: false }));
  const base = { policy, policies: [policy], cordoned: [], pods: [...modelNodes], autoEvicting: [] };
  const whole = (node: 'a' | 'b'): Model['replicas'][number] => ({ node, copy: 'healthy', requested: false });
  const making = (node: 'b' | 'c'): Model['replicas'][number] => ({ node, copy: 'rebuilding', requested: false });
  const copies = [
    [whole('a'), whole('b')],
    [whole('a'), making('b')],
    [whole('a'), whole('b'), making('c')],
  ];
  return copies.map((replicas) => ({
    ...base,
    attached: true,
    wanted: replicas.length,
    replicas,
    budgets: policy === 'always-allow' ? [] : budgets,
    script: [{ cordon: 'a' }, { cordon: 'b' }],
  }));
}

/** As it is carried out: in this order, and a budget goes only if what it counts upon is still so. */
function look(model: Model): { next: Model; did: readonly DrainAction[] } {
  const did = decideDrain(viewOf(model)).actions;
  let next = model;
  for (const action of did) if (isSound(next, action)) next = perform(next, action);
  return { next, did };
}

function isSound({ replicas, budgets }: Model, action: DrainAction): boolean {
  if (action.do !== 'deleteBudget') return true;
  return action.counts.every(
    ({ node }) =>
      replicas.some((one) => one.node === node && one.copy === 'healthy' && !one.requested) &&
      budgets.some((budget) => budget.node === node && !budget.announced),
  );
}

function assertRest(model: Model, way: readonly string[]): void {
  let state = model;
  const told: string[] = [];
  for (let looks = 0; looks < mostLooks; looks += 1) {
    const { next, did } = look(state);
    if (did.length === 0) return;
    told.push(did.map((action) => `${action.do} ${action.node}`).join(', '));
    state = next;
  }
  assert.fail(`${way.join(', ')}; then without end: ${told.slice(-4).join('; ')}`);
}

describe('[DRN-3, DRN-5, DRN-9] left alone, the operator comes to rest', () => {
  for (const policy of DRAIN_POLICIES) {
    test(policy, () => {
      for (const start of starts(policy)) {
        explore(
          start,
          (model) => [...worldSteps(model), ...operatorSteps(model)],
          (model, way) => assertRest(model, way),
        );
      }
    });
  }
});
