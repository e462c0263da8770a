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

test('[ADM-6] each of them by its own mark, and nobody by one that only says that somebody might', () => {
  const byTaint = (key: string): string[] => othersAt({ metadata: {}, spec: { taints: [{ key }] } }).map(toldOther);
  const told = {
    ToBeDeletedByClusterAutoscaler: 'the cluster autoscaler removes it',
    'karpenter.sh/disrupted': 'Karpenter removes it',
    'karpenter.sh/disruption': 'Karpenter removes it',
    'aws-node-termination-handler/spot-itn': 'AWS, which interrupts a spot instance, removes it',
    'aws-node-termination-handler/asg-lifecycle-termination': 'an auto-scaling group of AWS removes it',
    'aws-node-termination-handler/scheduled-maintenance': 'maintenance of AWS reboots it',
    'cloud.google.com/impending-node-termination': 'Google, which ends the instance, removes it',
    'medik8s.io/remediation': 'Self Node Remediation remedies it',
    'medik8s.io/fence-agents-remediation': 'Fence Agents Remediation remedies it',
    'remediation.medik8s.io/fence-agents-remediation': 'Fence Agents Remediation remedies it',
  };
  for (const [key, said] of Object.entries(told)) assert.deepEqual(byTaint(key), [said]);
  for (const key of [
    'DeletionCandidateOfClusterAutoscaler',
    'aws-node-termination-handler/rebalance-recommendation',
    'node.cluster.x-k8s.io/outdated-revision',
    'karpenter.sh/unregistered',
  ]) {
    assert.deepEqual(byTaint(key), [], key);
  }
});
