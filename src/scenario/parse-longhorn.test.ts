import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LonghornSpec } from '../world/longhorn/spec.ts';
import { parseScenarios } from './parse.ts';

function longhornOf(cluster: object): LonghornSpec | undefined {
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec: { cluster } });
  return parseScenarios('a.yaml', text)[0]?.cluster.longhorn;
}

describe('cluster.longhorn', () => {
  test('is read with its defaults', () => {
    assert.equal(longhornOf({}), undefined);
    assert.deepEqual(longhornOf({ longhorn: {} }), {
      diskGiB: 100,
      rebuildMiBps: 100,
      softAntiAffinity: false,
      volumes: [],
    });
    assert.deepEqual(longhornOf({ nodes: 4, longhorn: { volumes: [{ name: 'v', attachedTo: 'node-4' }] } })?.volumes, [
      { name: 'v', sizeGiB: 10, replicas: ['node-1', 'node-2', 'node-3'], attachedTo: 'node-4' },
    ]);
    const written = { name: 'v', sizeGiB: 3, replicas: ['node-2'] };
    assert.deepEqual(longhornOf({ longhorn: { volumes: [written] } })?.volumes, [written]);
  });

  test('names nodes that there are, and no volume twice', () => {
    const refused = (volumes: object[], says: RegExp): void => {
      assert.throws(() => longhornOf({ longhorn: { volumes } }), says);
    };
    refused([{ name: 'v', replicas: ['node-9'] }], /there is no node node-9/);
    refused([{ name: 'v', attachedTo: 'node-9' }], /there is no node node-9/);
    refused([{ name: 'v', replicas: [] }], /has no replica/);
    refused([{ name: 'v' }, { name: 'v' }], /two volumes are called v/);
  });
});
