/** What roles cannot tell apart is refused by the API server itself, once deploy/guard.yaml is applied. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { NodeFenceSchema } from '../../src/api/node-fence.ts';
import type { KubeObject } from '../../src/kube/client.ts';
import { fenceDevices, leases, nodes } from '../../src/kube/resources.ts';
import { clientFor } from '../support/client.ts';
import { startControlPlane, type ControlPlane, type KubectlResult } from '../support/control-plane.ts';
import { install, installCrds } from '../support/install.ts';
import { OperatorProcess } from '../support/operator-process.ts';
import { operatorAccount } from '../support/operator-rights.ts';
import { waitFor } from '../support/wait.ts';

const kubelet = 'system:node:worker-1';
/** Of a machine that has not joined yet. */
const newcomer = 'system:node:worker-3';
/** May have nodes fenced; may work on nodes. */
const jane = 'jane';
const joe = 'joe';
/** Runs a workload in a namespace of her own, with what the role `edit` of Kubernetes is made of. */
const pat = 'pat';

const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: nodes}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [get, list, patch, update]}
- {apiGroups: [fenceline.dev], resources: [nodefences/status], verbs: [get, patch]}
- {apiGroups: [fenceline.dev], resources: [nodefences], verbs: [get, list]}
- {apiGroups: [fenceline.dev], resources: [fencedevices, fencedevices/status], verbs: [get, list, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: fences}
rules:
- {apiGroups: [fenceline.dev], resources: [nodefences], verbs: [get, list, create, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: nodes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodes}
subjects: [{kind: User, name: jane}, {kind: User, name: joe}, {kind: Group, name: system:nodes}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: fences}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: fences}
subjects: [{kind: User, name: jane}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pat, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:aggregate-to-edit}
subjects: [{kind: User, name: pat}]
---
apiVersion: v1
kind: Secret
metadata: {name: bmc, namespace: fenceline}
stringData: {password: canary1984}
---
apiVersion: v1
kind: Node
metadata: {name: worker-2}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: worker-2, namespace: kube-node-lease}
`;

const record = `
apiVersion: fenceline.dev/v1alpha1
kind: NodeFence
metadata: {name: node-fence-worker-1}
spec: {node: worker-1}
`;

const device = `
apiVersion: fenceline.dev/v1alpha1
kind: FenceDevice
metadata: {name: worker-1-ipmi, namespace: fenceline}
spec: {node: worker-1, agent: fence_ipmilan, parameters: {ip: 192.0.2.1}}
`;

const object = (kind: string, name: string, namespace?: string): object => ({
  apiVersion: 'fenceline.dev/v1alpha1',
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});

describe('the guard', { timeout: 180_000 }, () => {
  let controlPlane: ControlPlane;

  async function as(user: string, args: string[], input?: string): Promise<KubectlResult> {
    const kubeconfig = await controlPlane.kubeconfigFor(user);
    return controlPlane.kubectl(args, { kubeconfig, ...(input === undefined ? {} : { input }) });
  }

  async function may(user: string, args: string[], input?: string): Promise<void> {
    const { code, stderr } = await as(user, args, input);
    assert.equal(code, 0, `${user}: kubectl ${args.join(' ')}: ${stderr}`);
  }

  async function mayNot(user: string, args: string[], why: RegExp, input?: string): Promise<void> {
    const { code, stderr } = await as(user, args, input);
    assert.notEqual(code, 0, `${user}: kubectl ${args.join(' ')} was not refused`);
    assert.match(stderr, why);
  }

  const patched = ['patch', 'nodefence', 'node-fence-worker-1', '--type=merge'];
  const patch = (status: object): string[] => [...patched, '--subresource=status', '-p', JSON.stringify({ status })];

  before(async () => {
    const users = [
      { name: kubelet, token: 'token-of-a-kubelet', groups: ['system:nodes'] },
      { name: newcomer, token: 'token-of-a-newcomer', groups: ['system:nodes'] },
      { name: jane, token: 'token-of-jane' },
      { name: joe, token: 'token-of-joe' },
      { name: pat, token: 'token-of-pat' },
      { name: operatorAccount, token: 'token-of-the-operator', groups: ['system:serviceaccounts'] },
    ];
    const flags = ['--authorization-mode=Node', '--enable-admission-plugins=NodeRestriction'];
    controlPlane = await startControlPlane({ name: 'guard', users, apiserver: { flags } });
    await installCrds(controlPlane);
    await install(controlPlane, 'deploy/role.yaml');
    await may('admin', ['apply', '-f', '-'], rights);
    await may(
      kubelet,
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-1' } }),
    );
    await may('admin', ['create', '-f', '-'], record);
    await may('admin', ['create', '-f', '-'], device);
    // Without it all of this is allowed.
    await may(kubelet, ['annotate', 'node', 'worker-1', 'fenceline.dev/pause.mine=2030-01-01T00:00:00Z']);
    await may(kubelet, ['annotate', 'node', 'worker-1', 'cluster.x-k8s.io/cluster-namespace=capi']);
    await install(controlPlane, 'deploy/guard.yaml', 'SECURITY.md');
    await waitFor('the guard to be in force', async () => {
      const { code } = await as(kubelet, ['annotate', 'node', 'worker-1', 'fenceline.dev/probe=1', '--dry-run=server']);
      return code !== 0;
    });
  });
  after(() => controlPlane?.stop());

  test('[SEC-4] a kubelet keeps its own Node as it has to, and writes nothing there that is ours', async () => {
    const why = /a kubelet may not write annotations of fenceline\.dev/;
    const marks = [
      'fenceline.dev/maintenance-until=2030-01-01T00:00:00Z',
      'fenceline.dev/pause.mine-',
      'cluster.x-k8s.io/machine=of-another',
      'cluster.x-k8s.io/cluster-namespace-',
      'machine.openshift.io/machine=machines/of-another',
      'weave.works/kured-reboot-in-progress=now',
    ];
    for (const mark of marks) await mayNot(kubelet, ['annotate', 'node', 'worker-1', mark], why);
    await mayNot(
      kubelet,
      ['annotate', '--overwrite', 'node', 'worker-1', 'fenceline.dev/pause.mine=2031-01-01T00:00:00Z'],
      why,
    );
    // Through its status, which it writes every few seconds; kubectl would read that first, which a kubelet may not.
    const client = clientFor(controlPlane, { user: kubelet });
    try {
      const ref = { resource: nodes, name: 'worker-1' };
      const read = await client.get(ref);
      assert.ok(read.ok);
      const { uid = '' } = read.value.metadata;
      const write = async (path: string, value: unknown): Promise<string> => {
        const written = await client.patch(ref, { uid }, [{ op: 'add', path, value }], { subresource: 'status' });
        return written.ok ? 'written' : written.error.message;
      };
      assert.match(await write('/metadata/annotations/fenceline.dev~1pause.b', '2030-01-01T00:00:00Z'), why);
      assert.equal(await write('/status/phase', 'Running'), 'written');
    } finally {
      client.close();
    }
    await may(kubelet, ['annotate', 'node', 'worker-1', 'example.com/theirs=1']);
    await mayNot(
      kubelet,
      ['taint', 'node', 'worker-1', 'fenceline.dev/quarantine:NoSchedule'],
      /not allowed to modify taints/,
    );
    await may(jane, ['annotate', '--overwrite', 'node', 'worker-1', 'fenceline.dev/pause.mine=2031-01-01T00:00:00Z']);
  });

  test('[SEC-4] a kubelet that joins brings nothing along that is ours', async () => {
    const node = (metadata: object, spec: object = {}): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'worker-3', ...metadata }, spec });
    const annotations = { 'fenceline.dev/maintenance-until': '2030-01-01T00:00:00Z' };
    const taints = [{ key: 'fenceline.dev/force-eviction', effect: 'NoExecute' }];
    const create = ['create', '-f', '-'];
    await mayNot(newcomer, create, /a kubelet may not write annotations of fenceline\.dev/, node({ annotations }));
    await mayNot(newcomer, create, /taints of fenceline\.dev are for those/, node({}, { taints }));
    await may(newcomer, create, node({ annotations: { 'example.com/theirs': '1' } }));
  });

  /** Nothing by which a node is fenced or let go can be written, and no credential of a device be read. */
  async function isPowerless(user: string, forbidden: RegExp): Promise<void> {
    const requested = { by: user, at: new Date().toISOString() };
    const policy = { ...object('RemedyPolicy', 'theirs'), spec: { allNodes: true } };
    const asked = { ...object('NodeFence', 'node-fence-worker-2'), spec: { node: 'worker-2', requested } };
    const theirs = {
      ...object('FenceDevice', 'theirs', 'fenceline'),
      spec: { node: 'worker-2', agent: 'fence_ipmilan' },
    };
    const configuration = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'fence-config-worker-2', namespace: 'fenceline' },
    };
    for (const written of [policy, asked, theirs, configuration]) {
      await mayNot(user, ['create', '-f', '-'], forbidden, JSON.stringify(written));
    }
    await mayNot(user, [...patched, '-p', '{"spec":{"stop":true}}'], forbidden);
    await mayNot(user, patch({ epoch: 9 }), /forbidden|denied/i);
    await mayNot(user, ['get', 'secret', 'bmc', '-n', 'fenceline'], forbidden);
    await mayNot(user, ['create', 'token', 'fenceline', '-n', 'fenceline'], forbidden);
    await mayNot(user, ['get', 'nodes', '--as', operatorAccount], forbidden);
  }

  test('[SEC-4] who may create pods in a namespace has no part in what is fenced, and reads no credential', async () => {
    const pod = (namespace: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'theirs', namespace },
        spec: { containers: [{ name: 'main', image: 'example/theirs:1' }] },
      });
    await may('admin', ['create', 'serviceaccount', 'default', '-n', 'default']);
    await may(pat, ['create', '-f', '-'], pod('default'));
    // Beside the operator, or where remedies run, a pod could run under their accounts.
    for (const namespace of ['fenceline', 'fenceline-remedies']) {
      await mayNot(pat, ['create', '-f', '-'], /forbidden/, pod(namespace));
    }
    await isPowerless(pat, /forbidden/);
    await mayNot(
      pat,
      ['taint', 'node', 'worker-1', 'node.kubernetes.io/out-of-service=nodeshutdown:NoExecute'],
      /forbidden/,
    );
    await mayNot(pat, ['annotate', 'node', 'worker-1', 'fenceline.dev/pause.theirs=2030-01-01T00:00:00Z'], /forbidden/);
  });

  test('[SEC-4] a kubelet has no part in what is fenced, reads no credential, and writes nothing of another node', async () => {
    await isPowerless(kubelet, /forbidden/);
    await mayNot(
      kubelet,
      ['annotate', 'node', 'worker-2', 'example.com/theirs=1'],
      /is not allowed to modify node "worker-2"/,
    );
    const client = clientFor(controlPlane, { user: kubelet });
    try {
      const ref = { resource: leases, namespace: 'kube-node-lease', name: 'worker-2' };
      const written = await client.patch(ref, { uid: 'any' }, [
        { op: 'add', path: '/metadata/annotations', value: {} },
      ]);
      assert.ok(!written.ok && written.error.kind === 'forbidden', JSON.stringify(written));
    } finally {
      client.close();
    }
  });

  test('[SEC-4] who may not have a node fenced may not say that it is dead, nor that it is clean', async () => {
    const why = /taints of fenceline\.dev are for those who may update nodefences/;
    await mayNot(joe, ['taint', 'node', 'worker-1', 'fenceline.dev/force-eviction:NoExecute'], why);
    await may(operatorAccount, ['taint', 'node', 'worker-1', 'fenceline.dev/quarantine:NoSchedule']);
    await mayNot(joe, ['taint', 'node', 'worker-1', 'fenceline.dev/quarantine:NoSchedule-'], why);
    // Under another effect it holds nobody back, or throws everybody out; by another value nobody knows it again.
    for (const other of [{ effect: 'PreferNoSchedule' }, { effect: 'NoExecute' }, { value: 'theirs' }]) {
      const taint = { key: 'fenceline.dev/quarantine', effect: 'NoSchedule', ...other };
      const taints = JSON.stringify({ spec: { taints: [taint] } });
      await mayNot(joe, ['patch', 'node', 'worker-1', '--type=merge', '-p', taints], why);
    }
    await may(joe, ['taint', 'node', 'worker-1', 'example.com/theirs:NoSchedule']);
    await may(joe, ['cordon', 'worker-1']);
    await may(jane, ['taint', 'node', 'worker-1', 'fenceline.dev/force-eviction:NoExecute']);
    await may(joe, ['uncordon', 'worker-1']);
    await may(joe, ['taint', 'node', 'worker-1', 'example.com/theirs:NoSchedule-']);
    await may(jane, ['taint', 'node', 'worker-1', 'fenceline.dev/quarantine:NoSchedule-']);
  });

  test('[SEC-4] of a record people write the approval, in their own name, and nothing else', async () => {
    const incident = { id: 'worker-1-1', startedAt: '2026-01-01T00:00:00Z', trouble: 'Ready=Unknown', nodeUid: 'u' };
    const filled = await as('admin', patch({ incident }));
    assert.notEqual(filled.code, 0, 'not even an administrator writes the record of the operator');
    assert.match(filled.stderr, /people may write the approval alone/);
    for (const status of [
      { releases: [] as object[], epoch: 7 },
      { fence: { phase: 'off' } },
      {
        conditions: [
          {
            type: 'Fenced',
            status: 'True',
            reason: 'PowerOff',
            message: '',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      },
    ]) {
      const { code } = await as(joe, patch(status));
      assert.notEqual(code, 0, JSON.stringify(status));
    }
    const approval = { at: '2026-01-01T00:00:00Z', incident: 'worker-1-1' };
    await mayNot(joe, patch({ approval: { ...approval, by: jane } }), /in one's own name/);
    await may(joe, patch({ approval: { ...approval, by: joe } }));
  });

  test('[SEC-4] what is known of a device is written by the operator alone', async () => {
    const named = ['fencedevice', 'worker-1-ipmi', '-n', 'fenceline'];
    const at = '2026-01-01T00:00:00Z';
    const client = clientFor(controlPlane, { user: operatorAccount });
    try {
      const ref = { resource: fenceDevices, namespace: 'fenceline', name: 'worker-1-ipmi' };
      const read = await client.get(ref);
      assert.ok(read.ok);
      const status = { power: 'on', wrong: { since: at, reason: 'OffWhileAlive', message: 'it lives' } };
      const written = await client.replace(ref, { ...read.value, status } as KubeObject, 'status');
      assert.ok(written.ok, written.ok ? '' : written.error.message);
    } finally {
      client.close();
    }
    for (const user of [joe, jane, kubelet, 'admin']) {
      for (const status of [{ seenOn: at, drilled: at }, { power: 'off' }, { wrong: null }]) {
        const forged = [...named, '--type=merge', '--subresource=status', '-p', JSON.stringify({ status })];
        await mayNot(user, ['patch', ...forged], /the status of a FenceDevice is what the operator has seen/);
      }
      // What people write of it is its spec, through which nothing of its status is written.
      const both = { spec: { identity: `said-by-${user.length}` }, status: { power: 'off' } };
      await may(user, ['patch', ...named, '--type=merge', '-p', JSON.stringify(both)]);
    }
    const { stdout } = await as('admin', ['get', ...named, '-o', 'jsonpath={.status.power} {.status.wrong.reason}']);
    assert.equal(stdout, 'on OffWhileAlive');
  });

  test("[SEC-4] a fence is requested in one's own name", async () => {
    const asked = (by: string): string[] => [
      ...patched,
      '-p',
      JSON.stringify({ spec: { requested: { by, at: '2026-01-01T00:00:00Z' } } }),
    ];
    await mayNot(jane, asked(joe), /a fence is requested in one's own name/);
    await may(jane, asked(jane));
    // What a backup brings back was asked for by whoever it names.
    const restored = (by: string): string =>
      JSON.stringify({
        ...object('NodeFence', 'node-fence-worker-2'),
        spec: { node: 'worker-2', requested: { by, at: '2026-01-01T00:00:00Z' } },
      });
    await mayNot(jane, ['create', '-f', '-'], /a fence is requested in one's own name/, restored(joe));
    await may(jane, ['create', '-f', '-'], restored(jane));
    await may('admin', ['patch', 'nodefence', 'node-fence-worker-1', '--type=merge', '-p', '{"spec":{"stop":true}}']);
    const stopped = (by: string): string[] => [...patched, '-p', JSON.stringify({ spec: { stoppedBy: by } })];
    await mayNot(jane, stopped(joe), /a node is stopped in one's own name/);
    await may(jane, stopped(jane));
    await may('admin', [...patched, '-p', '{"spec":{"stop":false}}']);
    await may('admin', [...patched, '-p', '{"spec":{"stoppedBy":null}}']);
  });

  test('[SEC-4, STM-8] an operator that may not keep its records is not ready, leaves the lead to others, and says what to do', async () => {
    const kubeconfig = await controlPlane.kubeconfigFor('admin');
    const flags = [`--kubeconfig=${kubeconfig}`, '--leader-elect-namespace=fenceline'];
    const status = async (): Promise<string> => {
      const { stdout } = await promisify(execFile)('bin/fenceline', ['status', '--kubeconfig', kubeconfig]);
      return stdout;
    };
    await using byHand = new OperatorProcess(flags);
    const { toDo } = await byHand.said('that it may not', ({ msg }) => msg.startsWith('nothing can be done about any'));
    assert.match(String(toDo), /--as system:serviceaccount:fenceline:fenceline/);
    const ready = await byHand.get('/readyz');
    assert.equal(ready.status, 503);
    assert.match(ready.text, /may not be put on record.*deploy\/guard\.yaml/);
    await byHand.said('that it leads no more', ({ msg }) => msg === 'no longer leading');
    await waitFor('the lead to be free', async () => (await status()).includes('may not keep its records'));
    assert.match(await status(), /^NOTHING IS DONE ABOUT ANY NODE: no operator leads \(.* may not keep its records: /);
    await using rightly = new OperatorProcess([...flags, '--as', operatorAccount]);
    await rightly.said('that it leads', ({ msg }) => msg === 'leading');
    assert.doesNotMatch(await status(), /NOTHING IS DONE ABOUT ANY/);
    assert.equal((await rightly.get('/readyz')).status, 200);
  });

  test('[SEC-4] knows every field of a record', () => {
    const guard = readFileSync('deploy/guard.yaml', 'utf8');
    const status = NodeFenceSchema.shape.status.def.innerType.shape;
    assert.deepEqual(
      Object.keys(status).filter(
        (field) => !guard.includes(`oldObject.?status.?${field}`) && !guard.includes(`__${field}__`),
      ),
      [],
    );
  });
});
