import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StoredFence } from '../cluster-state.ts';
import { ClusterState } from '../cluster-state.ts';
import { administrator } from '../operator-user.ts';
import type { WireEvent } from './checker.ts';
import { fencePath, nodePath } from './reads.ts';
import { Records } from './records.ts';
import { letsGo } from './release.ts';

const pods = [{ namespace: 'default', name: 'web-0', uid: 'p' }];
const releases = [{ basis: 'PowerOff', nodeUid: 'n', recordedAt: '', pods }];
const fence: StoredFence = {
  kind: 'NodeFence',
  metadata: { name: 'node-fence-node-1', uid: 'one' },
  status: { releases },
};

function read(what: 'node' | 'fence', askedAtMs: number, status = 200): WireEvent {
  const path = what === 'node' ? `${nodePath}node-1` : `${fencePath}node-fence-node-1`;
  const said = what === 'fence' && status === 200 ? { fence } : {};
  return { type: 'read', operator: 1, path, live: true, askedAtMs, status, ...said };
}

/** Of a pod that the record let go, when the operator has read these and `user` has deleted it. */
function foundAfter(reads: readonly WireEvent[], user = administrator): string {
  const state = new ClusterState();
  const records = new Records(state);
  for (const event of reads) records.heard(event);
  const deleted = { type: 'DELETED', object: fence, previous: fence } as const;
  records.stored(deleted, user);
  return letsGo(records.of('operator-1', 'node-1'), 'p') ?? 'nothing';
}

describe('what is on record when a write arrives', () => {
  const together = [read('node', 5), read('fence', 5)];

  test('what is stored', () => {
    const state = new ClusterState();
    const records = new Records(state);
    assert.deepEqual(records.of('operator-1', 'node-1'), []);
    state.apply({ type: 'ADDED', object: fence, previous: undefined });
    for (const event of together) records.heard(event);
    assert.deepEqual(records.of('operator-1', 'node-1'), releases, 'once');
    assert.equal(letsGo(releases, 'p'), 'stored');
    assert.equal(letsGo([{ ...releases[0]!, isDeleted: true }, ...releases], 'p'), 'stored', 'one of them is there');
  });

  test('and what a person has deleted since it was read together with the Node', () => {
    assert.equal(foundAfter(together), 'deleted');
    assert.equal(foundAfter([read('fence', 6), read('node', 5)]), 'deleted');
  });

  test('but nothing that was read before the Node, or not at all, or seen to be gone, or by another process', () => {
    assert.equal(foundAfter([read('fence', 5), read('node', 6)]), 'nothing');
    assert.equal(foundAfter([read('fence', 5)]), 'nothing', 'the Node was not read');
    assert.equal(foundAfter([read('node', 5)]), 'nothing');
    assert.equal(foundAfter([...together, read('fence', 6, 404)]), 'nothing');
    assert.equal(foundAfter([...together, { type: 'started', operator: 1 }]), 'nothing');
  });

  test('nor what an operator has deleted itself', () => {
    assert.equal(foundAfter(together, 'operator-1'), 'nothing');
  });
});
