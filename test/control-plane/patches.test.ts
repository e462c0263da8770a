/** What the API server makes of our patches, preconditions and evictions: none of it is ours to define. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import type { KubeError, Result } from '../../src/kube/errors.ts';
import type { NodeLike, Taint } from '../../src/kube/patches.ts';
import {
  addFinalizer,
  addTaint,
  cordon,
  removeAnnotation,
  removeFinalizer,
  removeLabel,
  removeTaint,
  setAnnotation,
  setLabel,
  uncordon,
} from '../../src/kube/patches.ts';
import type { ObjectRef, Resource } from '../../src/kube/resources.ts';
import { configMaps, nodes, pods } from '../../src/kube/resources.ts';
import { clientFor } from '../support/client.ts';
import { useControlPlane } from '../support/use-control-plane.ts';

const controlPlane = useControlPlane();
let client: KubeClient;
beforeEach(() => {
  client = clientFor(controlPlane());
});
afterEach(() => client.close());

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

const ours: Taint = { key: 'fenceline.dev/quarantine', value: 'epoch-1', effect: 'NoSchedule' };
const theirs: Taint = { key: 'example.com/maintenance', effect: 'NoExecute' };

function value<T>(result: Result<T>): T {
  assert.ok(result.ok, result.ok ? '' : result.error.message);
  return result.value;
}

function error(result: Result<unknown>): KubeError {
  assert.ok(!result.ok, 'it should have failed');
  return result.error;
}

function only(object: KubeObject): { uid: string } {
  assert.ok(object.metadata.uid);
  return { uid: object.metadata.uid };
}

async function newNode(name: string, spec: NodeLike['spec'] = {}): Promise<{ ref: ObjectRef; node: NodeLike }> {
  const created = value(await client.create<NodeLike>(nodes, { metadata: { name }, spec }));
  // A new node is tainted by the server itself until it is ready.
  const ref = { resource: nodes, name };
  const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  return { ref, node: value(await client.patch<NodeLike>(ref, only(created), removeTaint(created, notReady))) };
}

describe('S8: patches of a node', () => {
  test('the first taint, a second one of somebody else, and ours goes again', async () => {
    const { ref, node } = await newNode('taints');
    assert.equal(node.spec?.taints, undefined);
    const tainted = value(await client.patch<NodeLike>(ref, only(node), addTaint(node, ours)));
    assert.deepEqual(tainted.spec?.taints, [ours]);
    const both = value(await client.patch<NodeLike>(ref, only(node), addTaint(tainted, theirs)));
    // Made from what was read before the other taint came: it only looks at its own place.
    const left = value(await client.patch<NodeLike>(ref, only(node), removeTaint(tainted, ours)));
    assert.equal(both.spec?.taints?.length, 2);
    assert.deepEqual(
      left.spec?.taints?.map(({ key }) => key),
      [theirs.key],
    );
  });

  test('a node that changed meanwhile is a conflict, whatever way it changed', async () => {
    const { ref, node } = await newNode('races');
    const tainted = value(await client.patch<NodeLike>(ref, only(node), addTaint(node, theirs)));
    const stale = [
      { why: 'the list is no longer absent', operations: addTaint(node, ours) },
      { why: 'the list is another one', operations: addTaint({ ...node, spec: { taints: [] } }, ours) },
      { why: 'another taint is in its place', operations: removeTaint({ ...node, spec: { taints: [ours] } }, ours) },
      {
        why: 'the list is shorter',
        operations: removeTaint({ ...node, spec: { taints: [theirs, theirs, ours] } }, ours),
      },
      { why: 'it is not cordoned', operations: uncordon({ ...node, spec: { unschedulable: true } }) },
      { why: 'there are no finalizers', operations: removeFinalizer(withMeta(node, { finalizers: ['a/b'] }), 'a/b') },
      { why: 'there is no annotation', operations: removeAnnotation(withMeta(node, { annotations: { a: 'b' } }), 'a') },
    ];
    for (const { why, operations } of stale) {
      const refused = error(await client.patch(ref, only(node), operations));
      assert.equal(refused.kind, 'conflict', `${why}: ${refused.message}`);
      assert.equal(refused.mayHaveHappened, false);
    }
    const now = value(await client.get<NodeLike>(ref));
    assert.deepEqual(now.spec, tainted.spec);
    assert.equal(now.metadata.resourceVersion, tainted.metadata.resourceVersion, 'nothing was written');
  });

  test('a patch that no state of the node could make right is invalid, and no conflict', async () => {
    const { ref, node } = await newNode('mistakes');
    const refused = error(await client.patch(ref, only(node), addTaint(node, { key: 'a', effect: 'NoSuchEffect' })));
    assert.equal(refused.kind, 'invalid', refused.message);
  });

  test('cordon and uncordon', async () => {
    const { ref, node } = await newNode('cordons');
    const cordoned = value(await client.patch<NodeLike>(ref, only(node), cordon(node)));
    assert.equal(cordoned.spec?.unschedulable, true);
    assert.equal(error(await client.patch(ref, only(node), cordon(node))).kind, 'conflict');
    const free = value(await client.patch<NodeLike>(ref, only(node), uncordon(cordoned)));
    assert.equal(free.spec?.unschedulable, undefined);
  });

  test('annotations and labels, with every character that is special on the way', async () => {
    const { ref, node } = await newNode('annotations');
    const key = 'fenceline.dev/a_b.c';
    const special = `<a href="b">&amp; ~0 ~1 / \\ \u2028\u2029 é 🖧 \b\f\t\n`;
    const first = value(await client.patch<NodeLike>(ref, only(node), setAnnotation(node, key, special)));
    assert.equal(first.metadata.annotations?.[key], special);
    // The test of the old value has to recognise it.
    const second = value(await client.patch<NodeLike>(ref, only(node), setAnnotation(first, key, `${special}!`)));
    assert.equal(second.metadata.annotations?.[key], `${special}!`);
    const labelled = value(await client.patch<NodeLike>(ref, only(node), setLabel(second, key, 'yes')));
    assert.equal(labelled.metadata.labels?.[key], 'yes');
    const without = value(
      await client.patch<NodeLike>(ref, only(node), [
        ...removeAnnotation(labelled, key),
        ...removeLabel(labelled, key),
      ]),
    );
    assert.equal(without.metadata.annotations?.[key], undefined);
    assert.equal(without.metadata.labels?.[key], undefined);
  });

  test('finalizers', async () => {
    const { ref, node } = await newNode('finalizers');
    const one = value(await client.patch<NodeLike>(ref, only(node), addFinalizer(node, 'example.com/theirs')));
    const two = value(await client.patch<NodeLike>(ref, only(node), addFinalizer(one, 'fenceline.dev/fence')));
    assert.deepEqual(two.metadata.finalizers, ['example.com/theirs', 'fenceline.dev/fence']);
    const left = value(await client.patch<NodeLike>(ref, only(node), removeFinalizer(two, 'fenceline.dev/fence')));
    assert.deepEqual(left.metadata.finalizers, ['example.com/theirs']);
    value(await client.patch<NodeLike>(ref, only(node), removeFinalizer(left, 'example.com/theirs')));
  });
});

describe('S14: preconditions', () => {
  const ref = (name: string): ObjectRef => ({ resource: configMaps, namespace: 'default', name });
  const create = async (name: string, data: Record<string, string> = {}): Promise<ConfigMap> =>
    value(await client.create<ConfigMap>(configMaps, { metadata: { name, namespace: 'default' }, data }));

  test('a newcomer of the same name is neither deleted nor patched', async () => {
    const old = await create('newcomer', { a: 'old' });
    value(await client.delete(ref('newcomer'), only(old)));
    const newcomer = await create('newcomer', { a: 'new' });
    assert.equal(error(await client.delete(ref('newcomer'), only(old))).kind, 'conflict');
    const operations = setAnnotation(old, 'a', 'b');
    assert.equal(error(await client.patch(ref('newcomer'), only(old), operations)).kind, 'conflict');
    const now = value(await client.get<ConfigMap>(ref('newcomer')));
    assert.deepEqual(now, newcomer);
  });

  test('so is an object that changed, where the version was named', async () => {
    const before = await create('versioned');
    value(await client.patch(ref('versioned'), only(before), setAnnotation(before, 'a', 'b')));
    const { resourceVersion = '' } = before.metadata;
    const exact = { ...only(before), resourceVersion };
    assert.equal(error(await client.patch(ref('versioned'), exact, setLabel(before, 'a', 'b'))).kind, 'conflict');
    assert.equal(error(await client.delete(ref('versioned'), exact)).kind, 'conflict');
    assert.equal(error(await client.replace(ref('versioned'), before)).kind, 'conflict');
    value(await client.get(ref('versioned')));
  });

  test('a field that somebody else applied is not taken from him', async () => {
    const apply = ['apply', '--server-side', '--field-manager=somebody', '-f', '-'];
    const metadata = { name: 'applied', namespace: 'default' };
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'theirs' } });
    const { code, stderr } = await controlPlane().kubectl(apply, { input });
    assert.equal(code, 0, stderr);
    const refused = error(await client.apply<ConfigMap>(ref('applied'), { metadata, data: { a: 'ours' } }));
    assert.equal(refused.kind, 'conflict');
    assert.deepEqual(refused.causes, ['FieldManagerConflict']);
    value(await client.apply<ConfigMap>(ref('applied'), { metadata, data: { b: 'ours' } }));
    assert.deepEqual(value(await client.get<ConfigMap>(ref('applied'))).data, { a: 'theirs', b: 'ours' });
  });
});

describe('S24: evictions', () => {
  interface Budget extends KubeObject {
    spec: object;
    status?: object;
  }
  const budgets: Resource = {
    group: 'policy',
    version: 'v1',
    plural: 'poddisruptionbudgets',
    kind: 'PodDisruptionBudget',
    namespaced: true,
  };

  /** A pod that counts: what is pending may be evicted whatever a budget says. */
  async function readyPod(name: string): Promise<{ ref: ObjectRef; pod: KubeObject }> {
    const ref = { resource: pods, namespace: 'default', name };
    const spec = { nodeName: 'somewhere', containers: [{ name: 'main', image: 'none' }] };
    const metadata = { name, namespace: 'default', labels: { app: name } };
    const pod = value(await client.create<KubeObject & { spec: object }>(pods, { metadata, spec }));
    const conditions = [{ type: 'Ready', status: 'True' }];
    const status = { phase: 'Running', conditions };
    const patch = [{ op: 'add', path: '/status', value: status } as const];
    value(await client.patch(ref, only(pod), patch, { subresource: 'status' }));
    return { ref, pod };
  }

  /** With the status that the disruption controller would give it. */
  async function budget(app: string, disruptionsAllowed: number): Promise<void> {
    const metadata = { name: app, namespace: 'default' };
    const spec = { minAvailable: 1, selector: { matchLabels: { app } } };
    const created = value(await client.create<Budget>(budgets, { metadata, spec }));
    const status = {
      observedGeneration: created.metadata.generation,
      disruptionsAllowed,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    };
    const ref = { resource: budgets, ...metadata };
    const patch = [{ op: 'add', path: '/status', value: status } as const];
    value(await client.patch(ref, only(created), patch, { subresource: 'status' }));
  }

  test('a pod without a budget goes', async () => {
    const { ref, pod } = await readyPod('unprotected');
    value(await client.evict(ref, only(pod)));
    const left = await client.get(ref);
    assert.ok(!left.ok || left.value.metadata.deletionTimestamp !== undefined);
  });

  test('a budget that forbids it is told from a busy server, at once', async () => {
    const { ref, pod } = await readyPod('protected');
    await budget('protected', 0);
    const startedAt = performance.now();
    const refused = error(await client.evict(ref, only(pod)));
    assert.equal(refused.kind, 'tooManyRequests');
    assert.deepEqual(refused.causes, ['DisruptionBudget']);
    assert.equal(refused.mayHaveHappened, false);
    assert.ok(performance.now() - startedAt < 5000, 'it was not repeated in silence');
    assert.equal(value(await client.get(ref)).metadata.deletionTimestamp, undefined);
  });

  test('a budget that allows one lets one go', async () => {
    const { ref, pod } = await readyPod('allowed');
    await budget('allowed', 1);
    value(await client.evict(ref, only(pod)));
  });

  test('a newcomer under the name of the pod stays', async () => {
    const { ref } = await readyPod('renamed');
    assert.equal(error(await client.evict(ref, { uid: 'of-somebody-else' })).kind, 'conflict');
    assert.equal(value(await client.get(ref)).metadata.deletionTimestamp, undefined);
  });
});

function withMeta(node: NodeLike, meta: Partial<NodeLike['metadata']>): NodeLike {
  return { ...node, metadata: { ...node.metadata, ...meta } };
}
