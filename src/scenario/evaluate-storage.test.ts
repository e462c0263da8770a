import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { KubeObject } from '../kube/client.ts';
import type { StorageReport } from '../world/longhorn/truth.ts';
import { Baseline } from './baseline.ts';
import { ClusterState } from './cluster-state.ts';
import { evaluate } from './evaluate.ts';
import { FenceCount } from './fence-count.ts';
import type { State } from './format.ts';

const report: StorageReport = {
  volume: 'v',
  robustness: 'degraded',
  replicasOn: ['node-1', 'node-2'],
  healthyOn: ['node-2'],
  attached: true,
  dataIntact: true,
};

describe('whether a state of replicated storage holds', () => {
  let state: ClusterState;

  function put(kind: string, name: string, rest: object): void {
    const object = { kind, metadata: { name, namespace: 'longhorn-system' }, ...rest } as KubeObject;
    state.apply({ type: 'ADDED', object, previous: undefined });
  }

  function holds(wanted: State): boolean {
    return evaluate(wanted, {
      state,
      baseline: new Baseline(state),
      fences: new FenceCount(),
      drainOf: () => undefined,
      ledgerOf: () => undefined,
      replicatedOf: (volume) => (volume === 'v' ? report : undefined),
    }).holds;
  }

  beforeEach(() => {
    state = new ClusterState();
    put('Replica', 'r1', { spec: { volumeName: 'v', nodeID: 'node-1', evictionRequested: true } });
    put('Replica', 'r2', { spec: { volumeName: 'v', nodeID: 'node-2' } });
    put('StorageNode', 'node-1', { status: { autoEvicting: true } });
    put('StorageNode', 'node-2', {});
  });

  test('a volume: all that is asked for', () => {
    const of = 'volume';
    assert.ok(holds({ of, name: 'v', robustness: 'degraded', dataIntact: true }));
    assert.ok(!holds({ of, name: 'v', robustness: 'healthy' }));
    assert.ok(!holds({ of, name: 'v', dataIntact: false }));
    assert.ok(holds({ of, name: 'v', replicasOn: [{ node: 'node-2' }, { node: 'node-1' }] }));
    assert.ok(!holds({ of, name: 'v', replicasOn: [{ node: 'node-1' }] }));
    assert.ok(!holds({ of, name: 'w' }));
  });

  test('a replica: asked to leave or not; one that is not there is not', () => {
    const asked = (node: string, evictionRequested: boolean): boolean =>
      holds({ of: 'replica', volume: 'v', node: { node }, evictionRequested });
    assert.ok(asked('node-1', true));
    assert.ok(!asked('node-1', false));
    assert.ok(asked('node-2', false));
    assert.ok(asked('node-3', false));
    assert.ok(!asked('node-3', true));
  });

  test('a node of the storage system', () => {
    const evicting = (node: string, autoEvicting: boolean): boolean =>
      holds({ of: 'storageNode', node: { node }, autoEvicting });
    assert.ok(evicting('node-1', true));
    assert.ok(evicting('node-2', false));
    assert.ok(!evicting('node-3', false));
  });
});
