import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/power.ts';
import { sharedDevices, uncheckedNodes, unprovenNodes, unshownNodes, type FencedNode } from './policy-nodes.ts';

const method = (parameters: Record<string, string>, more: Partial<Method> = {}): Method => ({
  name: 'off',
  action: 'off',
  driver: 'agent:fence_apc',
  parameters,
  secrets: [],
  ...more,
});
const fenced = (name: string, ...off: Method[]): FencedNode => ({
  policy: 'workers',
  node: aNode({ name }),
  config: { ok: true, config: { isolation: [], powerManagement: [{ off, on: [] }], recovery: [] } },
});

test('[SAF-1] two nodes with the same address and plug: neither is to be believed', () => {
  const one = method({ ip: '10.0.0.1', plug: '3' });
  const same = method({ ipaddr: '10.0.0.1', port: '3', username: 'x' });
  const other = method({ ip: '10.0.0.1', plug: '4' });
  const shared = sharedDevices([fenced('a', one), fenced('b', same), fenced('c', other)]);
  assert.deepEqual(Object.fromEntries(shared), { [`a ${deviceHash(one)}`]: 'b', [`b ${deviceHash(same)}`]: 'a' });
  assert.equal(
    sharedDevices([fenced('a', one, method({ ip: '10.0.0.1', plug: '3' }))]).size,
    0,
    'off and on of one node',
  );
  const unknown = method({ plug: '3' }, { secrets: ['where'] });
  assert.equal(
    sharedDevices([fenced('a', unknown), fenced('b', unknown)]).size,
    0,
    'where it is, is in a Secret: told by the devices',
  );
});

test('[SAF-17] nodes that would be let go by unproven devices alone', () => {
  const [a, b] = [method({ ip: '10.0.0.1' }), method({ ip: '10.0.0.2' })];
  const named = (unproven: readonly Method[], ...configured: Method[][]): unknown => {
    const powerManagement = configured.map((off) => ({ off, on: [] }));
    const one = {
      ...fenced('a', a),
      config: { ok: true, config: { isolation: [], powerManagement, recovery: [] } } as const,
    };
    return [...unprovenNodes([one], (node, tried) => node === 'a' && unproven.includes(tried))];
  };
  assert.deepEqual(named([a], [a]), [['workers', ['a']]]);
  assert.deepEqual(named([], [a]), []);
  assert.deepEqual(named([a], [a, b]), [], 'one that is proven stands for both');
  assert.deepEqual(named([a], [b], [a]), [['workers', ['a']]], 'on whatever level');
  assert.deepEqual(named([a], []), []);
  const cordon: Method = { ...a, action: 'cordon' };
  assert.deepEqual(named([a, cordon], [cordon]), [], 'a cordon lets nothing go');
});

test('[SAF-2] nodes with a device that nobody checks', () => {
  const unchecked = method({ ip: '10.0.0.1' }, { identity: 'unchecked' });
  assert.deepEqual(
    [...uncheckedNodes([fenced('a', unchecked), fenced('b', method({ ip: '10.0.0.2' }))])],
    [['workers', ['a']]],
  );
});

test('[SAF-1] nodes whose port to the storage nobody has shown', () => {
  const port: Method = { ...method({ ip: '10.0.0.1' }), storage: ['csi.example.com'] };
  const named = (unshown: readonly Method[], off: Method): unknown => {
    const isolation = [{ off: [off], on: [] }];
    const config = { ok: true, config: { isolation, powerManagement: [], recovery: [] } } as const;
    const one = { ...fenced('a', off), config };
    return [...unshownNodes([one], (node, tried) => node === 'a' && unshown.includes(tried))];
  };
  assert.deepEqual(named([port], port), [['workers', ['a']]]);
  assert.deepEqual(named([], port), []);
  const network: Method = { ...port, storage: [] };
  assert.deepEqual(named([network], network), [], 'nothing goes by it anyway');
});
