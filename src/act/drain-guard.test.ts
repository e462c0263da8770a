import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DrainAction } from '../api/drain-view.ts';
import { realClock } from '../clock.ts';
import type { JsonPatchOperation, KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import type { Resource } from '../kube/resources.ts';
import { customResourceDefinitions, namespaces, podDisruptionBudgets } from '../kube/resources.ts';
import type { BudgetObject } from '../storage/budgets.ts';
import { guardBudget } from '../storage/budgets.ts';
import { engines, replicas, storageNodes, volumes } from '../storage/longhorn-objects.ts';
import { longhorn } from '../storage/longhorn.ts';
import { ApiServer } from '../world/api-server/server.ts';
import { longhornDefinitions } from '../world/longhorn/objects.ts';
import type { GuardOutcome } from './drain-guard.ts';
import { performDrainAction } from './drain-guard.ts';

const namespace = 'longhorn-system';
const owners = [{ name: 'default', uid: 'policy' }];
const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
const healthy = {
  volume: { state: 'attached' },
  engine: { currentState: 'running', replicaModeMap: { 'v-b': 'RW' } as Record<string, string> },
  replica: { currentState: 'running' },
  node: ready,
};

/** The budget of a may go if that of b stands and the copy on b is healthy. */
class Scene {
  readonly client = new KubeClient({
    transport: new ApiServer({ clock: realClock, random: Math.random }).transport('operator'),
    clock: realClock,
    userAgent: 'test',
    fieldManager: 'test',
  });
  readonly objects = new Map<Resource, KubeObject[]>();
  isLeading = true;

  async start(status: Partial<typeof healthy> = {}, spec: object = {}): Promise<void> {
    const now = { ...healthy, ...status };
    for (const definition of longhornDefinitions()) await this.make(customResourceDefinitions, definition);
    await this.make(namespaces, { metadata: { name: namespace } });
    await this.make(volumes, { metadata: { name: 'v', namespace }, spec: {} }, now.volume);
    await this.make(engines, { metadata: { name: 'v-e', namespace }, spec: { volumeName: 'v' } }, now.engine);
    const place = { volumeName: 'v', nodeID: 'b', healthyAt: 'then', ...spec };
    await this.make(replicas, { metadata: { name: 'v-b', namespace }, spec: place }, now.replica);
    await this.make(storageNodes, { metadata: { name: 'b', namespace }, spec: {} }, now.node);
    for (const node of ['a', 'b']) {
      await this.make(podDisruptionBudgets, guardBudget(namespace, { name: node, node, selector: { node }, owners }));
    }
  }

  async make(resource: Resource, object: object, status?: object): Promise<KubeObject> {
    const made = await this.client.create(resource, object as KubeObject);
    assert.ok(made.ok, made.ok ? '' : made.error.message);
    let { value } = made;
    if (status !== undefined) {
      const ref = { resource, namespace, name: value.metadata.name };
      const told = await this.client.replace(ref, { ...value, status } as KubeObject, 'status');
      assert.ok(told.ok);
      value = told.value;
    }
    this.objects.set(resource, [...(this.objects.get(resource) ?? []), value]);
    return value;
  }

  known(resource: Resource, name: string): { name: string; uid: string; resourceVersion: string } {
    const found = this.objects.get(resource)?.find(({ metadata }) => metadata.name === name);
    assert.ok(found);
    const { uid = '', resourceVersion = '' } = found.metadata;
    return { name, uid, resourceVersion };
  }

  release(more: { running?: true } = {}): Promise<GuardOutcome> {
    const replica = this.known(replicas, 'v-b');
    const budget = { ...this.known(podDisruptionBudgets, 'b'), selector: { node: 'b' } };
    const counts = [{ volume: 'v', node: 'b', replica, budget, ...more }];
    return this.perform({ do: 'deleteBudget', node: 'a', budget: this.known(podDisruptionBudgets, 'a'), counts });
  }

  perform(action: DrainAction): Promise<GuardOutcome> {
    return performDrainAction(action, {
      client: this.client,
      storage: longhorn,
      namespace,
      objectsOf: (resource) => this.objects.get(resource) ?? [],
      guard: () => this.isLeading,
      timeoutMs: 1000,
    });
  }

  /** Somebody edits the budget of a node. */
  async edit(name: string, operations: JsonPatchOperation[]): Promise<BudgetObject> {
    const { uid } = this.known(podDisruptionBudgets, name);
    const patched = await this.client.patch({ resource: podDisruptionBudgets, namespace, name }, { uid }, operations);
    assert.ok(patched.ok);
    return patched.value;
  }

  async stands(): Promise<boolean> {
    return (await this.client.get<BudgetObject>({ resource: podDisruptionBudgets, namespace, name: 'a' })).ok;
  }
}

async function outcomeOf(
  status: Partial<typeof healthy>,
  spec: object = {},
  meanwhile: (scene: Scene) => Promise<unknown> = () => Promise.resolve(),
): Promise<[string, boolean]> {
  const scene = new Scene();
  await scene.start(status, spec);
  await meanwhile(scene);
  const { outcome } = await scene.release();
  return [outcome, await scene.stands()];
}

describe('[S31] a budget goes only if what it counts upon is so, at a live read', () => {
  const kept = ['refused', true];

  test('all is as it was', async () => assert.deepEqual(await outcomeOf({}), ['done', false]));

  test('the copy is being rebuilt, has failed, is asked to leave, or cannot be read', async () => {
    const engine = (mode: string): typeof healthy.engine => ({ ...healthy.engine, replicaModeMap: { 'v-b': mode } });
    assert.deepEqual(await outcomeOf({ engine: engine('WO') }), kept);
    assert.deepEqual(await outcomeOf({ engine: engine('ERR') }), kept);
    assert.deepEqual(await outcomeOf({}, { failedAt: 'now' }), kept);
    assert.deepEqual(await outcomeOf({}, { evictionRequested: true }), kept);
    assert.deepEqual(await outcomeOf({}, { nodeID: 'c' }), kept);
    assert.deepEqual(await outcomeOf({ volume: { state: 'attaching' } }), kept);
    assert.deepEqual(await outcomeOf({ node: { conditions: [{ type: 'Ready', status: 'Unknown' }] } }), kept);
  });

  test('it is gone, or another one has its name', async () => {
    const gone = (resource: Resource, name: string) => (scene: Scene) =>
      scene.client.delete({ resource, namespace, name }, { uid: scene.known(resource, name).uid });
    assert.deepEqual(await outcomeOf({}, {}, gone(replicas, 'v-b')), kept);
    assert.deepEqual(await outcomeOf({}, {}, gone(podDisruptionBudgets, 'b')), kept);
  });

  test('its budget was announced to go', async () => {
    const announced = (scene: Scene): Promise<unknown> => {
      const { name, uid } = scene.known(podDisruptionBudgets, 'b');
      const path = '/metadata/annotations/fenceline.dev~1withdrawing';
      const ref = { resource: podDisruptionBudgets, namespace, name };
      return scene.client.patch(ref, { uid }, [{ op: 'add', path, value: 'true' }]);
    };
    assert.deepEqual(await outcomeOf({}, {}, announced), kept);
  });

  test('its budget was edited: it lets pods go, may leave the pod out, or is over others too', async () => {
    const edits: JsonPatchOperation[] = [
      { op: 'replace', path: '/spec/minAvailable', value: 0 },
      { op: 'replace', path: '/spec/selector/matchLabels', value: { node: 'c' } },
      { op: 'replace', path: '/spec/selector/matchLabels', value: {} },
      {
        op: 'add',
        path: '/spec/selector/matchExpressions',
        value: [{ key: 'node', operator: 'NotIn', values: ['b'] }],
      },
    ];
    for (const edit of edits) {
      assert.deepEqual(await outcomeOf({}, {}, (scene) => scene.edit('b', [edit])), kept, JSON.stringify(edit));
    }
  });

  test('where running ones are counted it has to run', async () => {
    const scene = new Scene();
    await scene.start({ replica: { currentState: 'stopped' } }, { desireState: 'stopped' });
    assert.equal((await scene.release({ running: true })).outcome, 'refused');
    assert.equal((await scene.release()).outcome, 'done');
  });

  test('[S19] nothing leaves once the lead is lost', async () => {
    const scene = new Scene();
    await scene.start();
    scene.isLeading = false;
    assert.equal((await scene.release()).outcome, 'failed');
    assert.equal(await scene.stands(), true);
  });
});

describe('[DRN-2] a budget that somebody edited', () => {
  const path = { resource: podDisruptionBudgets, namespace, name: 'a' };
  const selector = { node: 'a' };

  test('is made again what it was, and what others wrote beside ours stays', async () => {
    const scene = new Scene();
    await scene.start();
    const { metadata } = await scene.edit('a', [
      { op: 'add', path: '/spec', value: { maxUnavailable: 1, selector: { matchLabels: {} } } },
      { op: 'add', path: '/metadata/annotations', value: { theirs: 'x' } },
    ]);
    const { name, uid = '', resourceVersion = '' } = metadata;
    const budget = { name, uid, resourceVersion };
    assert.equal((await scene.perform({ do: 'repairBudget', node: 'a', budget, selector, owners })).outcome, 'done');
    const read = await scene.client.get<BudgetObject>(path);
    assert.ok(read.ok);
    assert.deepEqual(read.value.spec, { minAvailable: 1, selector: { matchLabels: selector } });
    assert.deepEqual(read.value.metadata.annotations, { theirs: 'x', 'fenceline.dev/node': 'a' });
    assert.equal(read.value.metadata.uid, uid, 'it was there all the time');
  });

  test('[DRN-2] gets the owners that it is to have, and keeps all the rest', async () => {
    const scene = new Scene();
    await scene.start();
    const theirs = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' };
    const older = { apiVersion: 'fenceline.dev/v1', kind: 'DrainPolicy', name: 'default', uid: 'policy' };
    const { metadata, spec } = await scene.edit('a', [
      { op: 'add', path: '/metadata/ownerReferences', value: [theirs, older] },
    ]);
    const { name, uid = '', resourceVersion = '' } = metadata;
    const two = [...owners, { name: 'other', uid: 'other' }];
    const budget = { name, uid, resourceVersion };
    assert.equal((await scene.perform({ do: 'repairBudget', node: 'a', budget, owners: two })).outcome, 'done');
    const read = await scene.client.get<BudgetObject>(path);
    assert.ok(read.ok);
    const policy = { apiVersion: 'fenceline.dev/v1alpha1', kind: 'DrainPolicy' };
    assert.deepEqual(read.value.metadata.ownerReferences, [theirs, ...two.map((one) => ({ ...policy, ...one }))]);
    assert.deepEqual([read.value.spec, read.value.metadata.annotations], [spec, metadata.annotations]);
  });

  test('is left to the next look when it has changed since, and is not made where there is none', async () => {
    const scene = new Scene();
    await scene.start();
    const budget = scene.known(podDisruptionBudgets, 'a');
    await scene.edit('a', [{ op: 'remove', path: '/metadata/annotations' }]);
    const repair = { do: 'repairBudget', node: 'a', budget, selector, owners } as const;
    assert.equal((await scene.perform(repair)).outcome, 'refused');
    await scene.client.delete(path, { uid: budget.uid });
    assert.equal((await scene.perform(repair)).outcome, 'refused');
  });
});
