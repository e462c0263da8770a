import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isBeingDrained, plansOf } from './plans.ts';

const ready = (status: string, message: string): object[] => [{ type: 'Ready', status, message }];

describe('what others have in mind with a node', () => {
  test('[SAF-18] a cordon is a plan, unless it is ours', () => {
    const spec = { unschedulable: true };
    assert.equal(plansOf({ metadata: {}, spec }).isCordoned, true);
    assert.equal(plansOf({ metadata: { annotations: { 'fenceline.dev/cordoned': 'x' } }, spec }).isCordoned, false);
    assert.equal(plansOf({ metadata: {} }).isCordoned, false);
    const by = (...managers: string[]): boolean =>
      plansOf({
        metadata: {
          annotations: { 'fenceline.dev/cordoned': 'true' },
          managedFields: managers.map((manager) => ({ manager, fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } })),
        },
        spec,
      }).isCordoned;
    assert.equal(by('fenceline'), false);
    assert.equal(by('kubectl-cordon'), true, 'somebody has uncordoned it, and cordoned it again');
    assert.equal(by('kubectl-cordon', 'fenceline'), false);
  });

  test('[DRN-2, DRN-4] a cordon is a drain, and one of ours only while we drain or others are at it too', () => {
    const isDrain = (note: string | undefined, more: object = {}, spec: object = { unschedulable: true }): boolean => {
      const annotations = note === undefined ? {} : { 'fenceline.dev/cordoned': note };
      return isBeingDrained({ metadata: { annotations, ...more }, spec });
    };
    const heldBy = (...managers: string[]): object => ({
      managedFields: managers.map((manager) => ({ manager, fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } })),
    });
    assert.equal(isDrain(undefined), true);
    assert.equal(isDrain('true'), false);
    assert.equal(isDrain('drain'), true);
    assert.equal(isDrain('drain', {}, {}), false, 'somebody has uncordoned it');
    assert.equal(isDrain('true', heldBy('fenceline')), false);
    assert.equal(isDrain('true', heldBy('kubectl-cordon')), true);
    assert.equal(isDrain('true', heldBy('fenceline', 'argocd')), true);
    const tainted = (key: string): object => ({ unschedulable: true, taints: [{ key }] });
    assert.equal(isDrain('true', {}, tainted('ToBeDeletedByClusterAutoscaler')), true);
    assert.equal(isDrain('true', {}, tainted('medik8s.io/remediation')), false, 'who fences does not drain');
  });

  test('[SAF-18] a kubelet that reports its shutdown, alone or among other troubles', () => {
    const of = (status: string, message: string): boolean =>
      plansOf({ metadata: {}, status: { conditions: ready(status, message) } }).isShuttingDown;
    assert.equal(of('False', 'node is shutting down'), true);
    assert.equal(of('False', '[container runtime is down, node is shutting down]'), true);
    assert.equal(of('False', 'container runtime is down'), false);
    assert.equal(of('True', 'node is shutting down'), false);
    assert.equal(of('Unknown', 'Kubelet stopped posting node status.'), false);
  });

  test('[SAF-18] pauses by name, whatever their order', () => {
    const annotations = { 'fenceline.dev/pause.b': '2', other: 'x', 'fenceline.dev/pause.a': '1' };
    assert.deepEqual(Object.entries(plansOf({ metadata: { annotations } }).pauses), [
      ['a', '1'],
      ['b', '2'],
    ]);
  });
});
