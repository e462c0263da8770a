/**
 * docs/install.md as its readers do it, on a real API server: its own commands, with helm and kubectl, in a namespace on which
 * Pod Security enforces the restricted profile. Pods are made by the stock controllers; there is no node to run them, so that the
 * operator runs here as a process, with the arguments of its Deployment and the token of its account.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ensureHelm } from '../../control-plane/build.ts';
import { KINDS } from '../../src/api/kinds.ts';
import { createCertificateAuthority } from '../support/certificates.ts';
import { startControlPlane, type ControlPlane } from '../support/control-plane.ts';
import { commandsOf } from '../support/documents.ts';
import { administratorOf, type } from '../support/install.ts';
import type { OperatorProcess } from '../support/operator-process.ts';
import { operatorAccount } from '../support/operator-rights.ts';
import { waitFor } from '../support/wait.ts';
import { helm, helmHome, manifestsIn } from './helm.ts';
import { accountOf, replicaOf, type Deployment } from './replica.ts';

const namespace = 'fenceline';
const byHelm = commandsOf('docs/install.md', 'By helm');
const byManifests = commandsOf('docs/install.md', 'By plain manifests');
const image = 'registry.example.com/fenceline:0.1.0-agents';

interface Listed {
  items: { kind: string; metadata: { name: string; uid: string; namespace?: string } }[];
}

const policy = `
apiVersion: fenceline.dev/v1alpha1
kind: RemedyPolicy
metadata: {name: workers}
spec: {allNodes: true}
---
apiVersion: fenceline.dev/v1alpha1
kind: NodeFence
metadata: {name: node-fence-worker-1}
spec: {node: worker-1}
`;

/** Where nobody answers. */
const device = `
apiVersion: v1
kind: Node
metadata: {name: worker-1}
---
apiVersion: v1
kind: Secret
metadata: {name: bmc, namespace: fenceline}
stringData: {password: change-me}
---
apiVersion: fenceline.dev/v1alpha1
kind: FenceDevice
metadata: {name: bmc, namespace: fenceline}
spec:
  node: worker-1
  agent: fence_redfish
  parameters: {ip: 127.0.0.1, ipport: "1", username: admin, systems_uri: /redfish/v1/Systems/1}
  secrets: [bmc]
`;

function command(among: readonly string[], word: string): string {
  const [found, ...others] = among.filter((line) => line.includes(word));
  assert.ok(found !== undefined && others.length === 0, `docs/install.md has no one command with ${word}`);
  return found;
}

/** As it was before a change of the CRDs. */
function olderChart(): string {
  const dir = mkdtempSync(join(tmpdir(), 'fenceline-older-'));
  after(() => rmSync(dir, { recursive: true }));
  cpSync('chart', dir, { recursive: true });
  const crds = join(dir, 'files/crds.yaml');
  const text = readFileSync(crds, 'utf8');
  assert.ok(text.includes('- rpol\n'));
  writeFileSync(crds, text.replace('- rpol\n', '- older\n'));
  return dir;
}

describe('docs/install.md', { timeout: 300_000 }, () => {
  let controlPlane: ControlPlane;
  let env: NodeJS.ProcessEnv;
  const home = helmHome();

  before(async () => {
    controlPlane = await startControlPlane({ name: 'install', audit: true, controllerManager: true });
    const administrator = await administratorOf(controlPlane);
    env = { ...home, ...administrator, PATH: `${dirname(await ensureHelm())}:${administrator['PATH']}` };
    await waitFor('kube-node-lease', async () => (await kubectl('get', 'ns', 'kube-node-lease')).code === 0);
    await applied(
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: fenceline, labels: {pod-security.kubernetes.io/enforce: restricted}}\n',
    );
  });
  after(() => controlPlane?.stop());

  const kubectl = (...args: string[]) => controlPlane.kubectl(args);

  async function applied(input: string): Promise<void> {
    const { code, stderr } = await controlPlane.kubectl(['apply', '-f', '-'], { input });
    assert.equal(code, 0, stderr);
  }

  async function read<T>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await kubectl('get', ...args, '-o', 'json');
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as T;
  }

  async function deployment(): Promise<Deployment> {
    return read<Deployment>('deployment', 'fenceline', '-n', namespace);
  }

  /** Both pods are there, made by the controllers, and Pod Security let them in. */
  async function podsAreAdmitted(): Promise<void> {
    await waitFor('two pods', async () => {
      const { status } = await deployment();
      const failure = status?.conditions?.find(({ type: of }) => of === 'ReplicaFailure');
      assert.equal(failure?.message, undefined);
      const { items } = await read<Listed>('pods', '-n', namespace, '-l', 'app.kubernetes.io/name=fenceline');
      return items.length === 2;
    });
  }

  const replica = (): Promise<OperatorProcess> => replicaOf(controlPlane);

  async function ofThisRelease(): Promise<string[]> {
    const kinds =
      'deployments,services,poddisruptionbudgets,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,' +
      'priorityclasses,flowschemas,validatingadmissionpolicies,validatingadmissionpolicybindings,namespaces,crds';
    const { items } = await read<Listed>(kinds, '--all-namespaces');
    return items
      .filter(({ metadata }) => /fenceline/.test(metadata.name))
      .map((one) => `${one.kind} ${one.metadata.name}`);
  }

  const left = [
    ...KINDS.map(({ plural }) => `CustomResourceDefinition ${plural}.fenceline.dev`),
    `Namespace ${namespace}`,
    'Namespace fenceline-remedies',
  ].toSorted();

  test('[USE-1] by helm: an upgrade brings the CRDs along and keeps every object, and the pods are restricted', async () => {
    const older = command(byHelm, 'helm install').replace('./chart', olderChart());
    assert.match(await type(older, env), /without a policy it does nothing about any node/);
    await type(command(byHelm, 'kubectl label'), env);
    await type('kubectl wait --for=condition=Established --timeout=60s crd --all', env);
    await applied(policy);
    const objects = ['remedypolicies,nodefences'];
    const uids = async (): Promise<string[]> =>
      (await read<Listed>(...objects)).items.map(({ metadata }) => metadata.uid);
    const beforeUpgrade = await uids();
    assert.equal(beforeUpgrade.length, 2);
    assert.notEqual((await kubectl('get', 'rpol')).code, 0);

    await type(command(byHelm, 'helm upgrade'), env);
    await waitFor('the new short name', async () => (await kubectl('get', 'rpol')).code === 0);
    assert.deepEqual(await uids(), beforeUpgrade);
    const [container] = (await deployment()).spec.template.spec.containers;
    assert.equal(container.image, image);
    assert.ok(container.args.includes('--feature-gates=ForceEviction=false,NonGracefulFailover=true'));
    await podsAreAdmitted();
  });

  test('[USE-1] the API server knows every field of what the chart renders, with everything switched on', async () => {
    const everything = {
      drains: { enabled: true, namespace },
      kdump: { enabled: true },
      placement: { controlPlane: 'Preferred' },
      networkPolicy: { enabled: true, scrapers: [{ namespaceSelector: {} }], devices: ['192.0.2.0/24'] },
      operator: { tracePasses: true, agentTrust: { configMap: 'bmcs' } },
      monitoring: { secure: { enabled: true, tlsSecret: 'metrics' }, dashboard: { enabled: true } },
    };
    const { code, stdout, stderr } = await helm(['template', 'fenceline', 'chart', '-n', namespace], env, everything);
    assert.equal(code, 0, stderr);
    const items = manifestsIn(stdout);
    const tried = async (objects: readonly object[]): Promise<{ code: number; stderr: string }> => {
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
      return controlPlane.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { input });
    };
    const known = await tried(items);
    assert.equal(known.code, 0, known.stderr);
    const wrong = items.map((one) =>
      one.kind === 'Deployment' ? { ...one, spec: { ...(one['spec'] as object), replica: 2 } } : one,
    );
    assert.match((await tried(wrong)).stderr, /unknown field "(spec\.)?replica"/);
  });

  test('[USE-1, SEC-4] by helm: of two replicas one leads and the other takes over, with no right missing, behind the guard', async () => {
    await using first = await replica();
    await first.said('leading', ({ msg }) => msg === 'leading');
    await using second = await replica();
    await waitFor('readyz', async () => (await second.get('/readyz')).status === 200);
    assert.ok(!second.lines.some(({ msg }) => msg === 'leading'));
    assert.equal(await first.stop(), 0);
    await second.said('leading', ({ msg }) => msg === 'leading');
    assert.equal(await second.stop(), 0);

    const asked = (await controlPlane.auditEvents()).filter(({ user }) => user.username === operatorAccount);
    assert.ok(asked.length > 10);
    const refusals = asked.filter(({ responseStatus }) => [401, 403].includes(responseStatus?.code ?? 0));
    assert.deepEqual(
      refusals.map(({ verb, requestURI }) => `${verb} ${requestURI}`),
      [],
    );
    const forged = ['patch', 'nodefence', 'node-fence-worker-1', '--subresource=status', '--type=merge'];
    const { stderr } = await kubectl(...forged, '-p', '{"status":{"epoch":7}}');
    assert.match(stderr, /people may write the approval alone/);
  });

  test('[USE-1, USE-2] by helm: what documents have people type in its pod is what its image runs, and its account may ask the devices', async () => {
    const [, entry = ''] = /^ENTRYPOINT \["(.*)"\]$/m.exec(readFileSync('Containerfile', 'utf8')) ?? [];
    const [program, ...words] = entry.split('", "');
    const inPod = `kubectl exec -n fenceline deployment/fenceline -- ${program} ${words.at(-1)} check -n fenceline`;
    for (const file of ['README.md', 'docs/install.md', 'docs/fencing.md'])
      assert.ok(readFileSync(file, 'utf8').includes(`\`${inPod}\``), file);
    const notes = readFileSync('chart/templates/NOTES.txt', 'utf8').replaceAll(
      '--namespace {{ .Release.Namespace }}',
      '-n fenceline',
    );
    assert.ok(notes.includes(inPod));

    await applied(device);
    const kubeconfig = await accountOf(controlPlane);
    const asked = `bin/fenceline check -n fenceline --kubeconfig ${kubeconfig} || test $? = 1`;
    const said = await type(asked, env);
    assert.match(said, /^worker-1 +\S+ +no +bmc: unknown/m);
    assert.doesNotMatch(said, /may not|forbidden/);
    for (const what of ['node worker-1', 'fencedevice bmc', 'secret bmc'])
      assert.equal((await kubectl('delete', ...what.split(' '), '-n', namespace)).code, 0);
  });

  test('by helm: host ports are refused before anything is changed, and it says what to do', async () => {
    const upgrade = 'helm upgrade fenceline ./chart -n fenceline --reset-then-reuse-values --set hostNetwork=true';
    await assert.rejects(type(upgrade, env), /kubectl label --overwrite namespace fenceline \S+enforce=privileged/);
  });

  test('[USE-2, SEC-5] by helm: metrics get a door of their own, with the certificate that somebody has put beside the chart', async () => {
    const [secret = '', upgrade = ''] = commandsOf('docs/install.md', 'Protected metrics');
    const dir = mkdtempSync(join(tmpdir(), 'fenceline-certificate-'));
    after(() => rmSync(dir, { recursive: true }));
    symlinkSync(resolve('chart'), join(dir, 'chart'));
    const { certPem, keyPem } = createCertificateAuthority().issue({ commonName: 'fenceline.fenceline.svc' });
    writeFileSync(join(dir, 'tls.crt'), certPem);
    writeFileSync(join(dir, 'tls.key'), keyPem);
    await type(secret, env, dir);
    await type(upgrade, env, dir);
    const { containers, volumes } = (await deployment()).spec.template.spec;
    assert.ok(containers[0].args.some((one) => one.startsWith('--metrics-bind-address=:')));
    assert.ok(volumes?.some((one) => one.secret?.secretName === 'fenceline-metrics'));
    assert.equal((await kubectl('get', 'clusterrole', 'fenceline-metrics-reader')).code, 0);
    await podsAreAdmitted();
  });

  test('[USE-1] by helm: after an uninstall only what people wrote is left, and an installation goes on with it', async () => {
    await type(command(byHelm, 'helm uninstall'), env);
    assert.deepEqual((await ofThisRelease()).toSorted(), left);
    const kept = await read<Listed>('remedypolicies,nodefences');
    assert.equal(kept.items.length, 2);
    await type(command(byHelm, 'helm install'), env);
    await podsAreAdmitted();
    const again = await read<Listed>('remedypolicies,nodefences');
    assert.deepEqual(
      again.items.map(({ metadata }) => metadata.uid),
      kept.items.map(({ metadata }) => metadata.uid),
    );
    await type(command(byHelm, 'helm uninstall'), env);
  });

  test('[USE-1] by plain manifests: the same runs, helm can take it over, and in the end it is gone', async () => {
    const [crds = '', roles = '', operator = '', takeOver = '', ...more] = byManifests;
    assert.deepEqual(more, []);
    for (const one of [crds, roles, operator]) await type(one, env);
    await podsAreAdmitted();
    const [container] = (await deployment()).spec.template.spec.containers;
    assert.equal(container.image, image);
    await using running = await replica();
    await running.said('leading', ({ msg }) => msg === 'leading');
    assert.equal(await running.stop(), 0);

    await type(takeOver, env);
    await type(command(byHelm, 'helm uninstall'), env);
    assert.deepEqual((await ofThisRelease()).toSorted(), left);
    await type(command(byHelm, 'kubectl delete crd'), env);
    assert.deepEqual((await ofThisRelease()).toSorted(), left.slice(-2));
  });
});
