import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Snapshot } from '../../api/snapshot.ts';
import { configOf } from '../../fence/config.ts';
import type { KubeObject } from '../../kube/client.ts';
import { fenceDevices } from '../../kube/resources.ts';
import { projectDevice } from '../../observe/project-device.ts';
import {
  snapshotNode,
  snapshotOwn,
  snapshotPod,
  snapshotPolicy,
  snapshotSet,
  snapshotVolume,
} from '../../observe/project-snapshot.ts';
import { scenarioOf } from './document.ts';

/** What must not come out. Each place has its own, so that a failure says where it came from. */
const canary = (place: string): string => `CANARY-${place}`;

const podSpec = {
  nodeName: 'a',
  serviceAccountName: canary('account'),
  imagePullSecrets: [{ name: canary('pull') }],
  hostAliases: [{ ip: '10.0.0.1', hostnames: [canary('alias')] }],
  containers: [
    {
      name: 'main',
      image: 'example/app:1',
      command: ['sh', '-c', canary('command')],
      args: [canary('argument')],
      env: [{ name: canary('variable'), value: canary('value') }],
      envFrom: [{ secretRef: { name: canary('from') } }],
      livenessProbe: { exec: { command: [canary('probe')] } },
      lifecycle: { preStop: { exec: { command: [canary('hook')] } } },
    },
  ],
  volumes: [
    { name: 'inline', csi: { driver: 'example.com', volumeAttributes: { key: canary('inline') } } },
    { name: 'flex', flexVolume: { driver: 'x', options: { mountPassphrase: canary('flex') } } },
    { name: 'blocks', iscsi: { targetPortal: 'x', initiatorName: canary('iscsi') } },
    { name: 'file', secret: { secretName: canary('secret') } },
    {
      name: 'own',
      ephemeral: { volumeClaimTemplate: { metadata: { annotations: { a: canary('ephemeral') } }, spec: {} } },
    },
  ],
};
const template = { metadata: { labels: { app: 'x' }, annotations: { note: canary('note') } }, spec: podSpec };

function object(kind: string, spec: object): KubeObject {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': canary('applied') };
  return { kind, metadata: { name: 'a', namespace: 'default', uid: kind, annotations }, spec } as unknown as KubeObject;
}

const suspects =
  'community snmp_community api_key apikey passwd password passphrase key pin auth auth_blob username login access_key token ' +
  'ssh_options password_script identity bearer pwd kg region namespace uuid tenant_name';
const properties = [
  'agent=fence_apc_snmp',
  'ip=10.0.0.{{number}}',
  'plug={{number}}',
  `secret=${canary('secret-name').toLowerCase()}-{{node}}`,
  ...suspects.split(' ').map((key) => `${key}=${canary(key)}`),
];

const lines = [
  ...properties,
  'hexadecimal_kg=c0ffee15bad',
  `# ${canary('comment')}`,
  `password ${canary('no-sign')}`,
  `password ${canary('in-key')} = x`,
  `${canary('key')}=x`,
  `ipport=${canary('no-number')}`,
  `redfish_uri=https://admin:${canary('address')}@bmc`,
  `storage=driver.example.com password=${canary('storage')}`,
].join('\n');

const device = object('FenceDevice', {
  node: 'a',
  agent: 'fence_ipmilan',
  parameters: {
    ip: '10.0.0.{{number}}',
    community: canary('parameter'),
    password: '{{pw}}',
    [canary('parameter-key')]: 'x',
    bearer: canary('bearer'),
    hexadecimal_kg: 'c0ffee15bad',
  },
  values: [{ node: 'a', values: { number: '7', pw: canary('of-node'), unused: canary('unused') } }],
  secrets: ['bmc'],
  identity: canary('machine'),
  cleared: { by: canary('by'), wrongSince: '2026-01-01T00:00:00Z' },
});

const policy = object('RemedyPolicy', {
  allNodes: true,
  remedies: [{ name: 'job', podTemplate: template }],
});

function snapshot(): Snapshot {
  const written = projectDevice(device);
  assert.ok(written !== undefined);
  const volume = object('PersistentVolume', {
    accessModes: ['ReadWriteOnce'],
    claimRef: { namespace: 'default', name: 'data' },
    mountOptions: [`password=${canary('mount')}`],
    csi: { driver: 'example.com', volumeHandle: 'pv', volumeAttributes: { a: canary('attribute') }, x: canary('csi') },
    flexVolume: { options: { a: canary('option') } },
  });
  return {
    takenAt: '',
    nodes: [snapshotNode(object('Node', {}))],
    pods: [],
    sets: [],
    claims: [],
    volumes: [snapshotVolume(volume)],
    classes: [],
    drivers: [],
    budgets: [],
    policies: [snapshotPolicy(policy)],
    maps: [
      {
        name: 'fence-config-a',
        data: {
          'config.properties': `node_name=a\nisolation=off\npassword=${canary('config')}\nrecovery=on password=${canary('step')}`,
          'fence-method-off': `template=fence-method-template-x\naction=off\npasswd=${canary('method')}`,
          'values.a': `number=7\npw=${canary('values')}`,
          'credentials.txt': canary('entry'),
        },
      },
      { name: 'fence-method-template-x', data: { 'template.properties': lines } },
    ],
    devices: [{ written, object: snapshotOwn(fenceDevices)(device) }],
    replicas: [],
    unread: [],
  };
}

function printed(taken: Snapshot): string {
  const used = { ...object('Pod', podSpec) };
  const claim = { name: 'data', persistentVolumeClaim: { claimName: 'data' } };
  const pod = snapshotPod({ ...used, spec: { ...podSpec, volumes: [...podSpec.volumes, claim] } } as never);
  const set = snapshotSet('StatefulSet')(object('StatefulSet', { template, replicas: 1 }));
  return JSON.stringify(
    scenarioOf({
      name: 'n',
      snapshot: taken,
      part: { nodes: [], others: [], pods: [pod], sets: [set], notes: [] },
      events: [],
      policies: taken.policies,
      runFor: '1h',
      featureGates: {},
    }),
  );
}

describe('a scenario made of a cluster', () => {
  test('[EXP-2] S28: nothing comes out of it but what is known to be harmless, wherever it is written', () => {
    const text = printed(snapshot());
    assert.deepEqual(text.match(/canary-[a-z-]+|c0ffee15bad/gi) ?? [], []);
    for (const kept of ['10.0.0.{{number}}', 'number=7', 'example/app:1', 'fence_apc_snmp', '"pv"']) {
      assert.ok(text.includes(kept), kept);
    }
  });

  test('[EXP-2] what was right stays right without its secrets, and what was wrong stays wrong', () => {
    const right = { ip: '10.0.0.1', password: 'p w', hexadecimal_kg: '0xabc', username: 'DOMAIN\\root' };
    const cases: [string, Record<string, string>, boolean][] = [
      ['fence_redfish', { ip: '10.0.0.1', password: 'p w', username: 'DOMAIN\\root' }, true],
      ['fence_ipmilan', { ip: '10.0.0.1', password: 'p w', hexadecimal_kg: '0xabc' }, true],
      ['fence_ipmilan', right, false],
      ['fence_ipmilan', { ip: '10.0.0.1', hexadecimal_kg: 'xyz' }, false],
      ['fence_ipmilan', { ip: '10.0.0.1 -x' }, false],
      ['fence_ipmilan', { ip: '10.0.0.1', pasword: 'p' }, false],
    ];
    for (const [agent, parameters, isRight] of cases) {
      const one = object('FenceDevice', { node: 'a', agent, parameters });
      const written = projectDevice(one);
      assert.ok(written !== undefined);
      const devices = [{ written, object: snapshotOwn(fenceDevices)(one) }];
      const { spec } = JSON.parse(printed({ ...snapshot(), maps: [], devices })) as { spec: { objects: KubeObject[] } };
      const copy = spec.objects.find((made) => (made as { kind?: string }).kind === 'FenceDevice');
      assert.ok(copy !== undefined);
      for (const read of [written, projectDevice(copy)]) {
        assert.ok(read !== undefined);
        const { ok } = configOf({ name: 'a', labels: {} }, { maps: [], devices: [read] });
        assert.equal(ok, isRight, JSON.stringify([agent, read.spec.parameters]));
      }
    }
  });
});
