import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ConfigResult, FenceConfig, NamedData, WrittenDevice } from '../api/fence-config.ts';
import { configOf } from './config.ts';

const worker = { name: 'worker-1', labels: { pool: 'workers' } };
const selector = { matchLabels: { pool: 'workers' }, matchExpressions: [] };

type Change = Partial<WrittenDevice['spec']>;
const device = (name: string, change: Change = {}): WrittenDevice => ({
  name,
  spec: {
    ...(change.selector === undefined ? { node: 'worker-1' } : {}),
    driver: 'agent:fence_ipmilan',
    parameters: { ip: '10.0.0.1', username: 'admin' },
    values: {},
    secrets: [],
    level: 1,
    cuts: 'Power',
    storage: [],
    ...change,
  },
});

const read = (devices: readonly WrittenDevice[], more: object = {}): ConfigResult =>
  configOf(worker, { maps: [], devices, ...more });

function config(...devices: WrittenDevice[]): FenceConfig {
  const result = read(devices);
  assert.ok(result.ok, JSON.stringify(result));
  return result.config;
}

function problem(devices: readonly WrittenDevice[], more: object = {}): string {
  const result = read(devices, more);
  assert.ok(!result.ok);
  return result.problems.map(({ file, key, reason }) => `${file}, ${key}: ${reason}`).join('\n');
}

describe('a FenceDevice as somebody writes it', () => {
  test('[SEC-3] is refused where nobody looks whose machine it is, and that is forbidden', () => {
    const unchecked = device('bmc', { identity: 'unchecked' });
    const forbidden = ['UncheckedDevices'];
    assert.match(
      problem([unchecked], { forbidden }),
      /bmc, .*identity: it is unchecked, and this operator was told to forbid/,
    );
    assert.ok(read([unchecked]).ok);
    assert.ok(read([device('bmc')], { forbidden }).ok);
  });

  test('[FEN-15] stands against ConfigMaps of fences alone: a template is about no node', () => {
    const data = { 'config.properties': 'selector=pool=workers' };
    assert.ok(read([device('bmc')], { maps: [{ name: 'fence-method-template-x', data }] }).ok);
    assert.match(problem([device('bmc')], { maps: [{ name: 'fence-config-x', data }] }), /remove one of them/);
  });

  test('[FEN-15] switches one node off and on, and keeps what is known of it in itself', () => {
    const { powerManagement, isolation, recovery, source } = config(device('bmc', { secrets: ['bmc'] }));
    const method = {
      name: 'bmc',
      driver: 'agent:fence_ipmilan',
      parameters: { ip: '10.0.0.1', username: 'admin' },
      secrets: ['bmc'],
      object: 'bmc',
    };
    assert.deepEqual(powerManagement, [{ off: [{ ...method, action: 'off' }], on: [{ ...method, action: 'on' }] }]);
    assert.deepEqual([isolation, recovery, source], [[], [], 'FenceDevice bmc']);
  });

  test('[FEN-15] for all nodes with a label, with values and a Secret for each', () => {
    const shared = device('pdu', {
      selector,
      driver: 'agent:fence_apc_snmp',
      parameters: { ip: '{{pdu}}', plug: '{{plug}}' },
      values: { 'worker-1': { pdu: '10.0.9.1', plug: '3' } },
      secrets: ['pdu', 'bmc-{{node}}'],
      identity: '{{plug}}',
    });
    const [level] = config(shared).powerManagement;
    const { parameters, secrets, identity, object } = level?.off[0] ?? {};
    assert.deepEqual(parameters, { ip: '10.0.9.1', plug: '3' });
    assert.deepEqual([secrets, identity, object], [['pdu', 'bmc-worker-1'], '3', undefined]);
    const other = configOf({ name: 'db-1', labels: { pool: 'databases' } }, { maps: [], devices: [shared] });
    assert.ok(other.ok && other.config.source === undefined, 'it selects others');
  });

  test('[FEN-14, FEN-15] those of one level together, the next level where one fails; storage before power', () => {
    const devices = [
      device('psu-b', { level: 2 }),
      device('psu-a', { level: 2 }),
      device('bmc'),
      device('fc', { cuts: 'Storage', storage: ['driver.example.com'] }),
    ];
    const { powerManagement, isolation, source } = config(...devices);
    const names = powerManagement.map(({ off, on }) => [off, on].map((one) => one.map(({ name }) => name).join(' ')));
    assert.deepEqual(names, [
      ['bmc', 'bmc'],
      ['psu-a psu-b', 'psu-a psu-b'],
    ]);
    assert.deepEqual(
      isolation.map(({ off, on }) => [off[0]?.name, off[0]?.storage, on]),
      [['fc', ['driver.example.com'], []]],
    );
    assert.equal(source, 'FenceDevice bmc, FenceDevice fc, FenceDevice psu-a, FenceDevice psu-b');
  });
});

describe('a mistake in a FenceDevice', () => {
  test('[FEN-15] a ConfigMap about the same node: nobody chooses between them', () => {
    const own: NamedData = { name: 'fence-config-worker-1', data: { 'config.properties': 'power_management=x' } };
    const also = 'is about node worker-1 as well: remove one of them';
    assert.equal(problem([device('bmc')], { maps: [own] }), `FenceDevice bmc, spec: ConfigMap ${own.name} ${also}`);
    for (const written of ['selector=pool=workers', 'selector=>']) {
      const shared: NamedData = { name: 'fence-config-all', data: { 'config.properties': written } };
      const told = problem([device('bmc'), device('pdu')], { maps: [shared] });
      assert.equal(told.split('\n').length, 2, told);
      assert.match(told, /^FenceDevice bmc, spec: ConfigMap fence-config-all is about node worker-1 as well/);
    }
    const elsewhere: NamedData = { name: 'fence-config-db-1', data: {} };
    assert.ok(read([device('bmc')], { maps: [elsewhere] }).ok);
  });

  test('[FEN-15, FEN-7] is told with the field and what to write', () => {
    const rows: [Change, RegExp][] = [
      [
        { parameters: { ip: '{{bmc}}' } },
        /^FenceDevice bmc, spec\.parameters\.ip: \{\{bmc\}\} has no value for node worker-1: add an entry for it to spec\.values, with bmc$/,
      ],
      [
        { parameters: { ip: '{{bmc}}' }, values: { 'worker-11': { bmc: 'x' } } },
        /add an entry for it to spec\.values, with bmc \(there is one for worker-11\)$/,
      ],
      [{ parameters: { ip: '{{bmc}}' }, values: { 'worker-1': {} } }, /add bmc to its entry in spec\.values$/],
      [{ parameters: { usernme: 'admin' } }, /^FenceDevice bmc, spec\.parameters\.usernme: .*did you mean username\?$/],
      [{ driver: 'agent:fence_sbd' }, /^FenceDevice bmc, spec\.agent: it is not run: /],
      [{ secrets: ['Not A Secret'] }, /^FenceDevice bmc, spec\.secrets: write names of Secrets/],
    ];
    for (const [change, told] of rows) assert.match(problem([device('bmc', change)]), told);
    assert.match(
      problem([device('bmc', { secrets: ['bmc-{{node}}'] })], { secrets: new Set(['bmc']) }),
      /^FenceDevice bmc, spec\.secrets: there is no Secret bmc-worker-1: create it, or correct the name$/,
    );
  });

  test('[SEC-1] what a ConfigMap may not give to an agent, a FenceDevice may not either', () => {
    const hostile: [string, Record<string, string>][] = [
      ['fence_virsh', { username: 'admin -oProxyCommand=touch${IFS}/tmp/x' }],
      ['fence_virsh', { identity_file: '/etc/shadow' }],
      ['fence_lpar', { managed: 'x; touch /tmp/x' }],
      ['fence_brocade', { ssh_options: '-oProxyCommand=x' }],
      ['fence_ipmilan', { ip: '-x' }],
      ['fence_ipmilan', { ipmitool_path: '/tmp/x' }],
      ['fence_ipmilan', { password_script: '/tmp/x' }],
      ['fence_ipmilan', { ip: '10.0.0.1\naction=off' }],
    ];
    for (const [agent, parameters] of hostile) {
      const typed = problem([device('bmc', { driver: `agent:${agent}`, parameters })]);
      const values = { 'worker-1': { it: Object.values(parameters)[0] ?? '' } };
      const [key = ''] = Object.keys(parameters);
      const hidden = problem([device('bmc', { driver: `agent:${agent}`, parameters: { [key]: '{{it}}' }, values })]);
      assert.equal(typed, hidden, 'nor by way of a value');
      assert.match(typed, new RegExp(`^FenceDevice bmc, spec\\.parameters\\.${key}: `));
    }
    const allowed = [{ agent: 'fence_virsh', key: 'identity_file', value: '/etc/key' }];
    const devices = [device('bmc', { driver: 'agent:fence_virsh', parameters: { identity_file: '/etc/key' } })];
    assert.ok(read(devices, { allowed }).ok, 'but for what the operator was started with');
  });
});
