import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster, fenceRef } from '../../test/support/act-cluster.ts';
import { manualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import type { StoredDevice } from '../act/device-records.ts';
import { KubeClient } from '../kube/client.ts';
import { errorFromAnswer } from '../kube/errors.ts';
import { TransportError } from '../kube/transport.ts';
import { fenceDevices } from '../kube/resources.ts';
import { Recording } from './recording.ts';

const forbidden = errorFromAnswer('PUT it', 403, '{"message":"ValidatingAdmissionPolicy denied"}', undefined);
const invalid = errorFromAnswer('PUT it', 422, '{"message":"no such field"}', undefined);

function recording(
  nodes: string[] = [],
  send = () => Promise.reject(new Error('nothing is known to try it on')),
): { clock: ManualClock; told: (string | undefined)[]; recording: Recording } {
  const clock = manualClock();
  const told: (string | undefined)[] = [];
  const transport = { send, close: () => {} };
  const client = new KubeClient({ clock, transport, userAgent: 'test', fieldManager: 'test' });
  const log = { warn: () => {}, info: () => {} };
  const elector = { unable: (why: string | undefined) => void told.push(why) };
  const around = { elector, known: () => ({ nodes, devices: [] }) };
  return { clock, told, recording: new Recording({ client, clock, log, identity: 'host_1' }, around) };
}

test('[STM-8] a refusal that lasts ends the lead, and a write that goes through brings it back', () => {
  const { clock, told, recording: one } = recording();
  one.note('nodefences', forbidden);
  assert.equal(one.refused, undefined, 'an API server that has just started knows no rights yet');
  clock.advance(4000);
  one.note('nodefences', forbidden);
  assert.deepEqual([one.refused, told], [undefined, []]);
  clock.advance(1500);
  one.note('nodefences', forbidden);
  assert.match(
    one.refused ?? '',
    /may not be put on record: start it under the account that deploy\/guard\.yaml .*\(PUT it: ValidatingAdmission/,
  );
  assert.match(told[0] ?? '', /^host may not keep its records: /);
  one.note('fencedevices', undefined);
  assert.notEqual(one.refused, undefined, 'what may be written of devices says nothing of records');
  one.note('nodefences', undefined);
  assert.deepEqual([one.refused, told.at(-1)], [undefined, undefined]);
});

test('[STM-8] a refusal that was not repeated, or lies back, does not keep it from leading; nor does what is about one record', () => {
  const { clock, told, recording: one } = recording();
  one.note('nodefences', forbidden);
  clock.advance(20_000);
  assert.deepEqual([one.refused, told], [undefined, []], 'nobody has tried again');
  one.note('nodefences', undefined);
  clock.advance(60_000);
  for (let tries = 0; tries < 3; tries += 1) {
    one.note('nodefences', tries === 0 ? forbidden : invalid);
    clock.advance(10_000);
  }
  assert.deepEqual([one.refused, told], [undefined, []]);
  one.note('nodefences', forbidden);
  assert.notEqual(one.refused, undefined);
  clock.advance(30_000);
  assert.notEqual(one.refused, undefined);
});

test('[STM-8] it stands again after a while where there is nothing to try it on', async () => {
  const { clock, told, recording: one } = recording();
  one.note('nodefences', forbidden);
  clock.advance(6000);
  one.note('nodefences', forbidden);
  assert.notEqual(one.refused, undefined);
  for (let turn = 0; turn < 3; turn += 1) {
    clock.advance(30_000);
    await new Promise(setImmediate);
  }
  assert.deepEqual([one.refused, told.at(-1)], [undefined, undefined]);
});

test('[STM-8] it asks again where nobody answers: what was cut meanwhile waits for that alone', async () => {
  let asked = 0;
  const away = (): Promise<never> => {
    asked += 1;
    return Promise.reject(new TransportError('notSent', 'the API server is away'));
  };
  const { clock, recording: one } = recording(['node-1'], away);
  one.note('nodefences', forbidden);
  clock.advance(5000);
  one.note('nodefences', forbidden);
  const within = async (turns: number): Promise<number> => {
    for (let turn = 0; turn < turns; turn += 1) {
      clock.advance(1000);
      await new Promise(setImmediate);
    }
    return asked;
  };
  const first = await within(42);
  assert.ok(first > 0);
  assert.ok((await within(16)) > first);
});

test('[STM-8] S20: to ask whether it may record changes nothing of a record or a device', async () => {
  const cluster = await ActCluster.create();
  const { client, clock } = cluster;
  const spec = { node: 'node-1' };
  await cluster.make(fenceDevices, { metadata: { name: 'node-1.pdu', namespace: 'default' }, spec });
  const ref = { resource: fenceDevices, namespace: 'default', name: 'node-1.pdu' };
  const object = await cluster.read<StoredDevice>(ref);
  const before = [await cluster.read(fenceRef), object];
  cluster.writes.length = 0;
  const around = { elector: undefined, known: () => ({ nodes: ['node-1'], devices: [{ object }] }) };
  const log = { warn: () => {}, info: () => {} };
  const one = new Recording({ client, clock, log, identity: 'host_1' }, around);
  await one.probe();
  assert.deepEqual(
    cluster.writes.map(({ resource, code, isDryRun }) => [resource, code, isDryRun]),
    [
      ['fencedevices', 200, true],
      ['nodefences', 200, true],
    ],
  );
  assert.deepEqual([await cluster.read(fenceRef), await cluster.read(ref)], before);
  one.close();
});
