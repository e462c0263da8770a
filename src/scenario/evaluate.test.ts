import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { KubeObject } from '../kube/client.ts';
import { Baseline } from './baseline.ts';
import { ClusterState } from './cluster-state.ts';
import { evaluate } from './evaluate.ts';
import { FenceCount } from './fence-count.ts';
import type { PodState, State } from './format.ts';

describe('whether a state holds', () => {
  let state: ClusterState;
  let fences: FenceCount;
  let baseline: Baseline;

  function put(kind: string, name: string, rest: object, metadata: object = {}): KubeObject {
    const object = { kind, metadata: { name, ...metadata }, ...rest } as KubeObject;
    state.apply({ type: 'ADDED', object, previous: undefined });
    return object;
  }

  function pod(name: string, uid: string, nodeName: string | undefined, more: object = {}): void {
    const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    const labels = { app: name.replace(/-.*/, '') };
    put('Pod', name, { spec: { nodeName, containers: [] }, status }, { namespace: 'default', uid, labels, ...more });
  }

  function gone(name: string): void {
    const object = state.pods.get(`default/${name}`);
    if (object !== undefined) state.apply({ type: 'DELETED', object, previous: object });
  }

  function holds(wanted: State): boolean {
    return evaluate(wanted, {
      state,
      baseline,
      fences,
      drainOf: () => undefined,
      ledgerOf: () => undefined,
      replicatedOf: () => undefined,
    }).holds;
  }

  const ofPod = (fields: Omit<PodState, 'ref'>, name = 'web-0'): boolean =>
    holds({ of: 'pod', pod: { ref: { namespace: 'default', name }, ...fields } });
  const ofLabel = (fields: Omit<PodState, 'ref'>): boolean =>
    holds({ of: 'pod', pod: { ref: { label: 'app=shop' }, ...fields } });

  beforeEach(() => {
    state = new ClusterState();
    fences = new FenceCount();
    pod('web-0', 'u1', 'node-1');
    pod('shop-a', 's1', 'node-1');
    pod('shop-b', 's2', 'node-2');
    baseline = new Baseline(state);
  });

  test('a pod that stays is itself, not deleted and not moved', () => {
    assert.ok(ofPod({ running: true, ready: true, terminating: false, moved: false, deleted: false }));
    assert.ok(!ofPod({ running: true, moved: true }));
    assert.ok(!ofPod({ deleted: true }));
    assert.ok(ofPod({ node: { node: 'node-1' } }));
    assert.ok(!ofPod({ node: { node: 'node-2' } }));
  });

  test('a missing pod is deleted, and nothing else, not even not running', () => {
    gone('web-0');
    assert.ok(ofPod({ deleted: true }));
    assert.ok(!ofPod({ running: false }));
    assert.ok(!ofPod({ deleted: true, running: false }));
    assert.ok(!ofPod({ terminating: false }));
    assert.ok(!ofPod({ deleted: false }));
    assert.ok(!ofPod({ deleted: true }, 'never-there'));
  });

  test('a successor of the same name has moved if it is elsewhere, and its predecessor is deleted', () => {
    gone('web-0');
    pod('web-0', 'u2', 'node-3');
    assert.ok(ofPod({ deleted: true, running: true, moved: true }));
    assert.ok(!ofPod({ deleted: false }));
    pod('web-0', 'u2', undefined);
    assert.ok(!ofPod({ moved: true }), 'bound nowhere is not elsewhere');
  });

  test('terminating is what has a time of deletion; all fields have to hold of one pod', () => {
    pod('shop-a', 's1', 'node-1', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    assert.ok(ofLabel({ terminating: true }));
    assert.ok(ofLabel({ terminating: false }));
    assert.ok(!ofLabel({ terminating: true, node: { node: 'node-2' } }));
  });

  test('by label: a newcomer has moved if it is not where the one that had to go was', () => {
    assert.ok(!ofLabel({ moved: true }));
    pod('shop-a', 's1', 'node-1', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    pod('shop-c', 's3', 'node-2');
    assert.ok(ofLabel({ moved: true, running: true }));
    gone('shop-c');
    pod('shop-d', 's4', 'node-1');
    assert.ok(!ofLabel({ moved: true }));
    gone('shop-a');
    assert.ok(ofLabel({ deleted: true }));
  });

  test('a node: ready, schedulable, and exactly these taints', () => {
    const node = (spec: object, ready: string): void =>
      void put('Node', 'node-1', { spec, status: { conditions: [{ type: 'Ready', status: ready }] } });
    const ofNode = (fields: object): boolean => holds({ of: 'node', node: { node: { node: 'node-1' }, ...fields } });
    assert.ok(!ofNode({ ready: false }), 'a missing one satisfies nothing');
    node({}, 'True');
    assert.ok(ofNode({ ready: true, schedulable: true, taints: [] }));
    node({ unschedulable: true }, 'Unknown');
    assert.ok(ofNode({ ready: false, schedulable: false }));
    const taint = (key: string, effect: string): object => ({ key, effect });
    node({ taints: [taint('a', 'NoSchedule'), taint('a', 'NoExecute'), taint('b', 'NoExecute')] }, 'True');
    assert.ok(ofNode({ taints: ['b', 'a'], schedulable: false }));
    assert.ok(!ofNode({ taints: ['a'] }));
    node({ taints: [taint('a', 'PreferNoSchedule')] }, 'True');
    assert.ok(ofNode({ schedulable: true }));
  });

  test('events are counted from time 0 on, with all of a series, also when they have expired', () => {
    put('Event', 'e0', { reason: 'Moved' }, { uid: 'e0' });
    baseline = new Baseline(state);
    assert.ok(holds({ of: 'event', reason: 'Moved', count: 0 }));
    const event = put('Event', 'e1', { reason: 'Moved', series: { count: 3 } }, { uid: 'e1' });
    put('Event', 'e2', { reason: 'Moved' }, { uid: 'e2' });
    state.apply({ type: 'DELETED', object: event, previous: event });
    assert.ok(holds({ of: 'event', reason: 'Moved', count: 4 }));
    assert.ok(!holds({ of: 'event', reason: 'Moved', count: 1 }));
    assert.ok(holds({ of: 'event', reason: 'Moved' }));
  });

  test('fences count once they mean to act, each flow once', () => {
    const fence = (name: string, status: object | undefined, startedAt = '0'): void => {
      const object = {
        kind: 'NodeFence',
        metadata: { name, uid: name },
        status: status === undefined ? {} : { fence: { ...status, startedAt } },
      } as KubeObject;
      fences.take({ type: 'MODIFIED', object, previous: undefined });
    };
    const counts = (now: number, total: number): void => assert.deepEqual([fences.now, fences.total], [now, total]);
    fence('a', undefined);
    fence('a', { phase: 'waiting' });
    fence('b', { phase: 'off', switched: [{ confirmedAt: '1' }] });
    counts(0, 0);
    const switched = [{ commandSentAt: '1' }];
    fence('a', { phase: 'isolated', switched });
    fence('b', { phase: 'poweringOff', switched });
    counts(2, 2);
    assert.ok(!holds({ of: 'fencesAtMost', count: 1 }));
    fence('a', { phase: 'isolated', switched, releasedAt: '2' });
    counts(1, 2);
    fence('a', { phase: 'finished' });
    fence('b', { phase: 'failed', switched });
    counts(0, 2);
    fence('a', { phase: 'isolating', switched }, '1');
    counts(1, 3);
    assert.ok(holds({ of: 'fencesAtMost', count: 1 }));
    assert.ok(holds({ of: 'fences', count: 3 }));
  });
});
