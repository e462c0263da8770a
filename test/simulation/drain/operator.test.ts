/** What the operator makes of policies, storage systems that are not there, and what was left behind. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainPolicy } from '../../../src/api/drain-policy.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { parseScenarios } from '../../../src/scenario/parse.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import type { World } from '../../../src/world/world.ts';
import { failuresOf, run } from '../run-file.ts';

type Status = Partial<DrainPolicy['status']>;

function scenario(spec: object): Scenario {
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec });
  const [parsed] = parseScenarios('operator', text);
  assert.ok(parsed);
  return parsed;
}

const policy = (more: object = {}, name = 'default'): object => ({
  apiVersion: 'fenceline.dev/v1alpha1',
  kind: 'DrainPolicy',
  metadata: { name },
  spec: { allNodes: true, ...more },
});
const longhorn = { volumes: [{ name: 'v', replicas: ['node-1'], attachedTo: 'node-2' }] };
const gone = (name = 'default'): object => ({ kind: 'DrainPolicy', name });

interface Ran {
  /** Of each policy, every status that was written. */
  statuses: Map<string, Status[]>;
  /** Paths that the operator asked for, without their query. */
  asked: Set<string>;
  /** Its calls about one policy. */
  calls: string[];
}

async function ran(spec: object, options: RunOptions = {}): Promise<Ran> {
  const statuses = new Map<string, Status[]>();
  const asked = new Set<string>();
  const calls: string[] = [];
  const report = await run(scenario(spec), {
    ...options,
    freezes: true,
    onWorld: (world, clock) => {
      options.onWorld?.(world, clock);
      world.server.onChange(({ version: { object } }) => {
        const { kind, status, metadata } = object as { kind?: string; status?: Status; metadata: { name: string } };
        if (kind !== 'DrainPolicy' || status?.conditions === undefined) return;
        statuses.set(metadata.name, [...(statuses.get(metadata.name) ?? []), status]);
      });
    },
    wire: (user, inner) => ({
      send: (request) => {
        const path = request.path.split('?', 1)[0] ?? '';
        if (user.startsWith('operator-')) asked.add(path);
        if (path.includes('/drainpolicies/') && user.startsWith('operator-')) calls.push(request.method);
        return inner.send(request);
      },
      close: () => inner.close(),
    }),
  });
  assert.deepEqual(failuresOf(report), []);
  return { statuses, asked, calls };
}

function lastOf({ statuses }: Ran, name = 'default'): Status {
  return statuses.get(name)?.at(-1) ?? {};
}

function guardingOf(status: Status): string {
  const condition = status.conditions?.find(({ type }) => type === 'Guarding');
  return `${condition?.status} ${condition?.reason}`;
}

describe('the operator and DrainPolicies', () => {
  test('without one nothing of the storage system is asked for', async () => {
    const { asked } = await ran({ cluster: { longhorn }, runFor: '1m' });
    assert.deepEqual(
      [...asked].filter((path) => path.includes('longhorn')),
      [],
    );
  });

  test('[DRN-8, DRN-11] what was asked for before the upgrade is asked for where it is now, until nobody wants it', async () => {
    const old = (name: string, nodeID: string): object => ({
      apiVersion: 'longhorn.io/v1beta2',
      kind: 'Replica',
      metadata: { name, namespace: 'longhorn-system' },
      spec: { volumeName: 'gone', nodeID },
      status: { evictionRequested: true },
    });
    const requests = new Map<string, boolean>();
    const changes: string[] = [];
    const follow = (world: World): void => {
      world.server.onChange(({ version: { object } }) => {
        const { kind, metadata, spec } = object as { spec?: { evictionRequested?: boolean } } & typeof object;
        const isNews = requests.get(metadata.name) !== spec?.evictionRequested;
        if (kind !== 'Replica' || !metadata.name.endsWith('wanted') || !isNews) return;
        requests.set(metadata.name, spec?.evictionRequested === true);
        changes.push(`${metadata.name} ${spec?.evictionRequested}`);
      });
    };
    await ran(
      {
        cluster: { longhorn },
        objects: [old('unwanted', 'node-2'), old('wanted', 'node-3')],
        events: [
          { at: '1s', cordon: 'node-3' },
          { at: '5s', apply: policy({ policy: 'block-for-eviction' }) },
          { at: '1m', crashOperator: 1 },
          { at: '2m', uncordon: 'node-3' },
        ],
        expect: [{ at: '119s', storageNode: { name: 'node-3', autoEvicting: true } }],
        runFor: '3m',
      },
      { onWorld: follow },
    );
    assert.deepEqual(changes.slice(0, 2).toSorted(), ['unwanted true', 'wanted true'], 'moved');
    assert.deepEqual(changes.slice(2), ['unwanted false', 'wanted false'], 'each until nobody wants it');
  });

  test('the status says which drain waits and for what, and is not written again without need', async () => {
    const found = await ran({
      cluster: { longhorn },
      objects: [policy()],
      events: [{ at: '10s', drain: 'node-1' }],
      expect: [{ at: '2m', drain: { node: 'node-1', done: false } }],
      runFor: '10m',
    });
    const { nodes, blocking, draining, observedGeneration } = lastOf(found);
    assert.deepEqual([nodes, blocking, observedGeneration], [3, 1, 1]);
    assert.deepEqual(
      draining?.map(({ node, blocked, autoEvicting, reason }) => [node, blocked, autoEvicting, reason]),
      [['node-1', true, false, 'LastReplica']],
    );
    assert.match(draining?.[0]?.message ?? '', /volume v /);
    assert.equal(guardingOf(lastOf(found)), 'True Guarding');
    assert.ok(found.calls.length <= 8, `${found.calls.length} calls`);
  });

  test('the status is not written again by an operator that starts anew', async () => {
    const quiet = { cluster: { longhorn }, objects: [policy()], runFor: '2m' };
    const writes = ({ calls }: Ran): number => calls.filter((method) => method === 'PUT').length;
    const once = writes(await ran(quiet));
    assert.equal(writes(await ran({ ...quiet, events: [{ at: '30s', crashOperator: 1 }] })), once);
  });

  test('a storage system that is not installed, and one that is in another namespace', async () => {
    const missing = await ran({ objects: [policy()], runFor: '1m' });
    assert.equal(guardingOf(lastOf(missing)), 'False StorageNotFound');
    assert.match(lastOf(missing).conditions?.[0]?.message ?? '', /knows no nodes\.longhorn\.io/);
    const elsewhere = await ran({ cluster: { longhorn }, objects: [policy({ namespace: 'nowhere' })], runFor: '1m' });
    assert.equal(guardingOf(lastOf(elsewhere)), 'False StorageNotFound');
    assert.match(lastOf(elsewhere).conditions?.[0]?.message ?? '', /namespace nowhere/);
  });

  test('[REM-8] of two policies that select just as specifically the older one guards, and the other one says so', async () => {
    const found = await ran({
      cluster: { longhorn },
      objects: [policy()],
      events: [{ at: '10s', apply: policy({ policy: 'always-allow' }, 'another') }],
      expect: [{ always: { budget: { node: 'node-1', blocks: true } } }],
      runFor: '2m',
    });
    assert.equal(guardingOf(lastOf(found)), 'True Guarding');
    assert.equal(guardingOf(lastOf(found, 'another')), 'False Conflict');
    assert.match(lastOf(found, 'another').conditions?.[0]?.message ?? '', /^default selects node-1, .* is older/);
  });

  test('[DRN-8] budgets and requests go with the last policy', async () => {
    await ran({
      cluster: { longhorn },
      objects: [policy({ policy: 'block-for-eviction' })],
      events: [
        { at: '10s', cordon: 'node-1' },
        { at: '20s', delete: gone() },
      ],
      expect: [
        { at: '15s', replica: { volume: 'v', node: 'node-1', evictionRequested: true } },
        { by: '30s', budget: { node: 'node-2', blocks: false } },
        { by: '30s', replica: { volume: 'v', node: 'node-1', evictionRequested: false } },
        { by: '30s', storageNode: { name: 'node-1', autoEvicting: false } },
      ],
      runFor: '2m',
    });
  });

  test('S20: what a policy left behind that was deleted while nobody looked is taken away', async () => {
    await ran({
      cluster: { longhorn },
      objects: [policy()],
      events: [
        { at: '10s', crashOperator: 1 },
        { at: '11s', delete: gone() },
      ],
      expect: [
        { at: '12s', budget: { node: 'node-1', blocks: true } },
        { by: '60s', budget: { node: 'node-1', blocks: false } },
      ],
      runFor: '2m',
    });
  });

  test('S18: two operators: one guards', async () => {
    await ran({
      cluster: { operators: 2, longhorn: { volumes: [{ name: 'v', replicas: ['node-1', 'node-2'] }] } },
      objects: [policy({ policy: 'block-for-eviction' })],
      events: [
        { at: '10s', drain: 'node-1' },
        { at: '20s', crashOperator: 1 },
      ],
      expect: [
        { by: '4m', drain: { node: 'node-1', done: true } },
        { always: { volume: { name: 'v', dataIntact: true } } },
      ],
      runFor: '6m',
    });
  });
});
