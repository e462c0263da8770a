import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { toldOther } from '../api/others.ts';
import type { Foreign, Looked } from './others-at-work.ts';
import { slim, sources } from './others-at-work.ts';

const node: Looked = { name: 'node-3', machine: 'capi/m-3', providerId: 'metal3://metal/host-3/m3m-3' };
const created = '2026-01-01T00:00:05.123456Z';
const meta = { name: 'node-3', namespace: 'ns', creationTimestamp: created };

/** What an object of this kind says of that node, as a person would be told; `of`: where it is looked for, if not among all. */
function told(kind: string, object: object, about: Looked = node): string[] {
  const source = sources.find((one) => one.kind === kind);
  assert.ok(source, kind);
  return source.tell([slim(object as Foreign)], about, source).map(toldOther);
}

function placeOf(kind: string, about: Looked): object | undefined {
  const source = sources.find((one) => one.kind === kind);
  assert.ok(source !== undefined && source.of !== 'all');
  return source.of(about);
}

const processing = (status: string): object => ({ status: { conditions: [{ type: 'Processing', status }] } });
const at = 'since 2026-01-01T00:00:05Z';

describe('[ADM-6] another remediation operator at work', () => {
  for (const [kind, by] of [
    ['FenceAgentsRemediation', 'Fence Agents Remediation'],
    ['SelfNodeRemediation', 'Self Node Remediation'],
    ['MachineDeletionRemediation', 'Machine Deletion Remediation'],
    ['Metal3Remediation', 'Metal3'],
  ] as const) {
    test(`is known by its ${kind}`, () => {
      assert.deepEqual(told(kind, { metadata: meta }), [`${by} remedies it (${kind} ns/node-3 ${at})`]);
    });
  }

  const rows: [string, object, boolean][] = [
    ['has begun', processing('True'), true],
    ['is done', processing('False'), false],
    ['has said something else', { status: { conditions: [{ type: 'Succeeded', status: 'False' }, null] } }, true],
    ['has failed', { status: { phase: 'Failed' } }, false],
    ['writes what nobody understands', { status: { conditions: 'none', phase: 7 } }, true],
    ['is of another node', { metadata: { ...meta, name: 'node-30' } }, false],
    [
      'is named for it',
      { metadata: { ...meta, name: 'x', annotations: { 'remediation.medik8s.io/node-name': 'node-3' } } },
      true,
    ],
    [
      'is named for another one',
      { metadata: { ...meta, annotations: { 'remediation.medik8s.io/node-name': 'x' } } },
      false,
    ],
    [
      'has been told to stop',
      { metadata: { ...meta, annotations: { 'remediation.medik8s.io/nhc-timed-out': '' } } },
      false,
    ],
    [
      'is of its Machine',
      { metadata: { ...meta, namespace: 'capi', name: 'x', ownerReferences: [{ kind: 'Machine', name: 'm-3' }] } },
      true,
    ],
    [
      'is of the Machine of another',
      { metadata: { ...meta, namespace: 'capi', ownerReferences: [{ kind: 'Machine', name: 'm-4' }] } },
      false,
    ],
    [
      'is of one of that name elsewhere',
      { metadata: { ...meta, ownerReferences: [{ kind: 'Machine', name: 'm-3' }] } },
      false,
    ],
    [
      'is of a NodeHealthCheck',
      { metadata: { ...meta, ownerReferences: [{ kind: 'NodeHealthCheck', name: 'x' }] } },
      true,
    ],
  ];
  for (const [what, object, isAtWork] of rows) {
    test(`${isAtWork ? 'is at work' : 'is not at work'} where it ${what}`, () => {
      assert.equal(told('FenceAgentsRemediation', { metadata: meta, ...object }).length, isAtWork ? 1 : 0);
    });
  }
});

test('[ADM-6, SEC-4] a Machine of Cluster API counts where it says that it is that node, or where nobody knows', () => {
  const of = (apiVersion: string, machineSays?: string): number => {
    const ownerReferences = [{ apiVersion, kind: 'Machine', name: 'm-3' }];
    return told(
      'Metal3Remediation',
      { metadata: { ...meta, namespace: 'capi', name: 'x', ownerReferences } },
      { ...node, machineSays },
    ).length;
  };
  const group = 'cluster.x-k8s.io/v1beta1';
  assert.deepEqual([of(group, 'node-3'), of(group), of(group, 'node-4'), of(group, '')], [1, 1, 0, 0]);
  // Of others it is not read.
  assert.equal(of('machine.openshift.io/v1beta1', ''), 1);
});

describe('[ADM-6] a NodeHealthCheck', () => {
  const resource = { kind: 'RebootRemediation', namespace: 'ns', name: 'node-3-x' };
  const check = (remediations: unknown, name = 'node-3'): object => ({
    metadata: { name: 'workers' },
    status: { unhealthyNodes: [null, { name, remediations }] },
  });

  test('has begun a remediation of a kind that is not read itself', () => {
    assert.deepEqual(told('NodeHealthCheck', check([{ resource, started: created }])), [
      `NodeHealthCheck workers remedies it (RebootRemediation ns/node-3-x ${at})`,
    ]);
  });

  test('says nothing of others, of one that it has given up, and of kinds that say more themselves', () => {
    assert.deepEqual(told('NodeHealthCheck', check([{ resource }], 'node-4')), []);
    assert.deepEqual(told('NodeHealthCheck', check([{ resource, timedOut: created }])), []);
    assert.deepEqual(told('NodeHealthCheck', check([{ resource: { ...resource, kind: 'SelfNodeRemediation' } }])), []);
    assert.deepEqual(told('NodeHealthCheck', { metadata: { name: 'workers' } }), []);
    assert.deepEqual(told('NodeHealthCheck', check('none')), []);
  });

  test('may write what is no name, which is not repeated', () => {
    assert.deepEqual(told('NodeHealthCheck', check([{ resource: { kind: 'a\u001b[2J', name: 7 }, started: 'soon' }])), [
      'NodeHealthCheck workers remedies it ( )',
    ]);
    assert.equal(told('NodeHealthCheck', check([{ resource: null }, null])).length, 1);
  });
});

describe('[ADM-6] whoever has the machine of a node', () => {
  test('keeps it for maintenance', () => {
    const object = { metadata: { name: 'work', creationTimestamp: created }, spec: { nodeName: 'node-3' } };
    assert.deepEqual(told('NodeMaintenance', object), [
      `the Node Maintenance Operator keeps it for maintenance (NodeMaintenance work ${at})`,
    ]);
    assert.deepEqual(told('NodeMaintenance', { ...object, spec: { nodeName: 'node-4' } }), []);
  });

  test('removes it by Cluster API, where the Machine says that it is this node', () => {
    const machine = (more: object, name = 'node-3'): object => ({
      metadata: { ...meta, namespace: 'capi', name: 'm-3', ...more },
      status: { nodeRef: { name } },
    });
    const deleted = { deletionTimestamp: '2026-01-01T00:01:00Z' };
    assert.deepEqual(told('Machine', machine(deleted)), [
      'Cluster API removes it (Machine capi/m-3 since 2026-01-01T00:01:00Z)',
    ]);
    assert.deepEqual(told('Machine', machine({})), []);
    assert.deepEqual(told('Machine', machine(deleted, 'node-4')), []);
    assert.deepEqual(told('Machine', { metadata: { ...meta, ...deleted } }), []);
    assert.deepEqual(placeOf('Machine', node), { namespace: 'capi', name: 'm-3' });
    assert.equal(placeOf('Machine', { name: 'node-3' }), undefined);
    assert.equal(placeOf('Machine', { name: 'node-3', machine: 'm-3' }), undefined);
    assert.equal(placeOf('Machine', { name: 'node-3', machine: 'a/b/c' }), undefined);
  });

  test('is Metal3, whose host is named by the provider ID', () => {
    const host = { namespace: 'metal', name: 'host-3' };
    const of = (providerId: string): object | undefined => placeOf('BareMetalHost', { name: 'node-3', providerId });
    assert.deepEqual(of('metal3://metal/host-3/m3m-3'), host);
    assert.deepEqual(of('metal3:///metal/host-3/m3m-3'), host);
    assert.deepEqual(of('baremetalhost:///metal/host-3/1234'), host);
    assert.equal(of('metal3://7a4b1f7e-0000-4000-8000-000000000000'), undefined);
    assert.equal(of('aws:///eu-west-1a/i-1/x'), undefined);
    assert.equal(placeOf('BareMetalHost', { name: 'node-3' }), undefined);
  });

  const online = { spec: { online: true } };
  const annotated = (key: string): object => ({ metadata: { ...meta, annotations: { [key]: '' } }, ...online });
  const hosts: [string, object, string[]][] = [
    ['is to be on', online, []],
    ['does not say', {}, []],
    ['is to be off', { spec: { online: false } }, ['Metal3 switches its machine off (BareMetalHost ns/node-3)']],
    ['is kept off', annotated('reboot.metal3.io/capm3'), ['Metal3 switches its machine off (BareMetalHost ns/node-3)']],
    ['is to be rebooted', annotated('reboot.metal3.io'), ['Metal3 reboots it (BareMetalHost ns/node-3)']],
    ['has another annotation', annotated('reboot.metal3.ion/x'), []],
    [
      'is deprovisioned',
      { ...online, status: { provisioning: { state: 'deprovisioning' } } },
      ['Metal3 removes it (BareMetalHost ns/node-3)'],
    ],
    ['is provisioned', { ...online, status: { provisioning: { state: 'provisioned' } } }, []],
    [
      'is deleted',
      { metadata: { ...meta, deletionTimestamp: created } },
      ['Metal3 removes it (BareMetalHost ns/node-3)'],
    ],
    ['is left to itself', { ...annotated('baremetalhost.metal3.io/paused'), spec: { online: false } }, []],
    ['is detached', { ...annotated('baremetalhost.metal3.io/detached'), spec: { online: false } }, []],
  ];
  for (const [what, object, expected] of hosts) {
    test(`a host that ${what}`, () => assert.deepEqual(told('BareMetalHost', { metadata: meta, ...object }), expected));
  }
});

test('[ADM-6] nothing is kept of what is written for a fence agent', () => {
  const object = { metadata: meta, spec: { online: true, sharedparameters: { '--password': 'secret' } } } as Foreign;
  assert.ok(!JSON.stringify(slim(object)).includes('secret'));
});
