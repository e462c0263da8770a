import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { LiveNode } from '../api/release-view.ts';
import { defaultAgentSettings } from './agent.ts';
import { secrets } from '../kube/resources.ts';
import { ClusterDevices } from './cluster-devices.ts';
import type { Device } from './device.ts';
import type { FoundDevice } from './provider.ts';

const method: Method = { name: 'm', action: 'off', driver: 'driver:aws', parameters: { region: 'eu-1' }, secrets: [] };
const agents = { ...defaultAgentSettings, directory: '/nonexistent' };
const keys = { access_key_id: 'AKIAEXAMPLE', secret_access_key: 'canary' };

async function found(...args: Parameters<typeof foundDevice>): Promise<string> {
  const answer = await foundDevice(...args);
  return answer.ok ? answer.device.name : answer.problem;
}

async function foundDevice(
  change: Partial<Method>,
  node: Partial<LiveNode> = {},
  secretName?: string,
  values: Record<string, string> = keys,
): Promise<FoundDevice> {
  const cluster = await ActCluster.create();
  if (secretName !== undefined) {
    await cluster.client.create(secrets, secretOf(secretName, values));
  }
  const { client, clock } = cluster;
  const devices = new ClusterDevices({ client, clock, namespace: 'default', agents });
  return devices.device(aNode(node), { ...method, ...change });
}

function secretOf(name: string, values: Record<string, string>) {
  const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, btoa(value)]));
  return { metadata: { name, namespace: 'default' }, data };
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

  test('[FEN-7] a credential in a ConfigMap is blamed on that, though the Secret has it as well', async () => {
    const parameters = { ...method.parameters, secret_access_key: 'canary' };
    const answer = await foundDevice({ secrets: ['aws'], parameters }, {}, 'aws');
    assert.deepEqual(answer, {
      ok: false,
      key: 'secret_access_key',
      problem: 'secret_access_key: it is written in the Secret as well: remove one of them',
    });
  });

  test('[FEN-6, FEN-9] restart-instance needs nothing but the credentials of the provider', async () => {
    const builtIn = { driver: 'built-in' };
    const providerId = 'aws:///eu-1a/i-0123456789abcdef0';
    assert.match(await found(builtIn, { providerId }, 'fence-provider-aws'), /i-0123456789abcdef0/);
    assert.match(
      await found(builtIn, { providerId }),
      /^there is no Secret fence-provider-aws in namespace default: create it/,
    );
    assert.match(await found(builtIn, {}), /^node-1 has no provider ID: write a ConfigMap fence-config-node-1/);
    assert.match(await found(builtIn, { providerId: 'kind://docker/x' }), /kind:\/\/docker\/x: write a ConfigMap/);
  });

  test('[SAF-2, SEC-2] an instance is not looked for by a provider ID that another node has, nor by a name instead', async () => {
    const disputedId = 'aws:///eu-1a/i-0123456789abcdef0';
    const disputed = { providerId: '', disputed: { providerId: 'node-2' }, disputedId };
    const why = /^node node-2 has the same provider ID as node-1: whose machine it is nobody can say$/;
    assert.match(await found({ driver: 'built-in' }, disputed, 'fence-provider-aws'), why);
    assert.match(await found({ secrets: ['aws'] }, disputed, 'aws'), why);
    const parameters = { ...method.parameters, instance: 'i-0aaaaaaaaaaaaaaaa' };
    assert.match(await found({ secrets: ['aws'], parameters }, disputed, 'aws'), /i-0aaaaaaaaaaaaaaaa/);
    // What was cut by it is not left off.
    const on = { action: 'on' } as const;
    assert.match(await found({ ...on, driver: 'built-in' }, disputed, 'fence-provider-aws'), /i-0123456789abcdef0/);
    assert.match(await found({ ...on, secrets: ['aws'] }, disputed, 'aws'), /i-0123456789abcdef0/);
  });

  test('[EVD-4, FEN-8] what is written for fence_redfish is served without the agent, unless an option of its own is written', async () => {
    const parameters = { ip: '10.0.0.1', username: 'admin', systems_uri: '/redfish/v1/Systems/1' };
    const redfish = { driver: 'agent:fence_redfish', secrets: ['bmc'], parameters };
    const bmc = { password: 'canary' };
    assert.equal(await found(redfish, {}, 'bmc', bmc), 'redfish 10.0.0.1 /redfish/v1/Systems/1');
    // There are no agents where this one is looked for.
    const own = { ...redfish, parameters: { ...parameters, power_timeout: '20' } };
    assert.match(await found(own, {}, 'bmc', bmc), /^fence_redfish cannot be run/);
    const other = { ...redfish, driver: 'agent:fence_ilo5' };
    assert.match(await found(other, {}, 'bmc', bmc), /^fence_ilo5 cannot be run/);
    const wrong = { ...redfish, parameters: { ...parameters, systems_uri: '/redfish/v1/../x' } };
    assert.match(await found(wrong, {}, 'bmc', bmc), /^systems_uri: write a path on the device/);
  });

  test('[SEC-1] a Secret that says which hosts it is for goes to no other one, whoever names it and whatever is beside it', async () => {
    const cluster = await ActCluster.create();
    const { client, clock } = cluster;
    const made = async (name: string, values: Record<string, string>, hosts?: string): Promise<void> => {
      const { metadata, data } = secretOf(name, values);
      const annotations = hosts === undefined ? {} : { 'fenceline.dev/hosts': hosts };
      assert.ok((await client.create(secrets, { metadata: { ...metadata, annotations }, data } as never)).ok);
    };
    await made('bmc', { password: 'canary' }, '10.0.0.0/24');
    await made('elsewhere', { ip: '203.0.113.7' });
    await made('unreadable', { password: 'canary' }, 'everywhere!');
    const devices = new ClusterDevices({ client, clock, namespace: 'default', agents });
    const of = async (written: Record<string, string>, ...named: string[]): Promise<string> => {
      const parameters = { username: 'admin', systems_uri: '/redfish/v1/Systems/1', ...written };
      const redfish = { ...method, driver: 'agent:fence_redfish', secrets: named, parameters };
      const answer = await devices.device(aNode(), redfish);
      return answer.ok ? answer.device.name : `${answer.key}: ${answer.problem}`;
    };
    assert.equal(await of({ ip: '10.0.0.1' }, 'bmc'), 'redfish 10.0.0.1 /redfish/v1/Systems/1');
    const why =
      'ip: Secret bmc: it is for 10.0.0.0/24 alone (its annotation fenceline.dev/hosts), and ip is another host';
    assert.equal(await of({ ip: '203.0.113.7' }, 'bmc'), why);
    assert.equal(await of({}, 'elsewhere', 'bmc'), why);
    assert.equal(await of({}, 'bmc', 'elsewhere'), why);
    assert.match(
      await of({ ip: '10.0.0.1' }, 'unreadable'),
      /^secret: Secret unreadable: .*has "everywhere!", which is none/,
    );
  });

  test('[EVD-4] what costs little to ask is kept for a minute where it is only asked, and no longer than it answers', async () => {
    const cluster = await ActCluster.create();
    const { client, clock } = cluster;
    await client.create(secrets, secretOf('bmc', { password: 'canary' }));
    await client.create(secrets, secretOf('aws', keys));
    const devices = new ClusterDevices({ client, clock, namespace: 'default', agents });
    const parameters = { ip: '127.0.0.1', ipport: '1', username: 'admin', systems_uri: '/redfish/v1/Systems/1' };
    const redfish = { ...method, driver: 'agent:fence_redfish', secrets: ['bmc'], parameters };
    const of = async (isKept: boolean): Promise<unknown> => {
      const one = await devices.device(aNode(), redfish, { isKept });
      assert.ok(one.ok && one.isCheap === isKept);
      return one.device;
    };
    const kept = await of(true);
    assert.equal(await of(true), kept);
    assert.notEqual(await of(false), kept);
    clock.advance(59_999);
    assert.equal(await of(true), kept);
    clock.advance(1);
    assert.notEqual(await of(true), kept, 'its Secret may say something else by now');
    const later = await of(true);
    await (later as Device).ask('status', AbortSignal.abort());
    assert.notEqual(await of(true), later, 'it has not answered');
    const byCloud = async (providerId: string): Promise<boolean> => {
      const one = await devices.device({ ...aNode(), providerId }, { ...method, secrets: ['aws'] }, { isKept: true });
      assert.ok(one.ok, JSON.stringify(one));
      return one.isCheap === true;
    };
    assert.deepEqual(await Promise.all([byCloud('aws:///eu-1a/i-0123456789abcdef0'), byCloud('')]), [true, false]);
  });

  test('[FEN-7] what is wrong is told with the key that is to be corrected, or the Secret that it is in', async () => {
    const told = async (...args: Parameters<typeof foundDevice>): Promise<object> => {
      const answer = await foundDevice(...args);
      return answer.ok ? {} : { key: answer.key, problem: answer.problem };
    };
    assert.match(
      JSON.stringify(await told({ parameters: { reigon: 'x' }, secrets: ['aws'] }, {}, 'aws')),
      /"key":"reigon"/,
    );
    const inSecret = await told({ secrets: ['aws'] }, {}, 'aws', { ...keys, sesion_token: 'canary' });
    assert.match(JSON.stringify(inSecret), /^{"problem":"Secret aws, key sesion_token: /);
    assert.match(
      JSON.stringify(await told({ secrets: ['aws'] })),
      /"key":"secret","problem":"there is no Secret aws in/,
    );
    assert.match(JSON.stringify(await told({ driver: 'agent:fence_nothing' })), /"key":"agent"/);
  });

  test('S28: what is wrong is said without the credentials', async () => {
    const unknown = await found({ driver: 'driver:nimbus' });
    assert.match(unknown, /there is no driver nimbus: write one of aws, azure, gce, openstack, vsphere/);
    const wrong = await found({ parameters: { reigon: 'eu-1' }, secrets: ['aws'] }, {}, 'aws');
    assert.match(wrong, /reigon/);
    assert.ok(!wrong.includes('canary'));
  });
});
