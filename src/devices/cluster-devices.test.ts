import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { LiveNode } from '../api/release-view.ts';
import { defaultAgentSettings } from './agent.ts';
import { secrets } from '../kube/resources.ts';
import { ClusterDevices } from './cluster-devices.ts';

const method: Method = { name: 'm', action: 'off', driver: 'driver:aws', parameters: { region: 'eu-1' }, secrets: [] };
const keys = { access_key_id: 'AKIAEXAMPLE', secret_access_key: 'canary' };

async function found(change: Partial<Method>, node: Partial<LiveNode> = {}, secretName?: string): Promise<string> {
  const cluster = await ActCluster.create();
  if (secretName !== undefined) {
    const data = Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, btoa(value)]));
    await cluster.client.create(secrets, { metadata: { name: secretName, namespace: 'default' }, data });
  }
  const { client, clock } = cluster;
  const devices = new ClusterDevices({ client, clock, namespace: 'default', agents: defaultAgentSettings });
  const answer = await devices.device(aNode(node), { ...method, ...change });
  return answer.ok ? answer.device.name : answer.problem;
}

describe('devices of a cluster', () => {
  test('[FEN-9] an instance is known by the provider ID of its node, else by its name, unless the template says otherwise', async () => {
    const cloud = { secrets: ['aws'] };
    const providerId = 'aws:///eu-1a/i-0123456789abcdef0';
    assert.match(await found(cloud, { providerId }, 'aws'), /i-0123456789abcdef0/);
    assert.match(await found(cloud, {}, 'aws'), /node-1/);
    const parameters = { ...method.parameters, instance: 'i-0aaaaaaaaaaaaaaaa' };
    assert.match(await found({ ...cloud, parameters }, { providerId }, 'aws'), /i-0aaaaaaaaaaaaaaaa/);
  });

  test('[FEN-6, FEN-9] restart-instance needs nothing but the credentials of the provider', async () => {
    const builtIn = { driver: 'built-in' };
    const providerId = 'aws:///eu-1a/i-0123456789abcdef0';
    assert.match(await found(builtIn, { providerId }, 'fence-provider-aws'), /i-0123456789abcdef0/);
    assert.match(await found(builtIn, { providerId }), /fence-provider-aws.*not found/);
    assert.match(await found(builtIn, {}), /^node-1 has no provider ID: write a ConfigMap fence-config-node-1/);
    assert.match(await found(builtIn, { providerId: 'kind://docker/x' }), /kind:\/\/docker\/x: write a ConfigMap/);
  });

  test('S28: what is wrong is said without the credentials', async () => {
    const unknown = await found({ driver: 'driver:nimbus' });
    assert.match(unknown, /there is no driver nimbus: write one of aws, azure, gce, openstack, vsphere/);
    const wrong = await found({ parameters: { reigon: 'eu-1' }, secrets: ['aws'] }, {}, 'aws');
    assert.match(wrong, /reigon/);
    assert.ok(!wrong.includes('canary'));
  });
});
