/** The stock kubectl on the embedded server, over HTTP: what people type works, and shows what they know. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { customResourceDefinitions } from '../../src/api/crds.ts';
import { runKubectl, type KubectlResult } from '../support/control-plane/kubectl.ts';
import { EmbeddedKubectl } from '../support/embedded-kubectl.ts';
import { waitFor } from '../support/wait.ts';

let embedded: EmbeddedKubectl;

before(async () => {
  embedded = await EmbeddedKubectl.start();
});
after(() => embedded?.stop());

const kubectl = (args: string[], input?: string): Promise<KubectlResult> => embedded.run(args, input);
const ok = (args: string[], input?: string): Promise<string> => embedded.ok(args, input);

const node = (name: string): string => `
apiVersion: v1
kind: Node
metadata: {name: ${name}, labels: {node-role.kubernetes.io/worker: ""}}
status:
  conditions: [{type: Ready, status: "True", reason: KubeletReady, message: ok}]
  addresses: [{type: InternalIP, address: 10.0.0.1}]
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
`;
const pod = (name: string, nodeName: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: web}}
spec: {nodeName: ${nodeName}, terminationGracePeriodSeconds: 0, containers: [{name: c, image: "example/c:1"}]}
`;
const deployment = (replicas: number): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "example/c:1"}]}}
`;

/** Rows of a table, cells cut at two or more spaces. */
function rows(text: string): string[][] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));
}

test('kubectl version, api-resources and get --raw find their way', async () => {
  assert.match(await ok(['version']), /Server Version: v1\.36/);
  assert.match(await ok(['api-resources']), /statefulsets +sts +apps\/v1 +true +StatefulSet/);
  assert.equal(await ok(['get', '--raw', '/readyz']), 'ok');
});

test('kubectl apply makes, changes, and leaves alone', async () => {
  assert.equal(await ok(['apply', '-f', '-'], deployment(2)), 'deployment.apps/web created\n');
  assert.equal(await ok(['apply', '-f', '-'], deployment(2)), 'deployment.apps/web unchanged\n');
  assert.equal(await ok(['apply', '-f', '-'], deployment(3)), 'deployment.apps/web configured\n');
  assert.equal(await ok(['get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas}']), '3');
});

test('kubectl apply --server-side owns fields, and is told of conflicts', async () => {
  await ok(['apply', '--server-side', '--field-manager', 'one', '-f', '-'], cm('1'));
  const { code, stderr } = await kubectl(['apply', '--server-side', '--field-manager', 'two', '-f', '-'], cm('2'));
  assert.equal(code, 1);
  assert.match(stderr, /Apply failed with 1 conflict: conflict with "one": \.data\.x/);
  await ok(['apply', '--server-side', '--field-manager', 'two', '--force-conflicts', '-f', '-'], cm('2'));
});

function cm(x: string, name = 'ssa'): string {
  return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"x":"${x}"}}`;
}

test('kubectl get shows the columns that people know', async () => {
  await ok(['apply', '-f', '-'], node('shown'));
  const [head, row] = rows(await ok(['get', 'node', 'shown']));
  assert.deepEqual(head, ['NAME', 'STATUS', 'ROLES', 'AGE', 'VERSION']);
  assert.deepEqual(row?.slice(0, 3), ['shown', 'Ready', 'worker']);
  const wide = rows(await ok(['get', 'nodes', '-o', 'wide']));
  assert.ok(wide[0]?.includes('INTERNAL-IP'));
  const [deploymentHead] = rows(await ok(['get', 'deploy']));
  assert.deepEqual(deploymentHead, ['NAME', 'READY', 'UP-TO-DATE', 'AVAILABLE', 'AGE']);
  assert.match(await ok(['get', 'node', 'shown', '-o', 'yaml']), /^apiVersion: v1\nkind: Node\n/m);
});

test('kubectl describe tells of a node and of a pod', async () => {
  await ok(['apply', '-f', '-'], `${node('told')}---${pod('told', 'told')}`);
  const text = await ok(['describe', 'node', 'told']);
  assert.match(text, /Roles: +worker/);
  assert.match(text, /Taints: +node\.kubernetes\.io\/not-ready:NoSchedule/);
  assert.match(text, /Non-terminated Pods: +\(1 in total\)/);
  assert.match(await ok(['describe', 'pod', 'told']), /Node: +told\//);
  await ok(['delete', 'pod', 'told']);
});

test('kubectl cordon, drain and uncordon', async () => {
  await ok(['apply', '-f', '-'], `${node('drained')}---${pod('moved', 'drained')}`);
  await ok(['cordon', 'drained']);
  assert.match(await ok(['get', 'node', 'drained']), /Ready,SchedulingDisabled/);
  assert.match(await ok(['drain', 'drained', '--force', '--timeout', '20s']), /node\/drained drained/);
  assert.equal((await kubectl(['get', 'pod', 'moved'])).code, 1);
  await ok(['uncordon', 'drained']);
  assert.doesNotMatch(await ok(['get', 'node', 'drained']), /SchedulingDisabled/);
});

test('kubectl drain waits for a budget', async () => {
  await ok(['apply', '-f', '-'], `${node('guarded')}---${pod('guarded', 'guarded')}`);
  const status = JSON.stringify({ status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } });
  await ok(['patch', 'pod', 'guarded', '--subresource', 'status', '--type', 'merge', '-p', status]);
  const spec = { minAvailable: 1, selector: { matchLabels: { app: 'web' } } };
  const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'b' }, spec };
  await ok(['create', '-f', '-'], JSON.stringify(budget));
  const seen = JSON.stringify({ status: { observedGeneration: 1, currentHealthy: 1, desiredHealthy: 1 } });
  await ok(['patch', 'pdb', 'b', '--subresource', 'status', '--type', 'merge', '-p', seen]);
  const { code, stderr } = await kubectl(['drain', 'guarded', '--force', '--timeout', '1s']);
  assert.equal(code, 1);
  assert.match(stderr, /Cannot evict pod as it would violate the pod's disruption budget/);
  await ok(['delete', 'pdb', 'b']);
  assert.match(await ok(['drain', 'guarded', '--force', '--timeout', '20s']), /drained/);
});

test('kubectl delete waits until a finalizer has gone', async () => {
  await ok(['create', '-f', '-'], cm('1', 'held'));
  await ok(['patch', 'configmap', 'held', '--type', 'merge', '-p', '{"metadata":{"finalizers":["test.dev/a"]}}']);
  const deleting = ok(['delete', 'configmap', 'held', '--timeout', '20s']);
  await ok(['wait', '--for', 'jsonpath={.metadata.deletionTimestamp}', 'configmap/held', '--timeout', '20s']);
  await ok(['patch', 'configmap', 'held', '--type', 'json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]']);
  assert.match(await deleting, /configmap "held" deleted/);
});

test('kubectl wait sees a condition come', async () => {
  await ok(['apply', '-f', '-'], pod('waited', 'nowhere'));
  const waiting = ok(['wait', '--for', 'condition=Ready', 'pod/waited', '--timeout', '20s']);
  const status = JSON.stringify({ status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } });
  await ok(['patch', 'pod', 'waited', '--subresource', 'status', '--type', 'merge', '-p', status]);
  assert.equal(await waiting, 'pod/waited condition met\n');
  await ok(['delete', 'pod', 'waited']);
});

test('kubectl edit changes what the editor changed', async () => {
  await ok(['create', '-f', '-'], cm('old', 'edited'));
  const { dir, file, kubeconfig } = embedded;
  const script = join(dir, 'editor.sh');
  writeFileSync(script, '#!/bin/sh\nsed -i "s/x: old/x: new/" "$1"\n', { mode: 0o755 });
  // runKubectl hands on no environment of its own: the editor is named where kubectl looks for it.
  const args = ['-c', `KUBE_EDITOR=${script} ${file} --kubeconfig ${kubeconfig} edit configmap edited`];
  const { code, stderr } = await runKubectl({ file: '/bin/sh', dir, kubeconfig, args });
  assert.equal(code, 0, stderr);
  assert.equal(await ok(['get', 'configmap', 'edited', '-o', 'jsonpath={.data.x}']), 'new');
});

test('kubectl events and get events show what happened', async () => {
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'e', namespace: 'default' },
    involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' },
    reason: 'Tested',
    message: 'it was tested',
    type: 'Normal',
    count: 1,
    firstTimestamp: new Date().toISOString().slice(0, 19) + 'Z',
    lastTimestamp: new Date().toISOString().slice(0, 19) + 'Z',
    source: { component: 'test' },
  };
  await ok(['create', '-f', '-'], JSON.stringify(event));
  for (const args of [['events'], ['get', 'events']]) {
    const text = await ok(args);
    assert.match(text, /Normal +Tested +[Pp]od\/p +it was tested/);
  }
});

test('kubectl label, taint, scale, rollout and get by selector', async () => {
  await ok(['apply', '-f', '-'], node('marked'));
  await ok(['label', 'node', 'marked', 'zone=a']);
  assert.match(await ok(['get', 'nodes', '-l', 'zone=a', '-o', 'name']), /^node\/marked\n$/);
  await ok(['taint', 'node', 'marked', 'k=v:NoExecute']);
  assert.match(await ok(['get', 'node', 'marked', '-o', 'jsonpath={.spec.taints}']), /"NoExecute"/);
  await ok(['taint', 'node', 'marked', 'k-']);
  await ok(['apply', '-f', '-'], deployment(3));
  await ok(['scale', 'deployment', 'web', '--replicas', '5']);
  assert.equal(await ok(['get', 'deployment', 'web', '-o', 'jsonpath={.spec.replicas}']), '5');
  await ok(['delete', 'node', 'marked']);
});

async function installed(): Promise<void> {
  for (const crd of customResourceDefinitions()) await ok(['apply', '--server-side', '-f', '-'], JSON.stringify(crd));
}

test('our own resources: installed, shown by short name, refused in our words', async () => {
  await installed();
  const policy = {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'RemedyPolicy',
    metadata: { name: 'workers' },
    spec: { allNodes: true },
  };
  await ok(['wait', '--for', 'condition=Established', 'crd/remedypolicies.fenceline.dev', '--timeout', '20s']);
  await ok(['apply', '-f', '-'], JSON.stringify(policy));
  const [head, row] = rows(await ok(['get', 'rpol']));
  assert.deepEqual(head?.slice(0, 2), ['NAME', 'MODE']);
  assert.deepEqual(row?.slice(0, 2), ['workers', 'Enforce']);
  const { code, stderr } = await kubectl(['apply', '-f', '-'], JSON.stringify({ ...policy, spec: {} }));
  assert.equal(code, 1);
  assert.match(stderr, /write selector: \{matchLabels: .* or allNodes: true for every node/);
  const typo = await kubectl(
    ['apply', '-f', '-'],
    JSON.stringify({ ...policy, spec: { allNodes: true, mod: 'DryRun' } }),
  );
  assert.match(typo.stderr, /unknown field "spec\.mod"/);
});

test('kubectl create by name, as typed clients send it; what is not known of that is told with what to type', async () => {
  await ok(['create', 'namespace', 'typed']);
  await ok(['create', 'configmap', 'typed', '--from-literal=a=b']);
  assert.equal(await ok(['get', 'configmap', 'typed', '-o', 'jsonpath={.data}']), '{"a":"b"}');
  await ok(['create', 'secret', 'generic', 'typed', '--from-literal=a=b']);
  assert.equal(await ok(['get', 'secret', 'typed', '-o', 'jsonpath={.data.a}']), 'Yg==');
  await ok(['create', 'deployment', 'typed', '--image=example/c:1', '--replicas=0', '--port=80']);
  const spec = '{.spec.replicas} {.spec.selector.matchLabels.app} {.spec.template.spec.containers[0].image}';
  assert.equal(await ok(['get', 'deployment', 'typed', '-o', `jsonpath=${spec}`]), '0 typed example/c:1');
  await ok(['create', 'job', 'typed', '--image=example/c:1']);
  await ok(['create', 'pdb', 'typed', '--selector=app=typed', '--max-unavailable=30%']);
  assert.equal(await ok(['get', 'pdb', 'typed', '-o', 'jsonpath={.spec.maxUnavailable}']), '30%');
  await ok(['delete', 'pdb/typed', 'job/typed', 'deployment/typed', 'secret/typed', 'configmap/typed']);
  const { code, stderr } = await kubectl(['create', 'quota', 'typed', '--hard=cpu=1']);
  assert.equal(code, 1);
  assert.match(stderr, /reads a ResourceQuota as JSON or YAML only: type the same with "--dry-run=client -o yaml"/);
  const asked = await ok(['create', 'quota', 'typed', '--hard=cpu=1', '--dry-run=client', '-o', 'yaml']);
  assert.equal(await ok(['create', '-f', '-'], asked), 'resourcequota/typed created\n');
});

test('kubectl auth can-i and whoami answer what is so: there are no roles here', async () => {
  assert.equal(await ok(['auth', 'can-i', 'delete', 'nodes']), 'yes\n');
  assert.match(await ok(['auth', 'can-i', '--list']), /\*\.\* .*\[\*\]/);
  assert.match(await ok(['auth', 'whoami']), /Username +admin/);
});

test('kubectl explain knows the fields of our own resources, and where those of Kubernetes are explained', async () => {
  await installed();
  const patience = await ok(['explain', 'remedypolicy.spec.fence.powerManagementAfter']);
  assert.match(patience, /FIELD: powerManagementAfter <string>[^]*has\s+its power cut/);
  assert.match(await ok(['explain', 'nodefence']), /made and kept by\s+the operator[^]*status\s+<Object>/);
  assert.match(await ok(['explain', 'pod.spec']), /https:\/\/kubernetes\.io\/docs\/reference/);
});

test('kubectl logs, exec, port-forward and top: one sentence why not, and what to type instead', async () => {
  await ok(['apply', '-f', '-'], pod('asked', 'nowhere'));
  await ok([
    'patch',
    'pod',
    'asked',
    '--subresource',
    'status',
    '--type',
    'merge',
    '-p',
    '{"status":{"phase":"Running"}}',
  ]);
  for (const args of [
    ['logs', 'asked'],
    ['exec', 'asked', '--', 'ls'],
    ['attach', 'asked'],
    ['port-forward', 'asked', ':80'],
  ]) {
    const { code, stderr } = await kubectl(args);
    assert.equal(code, 1, args.join(' '));
    assert.match(stderr, /pods of this cluster are simulated and have no \w+/, args.join(' '));
    assert.match(stderr, /kubectl describe pod -n default asked, .*fenceline explain NODE/, args.join(' '));
  }
  for (const what of ['nodes', 'pods']) {
    const { code, stderr } = await kubectl(['top', what]);
    assert.equal(code, 1, what);
    assert.match(stderr, /nobody measures simulated machines; .*fenceline status/, what);
  }
  await ok(['delete', 'pod', 'asked']);
});

test('kubectl get --watch prints changes as they come', async () => {
  const watching = kubectl(['get', 'configmaps', '--watch', '--request-timeout', '5s', '-o', 'name']);
  await waitFor('kubectl to watch', () => embedded.server.openWatches > 0);
  await ok(['create', '-f', '-'], cm('1', 'watched'));
  const { stdout } = await watching;
  assert.match(stdout, /configmap\/watched/);
});
