/** Events as people see them: through kubectl, on a real API server. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { realClock } from '../../src/clock.ts';
import type { KubeClient, KubeObject } from '../../src/kube/client.ts';
import type { EventObject } from '../../src/kube/event-object.ts';
import type { EventInput, EventProblem, ObjectReference } from '../../src/kube/events.ts';
import { EventRecorder } from '../../src/kube/events.ts';
import type { Resource } from '../../src/kube/resources.ts';
import { events, namespaces, nodes, pods } from '../../src/kube/resources.ts';
import { clientFor } from '../support/client.ts';
import { useControlPlane } from '../support/use-control-plane.ts';

const controlPlane = useControlPlane();
let client: KubeClient;
let recorder: EventRecorder;
let problems: EventProblem[];

beforeEach(() => {
  client = clientFor(controlPlane());
  problems = [];
  recorder = new EventRecorder({
    client,
    clock: realClock,
    random: Math.random,
    reportingController: 'fenceline.dev/operator',
    reportingInstance: 'host_0b0c3c8e-5f0e-4f0a-9d3f-000000000000',
    onProblem: (problem) => problems.push(problem),
    limits: { seriesEveryMs: 100 },
  });
});
afterEach(() => client.close());

async function create(resource: Resource, object: KubeObject): Promise<ObjectReference> {
  const created = await client.create(resource, object);
  assert.ok(created.ok, created.ok ? '' : created.error.message);
  const { name, namespace, uid = '' } = created.value.metadata;
  return { apiVersion: 'v1', kind: resource.kind, name, uid, ...(namespace && { namespace }) };
}

function warning(regarding: ObjectReference, note: string): EventInput {
  return { regarding, type: 'Warning', reason: 'NotAnswering', action: 'Watching', note };
}

async function eventsOf(name: string, namespace = 'default'): Promise<EventObject[]> {
  const listed = await client.list<EventObject>(events, { namespace });
  assert.ok(listed.ok);
  return listed.value.items.filter(({ regarding }) => regarding.name === name);
}

async function written(): Promise<void> {
  assert.equal(await recorder.flush(10_000), true);
  assert.deepEqual(problems, []);
}

test('kubectl describe node shows an event about the node, and how often it happened', async () => {
  const regarding = await create(nodes, { metadata: { name: 'node-1' } });
  recorder.record(warning(regarding, 'no lease renewal for 12 s'));
  await written();
  const once = await controlPlane().kubectl(['describe', 'node', 'node-1']);
  assert.match(once.stdout, /Warning +NotAnswering +\S+ +fenceline\.dev\/operator +no lease renewal for 12 s/);
  for (let time = 0; time < 4; time += 1) recorder.record(warning(regarding, 'no lease renewal for 12 s'));
  await written();
  const often = await controlPlane().kubectl(['describe', 'node', 'node-1']);
  assert.match(often.stdout, /NotAnswering +\S+ \(x5 over \S+\)/);
  const [event, ...others] = await eventsOf('node-1');
  assert.deepEqual(others, []);
  assert.match(event?.metadata.name ?? '', /^node-1\./);
});

test('an event about a pod is in its namespace, and kubectl events finds it', async () => {
  await create(namespaces, { metadata: { name: 'shop' } });
  const spec = { containers: [{ name: 'main', image: 'none' }] };
  const pod: KubeObject & { spec: object } = { metadata: { name: 'web-0', namespace: 'shop' }, spec };
  const regarding = await create(pods, pod);
  const related = await create(nodes, { metadata: { name: 'node-2' } });
  recorder.record({ ...warning(regarding, 'released'), related });
  await written();
  const { stdout } = await controlPlane().kubectl(['events', '-n', 'shop', '--for', 'pod/web-0']);
  assert.match(stdout, /NotAnswering +Pod\/web-0 +released/);
  const [event] = await eventsOf('web-0', 'shop');
  assert.equal(event?.related?.name, 'node-2');
});

test('an event that is gone comes back with its count', async () => {
  const regarding = await create(nodes, { metadata: { name: 'node-3' } });
  recorder.record(warning(regarding, 'again and again'));
  await written();
  const deleted = await controlPlane().kubectl(['delete', 'events', '--all', '-n', 'default']);
  assert.equal(deleted.code, 0, deleted.stderr);
  assert.deepEqual(await eventsOf('node-3'), []);
  recorder.record(warning(regarding, 'again and again'));
  await written();
  const found = await eventsOf('node-3');
  assert.deepEqual(
    found.map(({ series }) => series?.count),
    [2],
  );
});

test('the server takes a note that was cut, and a name that had to be replaced', async () => {
  const regarding = await create(nodes, { metadata: { name: 'node-4' } });
  recorder.record(warning(regarding, '€'.repeat(2000)));
  recorder.record(warning({ ...regarding, name: 'system:node:4' }, 'odd name'));
  await written();
  const [event] = await eventsOf('node-4');
  assert.match(event?.note ?? '', /^€+…$/);
  assert.ok(Buffer.byteLength(event?.note ?? '') > 1000);
  assert.equal((await eventsOf('system:node:4')).length, 1);
});

test('S26: what the server refuses for good is reported', async () => {
  const regarding = await create(nodes, { metadata: { name: 'node-5' } });
  recorder.record({ ...warning(regarding, 'no action'), action: '' });
  recorder.record(warning({ ...regarding, namespace: 'no-such-namespace' }, 'nowhere'));
  await recorder.close(10_000);
  assert.deepEqual(
    problems.map((problem) => problem.kind === 'failed' && problem.error.kind),
    ['invalid', 'notFound'],
  );
});

test('an API server that comes back within the attempts gets the event', async () => {
  const regarding = await create(nodes, { metadata: { name: 'node-6' } });
  await controlPlane().kill('kube-apiserver');
  recorder.record(warning(regarding, 'nobody listened'));
  await controlPlane().restart('kube-apiserver');
  assert.equal(await recorder.flush(30_000), true);
  assert.deepEqual(problems, []);
  assert.equal((await eventsOf('node-6')).length, 1);
});
