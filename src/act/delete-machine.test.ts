import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aNode } from '../../test/support/release-case.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { deleteMachine } from './delete-machine.ts';
import type { TryOutcome } from './power.ts';

const node = aNode({ providerId: 'aws:///i-1' });
const annotations = { 'cluster.x-k8s.io/machine': 'm-1', 'cluster.x-k8s.io/cluster-namespace': 'default' };
const ours = { name: node.name, uid: node.uid };

interface Around {
  mayAct?: () => Promise<string | undefined>;
  others?: object[];
  noted?: object;
  /** As it was when that was decided. */
  decidedOn?: LiveNode;
  /** What comes of calls, by what they are about, in place of an answer. */
  failing?: Partial<Record<'Node' | 'Machine' | 'nodes' | 'deletion', object>>;
}

/** An API server with one Node and one Machine. */
async function removed(
  machine: { spec?: object; status?: object; metadata?: object },
  {
    mayAct = async () => undefined,
    others = [{ metadata: { name: 'node-2', uid: 'two' }, spec: { providerID: 'aws:///i-2' } }],
    noted = annotations,
    decidedOn = node,
    failing = {},
  }: Around = {},
): Promise<{ outcome: TryOutcome; deleted: unknown[] }> {
  const deleted: unknown[] = [];
  const answer = (what: keyof typeof failing, value?: object): object =>
    failing[what] === undefined ? { ok: true, value } : { ok: false, error: failing[what] };
  const client = {
    get: async ({ resource }: ObjectRef) => {
      if (resource.kind === 'Node') return answer('Node', { metadata: { ...ours, annotations: noted } });
      const metadata = { name: 'm-1', namespace: 'default', uid: 'machine-uid', ...machine.metadata };
      return answer('Machine', { ...machine, metadata });
    },
    list: async () => {
      const own = { metadata: ours, spec: { providerID: 'aws:///i-1' } };
      return answer('nodes', { items: [own, ...others] });
    },
    delete: async ({ name }: ObjectRef, only: object) => {
      deleted.push([name, only]);
      return answer('deletion');
    },
  } as unknown as KubeClient;
  const outcome = await deleteMachine(decidedOn, { client, guard: () => true, timeoutMs: 1000, mayAct });
  return { outcome, deleted };
}

describe('the Machine of a node', () => {
  const spec = { providerID: 'aws:///i-1' };
  const rows: [string, { spec?: object; status?: object }, RegExp | undefined][] = [
    ['by name, UID and provider ID', { spec, status: { nodeRef: ours } }, undefined],
    [
      'by name and provider ID, of a version that tells no UID',
      { spec, status: { nodeRef: { name: node.name } } },
      undefined,
    ],
    ['by name and UID, without a provider ID', { status: { nodeRef: ours } }, /provider ID none, and node node-1 aws/],
    ['that does not say whose it is', {}, /status\.nodeRef is missing/],
    ['of another node', { spec, status: { nodeRef: { ...ours, name: 'node-2' } } }, /it is node node-2/],
    [
      'of an earlier node of that name',
      { spec, status: { nodeRef: { ...ours, uid: 'old' } } },
      /an earlier node node-1/,
    ],
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

  test('[SEC-2] stays where another node claims the same provider ID', async () => {
    const others = [{ metadata: { name: 'node-3', uid: 'three' }, spec }];
    const { outcome, deleted } = await removed({ spec, status: { nodeRef: ours } }, { others });
    assert.deepEqual([outcome.outcome, deleted], ['failed', []]);
    assert.match(outcome.message, /^node node-3 has the same provider ID as node-1/);
  });

  test('[SEC-2] stays where its node does not say both of its name and its namespace', async () => {
    for (const key of Object.keys(annotations)) {
      const { outcome, deleted } = await removed({ spec, status: { nodeRef: ours } }, { noted: { [key]: 'm-1' } });
      assert.deepEqual([outcome.outcome, deleted], ['failed', []], key);
      assert.match(outcome.message, /no Cluster API made it/);
    }
  });

  test('[SEC-2] stays where two nodes say that it is theirs, where a newcomer has the name, and where neither has a provider ID', async () => {
    const machine = { spec, status: { nodeRef: { name: node.name } } };
    const disputed = { ...node, disputed: { providerId: 'node-2' } };
    const newcomer = { ...node, uid: 'decided-on-an-earlier-one' };
    const { providerId: _, ...nameless } = node;
    for (const [decidedOn, found, why] of [
      [disputed, machine, /node-2 has the same provider ID as node-1/],
      [newcomer, machine, /another node of the same name/],
      [nameless, { status: machine.status }, /the provider ID none, and node node-1 none/],
    ] as const) {
      const { outcome, deleted } = await removed(found, { decidedOn, others: [] });
      assert.deepEqual([outcome.outcome, deleted], ['failed', []], String(why));
      assert.match(outcome.message, why);
    }
  });

  test('[NGS-11, SEC-2] stays where it cannot be read whose it is, and that is not known then', async () => {
    const error = { kind: 'server', message: 'no', mayHaveHappened: false };
    for (const what of ['Node', 'Machine', 'nodes'] as const) {
      const { outcome, deleted } = await removed({ spec, status: { nodeRef: ours } }, { failing: { [what]: error } });
      assert.deepEqual([outcome.outcome, deleted], ['unknown', []], what);
    }
  });

  test('S26: that may have been deleted although nobody said so is not said to be there', async () => {
    for (const mayHaveHappened of [true, false]) {
      const error = { kind: 'server', message: 'no', mayHaveHappened };
      const { outcome } = await removed({ spec, status: { nodeRef: ours } }, { failing: { deletion: error } });
      assert.equal(outcome.outcome, mayHaveHappened ? 'unknown' : 'failed');
    }
  });

  test('that is on its way out is not deleted again, and nothing more has to be so', async () => {
    const leaving = { spec, status: { nodeRef: ours }, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const { outcome, deleted } = await removed(leaving, { mayAct: async () => 'stopped' });
    assert.deepEqual([outcome.outcome, deleted], ['succeeded', []]);
  });

  test('S15: stays where what the deletion rests on is not so any more', async () => {
    const { outcome, deleted } = await removed({ spec, status: { nodeRef: ours } }, { mayAct: async () => 'stopped' });
    assert.deepEqual([outcome, deleted], [{ outcome: 'dropped', message: 'stopped' }, []]);
  });
});
