/** The drain guard asked in tests, and its answers in short. */
import assert from 'node:assert/strict';
import type { DrainAction, DrainDecision, DrainNode, DrainPolicyName, DrainView } from '../../src/api/drain-view.ts';
import { decideDrain } from '../../src/decide/decide-drain.ts';
import { drainView, node, policy } from './drain-case.ts';

export function cordoned(name: string, wanted: DrainPolicyName, change: Partial<DrainNode> = {}): DrainNode {
  return node(name, { cordoned: true, policy: policy(wanted), ...change });
}

export function others(wanted: DrainPolicyName): DrainNode[] {
  return ['b', 'c'].map((name) => node(name, { policy: policy(wanted) }));
}

/** Node a is cordoned. */
export function decide(wanted: DrainPolicyName, change: Partial<DrainView>, a: Partial<DrainNode> = {}): DrainDecision {
  return decideDrain(drainView({ nodes: [cordoned('a', wanted, a), ...others(wanted)], ...change }));
}

export function ofNode({ nodes }: DrainDecision, name = 'a'): DrainDecision['nodes'][number] {
  const found = nodes.find((one) => one.node === name);
  assert.ok(found);
  return found;
}

export function told({ actions }: DrainDecision): string[] {
  return actions.map((action) => `${action.do} ${nameOf(action)}`);
}

function nameOf(action: DrainAction): string {
  switch (action.do) {
    case 'createBudget':
      return action.name;
    case 'requestEviction':
    case 'withdrawEviction':
      return action.replica.name;
    case 'setAutoEvicting':
      return `${action.node} ${action.value}`;
    default:
      return action.budget.name;
  }
}
