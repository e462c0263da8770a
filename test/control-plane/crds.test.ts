/** The CRDs on a real API server: what it accepts, what it fills in, what it refuses and with which words. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { parse as parseYaml } from 'yaml';
import { API_VERSION, GROUP } from '../../src/api/common.ts';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import { EXAMPLES } from '../../src/api/examples.ts';
import { KINDS } from '../../src/api/kinds.ts';
import { parseObject } from '../../src/api/parse.ts';
import { realClock } from '../../src/clock.ts';
import { HttpTransport } from '../../src/kube/http-transport.ts';
import type { HttpRequest } from '../../src/kube/transport.ts';
import { connectionTo } from '../support/client.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { installCrds } from '../support/install.ts';
import { waitFor } from '../support/wait.ts';
import { badObject, BASES, goodTwin, rule, titleOf, type AnyObject } from './bad-objects-base.ts';
import { BAD_OBJECTS } from './bad-objects.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Answer {
  status: number;
  body: Record<string, unknown>;
}

interface Question {
  method: HttpRequest['method'];
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

let controlPlane: ControlPlane;
let transport: HttpTransport;

before(async () => {
  controlPlane = await startControlPlane({ name: 'crds' });
  transport = new HttpTransport(connectionTo(controlPlane), realClock);
  await installCrds(controlPlane);
  for (const crd of customResourceDefinitions()) {
    await waitFor(`${crd.metadata.name} to be served`, async () => {
      const { status } = await ask({ method: 'GET', path: `/apis/${API_VERSION}/${crd.spec.names.plural}` });
      return status === 200 && isTrue(await conditionsOf(crd.metadata.name), 'Established');
    });
  }
  const { status: _, ...troubled } = BASES.fenceStatus;
  const { status, body } = await ask({ method: 'POST', path: collection(troubled), body: troubled });
  assert.equal(status, 201, JSON.stringify(body['message']));
  assert.equal((await tryToWrite(BASES.fenceStatus, 'fieldValidation=Strict')).status, 200);
});

after(async () => {
  transport?.close();
  await controlPlane?.stop();
});

async function ask({ method, path, body, headers }: Question): Promise<Answer> {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await transport.send({
    method,
    path,
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    ...text,
    purpose: 'call',
    timeoutMs: 30_000,
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  return { status: answer.status, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown> };
}

interface Condition {
  type: string;
  status: string;
}

async function conditionsOf(crd: string): Promise<Condition[]> {
  const { body } = await ask({ method: 'GET', path: `${CRDS}/${crd}` });
  return (body['status'] as { conditions?: Condition[] }).conditions ?? [];
}

const isTrue = (conditions: Condition[], type: string): boolean =>
  conditions.some((it) => it.type === type && it.status === 'True');

function kindOf(object: { kind: string }) {
  const kind = KINDS.find((it) => it.kind === object.kind);
  assert.ok(kind, object.kind);
  return kind;
}

const collection = (object: { kind: string; metadata?: AnyObject['metadata'] }): string => {
  const { namespace } = object.metadata ?? {};
  return `/apis/${API_VERSION}/${namespace === undefined ? '' : `namespaces/${namespace}/`}${kindOf(object).plural}`;
};

const pathOf = (object: AnyObject): string => `${collection(object)}/${object.metadata.name}`;

/** Validated in full, and not kept: the next object may have the same name. */
function tryToWrite(object: AnyObject, query = 'dryRun=All'): Promise<Answer> {
  if (object.status === undefined) return ask({ method: 'POST', path: `${collection(object)}?${query}`, body: object });
  return ask({
    method: 'PATCH',
    path: `${pathOf(object)}/status?${query}`,
    body: { status: object.status },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
}

test('the API server finds nothing to object to in the schemas', async () => {
  for (const crd of customResourceDefinitions()) {
    assert.deepEqual(isTrue(await conditionsOf(crd.metadata.name), 'NonStructuralSchema'), false);
  }
});

test('[USE-3] what the API server has stored after `fenceline crds | kubectl apply` is what we meant', async () => {
  for (const crd of customResourceDefinitions()) {
    const { body } = await ask({ method: 'GET', path: `${CRDS}/${crd.metadata.name}` });
    const { versions } = body['spec'] as typeof crd.spec;
    assert.deepEqual(
      versions.map(({ name, schema, additionalPrinterColumns }) => ({ name, schema, additionalPrinterColumns })),
      crd.spec.versions.map(({ name, schema, additionalPrinterColumns }) => ({
        name,
        schema,
        additionalPrinterColumns,
      })),
    );
  }
});

for (const example of EXAMPLES) {
  test(`the API server fills in what the parser fills in: ${example.title}`, async () => {
    const object = parseYaml(example.yaml) as AnyObject;
    const { status, body } = await tryToWrite(object, 'dryRun=All&fieldValidation=Strict');
    assert.equal(status, 201, JSON.stringify(body['message']));
    const parsed = parseObject(kindOf(object).schema, object);
    assert.ok(parsed.ok);
    assert.deepEqual(body['spec'], (parsed.value as { spec: unknown }).spec);
  });
}

test('the API server fills in the status of a NodeFence as the parser does', async () => {
  const { body } = await ask({ method: 'GET', path: pathOf(BASES.fenceStatus) });
  const parsed = parseObject(kindOf(BASES.fence).schema, BASES.fenceStatus);
  assert.ok(parsed.ok);
  assert.deepEqual(body['status'], (parsed.value as { status: unknown }).status);
});

test('the epoch of a NodeFence never goes back', async () => {
  const stale = { ...BASES.fenceStatus, status: { epoch: 2 } };
  const { status, body } = await tryToWrite(stale);
  assert.equal(status, 422);
  assert.match(String(body['message']), /status\.epoch: .*the epoch never goes back: read the object again/);
  assert.equal((await tryToWrite({ ...stale, status: { epoch: 3 } })).status, 200);
  assert.equal((await tryToWrite({ ...stale, status: { epoch: 4 } })).status, 200);
});

test('writing the object does not touch its status, nor the status the object', async () => {
  const path = pathOf(BASES.fenceStatus);
  const headers = { 'content-type': 'application/merge-patch+json' };
  const patch = { spec: { stop: true }, status: { verdict: 'healthy', epoch: 9 } };
  const object = await ask({ method: 'PATCH', path: `${path}?dryRun=All`, body: patch, headers });
  assert.equal((object.body['spec'] as { stop: boolean }).stop, true);
  assert.equal((object.body['status'] as { verdict: string }).verdict, 'down');
  const status = await ask({ method: 'PATCH', path: `${path}/status?dryRun=All`, body: patch, headers });
  assert.equal((status.body['spec'] as { stop: boolean }).stop, false);
  assert.equal((status.body['status'] as { verdict: string }).verdict, 'healthy');
});

test('the table of mistakes is long enough, and no mistake is listed twice', () => {
  assert.ok(BAD_OBJECTS.length >= 60, `${BAD_OBJECTS.length}`);
  const objects = BAD_OBJECTS.map((bad) => JSON.stringify([bad.base, badObject(bad)]));
  assert.deepEqual(BAD_OBJECTS.filter((_, i) => objects.indexOf(objects[i] ?? '') !== i).map(titleOf), []);
});

for (const bad of BAD_OBJECTS) {
  test(`the API server refuses ${titleOf(bad)}`, async () => {
    const refusal = await tryToWrite(badObject(bad));
    const message = String(refusal.body['message']);
    assert.equal(refusal.status, 422, message);
    const blaming = causesOf(refusal).filter((it) => it.field.startsWith(bad.blames));
    assert.notDeepEqual(blaming, [], `nothing blames ${bad.blames}: ${message}`);
    assert.ok(
      blaming.some((it) => it.message.includes(bad.hint)),
      message,
    );
    const twin = await tryToWrite(goodTwin(bad));
    assert.ok([200, 201].includes(twin.status), `the good twin was refused: ${String(twin.body['message'])}`);
  });
}

function causesOf(refusal: Answer): { field: string; message: string }[] {
  const details = refusal.body['details'] as { causes?: { field?: string; message?: string }[] };
  return (details.causes ?? []).map((it) => ({ field: it.field ?? '', message: it.message ?? '' }));
}

test('the API server and the parser agree about texts that nobody thought of', async () => {
  const paths = [
    'spec.fence.isolateAfter',
    'spec.fence.bootTimeout',
    'spec.storm.maxUnresponsive',
    'spec.remedies[3].name',
    'spec.alarms[0].condition',
    'spec.release.provisioners[0]',
    'spec.selector.matchExpressions[0].key',
    'spec.selector.matchExpressions[0].values[0]',
  ];
  const letters = [
    '0',
    '1',
    '9',
    '40',
    'h',
    'm',
    's',
    '%',
    '-',
    '.',
    '/',
    '_',
    'a',
    'Z',
    ' ',
    '\\',
    "'",
    '\n',
    'é',
    '$',
  ];
  const text = fc.array(fc.constantFrom(...letters), { maxLength: 6 }).map((parts) => parts.join(''));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.oneof(text, fc.integer({ min: -3, max: 200 })),
      async (path, value) => {
        const object = badObject({ base: 'policy', ...rule(path, value, '') });
        const { status, body } = await tryToWrite(object);
        const parsed = parseObject(kindOf(object).schema, object);
        assert.equal(status, parsed.ok ? 201 : 422, String(body['message']));
      },
    ),
    { numRuns: 400 },
  );
});

test('durations as Go writes them are accepted, so that those of other operators can be pasted', async () => {
  for (const bootTimeout of ['1h30m0s', '0h0m30s', '1.5h', '90s', '500ms', '30s10m', '.5h', '1500µs', '+5m']) {
    const { status, body } = await tryToWrite({ ...BASES.policy, spec: { allNodes: true, fence: { bootTimeout } } });
    assert.equal(status, 201, `${bootTimeout}: ${String(body['message'])}`);
  }
});

test('[POD-1] the API server refuses every pod deletion policy but the four, and accepts those', async () => {
  const policy = (podDeletion: string): AnyObject => ({
    ...BASES.policy,
    spec: { allNodes: true, release: { podDeletion } },
  });
  const names = [
    'do-nothing',
    'delete-statefulset-pod',
    'delete-deployment-pod',
    'delete-both-statefulset-and-deployment-pod',
  ];
  for (const name of names) assert.equal((await tryToWrite(policy(name))).status, 201, name);
  for (const name of ['', 'DoNothing', 'delete-statefulset-pods', 'delete-daemonset-pod']) {
    assert.equal((await tryToWrite(policy(name))).status, 422, name);
  }
});

for (const [where, object] of [
  ['spec.selector.type', { ...BASES.drain, spec: { selector: { type: 'compute' } } }],
  ['spec.enforcment', { ...BASES.drain, spec: { allNodes: true, enforcment: 'Observe' } }],
  ['spec.storm.maxUnresponsiv', { ...BASES.policy, spec: { allNodes: true, storm: { maxUnresponsiv: 1 } } }],
  ['spec.pause', { ...BASES.fence, spec: { node: 'worker-7', pause: true } }],
] as const) {
  test(`under strict validation the API server refuses the unknown field ${where}`, async () => {
    const { status, body } = await tryToWrite(object, 'dryRun=All&fieldValidation=Strict');
    assert.equal(status, 400);
    assert.match(String(body['message']), new RegExp(`unknown field "${where}"`));
  });
}

test('what a pod template has beyond the fields named in the schema is kept, also under strict validation', async () => {
  const containers = [{ name: 'a', image: 'b', env: [{ name: 'X', value: 'y' }], resources: { limits: { cpu: '1' } } }];
  const podTemplate = {
    metadata: { labels: { a: 'b' } },
    spec: { hostNetwork: true, restartPolicy: 'Never', containers },
  };
  const policy = { ...BASES.policy, spec: { allNodes: true, remedies: [{ name: 'repair', podTemplate }] } };
  const { status, body } = await tryToWrite(policy, 'dryRun=All&fieldValidation=Strict');
  assert.equal(status, 201, JSON.stringify(body['message']));
  const { remedies } = body['spec'] as { remedies: { podTemplate: unknown }[] };
  assert.deepEqual(remedies[0]?.podTemplate, podTemplate);
});

interface Table {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: unknown[] }[];
}

test('kubectl get shows a node in trouble in one line', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const { body } = await ask({ method: 'GET', path: collection(BASES.fence), headers: { accept } });
  const { columnDefinitions, rows } = body as unknown as Table;
  const shown = columnDefinitions.flatMap(({ name, priority }, i) =>
    priority === 0 ? [[name, rows[0]?.cells[i]]] : [],
  );
  assert.deepEqual(Object.fromEntries(shown.slice(0, -1)), {
    Name: 'node-fence-worker-1',
    Node: 'worker-1',
    Verdict: 'down',
    Step: 'power-management',
    Status: 'running',
    Return: 'seen',
    Held: null,
    Stop: false,
  });
});

test('kubectl get knows every kind by its columns', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  for (const kind of KINDS) {
    const { body } = await ask({ method: 'GET', path: collection(kind), headers: { accept } });
    const names = (body as unknown as Table).columnDefinitions.map((it) => it.name);
    assert.deepEqual(names, ['Name', ...kind.columns.map((it) => it.name)]);
  }
});

test('the kinds are found by their short names and as a category, cluster-scoped and with a status of their own', async () => {
  const { body } = await ask({ method: 'GET', path: `/apis/${API_VERSION}` });
  const resources = body['resources'] as {
    name: string;
    shortNames?: string[];
    namespaced: boolean;
    categories?: string[];
  }[];
  const shortNames = { remedypolicies: ['rpol'], nodefences: ['nf'], drainpolicies: ['dpol'] };
  for (const [name, expected] of Object.entries(shortNames)) {
    const found = resources.find((it) => it.name === name);
    assert.deepEqual(found?.shortNames, expected);
    assert.deepEqual([found?.namespaced, found?.categories], [false, ['fenceline']]);
    assert.ok(
      resources.some((it) => it.name === `${name}/status`),
      `${GROUP} ${name} has no status of its own`,
    );
  }
});
