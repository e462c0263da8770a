import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNode } from '../../test/support/release-case.ts';
import { machineKey, rivalsAmong, undisputed } from './machine.ts';

const uuid = '00112233-4455-6677-8899-aabbccddeeff';

test('[SAF-2] one machine is one key, however it is written', () => {
  const same = [
    uuid.toUpperCase(),
    '33221100-5544-7766-8899-AABBCCDDEEFF',
    'ffeeddcc-bbaa-9988-7766-554433221100',
    'ccddeeff-aabb-8899-7766-554433221100',
    `openstack:///${uuid}`,
    `openstack://region/${uuid}`,
    `vsphere://${uuid}`,
  ];
  for (const one of same) assert.equal(machineKey(one), machineKey(uuid), one);
  assert.equal(machineKey('azure:///subscriptions/S/vm/A'), machineKey('azure:///subscriptions/s/vm/a'));
  const others = ['aws:///eu-1a/i-1', 'aws:///eu-1a/i-2', 'gce://p/z-1/a', 'gce://p/z-2/a', uuid];
  assert.equal(new Set(others.map(machineKey)).size, others.length);
});

test('[SAF-2, SEC-2] what two nodes say of themselves is left out of both, and who says it is told', () => {
  const nodes = [
    aNode({ name: 'a', systemUuid: uuid, providerId: 'aws:///z/i-1' }),
    aNode({ name: 'b', systemUuid: '00112233-4455-6677-8899-aabbccddee00', providerId: 'aws:///z/i-1' }),
    aNode({ name: 'c', systemUuid: uuid.toUpperCase(), providerId: 'aws:///z/i-3' }),
    aNode({ name: 'd', systemUuid: 'ffffffff-ffff-ffff-ffff-ffffffffffff', providerId: '' }),
    aNode({ name: 'e', systemUuid: 'ffffffff-ffff-ffff-ffff-ffffffffffff', providerId: '' }),
  ];
  const rivalOf = rivalsAmong(nodes);
  const seen = nodes.map((node) => undisputed(node, rivalOf(node.name)));
  assert.deepEqual(
    seen.map(({ disputed }) => disputed),
    [{ systemUuid: 'c', providerId: 'b' }, { providerId: 'a' }, { systemUuid: 'a' }, undefined, undefined],
  );
  assert.deepEqual(
    seen.map(({ systemUuid, providerId }) => [systemUuid === '', providerId]),
    [
      [true, ''],
      [false, ''],
      [true, 'aws:///z/i-3'],
      [false, ''],
      [false, ''],
    ],
  );
});
