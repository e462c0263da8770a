/** The harness itself: a control plane that other tests can trust, hurt, and leave behind. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { createCertificateAuthority } from '../support/certificates.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { httpRequest, type HttpRequest } from '../support/control-plane/http.ts';
import { controlPlaneFor, useControlPlane } from '../support/use-control-plane.ts';
import { waitFor } from '../support/wait.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const supportDir = new URL('../support/', import.meta.url);

async function call(controlPlane: ControlPlane, path: string, request: Partial<HttpRequest> = {}) {
  const { url, caCert, token } = controlPlane;
  const credentials = request.client === undefined ? { token } : {};
  const { status, body } = await httpRequest({ caCert, ...credentials, ...request, url: url + path });
  return { status, body: body.startsWith('{') ? (JSON.parse(body.split('\n')[0]!) as Answer) : { text: body } };
}

interface Answer {
  readonly text?: string;
  readonly metadata?: { readonly name: string; readonly resourceVersion: string };
  readonly items?: readonly Answer[];
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly userInfo?: { readonly username: string } };
  readonly type?: string;
  readonly object?: { readonly code: number };
}

const createConfigMap = (controlPlane: ControlPlane, name: string) =>
  call(controlPlane, CONFIG_MAPS, { method: 'POST', body: { metadata: { name } } });

/** A process that ended but was not reaped, since its parent died first, still has an entry. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return stat !== undefined && !/\) [ZX] /.test(stat);
}

async function noneRuns(pids: readonly number[]): Promise<boolean> {
  return !(await Promise.all(pids.map(isRunning))).includes(true);
}

describe('a control plane', () => {
  const controlPlane = useControlPlane({
    name: 'harness',
    audit: true,
    users: [{ name: 'alice', groups: ['people'], token: 'alice-token' }],
  });

  test('is ready when it has started, and proves its identity', async () => {
    const ready = await call(controlPlane(), '/readyz');
    assert.deepEqual(ready, { status: 200, body: { text: 'ok' } });
    const stranger = httpRequest({ url: `${controlPlane().url}/readyz`, caCert: createCertificateAuthority().certPem });
    await assert.rejects(stranger, /certificate/);
  });

  test('knows its users by token and by certificate, and grants them nothing unasked', async () => {
    assert.equal((await call(controlPlane(), CONFIG_MAPS)).status, 200);
    assert.equal((await call(controlPlane(), CONFIG_MAPS, { token: 'alice-token' })).status, 403);
    assert.equal((await call(controlPlane(), CONFIG_MAPS, { token: 'nobody' })).status, 401);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const who = await call(controlPlane(), '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      method: 'POST',
      body: review,
      client: controlPlane().clientCertificate('alice'),
    });
    assert.equal(who.body.status?.userInfo?.username, 'alice');
  });

  test('runs kubectl, with input, as any user', async () => {
    const manifest = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'by-kubectl' } });
    const applied = await controlPlane().kubectl(['apply', '-f', '-'], { input: manifest });
    assert.deepEqual(applied, { code: 0, stdout: 'configmap/by-kubectl created\n', stderr: '' });
    const kubeconfig = await controlPlane().kubeconfigFor('alice', 'certificate');
    const refused = await controlPlane().kubectl(['get', 'configmaps'], { kubeconfig });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /User "alice" cannot list/);
  });

  for (const component of ['kube-apiserver', 'etcd'] as const) {
    test(`keeps its data when ${component} is killed and restarted`, async () => {
      const name = `before-the-end-of-${component}`;
      await createConfigMap(controlPlane(), name);
      const { [component]: before } = controlPlane().pids();
      await controlPlane().kill(component);
      assert.equal(controlPlane().pids()[component], undefined);
      if (component === 'kube-apiserver') await assert.rejects(call(controlPlane(), '/readyz'), /ECONNREFUSED/);
      await controlPlane().restart(component);
      assert.notEqual(controlPlane().pids()[component], before);
      await waitFor('the server to answer', async () => (await call(controlPlane(), '/readyz')).status === 200);
      assert.equal((await call(controlPlane(), `${CONFIG_MAPS}/${name}`)).status, 200);
    });
  }

  test('goes silent while paused and goes on when resumed', async () => {
    controlPlane().pause('kube-apiserver');
    await assert.rejects(call(controlPlane(), '/readyz', { timeoutMs: 300 }), /no answer/);
    controlPlane().resume('kube-apiserver');
    await waitFor('the server to answer', async () => (await call(controlPlane(), '/readyz')).status === 200);
  });

  test('writes down who asked for what', async () => {
    await call(controlPlane(), `${CONFIG_MAPS}/absent`, { token: 'alice-token' });
    const event = await waitFor('the audit event', async () =>
      (await controlPlane().auditEvents()).find(({ objectRef }) => objectRef?.name === 'absent'),
    );
    const { verb, user, objectRef, responseStatus } = event;
    assert.deepEqual(
      { verb, user: user.username, resource: objectRef?.resource, code: responseStatus?.code },
      { verb: 'get', user: 'alice', resource: 'configmaps', code: 403 },
    );
    assert.ok(Date.parse(event.stageTimestamp) >= Date.parse(event.requestReceivedTimestamp));
  });

  test('takes objects that were put into etcd', async () => {
    const nodes = Array.from({ length: 300 }, (_, number) => `seeded-${number}`);
    const toEntry = (name: string) => ({
      key: `/registry/minions/${name}`,
      value: { apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name, labels: { seeded: 'yes' } } },
    });
    await controlPlane().etcdPut(nodes.map(toEntry));
    const { body } = await call(controlPlane(), '/api/v1/nodes?labelSelector=seeded%3Dyes');
    assert.deepEqual(body.items?.map(({ metadata }) => metadata?.name).sort(), nodes.sort());
  });

  test('forgets old resource versions on demand', async () => {
    const old = (await createConfigMap(controlPlane(), 'old')).body.metadata?.resourceVersion;
    await createConfigMap(controlPlane(), 'newer');
    const listThen = `${CONFIG_MAPS}?resourceVersion=${old}&resourceVersionMatch=Exact`;
    const watchThen = `${CONFIG_MAPS}?resourceVersion=${old}&watch=true&timeoutSeconds=1`;
    assert.equal((await call(controlPlane(), listThen)).status, 200);
    assert.equal((await call(controlPlane(), watchThen)).body.type, 'ADDED');
    assert.ok((await controlPlane().compact()) > Number(old));
    await controlPlane().restart('kube-apiserver');
    assert.equal((await call(controlPlane(), listThen)).status, 410);
    const { type, object } = (await call(controlPlane(), watchThen)).body;
    assert.deepEqual([type, object?.code], ['ERROR', 410]);
  });
});

describe('control planes', () => {
  test('do not disturb each other', async (t) => {
    const [one, two] = await Promise.all([controlPlaneFor(t), controlPlaneFor(t)]);
    assert.equal((await createConfigMap(one, 'only-here')).status, 201);
    assert.equal((await call(two, `${CONFIG_MAPS}/only-here`)).status, 404);
    assert.equal((await call(two, CONFIG_MAPS, { token: one.token })).status, 401);
    await one.stop();
    assert.equal((await call(two, '/readyz')).status, 200);
  });

  test('forget at once without a watch cache', async (t) => {
    const controlPlane = await controlPlaneFor(t, { apiserver: { flags: ['--watch-cache=false'] } });
    const old = (await createConfigMap(controlPlane, 'old')).body.metadata?.resourceVersion;
    // Two, since the latest change is never forgotten: with one, a watch could still go on from the old version.
    await createConfigMap(controlPlane, 'newer');
    await createConfigMap(controlPlane, 'newest');
    await controlPlane.compact();
    const watchThen = `${CONFIG_MAPS}?resourceVersion=${old}&watch=true&timeoutSeconds=1`;
    const { type, object } = (await call(controlPlane, watchThen)).body;
    assert.deepEqual([type, object?.code], ['ERROR', 410]);
  });

  test('schedule and control when asked to', async (t) => {
    const controlPlane = await controlPlaneFor(t, { controllerManager: true, scheduler: true });
    const started = controlPlane.pids();
    assert.ok(started['kube-controller-manager'] && started['kube-scheduler']);
    const status = {
      allocatable: { cpu: '4', memory: '8Gi', pods: '110' },
      conditions: [{ type: 'Ready', status: 'True' }],
    };
    const node = { metadata: { name: 'node-1' }, status };
    assert.equal((await call(controlPlane, '/api/v1/nodes', { method: 'POST', body: node })).status, 201);
    assert.equal((await controlPlane.kubectl(['create', 'deployment', 'web', '--image=web'])).code, 0);
    const podOnNode = async () => {
      const { body } = await call(controlPlane, '/api/v1/namespaces/default/pods');
      return body.items?.find(({ spec }) => spec?.nodeName === 'node-1');
    };
    const pod = await waitFor('a pod on the node', podOnNode, { timeoutMs: 60_000 });
    assert.match(pod.metadata!.name, /^web-/);
  });
});

describe('what a control plane leaves behind', () => {
  test('is nothing when it was stopped', async () => {
    const controlPlane = await startControlPlane({ name: 'stopped' });
    const pids = Object.values(controlPlane.pids());
    assert.equal(pids.length, 2);
    await controlPlane.stop();
    assert.ok(await noneRuns(pids));
    assert.deepEqual([existsSync(controlPlane.dir), existsSync(controlPlane.logs)], [false, false]);
  });

  test('is only its logs when the process that started it was killed', async () => {
    const module = (name: string): string => JSON.stringify(new URL(name, supportDir).href);
    const program = `
      const { startControlPlane } = await import(${module('control-plane.ts')});
      const { endWithUs } = await import(${module('control-plane/process.ts')});
      const { spawn } = await import('node:child_process');
      const it = await startControlPlane({ name: 'orphaned' });
      const beside = spawn('sleep', ['600'], { stdio: 'ignore' });
      endWithUs(beside);
      console.log(JSON.stringify({ dir: it.dir, logs: it.logs, pids: [...Object.values(it.pids()), beside.pid] }));
      setInterval(() => {}, 1000);
    `;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface(parent.stdout), 'line')) as [string];
    const { dir, logs, pids } = JSON.parse(line) as { dir: string; logs: string; pids: number[] };
    try {
      assert.equal(pids.length, 3);
      assert.ok((await Promise.all(pids.map(isRunning))).every(Boolean));
      const exited = once(parent, 'exit');
      parent.kill('SIGKILL');
      await exited;
      await waitFor('the orphans to end', () => noneRuns(pids), { timeoutMs: 10_000 });
      await waitFor('the data to be removed', () => !existsSync(dir), { timeoutMs: 10_000 });
      assert.ok((await readdir(logs)).includes('kube-apiserver.log'));
    } finally {
      parent.kill('SIGKILL');
      await rm(logs, { recursive: true, force: true });
    }
  });

  test('is its logs when a test failed', async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'fenceline-harness-'));
    t.after(() => rm(dir, { recursive: true }));
    const helpers = new URL('use-control-plane.ts', supportDir).href;
    const file = join(dir, 'nested.test.mjs');
    await writeFile(
      file,
      `import { describe, test } from 'node:test';
       import { useControlPlane } from ${JSON.stringify(helpers)};
       for (const outcome of ['passes', 'fails']) describe(outcome, () => {
         const controlPlane = useControlPlane();
         test('test', () => {
           console.log('logs of one that ' + outcome + ': ' + controlPlane().logs);
           if (outcome === 'fails') throw new Error('on purpose');
         });
       });`,
    );
    // Otherwise the inner test runner takes itself for a part of the outer one.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const nested = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const output = await text(nested.stdout);
    const [passed, failed] = ['passes', 'fails'].map((outcome) => output.match(`one that ${outcome}: (.*)`)?.[1] ?? '');
    t.after(() => rm(failed!, { recursive: true, force: true }));
    assert.equal(existsSync(passed!), false);
    assert.ok((await readdir(failed!)).includes('kube-apiserver.log'));
    assert.ok(output.includes(`the logs of the control plane are in ${failed}`));
  });

  test('is the reason, when it did not even start', async () => {
    const doomed = startControlPlane({ name: 'doomed', apiserver: { flags: ['--no-such-flag'] } });
    const error = await doomed.then(() => assert.fail('it started'), String);
    assert.match(error, /unknown flag: --no-such-flag/);
    const [, logs] = error.match(/logs in (\S+):/) ?? [];
    await rm(logs!, { recursive: true });
  });
});
