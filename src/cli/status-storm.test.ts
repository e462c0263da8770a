/** What `fenceline status` says of a node in a storm that is on record of others alone. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, nodeRef } from '../../test/support/act-cluster.ts';
import { aFence, anIncident, inForce } from '../../test/support/release-case.ts';
import type { NodeFence } from '../api/node-fence.ts';
import type { KubeObject } from '../kube/client.ts';
import { nodeFences } from '../kube/resources.ts';
import type { NodeStatus } from './node-status.ts';
import { heldByStorm } from './status-storm.ts';
import { readStatus, render } from './status.ts';

const since = '2026-01-01T00:00:00Z';
const hold = { reason: 'StormLimit', message: '120 of 240 nodes are in trouble', since };
const incident = { ...anIncident(), id: 'other-1' };

describe('[EXP-1, STM-6] a node in a storm that has no record for that', () => {
  const match = inForce({});
  assert.ok(match.kind === 'one');
  const { policy } = match;
  const silent = { node: 'node-1', verdict: 'suspect', reason: 'LeaseStale', explanation: 'silent', zone: '' };
  const other = aFence({ incident, hold }, { node: 'other', policy: policy.name });
  const told = (one: object, fences: readonly NodeFence[], policies = [policy]): NodeStatus['recovery'] =>
    heldByStorm({ ...silent, ...one } as unknown as NodeStatus, {}, { fences, policies }).recovery;

  test('is held by what those say that have one', () => {
    const says = '120 of 240 nodes are in trouble (as the record of other has it, which is in it too)';
    assert.deepEqual(told({}, [other]), { trouble: 'silent', hold: says, releases: [], stuck: [] });
  });

  test('by nothing where it is well, no policy selects it, or nobody says so', () => {
    assert.equal(told({ verdict: 'healthy' }, [other]), undefined);
    assert.equal(told({}, [other], []), undefined);
    assert.equal(told({}, []), undefined);
  });

  test('is shown so', async () => {
    const cluster = await ActCluster.create();
    const made = await cluster.client.create<KubeObject>(nodeFences, {
      metadata: { name: 'node-fence-other' },
      spec: { node: 'other', policy: 'release' },
    } as unknown as KubeObject);
    assert.ok(made.ok, JSON.stringify(made));
    const otherRef = { resource: nodeFences, name: 'node-fence-other' };
    await cluster.patchStatus(otherRef, { epoch: 1, holder: 'me', incident, hold });
    const ready = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime: since };
    await cluster.patchStatus(nodeRef, { conditions: [ready] });
    const text = await render((await readStatus(cluster.client)).nodes, undefined);
    assert.match(text, /^node-1 .*held: 120 of 240 nodes are in trouble \(as the record of other has it/m);
  });
});
