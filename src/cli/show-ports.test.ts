import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import type { KubeObject } from '../kube/client.ts';
import { fenceDevices, namespaces } from '../kube/resources.ts';
import { showPorts } from './show-ports.ts';
import { UserError } from './user-error.ts';

test('[SAF-1] that a port is that of its node is said of nodes that are named, of ports that cannot say, as they are configured', async () => {
  const made = await ActCluster.create();
  assert.ok((await made.client.create(namespaces, { metadata: { name: 'fenceline' } })).ok);
  const context = { client: made.client, namespace: 'fenceline' };
  const refused = (names: string[], why: RegExp): Promise<void> =>
    assert.rejects(showPorts(context, names, 'jane'), (error) => error instanceof UserError && why.test(error.message));
  await refused([], /name the nodes/);
  const named = (name: string): { resource: typeof fenceDevices; namespace: string; name: string } => ({
    resource: fenceDevices,
    namespace: 'fenceline',
    name,
  });
  const all: [string, Record<string, string>][] = [
    ['node-1.fc', { cuts: 'Storage', configuration: 'h1', machine: 'm1' }],
    ['node-1.named', { cuts: 'Storage', configuration: 'h2', machine: 'm1', identity: 'node-1' }],
    ['node-1.pdu', { configuration: 'h3', machine: 'm1' }],
    ['node-1.secret', { cuts: 'Storage', configuration: 'h5', machine: 'm1', place: 'p1' }],
    ['node-1.old', { cuts: 'Storage', configuration: 'h4' }],
  ];
  for (const [name, status] of all) {
    const metadata = { name, namespace: 'fenceline' };
    assert.ok((await made.client.create(fenceDevices, { metadata, spec: { node: 'node-1' } } as KubeObject)).ok);
    await made.patchStatus(named(name), status);
  }
  await refused(['node-2'], /^no port of node-2 to its storage is known/);
  assert.deepEqual(await showPorts(context, ['node-1'], 'jane'), [
    'node-1.fc: shown by jane, until its configuration or its machine changes',
    'node-1.secret: shown by jane, until its configuration or its machine changes',
  ]);
  const specs = await Promise.all(
    all.map(async ([name]) => (await made.read<KubeObject & { spec: object }>(named(name))).spec),
  );
  const shown = { by: 'jane', configuration: 'h1', machine: 'm1' };
  const none = { node: 'node-1' };
  const ofSecret = { node: 'node-1', shown: { by: 'jane', configuration: 'h5', machine: 'm1', place: 'p1' } };
  assert.deepEqual(specs, [{ node: 'node-1', shown }, none, none, ofSecret, none]);
});
