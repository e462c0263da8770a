/** What drains meet that is missing, half written, gone or edited by somebody: it is said, nothing is lost, and all is well again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GUARDED_NODE } from '../../../src/api/drain-names.ts';
import type { DrainPolicy } from '../../../src/api/drain-policy.ts';
import { readPlans } from '../../../src/cli/plan-drain.ts';
import type { JsonPatchOperation } from '../../../src/kube/client.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { nodes, podDisruptionBudgets } from '../../../src/kube/resources.ts';
import type { Transport } from '../../../src/kube/transport.ts';
import { TransportError } from '../../../src/kube/transport.ts';
import { parseScenarios } from '../../../src/scenario/parse.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import type { BudgetObject } from '../../../src/storage/budgets.ts';
import { instanceManagerLabels } from '../../../src/world/longhorn/objects.ts';
import type { VirtualClock } from '../../../src/world/time/virtual-clock.ts';
import type { World } from '../../../src/world/world.ts';
import { failuresOf, run } from '../run-file.ts';

type Status = Partial<DrainPolicy['status']>;

const namespace = 'longhorn-system';
const policy = (wanted = 'block-if-contains-last-replica', choice: object = { allNodes: true }): object => ({
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'DrainPolicy',
  metadata: { name: 'default' },
  spec: { ...choice, policy: wanted },
});
const longhorn = (kind: string, name: string, more: object): object => ({
  apiVersion: 'longhorn.io/v1beta2',
  kind,
  metadata: { name, namespace },
  ...more,
});
const single = [{ name: 'v', sizeGiB: 10, replicas: ['node-1'], attachedTo: 'node-3' }];
const intact = { always: { volume: { name: 'v', robustness: 'healthy', dataIntact: true } } };
const budgetOf = (node: string): string => `fenceline-instance-manager-${node}`;

/** What somebody does with an API of their own, so long after time 0. */
interface Deed {
  atMs: number;
  does: (client: KubeClient) => Promise<unknown>;
}

interface Ran {
  /** What the status of the policy was at a time since 0. */
  statusAt: (ms: number) => Status;
}

async function ran(spec: object, { deeds = [], ...options }: RunOptions & { deeds?: Deed[] } = {}): Promise<Ran> {
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec });
  const [scenario] = parseScenarios('bad-input', text);
  assert.ok(scenario);
  const statuses: { atMs: number; status: Status }[] = [];
  let stage: { world: World; clock: VirtualClock } | undefined;
  let zeroMs = 0;
  const done: Promise<unknown>[] = [];
  const report = await run(scenario, {
    ...options,
    freezes: true,
    onWorld: (world, clock) => {
      stage = { world, clock };
      world.server.onChange(({ version: { object } }) => {
        const { kind, status } = object as { kind?: string; status?: Status };
        if (kind === 'DrainPolicy' && status !== undefined) statuses.push({ atMs: clock.monotonic(), status });
      });
    },
    onZero: () => {
      assert.ok(stage);
      const { world, clock } = stage;
      zeroMs = clock.monotonic();
      const transport = world.server.transport('kubernetes-admin', { shares: true });
      const client = new KubeClient({ transport, clock, userAgent: 'somebody', fieldManager: 'somebody' });
      for (const { atMs, does } of deeds) {
        clock.after(atMs, () => {
          const deed = does(client);
          // Heard of when the run is over.
          deed.catch(() => {});
          done.push(deed);
        });
      }
      options.onZero?.();
    },
  });
  await Promise.all(done);
  assert.equal(done.length, deeds.length);
  assert.deepEqual(failuresOf(report), []);
  return { statusAt: (ms) => statuses.findLast(({ atMs }) => atMs - zeroMs <= ms)?.status ?? {} };
}

function guardingOf({ conditions = [] }: Status): string {
  const { status, reason, message } = conditions.find(({ type }) => type === 'Guarding') ?? {};
  return `${status} ${reason}: ${message}`;
}

function waitsFor({ draining = [] }: Status, node: string): string {
  const { blocked, reason, message } = draining.find((one) => one.node === node) ?? {};
  return `${blocked} ${reason}: ${message}`;
}

const seconds = (count: number): number => count * 1000;

/** Changes a budget of ours whatever its version. */
function edit(node: string, operations: JsonPatchOperation[]): Deed['does'] {
  return async (client) => {
    const ref = { resource: podDisruptionBudgets, namespace, name: budgetOf(node) };
    const read = await client.get(ref);
    assert.ok(read.ok);
    const patched = await client.patch(ref, { uid: read.value.metadata.uid ?? '' }, operations);
    assert.ok(patched.ok);
  };
}

describe('[DRN-2, DRN-12] a storage system that is not installed yet', () => {
  test('is said to be missing, and is guarded as soon as it is there', async () => {
    let isInstalled = false;
    const wire = (user: string, inner: Transport): Transport => ({
      send: (request) => {
        const isDefinition = user.includes('longhorn') && request.path.includes('customresourcedefinitions');
        if (isDefinition && !isInstalled) throw new TransportError('notSent', 'not yet');
        return inner.send(request);
      },
      close: () => inner.close(),
    });
    const { statusAt } = await ran(
      {
        cluster: { longhorn: { volumes: single } },
        objects: [policy()],
        events: [{ at: '2m', drain: 'node-1' }],
        expect: [
          { at: '1m', budget: { node: 'node-1', blocks: false } },
          // Its own start, and ten seconds until the operator asks again.
          { at: '75s', budget: { node: 'node-1', blocks: true } },
          { at: '5m', drain: { node: 'node-1', done: false } },
          { at: '5m', volume: { name: 'v', robustness: 'healthy', dataIntact: true } },
        ],
        runFor: '5m',
      },
      { wire, deeds: [{ atMs: seconds(60), does: async () => (isInstalled = true) }] },
    );
    assert.match(guardingOf(statusAt(seconds(60))), /^False StorageNotFound: .* knows no nodes\.longhorn\.io/);
    assert.match(guardingOf(statusAt(seconds(75))), /^True Guarding/);
    assert.match(waitsFor(statusAt(seconds(300)), 'node-1'), /^true LastReplica: .* volume v /);
  });
});

describe('[DRN-3] a replica of which something is not written, or is not there', () => {
  /** A volume that nobody uses, with a copy on node-1, which is drained, and one on node-2. */
  const copy = (node: string, change: object = {}): object =>
    longhorn('Replica', `w-on-${node}`, {
      spec: {
        volumeName: 'w',
        nodeID: node,
        diskID: `${node}-default-disk`,
        desireState: 'stopped',
        healthyAt: 'then',
        ...change,
      },
      status: { currentState: 'stopped' },
    });
  const volume = longhorn('Volume', 'w', { spec: { numberOfReplicas: 2 }, status: { state: 'detached' } });
  const bare = longhorn('Replica', 'w-on-node-2', { spec: { volumeName: 'w' } });
  const cases: [string, object, object, RegExp][] = [
    [
      'its volume',
      copy('node-1', { volumeName: '' }),
      copy('node-2'),
      /^true StateUnknown: replica w-on-node-1 does not say yet which volume it belongs to/,
    ],
    [
      'the node of the other one',
      copy('node-1'),
      copy('node-2', { nodeID: '' }),
      /^true LastReplica: .*; replica w-on-node-2 does not say on which node/,
    ],
    [
      'a node that is not there, of the other one',
      copy('node-1'),
      copy('node-2', { nodeID: 'nowhere' }),
      /^true LastReplica: .*; replica w-on-node-2 is on nowhere, which the storage system does not know/,
    ],
    [
      'the disk of the other one',
      copy('node-1'),
      copy('node-2', { diskID: '' }),
      /^true LastReplica: .*; replica w-on-node-2 does not say on which disk of node-2/,
    ],
    [
      'a disk that is not there, of the other one',
      copy('node-1'),
      copy('node-2', { diskID: 'pulled' }),
      /^true LastReplica: .*; replica w-on-node-2 is on disk pulled, which node-2 does not have/,
    ],
    [
      'nearly everything of the other one',
      copy('node-1'),
      bare,
      /^true LastReplica: .*; replica w-on-node-2 does not say on which node/,
    ],
    [
      'a disk that is not there',
      copy('node-1', { diskID: 'pulled' }),
      copy('node-2', { failedAt: 'then' }),
      /^true StateUnknown: replica w-on-node-1 is on disk pulled, which node-1 does not have/,
    ],
  ];
  for (const [what, first, second, expected] of cases) {
    test(`${what}: the drain waits and says so, and goes on when it is written`, async () => {
      const { statusAt } = await ran({
        cluster: { nodes: 3, longhorn: { volumes: [] } },
        objects: [volume, first, second, policy()],
        events: [
          { at: '10s', drain: 'node-1' },
          { at: '2m', apply: copy('node-1') },
          { at: '2m', apply: copy('node-2', { failedAt: '' }) },
        ],
        expect: [
          { at: '119s', drain: { node: 'node-1', done: false } },
          { at: '119s', budget: { node: 'node-1', blocks: true } },
          { by: '3m', drain: { node: 'node-1', done: true } },
        ],
        runFor: '3m',
      });
      assert.match(waitsFor(statusAt(seconds(119)), 'node-1'), expected);
    });
  }
});

describe('a node that is not there', () => {
  const labelled = { selector: { matchLabels: { guarded: 'yes' } } };

  test('selected by a policy: it is said that nothing is guarded, until there is one', async () => {
    const label: Deed['does'] = async (client) => {
      const read = await client.get({ resource: nodes, name: 'node-1' });
      assert.ok(read.ok);
      const operations = [{ op: 'add' as const, path: '/metadata/labels/guarded', value: 'yes' }];
      const patched = await client.patch(
        { resource: nodes, name: 'node-1' },
        { uid: read.value.metadata.uid ?? '' },
        operations,
      );
      assert.ok(patched.ok);
    };
    const { statusAt } = await ran(
      {
        cluster: { longhorn: { volumes: single } },
        objects: [policy(undefined, labelled)],
        events: [{ at: '2m', drain: 'node-1' }],
        expect: [
          { at: '59s', budget: { node: 'node-1', blocks: false } },
          { at: '65s', budget: { node: 'node-1', blocks: true } },
          { at: '5m', drain: { node: 'node-1', done: false } },
        ],
        runFor: '5m',
      },
      { deeds: [{ atMs: seconds(60), does: label }] },
    );
    assert.match(guardingOf(statusAt(seconds(59))), /^False NoNodes: no node is selected$/);
    assert.equal(statusAt(seconds(59)).nodes, 0);
    // Of nodes that nobody drains it is worked out every thirty seconds.
    assert.equal(statusAt(seconds(95)).nodes, 1);
    assert.match(guardingOf(statusAt(seconds(95))), /^True Guarding: drains of node-1 wait/);
  });

  test('[DRN-13] asked for a plan: it is said which there are', async () => {
    const asks: Deed['does'] = (client) =>
      assert.rejects(readPlans(client, ['node-1', 'nod-2']), {
        message:
          'no such node: nod-2; there are: node-1, node-2, node-3, node-4, node-5, node-6, node-7, node-8, node-9, node-10 and 2 more',
      });
    const cluster = { nodes: 12, longhorn: { volumes: single } };
    await ran({ cluster, objects: [policy()], runFor: '1m' }, { deeds: [{ atMs: seconds(10), does: asks }] });
  });

  test('[DRN-3] any more, which holds the other replica: it is not counted upon, and its budget stays', async () => {
    const { statusAt } = await ran({
      cluster: { nodes: 3, longhorn: { volumes: [{ ...single[0], replicas: ['node-1', 'node-2'] }] } },
      objects: [policy()],
      events: [
        { at: '10s', kubeletStop: 'node-2' },
        { at: '10s', deleteNode: 'node-2' },
        { at: '20s', drain: 'node-1' },
        { at: '4m', kubeletStart: 'node-2' },
      ],
      expect: [
        { at: '4m', drain: { node: 'node-1', done: false } },
        { always: { volume: { name: 'v', dataIntact: true } } },
        { by: '20m', drain: { node: 'node-1', done: true } },
      ],
      runFor: '20m',
    });
    assert.match(waitsFor(statusAt(seconds(200)), 'node-1'), /^true LastReplica: .* volume v /);
    assert.equal(statusAt(seconds(200)).nodes, 3, 'it is looked after as before');
  });
});

describe('[DRN-2, DRN-3] a budget of ours in the middle of a drain', () => {
  /** Two nodes with the only copy of a volume each; both drains wait, and have not been given up when they may go on. */
  const drains = {
    cluster: {
      nodes: 4,
      longhorn: { volumes: [...single, { name: 'w', sizeGiB: 10, replicas: ['node-2'], attachedTo: 'node-3' }] },
    },
    objects: [policy()],
    events: [
      { at: '10s', drain: 'node-1' },
      { at: '10s', drain: 'node-2' },
      { at: '2m', apply: policy('always-allow') },
    ],
    expect: [
      { at: '119s', volume: { name: 'v', robustness: 'healthy', dataIntact: true } },
      { at: '119s', volume: { name: 'w', robustness: 'healthy', dataIntact: true } },
      ...['node-1', 'node-2'].flatMap((node) => [
        { at: '63s', budget: { node, blocks: true } },
        { at: '119s', drain: { node, done: false } },
        { by: '3m', drain: { node, done: true } },
      ]),
    ],
    runFor: '3m',
  };

  // A drain tries again every five seconds: once in between, and twice in the same moment.
  for (const atMs of [seconds(62), seconds(60), seconds(60) + 10]) {
    test(`deleted by somebody after ${atMs} ms: it is there again before the pod goes`, async () => {
      const remove: Deed['does'] = async (client) => {
        const ref = { resource: podDisruptionBudgets, namespace, name: budgetOf('node-1') };
        const read = await client.get(ref);
        assert.ok(read.ok && (await client.delete(ref, { uid: read.value.metadata.uid ?? '' })).ok);
      };
      await ran(drains, { deeds: [{ atMs, does: remove }] });
    });
  }

  const isAsMade: Deed['does'] = async (client) => {
    const ref = { resource: podDisruptionBudgets, namespace, name: budgetOf('node-1') };
    const read = await client.get<BudgetObject>(ref);
    assert.ok(read.ok);
    const { metadata, spec } = read.value;
    assert.deepEqual(spec, { minAvailable: 1, selector: { matchLabels: instanceManagerLabels('node-1') } });
    assert.equal(metadata.annotations?.[GUARDED_NODE], 'node-1');
  };

  const select = (value: object): JsonPatchOperation[] => [{ op: 'replace', path: '/spec/selector', value }];
  const leftOut = { key: 'longhorn.io/node', operator: 'NotIn', values: ['node-1'] };
  const edits: Record<string, JsonPatchOperation[]> = {
    'lets a pod go': [{ op: 'replace', path: '/spec/minAvailable', value: 0 }],
    'lets a pod go by another field': [
      { op: 'remove', path: '/spec/minAvailable' },
      { op: 'add', path: '/spec/maxUnavailable', value: 1 },
    ],
    'is over nobody': select({ matchLabels: { 'longhorn.io/node': 'nowhere' } }),
    'is over the pods of every node': select({ matchLabels: { 'longhorn.io/component': 'instance-manager' } }),
    'leaves its pod out': select({ matchLabels: { 'longhorn.io/node': 'node-1' }, matchExpressions: [leftOut] }),
    'does not say for which node it is': [{ op: 'remove', path: '/metadata/annotations' }],
  };
  for (const [what, operations] of Object.entries(edits)) {
    test(`edited so that it ${what}: it is put right, and both drains wait and end`, async () => {
      const deeds = [
        { atMs: seconds(62), does: edit('node-1', operations) },
        { atMs: seconds(63), does: isAsMade },
      ];
      const { statusAt } = await ran(drains, { deeds });
      assert.match(guardingOf(statusAt(seconds(119))), /^True Guarding/);
    });
  }

  test('edited so that it is not known to be ours: it is left alone, and that is said', async () => {
    const unlabel = edit('node-1', [{ op: 'remove', path: '/metadata/labels' }]);
    const expect = [intact, { at: '4m', drain: { node: 'node-1', done: false } }];
    const { statusAt } = await ran(
      { ...drains, events: [{ at: '10s', drain: 'node-1' }], expect, runFor: '4m' },
      { deeds: [{ atMs: seconds(62), does: unlabel }] },
    );
    assert.match(
      guardingOf(statusAt(seconds(239))),
      /^False ForeignBudget: .* has the budget fenceline-\S+ of somebody/,
    );
  });
});
