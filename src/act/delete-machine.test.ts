import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aNode } from '../../test/support/release-case.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { deleteMachine } from './delete-machine.ts';
import type { TryOutcome } from './power.ts';

const node = aNode({ providerId: 'aws:///i-1' });
const annotations = { 'cluster.x-k8s.io/machine': 'm-1', 'cluster.x-k8s.io/cluster-namespace': 'default' };
const ours = { name: node.name, uid: node.uid };

/** An API server with one Node and one Machine. */
async function removed(
  machine: { spec?: object; status?: object; metadata?: object },
  mayAct: () => Promise<string | undefined> = async () => undefined,
): Promise<{ outcome: TryOutcome; deleted: unknown[] }> {
  const deleted: unknown[] = [];
  const client = {
    get: async ({ resource }: ObjectRef) => {
      if (resource.kind === 'Node') return { ok: true, value: { metadata: { ...ours, annotations } } };
      const metadata = { name: 'm-1', namespace: 'default', uid: 'machine-uid', ...machine.metadata };
      return { ok: true, value: { ...machine, metadata } };
    },
    delete: async ({ name }: ObjectRef, only: object) => {
      deleted.push([name, only]);
      return { ok: true };
    },
  } as unknown as KubeClient;
  const outcome = await deleteMachine(node, { client, guard: () => true, timeoutMs: 1000, mayAct });
  return { outcome, deleted };
}

describe('the Machine of a node', () => {
  const rows: [string, { spec?: object; status?: object }, RegExp | undefined][] = [
    ['by name and UID', { status: { nodeRef: ours } }, undefined],
    [
      'by name and provider ID',
      { spec: { providerID: 'aws:///i-1' }, status: { nodeRef: { name: node.name } } },
      undefined,
    ],
    ['that does not say whose it is', {}, /status\.nodeRef is missing/],
    ['of another node', { status: { nodeRef: { ...ours, name: 'node-2' } } }, /it is node node-2/],
    ['of an earlier node of that name', { status: { nodeRef: { ...ours, uid: 'old' } } }, /an earlier node node-1/],
    [
      'with another provider ID',
      { spec: { providerID: 'aws:///i-2' }, status: { nodeRef: { name: node.name } } },
      /i-2/,
    ],
    ['without a provider ID', { status: { nodeRef: { name: node.name } } }, /provider ID none/],
  ];
  for (const [which, machine, refusal] of rows) {
    test(`[SEC-2] ${which}: ${refusal === undefined ? 'is deleted' : 'stays'}`, async () => {
      const { outcome, deleted } = await removed(machine);
      if (refusal === undefined) assert.deepEqual(deleted, [['m-1', { uid: 'machine-uid' }]]);
      else assert.deepEqual(deleted, []);
      assert.equal(outcome.outcome, refusal === undefined ? 'succeeded' : 'failed');
      if (refusal !== undefined) assert.match(outcome.message, refusal);
    });
  }

  test('S15: stays where what the deletion rests on is not so any more', async () => {
    const { outcome, deleted } = await removed({ status: { nodeRef: ours } }, async () => 'stopped');
    assert.deepEqual([outcome, deleted], [{ outcome: 'dropped', message: 'stopped' }, []]);
  });
});
