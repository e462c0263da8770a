/** The guard on the simulated Longhorn, where something comes in between. */
import assert from 'node:assert/strict';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import { describe, test } from 'node:test';
import type { Scenario } from '../../../src/scenario/format.ts';
import { parseScenarios } from '../../../src/scenario/parse.ts';
import { failuresOf, run } from '../run-file.ts';

const nodes = ['node-1', 'node-2', 'node-3', 'node-4'];

function scenario(spec: object): Scenario {
  const [parsed] = parseScenarios(
    'guarded',
    JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec }),
  );
  assert.ok(parsed);
  return parsed;
}

const policy = (wanted: string, more: object = {}): object => ({
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'DrainPolicy',
  metadata: { name: 'default' },
  spec: { allNodes: true, policy: wanted, ...more },
});

async function holds(spec: object, options: RunOptions = {}): Promise<void> {
  const { cluster = {}, ...rest } = spec as { cluster?: object };
  const whole = scenario({ ...rest, cluster: { nodes: nodes.length, ...cluster } });
  assert.deepEqual(failuresOf(await run(whole, { freezes: true, ...options })), []);
}

const volumes = [{ name: 'v', sizeGiB: 10, replicas: ['node-1', 'node-2'], attachedTo: 'node-3' }];
const single = [{ name: 'v', sizeGiB: 10, replicas: ['node-1'], attachedTo: 'node-3' }];
const intact = { always: { volume: { name: 'v', robustness: 'healthy', dataIntact: true } } };

describe('drains that something comes in between', () => {
  test('[DRN-8, DRN-9] uncordoned in the middle: the request is withdrawn, what was begun goes on and stays', () =>
    holds({
      cluster: { longhorn: { volumes } },
      objects: [policy('block-for-eviction')],
      events: [
        { at: '10s', drain: 'node-1' },
        { at: '60s', uncordon: 'node-1' },
      ],
      runFor: '5m',
      expect: [
        intact,
        { at: '30s', replica: { volume: 'v', node: 'node-1', evictionRequested: true } },
        { at: '65s', replica: { volume: 'v', node: 'node-1', evictionRequested: false } },
        { at: '65s', storageNode: { name: 'node-1', autoEvicting: false } },
        { by: '4m', volume: { name: 'v', replicasOn: ['node-1', 'node-2', 'node-3'] } },
        { event: { reason: 'EvictionAutomatic', count: 1 } },
        { event: { reason: 'EvictionCanceled', count: 1 } },
      ],
    }));

  test('[DRN-8] another policy in the middle: the request is withdrawn, and the drain ends', () =>
    holds({
      cluster: { longhorn: { volumes } },
      objects: [policy('block-for-eviction')],
      events: [
        { at: '10s', drain: 'node-1' },
        { at: '30s', apply: policy('block-if-contains-last-replica') },
      ],
      runFor: '5m',
      expect: [
        { at: '29s', drain: { node: 'node-1', done: false } },
        { by: '1m', drain: { node: 'node-1', done: true } },
        { at: '1m', replica: { volume: 'v', node: 'node-1', evictionRequested: false } },
        { at: '1m', storageNode: { name: 'node-1', autoEvicting: false } },
        { never: { volume: { name: 'v', robustness: 'faulted' } } },
        { event: { reason: 'EvictionCanceled', count: 1 } },
      ],
    }));

  test('[DRN-3] the last replica, and a person who makes room for it', () =>
    holds({
      cluster: { longhorn: { volumes: single } },
      objects: [policy('block-if-contains-last-replica')],
      events: [
        { at: '10s', drain: 'node-1' },
        {
          at: '10m',
          apply: {
            apiVersion: 'longhorn.io/v1beta2',
            kind: 'Node',
            metadata: { name: 'node-1', namespace: 'longhorn-system' },
            spec: { evictionRequested: true },
          },
        },
      ],
      runFor: '15m',
      expect: [
        intact,
        { at: '10m', drain: { node: 'node-1', done: false } },
        { by: '13m', drain: { node: 'node-1', done: true } },
        { event: { reason: 'EvictionAutomatic', count: 0 } },
      ],
    }));

  test('[DRN-3] a second node cordoned while the first one’s replica moves there', () =>
    holds({
      cluster: { nodes: 3, longhorn: { volumes: [{ ...single[0], attachedTo: 'node-1' }] } },
      objects: [policy('block-for-eviction-if-contains-last-replica')],
      events: [
        { at: '10s', drain: 'node-1' },
        { at: '60s', drain: 'node-2' },
        { at: '60s', drain: 'node-3' },
        { at: '10m', uncordon: 'node-1' },
        { at: '10m', uncordon: 'node-3' },
      ],
      runFor: '30m',
      expect: [
        intact,
        { by: '30m', drain: { node: 'node-1', done: true } },
        { by: '30m', drain: { node: 'node-2', done: true } },
      ],
    }));

  test('[DRN-3] allow-if-replica-is-stopped lets go what nobody uses, and keeps what runs', () =>
    holds({
      cluster: {
        longhorn: {
          volumes: [
            { name: 'v', replicas: ['node-1'] },
            { ...single[0], name: 'w', replicas: ['node-2'] },
          ],
        },
      },
      objects: [policy('allow-if-replica-is-stopped')],
      events: [
        { at: '10s', drain: 'node-1' },
        { at: '10s', drain: 'node-2' },
      ],
      runFor: '5m',
      expect: [
        { by: '1m', drain: { node: 'node-1', done: true } },
        { at: '5m', drain: { node: 'node-2', done: false } },
        { always: { volume: { name: 'w', robustness: 'healthy', dataIntact: true } } },
      ],
    }));

  test('[DRN-3] always-allow lets the last one go', () =>
    holds({
      cluster: { longhorn: { volumes: single } },
      objects: [policy('always-allow')],
      events: [{ at: '10s', drain: 'node-1' }],
      runFor: '2m',
      expect: [
        { at: '5s', budget: { node: 'node-1', blocks: false } },
        { by: '1m', drain: { node: 'node-1', done: true } },
        { at: '2m', volume: { name: 'v', robustness: 'faulted' } },
      ],
    }));
});

describe('what others do', () => {
  const foreign = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'theirs', namespace: 'longhorn-system' },
    spec: { minAvailable: 1, selector: { matchLabels: { 'longhorn.io/node': 'node-1' } } },
  };

  test('[DRN-2] a budget that somebody deletes is there again a moment later', () =>
    holds({
      cluster: { longhorn: { volumes: single } },
      objects: [policy('block-if-contains-last-replica')],
      events: [
        {
          at: '10s',
          delete: {
            kind: 'PodDisruptionBudget',
            name: 'fenceline-instance-manager-node-1',
            namespace: 'longhorn-system',
          },
        },
        { at: '15s', drain: 'node-1' },
      ],
      runFor: '3m',
      expect: [
        intact,
        { by: '12s', budget: { node: 'node-1', blocks: true } },
        { at: '3m', drain: { node: 'node-1', done: false } },
      ],
    }));

  test('[DRN-2] with a foreign budget over the pod there is no second one, so that the drain waits and does not fail', () =>
    holds({
      cluster: { longhorn: { volumes: single } },
      objects: [foreign, policy('block-if-contains-last-replica')],
      events: [
        { at: '10s', drain: 'node-1' },
        { at: '2m', delete: { kind: 'PodDisruptionBudget', name: 'theirs', namespace: 'longhorn-system' } },
      ],
      runFor: '5m',
      expect: [
        { at: '2m', drain: { node: 'node-1', done: false } },
        { at: '2m', budget: { node: 'node-1', blocks: true } },
      ],
    }));

  test('[SAF-16] a setting of Longhorn that lets everything go is no guard, and the policy says so', async () => {
    const setting = { apiVersion: 'longhorn.io/v1beta2', kind: 'Setting', value: 'always-allow' };
    const metadata = { name: 'node-drain-policy', namespace: 'longhorn-system' };
    let said: string[] = [];
    const onWorld: RunOptions['onWorld'] = ({ server }) =>
      void server.onChange(({ version: { object } }) => {
        if (object.kind !== 'DrainPolicy') return;
        const { conditions = [] } = (object['status'] ?? {}) as { conditions?: Record<string, string>[] };
        said = conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`).sort();
      });
    await holds(
      {
        cluster: { longhorn: { volumes } },
        objects: [{ ...setting, metadata }, policy('block-if-contains-last-replica')],
        events: [{ at: '10s', cordon: 'node-1' }],
        runFor: '1m',
        expect: [{ by: '20s', budget: { node: 'node-1', blocks: false } }],
      },
      { onWorld },
    );
    assert.deepEqual(said, ['Guarding=False StorageAllows', 'Ready=False StorageAllows']);
  });

  test('[DRN-12] where Longhorn enforces by itself, nothing is done by us: no budget and no request', async () => {
    const ours: string[] = [];
    const onWorld: RunOptions['onWorld'] = ({ server }) =>
      void server.onChange(({ version: { object } }) => {
        const { metadata, kind } = object;
        if (metadata.labels?.['fenceline.dev/drain-guard'] !== undefined) ours.push(`${kind} ${metadata.name}`);
        if (metadata.annotations?.['fenceline.dev/evicting-for'] !== undefined) ours.push(`${kind} ${metadata.name}`);
      });
    const metadata = { name: 'node-drain-policy', namespace: 'longhorn-system' };
    await holds(
      {
        cluster: { longhorn: { volumes } },
        objects: [
          { apiVersion: 'longhorn.io/v1beta2', kind: 'Setting', metadata, value: 'block-for-eviction' },
          policy('block-for-eviction'),
        ],
        events: [{ at: '10s', drain: 'node-1' }],
        runFor: '5m',
        expect: [
          { at: '30s', budget: { node: 'node-1', blocks: true } },
          { at: '30s', storageNode: { name: 'node-1', autoEvicting: true } },
          { by: '4m', drain: { node: 'node-1', done: true } },
          { by: '4m', volume: { name: 'v', robustness: 'healthy', replicasOn: ['node-2', 'node-3'] } },
          { event: { reason: 'EvictionAutomatic', count: 0 } },
          intact,
        ],
      },
      { onWorld },
    );
    assert.deepEqual(ours, []);
  });
});
