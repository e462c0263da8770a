import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Machine } from '../../world/machines/machine.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { StoredRelease } from '../cluster-state.ts';
import { ClusterState } from '../cluster-state.ts';
import type { CheckContext } from './checker.ts';
import { EarlyEnds } from './early-ends.ts';

const records: StoredRelease[] = [{ basis: 'PowerOff', nodeUid: 'n', recordedAt: '', attachments: ['csi-data'] }];

const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoSchedule' }];
const marked = { kind: 'Node', metadata: { name: 'node-1', uid: 'n' }, spec: { taints } } as Node;

/** Marked at 0 s, and at 61 s the mark goes: what is said of that, when `change` was stored in between. */
function endAfter(change: { type: 'MODIFIED' | 'DELETED'; object: Pod; previous: Pod; atMs: number }): string {
  const state = new ClusterState();
  for (const name of ['data', 'other']) {
    const spec = { nodeName: 'node-1', source: { persistentVolumeName: `pv-${name}` } };
    const claimRef = { namespace: 'default', name };
    const attachment = { kind: 'VolumeAttachment', metadata: { name: `csi-${name}` }, spec };
    const volume = { kind: 'PersistentVolume', metadata: { name: `pv-${name}` }, spec: { claimRef } };
    for (const object of [attachment, volume]) state.apply({ type: 'ADDED', object, previous: undefined });
  }
  let nowMs = 0;
  const machine = { power: 'off' } as Machine;
  const context: Partial<CheckContext> = {
    state,
    nowMs: () => nowMs,
    machineOf: () => machine,
    deviceOf: () => undefined,
  };
  const ends = new EarlyEnds(context as CheckContext);
  ends.stored({ type: 'MODIFIED', object: marked, previous: { ...marked, spec: {} } as Node }, 'operator-1');
  nowMs = change.atMs;
  ends.stored(change, 'somebody');
  nowMs = 61_000;
  return ends.of(marked, records)?.exemption ?? 'none';
}

function podWith(claimName: string, phase = 'Running'): Pod {
  const spec = { nodeName: 'node-1', volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] };
  return { kind: 'Pod', metadata: { name: 'web-0', namespace: 'default', uid: 'p' }, spec, status: { phase } } as Pod;
}

describe('S7: whoever detaches has had a minute', () => {
  const [data, other, over] = [podWith('data'), podWith('other'), podWith('data', 'Failed')];
  const gone = { type: 'DELETED', object: data, previous: data, atMs: 10_000 } as const;

  test('from when nothing there used any more what is left', () => {
    assert.equal(endAfter({ ...gone, atMs: 1000 }), 'KubernetesAct');
    assert.equal(endAfter(gone), 'none');
    assert.equal(endAfter({ ...gone, type: 'MODIFIED', object: over }), 'none');
  });

  test('whoever else goes, and whatever becomes of a pod that was over', () => {
    assert.equal(endAfter({ ...gone, object: other, previous: other }), 'KubernetesAct');
    assert.equal(endAfter({ ...gone, object: over, previous: over }), 'KubernetesAct');
    assert.equal(endAfter({ ...gone, type: 'MODIFIED' }), 'KubernetesAct', 'and it uses it still');
  });
});

describe('S7: what happens while a mark is under way was not known when it was decided', () => {
  /** The mark is put there at 10 s and goes at 11 s, and a person deletes the record at `deletedMs`. */
  function endOf(deletedMs: number, lookedMs?: number): string {
    let nowMs = deletedMs;
    const context: Partial<CheckContext> = {
      state: new ClusterState(),
      nowMs: () => nowMs,
      machineOf: () => ({ power: 'off' }) as Machine,
      deviceOf: () => undefined,
    };
    context.state?.apply({ type: 'ADDED', object: marked, previous: undefined });
    const ends = new EarlyEnds(context as CheckContext);
    const path = '/apis/fenceline.dev/v1alpha1/nodefences/node-fence-node-1';
    if (lookedMs !== undefined)
      ends.heard({ type: 'read', operator: 1, path, live: true, askedAtMs: lookedMs, status: 200 });
    ends.acted({ do: 'delete', kind: 'NodeFence', name: 'node-fence-node-1' }, undefined);
    nowMs = 10_000;
    ends.stored({ type: 'MODIFIED', object: marked, previous: { ...marked, spec: {} } as Node }, 'operator-1');
    nowMs = 11_000;
    return ends.of(marked, records)?.exemption ?? 'none';
  }

  test('since its operator last looked at the record, and in the second in which devices are asked', () => {
    assert.equal(endOf(9000), 'PersonsAct');
    assert.equal(endOf(8999), 'none');
    assert.equal(endOf(5000, 5000), 'PersonsAct');
    assert.equal(endOf(4999, 5000), 'none');
    assert.equal(endOf(9000, 9500), 'PersonsAct');
  });
});
