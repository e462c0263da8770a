/** The simulated Longhorn by itself: what happens without a guard, and what a person asks of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DRAIN_POLICIES } from '../../../src/api/policy-defaults.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { parseScenarios } from '../../../src/scenario/parse.ts';
import { failuresOf, run } from '../run-file.ts';

function scenario(spec: object): Scenario {
  const [parsed] = parseScenarios(
    'longhorn',
    JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec }),
  );
  assert.ok(parsed);
  return parsed;
}

const wish = (node: string, evictionRequested: boolean): object => ({
  apiVersion: 'longhorn.io/v1beta2',
  kind: 'Node',
  metadata: { name: node, namespace: 'longhorn-system' },
  spec: { evictionRequested },
});
const policy = (wanted: string): object => ({
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'DrainPolicy',
  metadata: { name: 'default' },
  spec: { allNodes: true, policy: wanted },
});

async function holds(spec: object): Promise<void> {
  const report = await run(scenario(spec), { freezes: true });
  assert.deepEqual(failuresOf(report), []);
}

const two = { name: 'v', sizeGiB: 10, replicas: ['node-1', 'node-2'], attachedTo: 'node-3' };

describe('without a guard', () => {
  test('a drain kills the last replica; on return it is salvaged, on removal it is lost', async () => {
    const longhorn = { volumes: [{ name: 'v', replicas: ['node-1'], attachedTo: 'node-2' }] };
    const killed = [
      { by: '1m', drain: { node: 'node-1', done: true } },
      { at: '2m', volume: { name: 'v', robustness: 'faulted', dataIntact: false } },
    ];
    await holds({
      cluster: { operators: 0, longhorn },
      events: [
        { at: '10s', drain: 'node-1' },
        { at: '5m', uncordon: 'node-1' },
      ],
      expect: [...killed, { by: '6m', volume: { name: 'v', robustness: 'healthy', dataIntact: true } }],
    });
    await holds({
      cluster: { operators: 0, longhorn },
      events: [
        { at: '10s', drain: 'node-1' },
        { at: '2m', deleteNode: 'node-1' },
        { at: '2m', powerOff: 'node-1' },
      ],
      expect: [...killed, { at: '10m', volume: { name: 'v', robustness: 'faulted', dataIntact: false } }],
    });
  });

  test('the replica of a volume that nobody uses survives on its disk', () =>
    holds({
      cluster: { operators: 0, longhorn: { volumes: [{ name: 'v', replicas: ['node-1'] }] } },
      events: [
        { at: '10s', drain: 'node-1' },
        { at: '5m', uncordon: 'node-1' },
      ],
      expect: [
        { by: '1m', drain: { node: 'node-1', done: true } },
        { always: { volume: { name: 'v', robustness: 'healthy', dataIntact: true } } },
      ],
    }));

  test('a failed replica is waited for ten minutes, then made anew elsewhere', () =>
    holds({
      cluster: { nodes: 3, operators: 0, longhorn: { volumes: [two] } },
      events: [{ at: '10s', powerOff: 'node-1' }],
      expect: [
        { at: '9m', volume: { name: 'v', robustness: 'degraded', replicasOn: ['node-1', 'node-2'] } },
        { by: '14m', volume: { name: 'v', robustness: 'healthy', replicasOn: ['node-2', 'node-3'], dataIntact: true } },
      ],
    }));

  test('a rebuild takes its bytes’ time, and twice as long for two from one node', async () => {
    const volumes = ['v', 'w'].map((name) => ({ ...two, name, replicas: ['node-1'] }));
    const moved = (name: string): object => ({ name, replicasOn: ['node-2'] });
    const one = {
      cluster: { nodes: 2, operators: 0, longhorn: { volumes: [{ ...volumes[0], attachedTo: 'node-1' }] } },
    };
    const events = [{ at: '10s', apply: wish('node-1', true) }];
    await holds({
      ...one,
      events,
      expect: [
        { at: '111s', volume: { name: 'v', replicasOn: ['node-1'] } },
        { at: '114s', volume: moved('v') },
      ],
    });
    const both = {
      nodes: 2,
      operators: 0,
      longhorn: { volumes: volumes.map((one) => ({ ...one, attachedTo: 'node-1' })) },
    };
    await holds({
      cluster: both,
      events,
      expect: [
        { at: '210s', volume: { name: 'v', replicasOn: ['node-1'] } },
        { at: '220s', volume: moved('v') },
        { at: '220s', volume: moved('w') },
      ],
    });
  });

  test('a full disk takes nothing', () =>
    holds({
      cluster: {
        nodes: 2,
        operators: 0,
        longhorn: {
          diskGiB: 15,
          volumes: [
            { ...two, replicas: ['node-1'], attachedTo: 'node-1' },
            { name: 'w', replicas: ['node-2'] },
          ],
        },
      },
      events: [{ at: '10s', apply: wish('node-1', true) }],
      expect: [
        { by: '1m', replica: { volume: 'v', node: 'node-1', evictionRequested: true } },
        { always: { volume: { name: 'v', replicasOn: ['node-1'] } } },
      ],
    }));
});

describe('[DRN-6] a user’s own request', () => {
  for (const wanted of DRAIN_POLICIES) {
    test(`works under ${wanted}, and is not cancelled by a cordon or its end`, () =>
      holds({
        cluster: { longhorn: { volumes: [two] } },
        objects: [policy(wanted)],
        events: [
          { at: '10s', apply: wish('node-1', true) },
          { at: '20s', cordon: 'node-1' },
          { at: '40s', uncordon: 'node-1' },
        ],
        expect: [
          { at: '15s', replica: { volume: 'v', node: 'node-1', evictionRequested: true } },
          { at: '30s', replica: { volume: 'v', node: 'node-1', evictionRequested: true } },
          { at: '60s', replica: { volume: 'v', node: 'node-1', evictionRequested: true } },
          { never: { storageNode: { name: 'node-1', autoEvicting: true } } },
          { event: { reason: 'EvictionAutomatic', count: 0 } },
          { event: { reason: 'EvictionCanceled', count: 0 } },
          { by: '3m', volume: { name: 'v', robustness: 'healthy', replicasOn: ['node-2', 'node-3'] } },
        ],
        runFor: '4m',
      }));
  }

  test('is not cancelled when the automatic one that was there first is over', () =>
    holds({
      cluster: { longhorn: { volumes: [two] } },
      objects: [policy('block-for-eviction')],
      events: [
        { at: '10s', cordon: 'node-1' },
        { at: '15s', apply: wish('node-1', true) },
        { at: '20s', uncordon: 'node-1' },
      ],
      expect: [
        { at: '14s', storageNode: { name: 'node-1', autoEvicting: true } },
        { at: '14s', replica: { volume: 'v', node: 'node-1', evictionRequested: true } },
        { at: '30s', storageNode: { name: 'node-1', autoEvicting: false } },
        { at: '30s', replica: { volume: 'v', node: 'node-1', evictionRequested: true } },
        { event: { reason: 'EvictionAutomatic', count: 1 } },
        { event: { reason: 'EvictionCanceled', count: 0 } },
        { by: '3m', volume: { name: 'v', robustness: 'healthy', replicasOn: ['node-2', 'node-3'] } },
      ],
      runFor: '4m',
    }));

  test('ends when the user takes it back', () =>
    holds({
      cluster: { operators: 0, longhorn: { volumes: [two] } },
      events: [
        { at: '10s', apply: wish('node-1', true) },
        { at: '20s', apply: wish('node-1', false) },
      ],
      expect: [
        { at: '15s', replica: { volume: 'v', node: 'node-1', evictionRequested: true } },
        { at: '25s', replica: { volume: 'v', node: 'node-1', evictionRequested: false } },
      ],
      runFor: '4m',
    }));
});
