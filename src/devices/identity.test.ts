import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSameSystem } from '../api/machine.ts';
import { isSameMachine } from './identity.ts';

test('[FEN-10] one machine is known by its UUID in whatever order of bytes', () => {
  const uuid = '00112233-4455-6677-8899-aabbccddeeff';
  for (const same of [
    uuid.toUpperCase(),
    '33221100-5544-7766-8899-AABBCCDDEEFF',
    'ffeeddcc-bbaa-9988-7766-554433221100',
    'ccddeeff-aabb-8899-7766-554433221100',
  ]) {
    assert.ok(isSameSystem(uuid, same) && isSameSystem(same, uuid), same);
  }
  for (const other of ['00112233-4455-6677-8899-aabbccddeefe', '', 'node-1']) assert.ok(!isSameSystem(uuid, other));
});

test('identities of one kind are compared, of two they are not', () => {
  const uuid = '00112233-4455-6677-8899-aabbccddeeff';
  assert.ok(isSameMachine({ kind: 'systemUUID', value: uuid }, { kind: 'systemUUID', value: uuid.toUpperCase() }));
  assert.ok(!isSameMachine({ kind: 'systemUUID', value: uuid }, { kind: 'name', value: uuid }));
  assert.ok(
    isSameMachine({ kind: 'providerID', value: 'aws:///z/i-1' }, { kind: 'providerID', value: 'aws:///z/i-1' }),
  );
  assert.ok(!isSameMachine({ kind: 'name', value: 'node-1' }, { kind: 'name', value: 'node-2' }));
});
