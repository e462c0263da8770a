import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainPolicyFacts, StorageFacts } from '../api/drain-view.ts';
import { DRAIN_POLICIES } from '../api/policy-defaults.ts';
import { drainViewOf } from './drain-view.ts';

const wanted: DrainPolicyFacts = {
  name: 'careful',
  uid: 'u',
  generation: 1,
  selector: { matchLabels: {}, matchExpressions: [] },
  priority: 0,
  createdAt: '2026-01-01T00:00:00Z',
  policy: 'block-if-contains-last-replica',
  namespace: 'longhorn-system',
  enforcement: 'Auto',
};

function inForce(ownPolicy: StorageFacts['ownPolicy'], policy: Partial<DrainPolicyFacts> = {}): object {
  const empty = { nodes: [], pods: [], volumes: [], replicas: [], softAntiAffinity: false };
  const view = drainViewOf({
    namespace: 'longhorn-system',
    policies: [{ ...wanted, ...policy }],
    nodes: [{ name: 'node-1', cordoned: false, labels: {} }],
    storage: { ...empty, ...(ownPolicy === undefined ? {} : { ownPolicy }) },
    budgets: [],
  });
  const [node] = view.nodes;
  assert.ok(node?.policy.kind === 'one');
  const { policy: stands, enforcement, lacks } = node.policy;
  return { stands, enforcement, isEnough: lacks === undefined };
}

test('[DRN-2] budgets are owned by every policy of their installation, and by none of another', () => {
  const policies = ['one', 'other', 'elsewhere'].map((name) => ({
    ...wanted,
    name,
    uid: `uid-${name}`,
    namespace: name === 'elsewhere' ? name : wanted.namespace,
  }));
  const storage = { nodes: [], pods: [], volumes: [], replicas: [], softAntiAffinity: false };
  const { owners } = drainViewOf({ namespace: wanted.namespace, policies, nodes: [], storage, budgets: [] });
  assert.deepEqual(owners, [
    { name: 'one', uid: 'uid-one' },
    { name: 'other', uid: 'uid-other' },
  ]);
});

describe('the guard that really stands', () => {
  test('[SAF-16] without a setting of the storage system it is ours', () => {
    assert.deepEqual(inForce(undefined), { stands: wanted.policy, enforcement: 'enforce', isEnough: true });
  });

  for (const own of [...DRAIN_POLICIES, 'unknown'] as const) {
    test(`[SAF-16] Auto with ${own} in the setting: what the setting says, and whether that is enough`, () => {
      const isEnough = own.startsWith('block');
      const stands = own === 'unknown' ? 'always-allow' : own;
      assert.deepEqual(inForce(own), { stands, enforcement: 'storage', isEnough });
    });
  }

  test('[SAF-16] who allows everything lacks nothing, and Enforce counts on nobody else', () => {
    assert.deepEqual(inForce('always-allow', { policy: 'always-allow' }), {
      stands: 'always-allow',
      enforcement: 'storage',
      isEnough: true,
    });
    assert.deepEqual(inForce('always-allow', { enforcement: 'Enforce' }), {
      stands: wanted.policy,
      enforcement: 'enforce',
      isEnough: true,
    });
  });
});
