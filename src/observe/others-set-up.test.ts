import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import type { KubeObject } from '../kube/client.ts';
import { customResourceDefinitions } from '../kube/resources.ts';
import { renderOthers, renderUnread } from '../cli/check-others.ts';
import type { FencedNode, SetUp } from './others-set-up.ts';
import { readSetUp, tellGroups, tellSetUp } from './others-set-up.ts';

const workers: FencedNode[] = ['node-1', 'node-2', 'node-3', 'node-4'].map((name) => ({
  name,
  labels: { pool: 'workers' },
}));

interface Foreign extends KubeObject {
  apiVersion: string;
  kind: string;
  [field: string]: unknown;
}

/** What is said of a cluster in which these are installed, and there. */
async function found(objects: Foreign[], nodes: readonly FencedNode[] = workers): Promise<string[]> {
  const setUp = await setUpOf(objects);
  assert.deepEqual(setUp.unread, []);
  return tellSetUp(setUp, nodes);
}

/** `code`: what whoever lists them is answered instead. */
async function setUpOf(objects: Foreign[], code?: number): Promise<SetUp> {
  const cluster = await ActCluster.create();
  for (const { apiVersion, kind } of objects) {
    const [group = '', version = ''] = apiVersion.split('/');
    const plural = `${kind.toLowerCase()}s`;
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const spec = {
      group,
      scope: kind === 'NodeHealthCheck' ? 'Cluster' : 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema }],
    };
    await cluster.make(customResourceDefinitions, { metadata: { name: `${plural}.${group}` }, spec });
  }
  for (const object of objects) {
    const { apiVersion, kind, metadata } = object;
    const [group = '', version = ''] = apiVersion.split('/');
    const resource = { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: kind !== 'NodeHealthCheck' };
    const namespace = resource.namespaced ? { namespace: 'default' } : {};
    await cluster.make(resource, { ...object, metadata: { ...namespace, ...metadata } });
  }
  if (code !== undefined) cluster.server.faults.inject({ matches: ({ verb }) => verb === 'list', code });
  return readSetUp(cluster.client);
}

const healthCheck = (spec: object): Foreign => ({
  apiVersion: 'remediation.medik8s.io/v1alpha1',
  kind: 'NodeHealthCheck',
  metadata: { name: 'nhc' },
  spec,
});

const policyOf = (value: string, name = 'node-down-pod-deletion-policy'): Foreign => ({
  apiVersion: 'longhorn.io/v1beta2',
  kind: 'Setting',
  metadata: { name },
  value,
});

describe('[ADM-6] who else is set up to act on nodes that a policy fences', () => {
  test('nobody is', async () => {
    assert.deepEqual(await found([]), []);
    assert.equal(renderOthers({ findings: [] }), '');
  });

  test('a NodeHealthCheck of medik8s, whatever its remediation is', async () => {
    const pause = `kubectl patch nodehealthcheck nhc --type=merge -p '{"spec":{"pauseRequests":["fenceline"]}}'`;
    const undoing = 'two who remedy one node undo what the other one does';
    const all = `NodeHealthCheck nhc is for node-1, node-2, node-3 and 1 more as well: ${undoing}; pause one of them: ${pause}`;
    assert.deepEqual(await found([healthCheck({ selector: { matchLabels: { pool: 'workers' } } })]), [all]);
    assert.deepEqual(await found([healthCheck({ selector: {} })]), [all]);
    assert.deepEqual(await found([healthCheck({ selector: { matchLabels: { pool: 'others' } } })]), []);
    assert.deepEqual(await found([healthCheck({ selector: {}, pauseRequests: ['fenceline'] })]), []);
    assert.deepEqual(await found([healthCheck({ selector: {} })], []), []);
  });

  test('a MachineHealthCheck of Cluster API or of OpenShift', async () => {
    for (const apiVersion of ['cluster.x-k8s.io/v1beta1', 'cluster.x-k8s.io/v1beta2', 'machine.openshift.io/v1beta1']) {
      const [said = '', ...more] = await found([
        { apiVersion, kind: 'MachineHealthCheck', metadata: { name: 'md-0' } },
      ]);
      assert.match(said, /^MachineHealthCheck default\/md-0 remedies Machines by itself: /);
      assert.deepEqual(more, []);
    }
  });

  test('Ironic of Metal3, which switches on again', async () => {
    const host = (name: string, online: boolean): Foreign => ({
      apiVersion: 'metal3.io/v1alpha1',
      kind: 'BareMetalHost',
      metadata: { name },
      spec: { online },
    });
    const [said = ''] = await found([host('a', true)]);
    assert.match(said, /^BareMetalHost default\/a is to be online: Ironic switches such a machine on again/);
    assert.deepEqual(await found([host('a', false)]), []);
  });

  test('Longhorn, which deletes pods of a node that is down', async () => {
    const [said = ''] = await found([policyOf('delete-statefulset-pod')]);
    assert.match(said, /two writers are possible; kubectl patch settings\.longhorn\.io .* '{"value":"do-nothing"}'$/);
    assert.deepEqual(await found([policyOf('do-nothing')]), []);
    assert.deepEqual(await found([policyOf('true', 'auto-salvage')]), []);
  });

  test('a cloud that replaces what is stopped', () => {
    const labelled = (label: string): FencedNode[] => [{ name: 'node-1', labels: { [label]: 'a' } }];
    const said = (nodes: FencedNode[]): string => tellGroups(nodes)[0] ?? '';
    assert.match(said(labelled('eks.amazonaws.com/nodegroup')), /^node-1 is of an auto-scaling group of AWS/);
    assert.match(said(labelled('cloud.google.com/gke-nodepool')), /^node-1 is of a managed instance group/);
    assert.match(said(labelled('kubernetes.azure.com/agentpool')), /^node-1 is of a scale set of Azure/);
    const scaleSet = 'azure:///subscriptions/a/providers/Microsoft.Compute/virtualMachineScaleSets/b/virtualMachines/0';
    assert.match(said([{ name: 'node-1', labels: {}, providerId: scaleSet }]), /^node-1 is of a scale set of Azure/);
    assert.equal(said(labelled('pool')), '');
  });

  test('what may not be read is no "nobody", and what is not installed is not asked for', async () => {
    const cluster = await ActCluster.create();
    const asked: string[] = [];
    cluster.server.faults.inject({ matches: ({ path }) => (asked.push(path), false), code: 403 });
    assert.deepEqual(await readSetUp(cluster.client), { read: [], unread: [] });
    assert.deepEqual(asked, ['/apis']);
    const why = 'the right to list them is missing';
    const { unread } = await setUpOf([healthCheck({ selector: {} })], 403);
    assert.deepEqual(unread, [{ what: 'nodehealthchecks.remediation.medik8s.io', why }]);
    const failed = await setUpOf([healthCheck({ selector: {} })], 500);
    assert.deepEqual([failed.read, failed.unread.map(({ what }) => what)], [[], unread.map(({ what }) => what)]);
    assert.notEqual(failed.unread[0]?.why, why, 'nobody lacks a right');
    const told = `fenceline: a, b are not looked at: ${why}\n`;
    assert.equal(renderUnread({ unread: ['a', 'b'].map((what) => ({ what, why })) }), told);
  });

  test('what is not as its schema has it is read as far as it goes', async () => {
    const selector = { matchLabels: { pool: 7 }, matchExpressions: [null, { key: 'pool' }, 'x'] };
    assert.equal((await found([healthCheck({ selector })])).length, 1, 'of what is left it is for all');
    assert.equal((await found([healthCheck({ selector: null })])).length, 1);
    assert.deepEqual(await found([{ ...policyOf('x'), value: 7 }]).then((said) => said.length), 1);
  });
});
