import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Snapshot, SnapshotNode, SnapshotObject, SnapshotPod } from '../../api/snapshot.ts';
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
import type { RawEvent } from './failure.ts';
import type { Part } from './part.ts';

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

/** As it stands in the scenario of a cluster that has nothing else to fence with. */
function copied(from: KubeObject): KubeObject {
  const written = projectDevice(from);
  assert.ok(written !== undefined);
  const devices = [{ written, object: snapshotOwn(fenceDevices)(from) }];
  const { spec } = JSON.parse(printed({ ...snapshot(), maps: [], devices })) as { spec: { objects: KubeObject[] } };
  const copy = spec.objects.find((made) => (made as { kind?: string }).kind === 'FenceDevice');
  assert.ok(copy !== undefined);
  return copy;
}

function specOf(from: KubeObject): Record<string, unknown> {
  return (copied(from) as unknown as { spec: Record<string, unknown> }).spec;
}

interface Simulated {
  nodes: { name: string; capacity: object }[];
  leaseDuration: string;
  objects: readonly SnapshotObject[];
  events: readonly object[];
}

/** What becomes of a cluster that has these, and of which these are simulated. */
function simulatedOf(there: Partial<Snapshot>, taken: Partial<Part>, events: readonly RawEvent[] = []): Simulated {
  const { spec } = scenarioOf({
    name: 'n',
    snapshot: { ...snapshot(), maps: [], devices: [], volumes: [], policies: [], ...there },
    part: { nodes: [], others: [], pods: [], sets: [], notes: [], ...taken },
    events,
    policies: [],
    runFor: '1h',
    featureGates: {},
  });
  const { nodes, kubernetes } = spec.cluster as Pick<Simulated, 'nodes'> & { kubernetes: { leaseDuration: string } };
  return { nodes, leaseDuration: kubernetes.leaseDuration, objects: spec.objects, events: spec.events };
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
      const copy = copied(one);
      for (const read of [written, projectDevice(copy)]) {
        assert.ok(read !== undefined);
        const { ok } = configOf({ name: 'a', labels: {} }, { maps: [], devices: [read] });
        assert.equal(ok, isRight, JSON.stringify([agent, read.spec.parameters]));
      }
    }
  });

  test('[EXP-2] S28: of the values of a node only those of places are told that are no secret elsewhere, by name or by size', () => {
    const values = {
      address: '10.0.0.7',
      both: canary('both'),
      password: canary('named'),
      long: 'x'.repeat(65),
      longest: 'x'.repeat(64),
      odd: 'a b?',
    };
    const plug = '{{both}}{{password}}{{long}}{{longest}}{{odd}}';
    const parameters = { ip: '{{address}}', plug, community: '{{both}}' };
    const one = object('FenceDevice', {
      node: 'a',
      agent: 'fence_apc_snmp',
      parameters,
      values: [{ node: 'a', values }],
    });
    const hidden = { both: 'redacted', password: 'redacted', long: 'redacted', odd: 'redacted' };
    const told = { address: '10.0.0.7', longest: values.longest, ...hidden };
    assert.deepEqual(specOf(one)['values'], [{ node: 'a', values: told }]);
  });

  test('[EXP-2] S28: of a machine in a cloud its name is told, and not an address with a signature', () => {
    const told = (plug: string): unknown =>
      specOf(object('FenceDevice', { node: 'a', driver: 'aws', parameters: { plug } }))['parameters'];
    assert.deepEqual(told('i-{{number}}'), { plug: 'i-{{number}}' });
    assert.deepEqual(told(`https://vault/x?sig=${canary('signature')}`), {});
  });

  test('[EXP-2] what only takes up room is counted by what it asks for and as a pod, and what has ended is not', () => {
    const node = snapshotNode({
      ...object('Node', {}),
      status: { allocatable: { cpu: '2', memory: '1000', pods: '10' } },
    } as never);
    const pod = (uid: string, phase: string): SnapshotPod =>
      snapshotPod({
        metadata: { name: uid, namespace: 'default', uid },
        spec: {
          nodeName: 'a',
          containers: [{ name: 'main', resources: { requests: { cpu: '500m', memory: '100' } } }],
        },
        status: { phase },
      } as never);
    const pods = [pod('runs', 'Running'), pod('waits', 'Pending'), pod('over', 'Succeeded'), pod('broken', 'Failed')];
    const room = (simulated: readonly SnapshotPod[]): unknown =>
      simulatedOf({ nodes: [node], pods }, { nodes: [node], pods: simulated }).nodes[0]?.capacity;
    assert.deepEqual(room([]), { cpu: '1000m', memory: '800', pods: '8' });
    assert.deepEqual(room(pods.slice(0, 1)), { cpu: '1500m', memory: '900', pods: '9' });
  });

  test('[EXP-2] a cordon of others is taken over, and one of ours is not', () => {
    const node = (name: string, change: object): SnapshotNode => ({
      ...snapshotNode(object('Node', {})),
      name,
      ...change,
    });
    const nodes = [
      node('free', {}),
      node('theirs', { isCordoned: true }),
      node('ours', { isCordoned: true, isOurCordon: true }),
    ];
    const { objects } = simulatedOf({ nodes }, { nodes });
    const cordoned = objects.filter(({ kind }) => kind === 'Node').map(({ metadata }) => metadata.name);
    assert.deepEqual(cordoned, ['theirs']);
  });

  test('[EXP-2] what is down already counts when the next one fails', () => {
    const node = (name: string, ready: SnapshotNode['ready']): SnapshotNode => {
      return { ...snapshotNode(object('Node', {})), name, ready };
    };
    const nodes = [node('well', 'True'), node('silent', 'Unknown'), node('broken', 'False')];
    const { events } = simulatedOf({ nodes }, { nodes }, [{ at: '0s', powerOff: 'well' }]);
    assert.deepEqual(events, [
      { at: '0s', partition: 'silent' },
      { at: '0s', partition: 'broken' },
      { at: '0s', powerOff: 'well' },
    ]);
  });

  test('[EXP-2] Leases last as those of most nodes do, and never for no time', () => {
    const lasting = (...seconds: (number | undefined)[]): unknown => {
      const nodes = seconds.map((leaseSeconds, at): SnapshotNode => {
        const { leaseSeconds: _, ...node } = snapshotNode(object('Node', {}));
        return { ...node, name: `${at}`, ...(leaseSeconds === undefined ? {} : { leaseSeconds }) };
      });
      return simulatedOf({ nodes }, { nodes }).leaseDuration;
    };
    assert.equal(lasting(40, 20, 20), '20s');
    assert.equal(lasting(0, 0, 20), '20s');
    assert.equal(lasting(0), '40s');
    assert.equal(lasting(undefined), '40s');
  });
});
