import assert from 'node:assert/strict';
import { test } from 'node:test';
import { othersAt, toldOther } from './others.ts';

test('[ADM-6] who else is at a node is told by its taints, its annotations and its deletion', () => {
  const told = (node: Parameters<typeof othersAt>[0]): string[] => othersAt(node).map(toldOther);
  assert.deepEqual(told({ metadata: {} }), []);
  const taints = [{ key: 'node.kubernetes.io/unreachable' }, { key: 'ToBeDeletedByClusterAutoscaler' }];
  assert.deepEqual(told({ metadata: {}, spec: { taints } }), ['the cluster autoscaler removes it']);
  const annotations = { 'weave.works/kured-reboot-in-progress': '2026-01-01T00:00:00Z' };
  assert.deepEqual(told({ metadata: { annotations } }), ['kured reboots it']);
  assert.deepEqual(told({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), [
    'whoever deletes its Node object removes it',
  ]);
});
