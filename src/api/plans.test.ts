import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { plansOf } from './plans.ts';

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
