import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, fenceRef, nodeRef } from '../../test/support/act-cluster.ts';
import { response } from '../../test/support/scripted-server.ts';
import { aRecord, anIncident } from '../../test/support/release-case.ts';
import type { DeviceProvider } from '../devices/provider.ts';
import type { DeviceAnswer } from '../devices/device.ts';
import type { KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import { configMaps, fenceDevices, namespaces, nodes, remedyPolicies, secrets } from '../kube/resources.ts';
import { approveAs } from './approve.ts';
import type { CheckedNode } from './check.ts';
import { checkDevices, clearDevices } from './check.ts';
import { elsewhere } from './written.ts';
import type { StoredFence } from './node-fence.ts';
import { whoAmI } from './node-fence.ts';
import { resume } from './resume.ts';
import { stop } from './stop.ts';
import { UserError } from './user-error.ts';

const policyRef = { resource: remedyPolicies, name: 'release' };

async function stored(cluster: ActCluster): Promise<StoredFence> {
  return cluster.read<StoredFence>(fenceRef);
}

const fenceIn = (phase: string): object => ({
  step: 'power-management',
  status: 'running',
  phase,
  startedAt: '2026-01-01T00:00:00Z',
  stepStartedAt: '2026-01-01T00:00:00Z',
});

describe('stop and resume', () => {
  test('[FEN-13] a fence is stopped, and goes on where it stood; the status stays the operator’s', async () => {
    const cluster = await ActCluster.create();
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me', fence: fenceIn('off') });
    const before = (await stored(cluster)).status;
    const stopped = await stop(cluster.client, 'node-1', {});
    assert.equal(stopped.what, 'stopped');
    const taint = 'node.kubernetes.io/out-of-service=fenceline';
    assert.deepEqual(stopped.notes, [
      'node-1 may be off, and stays so: switch it on yourself, or resume',
      `before you switch it on, see that its Node does not have the taint ${taint} any more: kubectl taint node node-1 ${taint}:NoSchedule-`,
    ]);
    assert.equal((await stored(cluster)).spec.stop, true);
    assert.equal((await stop(cluster.client, 'node-1', {})).what, 'stopped already');
    const resumed = await resume(cluster.client, 'node-1', {});
    assert.match(resumed.notes.join(), /goes on with power-management \(off\)/);
    assert.equal((await stored(cluster)).spec.stop, false);
    assert.deepEqual((await stored(cluster)).status, before);
    assert.equal((await resume(cluster.client, 'node-1', {})).what, 'was not stopped');
  });

  test('[FEN-13] a node without a record gets one; a node that is not there gets none', async () => {
    const cluster = await ActCluster.create();
    await cluster.remove(fenceRef);
    assert.equal((await resume(cluster.client, 'node-1', {})).what, 'was not stopped');
    assert.equal(await cluster.exists(fenceRef), false);
    await stop(cluster.client, 'node-1', {});
    assert.deepEqual((await stored(cluster)).spec, { node: 'node-1', stop: true, stoppedBy: 'me' });
    await assert.rejects(stop(cluster.client, 'node-7', {}), new UserError('no such node: node-7'));
    await cluster.remove(nodeRef);
    assert.equal((await resume(cluster.client, 'node-1', {})).what, 'resumed', 'the record outlives its node');
  });
});

describe('approve', () => {
  const approving = async (): Promise<ActCluster> => {
    const cluster = await ActCluster.create();
    await cluster.patch(policyRef, '/spec/mode', 'Approve');
    return cluster;
  };
  const status = { epoch: 3, holder: 'me', incident: anIncident(), releases: [aRecord()] };

  test('[ADM-8] who approved which incident, and when, is kept; nothing else is touched', async () => {
    const cluster = await approving();
    await cluster.patchStatus(fenceRef, status);
    const before = (await stored(cluster)).status;
    const done = await approveAs(cluster.client, 'node-1', 'jane', {});
    assert.match(done.what, /^approved: Ready=Unknown since .* \(node-1-1\)$/);
    const { approval, ...rest } = (await stored(cluster)).status ?? {};
    assert.deepEqual(approval, { by: 'jane', at: '2026-01-01T00:00:00Z', incident: 'node-1-1' });
    assert.deepEqual(rest, before);
    assert.match((await approveAs(cluster.client, 'node-1', 'joe', {})).what, /^was approved by jane at /);
  });

  test('[ADM-8] what it waited for until then is not what still holds it', async () => {
    for (const [reason, notes] of [
      ['AwaitingApproval', []],
      ['Storm', ['it is held: it waits']],
    ] as const) {
      const cluster = await approving();
      const hold = { reason, message: 'it waits', since: '2026-01-01T00:00:00Z' };
      await cluster.patchStatus(fenceRef, { ...status, hold });
      assert.deepEqual((await approveAs(cluster.client, 'node-1', 'jane', {})).notes, notes);
    }
  });

  test('[ADM-8] an approval of an earlier incident is none of this one', async () => {
    const cluster = await approving();
    const approval = { by: 'jane', at: '2026-01-01T00:00:00Z', incident: 'node-1-0' };
    await cluster.patchStatus(fenceRef, { ...status, approval });
    await approveAs(cluster.client, 'node-1', 'joe', {});
    assert.equal((await stored(cluster)).status?.approval?.by, 'joe');
  });

  test('[ADM-8] without an incident, or with another one than was looked at, nothing is approved', async () => {
    const cluster = await approving();
    await assert.rejects(approveAs(cluster.client, 'node-1', 'jane', {}), /node-1 has no incident to approve/);
    await cluster.patchStatus(fenceRef, status);
    await assert.rejects(
      approveAs(cluster.client, 'node-1', 'jane', { incident: 'node-1-7' }),
      /the incident of node-1 is node-1-1 \(Ready=Unknown\), not node-1-7/,
    );
    await approveAs(cluster.client, 'node-1', 'jane', { dryRun: true });
    assert.equal((await stored(cluster)).status?.approval, undefined);
  });

  test('[ADM-8] the operator writes meanwhile: tried again, but never for another incident', async () => {
    for (const [next, outcome] of [
      ['node-1-1', 'approved'],
      ['node-1-2', 'refused'],
    ]) {
      const cluster = await approving();
      await cluster.patchStatus(fenceRef, status);
      let isFirst = true;
      const inner = cluster.server.transport('jane');
      const client = new KubeClient({
        clock: cluster.clock,
        userAgent: 'test',
        fieldManager: 'test',
        transport: {
          async send(request) {
            if (request.method === 'PUT' && isFirst) {
              isFirst = false;
              await cluster.patchStatus(fenceRef, { ...status, epoch: 4, incident: anIncident({ id: next }) });
            }
            return inner.send(request);
          },
          close: () => inner.close(),
        },
      });
      const done = approveAs(client, 'node-1', 'jane', {});
      if (outcome === 'refused') await assert.rejects(done, /the incident of node-1 is node-1-2/);
      else await done;
      const { approval, epoch } = (await stored(cluster)).status ?? {};
      assert.deepEqual([approval?.incident, epoch], [outcome === 'refused' ? undefined : 'node-1-1', 4]);
    }
  });

  test('[ADM-8, SAF-6] under a policy that waits for no approval none is given', async () => {
    const cluster = await ActCluster.create();
    await cluster.patchStatus(fenceRef, status);
    const ask = (): Promise<unknown> => approveAs(cluster.client, 'node-1', 'jane', {});
    await assert.rejects(ask(), /policy release has mode Enforce: nothing waits for an approval, and none was given/);
    await cluster.remove(policyRef);
    await assert.rejects(ask(), /no policy selects node-1: nothing waits for an approval/);
    assert.equal((await stored(cluster)).status?.approval, undefined);
  });
});

test('[USE-4] who acts is asked of the API server, also of the one of the demo', async () => {
  const { client } = await ActCluster.create();
  assert.equal(await whoAmI(client), 'me');
});

describe('check', () => {
  const on: DeviceAnswer = { kind: 'status', power: 'on' };
  const provider: DeviceProvider = {
    device: async (node, { driver }) =>
      driver === 'built-in'
        ? { ok: false, problem: 'there is no driver' }
        : {
            ok: true,
            device: {
              name: driver,
              ask: async () => (node.name === 'node-2' ? { kind: 'unknown', message: 'no route' } : on),
            },
          },
  };

  async function cluster(): Promise<ActCluster> {
    const made = await ActCluster.create();
    const create = async (...[resource, object]: Parameters<KubeClient['create']>): Promise<void> => {
      const result = await made.client.create(resource, object);
      assert.ok(result.ok, JSON.stringify(result));
    };
    for (const name of ['node-2', 'node-3', 'node-10'])
      await create(nodes, { metadata: { name, labels: { type: 'x' } } });
    // Its device cannot say whose power it is: it has to be seen on while the node is alive.
    await made.patchStatus(nodeRef, { conditions: [{ type: 'Ready', status: 'True' }] });
    await made.client.create(namespaces, { metadata: { name: 'fenceline' } });
    const data = (text: string): object => ({
      'config.properties': text,
      'fence-method-ipmi-off': 'template=fence-method-template-ipmi\naction=off',
    });
    const maps: [string, object][] = [
      ['fence-method-template-ipmi', { 'template.properties': 'agent=fence_ipmilan\nip=10.0.0.{{node}}' }],
      ['fence-config-node-1', data('power_management=ipmi-off')],
      ['fence-config-node-2', data('power_management=ipmi-off')],
      ['fence-config-node-3', data('power_management=ipmi-of')],
      ['unrelated', {}],
    ];
    for (const [name, content] of maps) {
      await create(configMaps, { metadata: { name, namespace: 'fenceline' }, data: content } as KubeObject);
    }
    return made;
  }

  const told = async (made: ActCluster, ...names: string[]): Promise<string[]> => {
    const context = { client: made.client, provider, clock: made.clock, namespace: 'fenceline' };
    return (await checkDevices(context, names)).map(({ node, policy, configuration, reason }) =>
      [node, policy ?? '-', configuration, reason ?? 'ok'].join(' '),
    );
  };

  test('[EXP-3] every node for which something is written, whether or not a policy fences', async () => {
    const made = await cluster();
    assert.deepEqual(await told(made), [
      'node-1 - fence-config-node-1 ok',
      'node-2 - fence-config-node-2 DeviceSilent',
      'node-3 - fence-config-node-3 ConfigurationInvalid',
    ]);
    assert.deepEqual(
      await told(made, 'node-10'),
      ['node-10 - <none> NoConfiguration'],
      'a node that is named is checked',
    );
    await assert.rejects(
      told(made, 'node-7'),
      new UserError('no such node: node-7; there are: node-1, node-2, node-3, node-10'),
    );
  });

  const whole = async (made: ActCluster, ...names: string[]): Promise<CheckedNode[]> =>
    checkDevices({ client: made.client, provider, clock: made.clock, namespace: 'fenceline' }, names);

  test('[SAF-1, EXP-3] a plug that two nodes are configured with is believed of neither, whoever is asked about', async () => {
    const made = await cluster();
    const template = { resource: configMaps, namespace: 'fenceline', name: 'fence-method-template-ipmi' };
    await made.patch(template, '/data', { 'template.properties': 'agent=fence_ipmilan\nip=10.0.0.1' });
    const [one] = await whole(made, 'node-1');
    assert.deepEqual([one?.fenceable, one?.reason], [false, 'WrongMachine']);
    assert.match(one?.message ?? '', /node node-2 is configured with the same device and plug/);
    assert.deepEqual(
      one?.answers.map(({ power, believed }) => [power, believed]),
      [['on', false]],
    );
  });

  test('[SAF-1, EXP-3] the same where the address is in a Secret', async () => {
    const made = await cluster();
    const plugs: DeviceProvider = {
      device: async () => ({ ok: true, device: { name: 'ipmi', ask: async () => on }, plug: 'the same' }),
    };
    const template = { resource: configMaps, namespace: 'fenceline', name: 'fence-method-template-ipmi' };
    await made.patch(template, '/data', { 'template.properties': 'agent=fence_ipmilan\nsecret=bmc' });
    assert.ok((await made.client.create(secrets, { metadata: { name: 'bmc', namespace: 'fenceline' } })).ok);
    const context = { client: made.client, provider: plugs, clock: made.clock, namespace: 'fenceline' };
    const [one] = await checkDevices(context, ['node-1']);
    assert.match(one?.message ?? '', /node node-2 is configured with the same device and plug/);
  });

  test('[SAF-17, EXP-3] a device that cannot say whose power it is is called so', async () => {
    const made = await cluster();
    const [one] = await whole(made, 'node-1');
    assert.deepEqual(
      [one?.fenceable, one?.answers.map(({ identity, believed }) => [identity, believed])],
      [true, [['none', true]]],
    );
    assert.match(
      one?.notes?.join() ?? '',
      /^ipmi-off cannot say whose power it is; no drill has shown .*fenceline drill node-1/,
    );
  });

  test('[FEN-7, EXP-3] a Secret that is not there is told with the place that names it', async () => {
    const made = await cluster();
    const template = { resource: configMaps, namespace: 'fenceline', name: 'fence-method-template-ipmi' };
    const text = 'agent=fence_ipmilan\nip=10.0.0.{{node}}\nsecret=bmc';
    await made.patch(template, '/data', { 'template.properties': text });
    const [one] = await whole(made, 'node-1');
    assert.equal(one?.reason, 'ConfigurationInvalid');
    assert.match(
      one?.message ?? '',
      /^ConfigMap fence-method-template-ipmi, template.properties: secret: there is no Secret bmc in namespace fenceline: create it/,
    );
  });

  test('[EXP-3] a namespace that is not there is a mistake, and so is one where nothing is written', async () => {
    const made = await cluster();
    const { client } = made;
    const context = { client, provider, clock: made.clock, namespace: 'fencelin' };
    const where = 'there is one in fenceline: write -n fenceline';
    await assert.rejects(
      checkDevices(context, []),
      new UserError(`there is no namespace fencelin: of fence configurations ${where}`),
    );
    await client.create(namespaces, { metadata: { name: 'fencelin' } });
    assert.equal(await elsewhere(context), `in namespace fencelin no fence configuration is written; ${where}`);
    assert.equal(await elsewhere({ client, namespace: 'fenceline' }), undefined);
  });

  test('[EXP-3] what is written is not denied because something else is written elsewhere, or only a template is', async () => {
    const { client } = await cluster();
    const make = async (resource: typeof configMaps, namespace: string, name: string, spec?: object): Promise<void> => {
      const object = { metadata: { name, namespace }, ...(spec && { spec }) } as KubeObject;
      assert.ok((await client.create(resource, object)).ok);
    };
    for (const name of ['other', 'empty']) await client.create(namespaces, { metadata: { name } });
    await make(fenceDevices, 'other', 'node-1.pdu', { node: 'node-1', agent: 'fence_pdu' });
    assert.equal(await elsewhere({ client, namespace: 'fenceline' }), undefined);
    assert.equal(await elsewhere({ client, namespace: 'other' }), undefined);
    await make(fenceDevices, 'empty', 'node-2.pdu', { node: 'node-2' });
    const both = 'there is one in fenceline, other: write -n fenceline';
    const none = `in namespace empty no fence configuration is written; ${both}`;
    assert.equal(await elsewhere({ client, namespace: 'empty' }), none, 'a memory of one is not one');
    await make(configMaps, 'empty', 'fence-method-template-ipmi');
    assert.equal(await elsewhere({ client, namespace: 'empty' }), undefined);
  });

  test('[EXP-3] where nobody may look everywhere, it is not said that there is nothing', async () => {
    const made = await cluster();
    await made.client.create(namespaces, { metadata: { name: 'empty' } });
    const transport = made.server.transport('me');
    const forbidden = JSON.stringify({ kind: 'Status', reason: 'Forbidden', code: 403, message: 'this is forbidden' });
    const send: typeof transport.send = async (request) =>
      /\/(?:configmaps|fencedevices|namespaces)(?:\?|$)/.test(request.path) && !request.path.includes('/namespaces/')
        ? response(forbidden, 403)
        : transport.send(request);
    const options = { clock: made.clock, userAgent: 't', fieldManager: 't' };
    const client = new KubeClient({ transport: { send, close: () => {} }, ...options });
    assert.match(
      (await elsewhere({ client, namespace: 'empty' })) ?? '',
      /^in namespace empty no fence configuration is written; whether one is written elsewhere could not be read \(.*forbidden/i,
    );
    assert.equal(await elsewhere({ client, namespace: 'fenceline' }), undefined, 'there it is, and may be read');
    await assert.rejects(
      elsewhere({ client, namespace: 'fencelin' }),
      /there is no namespace fencelin: write -n and the one .*; whether one is written elsewhere could not be read/,
    );
  });

  test('[SAF-1] what was found wrong is cleared for nodes that are named, and only where something was', async () => {
    const made = await cluster();
    const context = { client: made.client, namespace: 'fenceline' };
    const refused = (names: string[], why: RegExp): Promise<void> =>
      assert.rejects(
        clearDevices(context, names, 'jane'),
        (error) => error instanceof UserError && why.test(error.message),
      );
    await refused([], /name the nodes/);
    await refused(['node-1'], /^no device of node-1 is known to be wrong$/);
    const ref = { resource: fenceDevices, namespace: 'fenceline', name: 'node-1.pdu' };
    const metadata = { name: ref.name, namespace: ref.namespace };
    assert.ok((await made.client.create(fenceDevices, { metadata, spec: { node: 'node-1' } } as KubeObject)).ok);
    const since = '2026-01-01T00:00:00.123Z';
    await made.patchStatus(ref, { wrong: { since, reason: 'OutletsSwapped', message: 'node-2 fell silent' } });
    await refused(['node-2'], /^no device of node-2/);
    const [told] = await clearDevices(context, ['node-1'], 'jane');
    assert.match(told ?? '', /^node-1\.pdu: OutletsSwapped: node-2 fell silent; cleared when the next check/);
    const { spec } = await made.read<KubeObject & { spec: object }>(ref);
    assert.deepEqual(spec, { node: 'node-1', cleared: { by: 'jane', wrongSince: since } });
  });

  test('[EXP-3] and every node that a policy fences', async () => {
    const made = await cluster();
    const spec = {
      selector: { matchLabels: { type: 'x' } },
      thresholds: [{ lease: {}, remedies: [{ name: 'fence' }] }],
      remedies: [{ name: 'fence', fence: {} }],
    };
    const policy = { metadata: { name: 'workers' }, spec } as KubeObject;
    assert.ok((await made.client.create(remedyPolicies, policy)).ok);
    assert.deepEqual(await told(made), [
      'node-1 - fence-config-node-1 ok',
      'node-2 workers fence-config-node-2 DeviceSilent',
      'node-3 workers fence-config-node-3 ConfigurationInvalid',
      'node-10 workers <none> NoConfiguration',
    ]);
  });
});
