import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { problemText } from '../api/fence-config.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import { configMaps, fenceDevices, namespaces, nodes, remedyPolicies } from '../kube/resources.ts';
import type { CheckedNode } from './check.ts';
import { checkDevices, problemsIn } from './check.ts';

const provider: DeviceProvider = { device: async () => ({ ok: false, problem: 'there is no driver' }) };
const namespace = 'fenceline';

async function written(maps: Readonly<Record<string, string>>): Promise<{ cluster: ActCluster; problems: string[] }> {
  const cluster = await ActCluster.create();
  await cluster.make(nodes, { metadata: { name: 'node-2' } });
  await cluster.make(namespaces, { metadata: { name: namespace } });
  for (const [name, text] of Object.entries(maps)) {
    await cluster.make(configMaps, { metadata: { name, namespace }, data: { 'config.properties': text } });
  }
  const { client, clock } = cluster;
  return { cluster, problems: await problemsIn({ client, provider, clock, namespace }) };
}

test('[EXP-3] a configuration that no node has, and one that is nearly called so, are told', async () => {
  const { problems } = await written({
    'fence-config-node-1': 'power_management=restart-instance',
    'fence-config-node-22': 'power_management=restart-instance',
    'fence-config-pool': 'selector=pool=workers\npower_management=restart-instance',
    'fence-confg-node-1': '',
    'fenceconfig-node-1': '',
    'fence-method-templte-ipmi': '',
    'fenceline-pause': '',
    'kube-root-ca.crt': '',
    'fence-notes': '',
  });
  assert.deepEqual(
    problems.filter((one) => !one.startsWith('ConfigMap fence-config-node-1,')),
    [
      'ConfigMap fence-confg-node-1: nobody reads it: did you mean fence-config-node-1?',
      'ConfigMap fence-config-node-22: no node uses it: there is no node node-22: did you mean node-2?',
      'ConfigMap fence-config-pool: no node uses it: its selector selects no node that has none of its own',
      'ConfigMap fence-method-templte-ipmi: nobody reads it: did you mean fence-method-template-ipmi?',
      'ConfigMap fenceconfig-node-1: nobody reads it: did you mean fence-config-node-1?',
    ],
  );
});

test('[EXP-3, FEN-7] every mistake of every configuration is told once, also in one that another node is shown with', async () => {
  const { cluster, problems } = await written({
    'fence-config-node-1': 'power_managment=x\nrecovry=y',
    'fence-config-a': 'selector=a in (b',
    'fence-config-b': 'selector=a in (c',
  });
  const places = problems.map((one) => one.slice(0, one.indexOf(', ')));
  assert.deepEqual(places, [
    'ConfigMap fence-config-a',
    'ConfigMap fence-config-b',
    'ConfigMap fence-config-node-1',
    'ConfigMap fence-config-node-1',
  ]);
  const { client, clock } = cluster;
  const [one] = await checkDevices({ client, provider, clock, namespace }, ['node-1']);
  assert.equal(one?.problems?.length, 2, 'what programs read');
});

test('[EXP-3, SEC-3] a node is not one that could be fenced where the operator refuses its policy, which is said', async () => {
  const { cluster } = await written({});
  const { client, clock } = cluster;
  const remedies = [{ name: 'fence', fence: {} }];
  const thresholds = [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] }];
  await cluster.make(remedyPolicies, {
    metadata: { name: 'fence' },
    spec: { allNodes: true, remedies, thresholds, priority: 1 },
  });
  const checked = async (): Promise<CheckedNode | undefined> =>
    (await checkDevices({ client, provider, clock, namespace }, ['node-2']))[0];
  const before = await checked();
  assert.deepEqual([before?.policy, before?.isRefused], ['fence', undefined]);
  const message = 'the operator was told to forbid Jobs';
  const since = { observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z' };
  const conditions = [{ type: 'Valid', status: 'False', reason: 'Forbidden', message, ...since }];
  await cluster.patch({ resource: remedyPolicies, name: 'fence' }, '/status', { conditions }, 'status');
  const after = await checked();
  assert.deepEqual([after?.isRefused, after?.notes], [true, [`not fenced by policy fence: ${message}`]]);
});

test('[EXP-3] a FenceDevice of a node that is not there is told', async () => {
  const { cluster } = await written({});
  const { client, clock } = cluster;
  await cluster.make(fenceDevices, {
    metadata: { name: 'bmc', namespace },
    spec: { node: 'node-3', agent: 'fence_ipmilan' },
  });
  const [one] = await problemsIn({ client, provider, clock, namespace });
  assert.match(one ?? '', /^FenceDevice bmc: there is no node node-3: did you mean node-[12]\?$/);
});

test('[EXP-3] an entry that is nearly called so is the mistake, and not the node that the configuration is for', async () => {
  const { cluster } = await written({});
  const data = { 'config.property': 'selector=pool=workers\npower_management=restart-instance' };
  await cluster.make(configMaps, { metadata: { name: 'fence-config-pool', namespace }, data });
  const { client, clock } = cluster;
  assert.deepEqual(await problemsIn({ client, provider, clock, namespace }), [
    'ConfigMap fence-config-pool, config.property: nobody reads it: did you mean config.properties?',
  ]);
});

test('[EXP-3] one mistake in what several methods share counts once', () => {
  const one = { file: 'fence-method-template-ipmi', key: 'template.properties: agent', reason: 'it is not run' };
  assert.doesNotMatch(problemText([one, { ...one }]), /more/);
  assert.match(problemText([one, { ...one }, { ...one, key: 'x' }]), /\(and 1 more\)$/);
});
