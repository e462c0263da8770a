import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FenceDeviceStatus } from './fence-device.ts';
import { isSameDevice, isShown, learntWith, machineIdOf } from './learnt.ts';

const at = '2026-01-01T00:00:00.000Z';

test('[SAF-17] a machine is told from another one by its system UUID, else by its machine ID, else by its Node', () => {
  const systemUUID = '00112233-4455-6677-8899-aabbccddeeff';
  const own = machineIdOf({ systemUUID, machineID: 'm' }, 'u');
  assert.equal(machineIdOf({ systemUUID: systemUUID.toUpperCase(), machineID: 'installed anew' }, 'made again'), own);
  assert.notEqual(machineIdOf({ systemUUID: systemUUID.replace('0011', '0012'), machineID: 'm' }, 'u'), own);
  const unnamed = { systemUUID: '00000000-0000-0000-0000-000000000000' };
  assert.equal(machineIdOf({ ...unnamed, machineID: 'm' }, 'u'), machineIdOf({ machineID: 'm' }, 'made again'));
  assert.notEqual(machineIdOf({ machineID: 'm' }, 'u'), machineIdOf({ machineID: 'n' }, 'u'));
  assert.equal(machineIdOf({ ...unnamed, machineID: '' }, 'u'), machineIdOf(undefined, 'u'));
  assert.notEqual(machineIdOf(undefined, 'u'), machineIdOf(undefined, 'made again'));
});

test('[SAF-17] what was learnt with another machine is void, and nothing else of it', () => {
  const proof = { seenOn: at, drilled: at, drilledLevel: 'l1', cut: { at, bootId: 'b1' } };
  const rest: FenceDeviceStatus = {
    configuration: 'h1',
    power: 'on',
    wrong: { since: at, reason: 'OutletsSwapped', message: 'x' },
  };
  const known = { ...rest, machine: 'm1', ...proof };
  assert.equal(learntWith(known, 'm1'), known);
  assert.equal(learntWith(known, undefined), known);
  assert.deepEqual(learntWith(known, 'm2'), { ...rest, machine: 'm2' });
  assert.deepEqual(learntWith({ ...rest, ...proof }, 'm1'), { ...rest, machine: 'm1', seenOn: at }, 'an old record');
  assert.deepEqual(learntWith(rest, 'm1'), { ...rest, machine: 'm1' });
});

test('[SAF-1] a device is another one where its configuration is, or the place that its Secrets name', () => {
  const known = { configuration: 'h1', place: 'p1' };
  const isSame = (change: { configuration?: string; place?: string | undefined }): boolean =>
    isSameDevice(known, { ...known, ...change });
  assert.deepEqual([isSame({}), isSame({ configuration: 'h2' }), isSame({ place: 'p2' })], [true, false, false]);
  assert.equal(isSame({ place: undefined }), true, 'its Secret could not be read');
  assert.equal(isSameDevice({ configuration: 'h1' }, known), true, 'nobody had noted where it was');
});

test('[SAF-1] a port is shown as it is configured, with the machine that the node has now', () => {
  const shown = { by: 'jane', configuration: 'h1', machine: 'm1' };
  const now = { configuration: 'h1', machine: 'm1' };
  assert.equal(isShown(shown, now), true);
  assert.equal(isShown(undefined, {}), false);
  assert.equal(isShown(shown, { ...now, configuration: 'h2' }), false);
  assert.equal(isShown(shown, { ...now, machine: 'm2' }), false);
  assert.equal(isShown(shown, { ...now, place: 'p1' }), false, 'its Secret names another port by now');
  assert.equal(isShown({ ...shown, place: 'p1' }, { ...now, place: 'p1' }), true);
  assert.equal(isShown({ by: 'jane', configuration: 'h1' }, { configuration: 'h1' }), false, 'nobody knows with which');
});
