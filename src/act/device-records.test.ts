import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster } from '../../test/support/act-cluster.ts';
import type { FenceDeviceSpec, FenceDeviceStatus } from '../api/fence-device.ts';
import { KubeClient } from '../kube/client.ts';
import { fenceDevices, namespaces } from '../kube/resources.ts';
import type { HttpRequest, Transport } from '../kube/transport.ts';
import { TransportError } from '../kube/transport.ts';
import type { DeviceRecord, StoredDevice } from './device-records.ts';
import { DeviceRecords } from './device-records.ts';

const ref = { resource: fenceDevices, namespace: 'fenceline', name: 'a.pdu' };
const drilled = '2026-01-01T00:00:01Z';
const seenOn = '2026-01-01T00:00:02Z';
const learns = (news: FenceDeviceStatus) => (before: FenceDeviceStatus) => ({ ...before, ...news });

/** What happens right before a request goes out, and between its effect and its answer. */
type Meddling = (request: HttpRequest) => Promise<void>;

class Desk {
  readonly cluster: ActCluster;
  readonly records: DeviceRecords;
  readonly problems: string[] = [];
  before: Meddling = async () => {};
  between: Meddling = async () => {};

  private constructor(cluster: ActCluster) {
    this.cluster = cluster;
    const inner = cluster.server.transport('operator');
    const transport: Transport = {
      send: async (request) => {
        await this.before(request);
        const answer = await inner.send(request);
        await this.between(request);
        return answer;
      },
      close: () => inner.close(),
    };
    const { clock } = cluster;
    this.records = new DeviceRecords({
      client: new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'fenceline' }),
      clock,
      namespace: 'fenceline',
      isLeading: () => true,
      onProblem: (_, { kind }) => this.problems.push(kind),
    });
  }

  /** With one device that is stored and known. */
  static async create(spec: FenceDeviceSpec = { node: 'a' }): Promise<{ desk: Desk; record: DeviceRecord }> {
    const cluster = await ActCluster.create();
    await cluster.client.create(namespaces, { metadata: { name: 'fenceline' } });
    await cluster.client.create(fenceDevices, {
      metadata: { name: ref.name, namespace: ref.namespace },
      spec,
    } as never);
    const desk = new Desk(cluster);
    await desk.notice();
    return { desk, record: desk.records.named(ref.name) ?? assert.fail() };
  }

  async notice(): Promise<void> {
    this.records.notice(await this.cluster.read<StoredDevice>(ref), 'updated');
  }

  /** Somebody, with `kubectl edit --subresource=status`. */
  async writes(field: string, value: string): Promise<void> {
    const { status } = await this.cluster.read<StoredDevice>(ref);
    await this.cluster.patchStatus(ref, { ...status, [field]: value });
  }

  /** What was learnt is written. */
  async settled(record: DeviceRecord): Promise<FenceDeviceStatus | undefined> {
    this.cluster.clock.advance(200);
    while (record.isSaving) await new Promise((resolve) => setImmediate(resolve));
    return (await this.cluster.exists(ref)) ? (await this.cluster.read<StoredDevice>(ref)).status : undefined;
  }
}

function once(method: HttpRequest['method'], act: () => Promise<void>): Meddling {
  let isDone = false;
  return async (request) => {
    if (isDone || request.method !== method) return;
    isDone = true;
    await act();
  };
}

describe('[FEN-15] what is known of a device is written beside what others write', () => {
  test('unseen by us, before our write', async () => {
    const { desk, record } = await Desk.create();
    desk.before = once('PUT', () => desk.writes('drilled', drilled));
    desk.records.learn(record, learns({ seenOn }));
    assert.deepEqual(await desk.settled(record), { drilled, seenOn });
    assert.deepEqual(record.status, { drilled, seenOn });
  });

  test('seen by us, before our write', async () => {
    const { desk, record } = await Desk.create();
    desk.records.learn(record, learns({ seenOn }));
    await desk.writes('drilled', drilled);
    await desk.notice();
    assert.deepEqual(record.status, { drilled, seenOn });
    assert.deepEqual(await desk.settled(record), { drilled, seenOn });
    assert.equal(desk.cluster.writes.filter(({ verb }) => verb === 'update').length, 1, 'and no conflict');
  });

  test('seen by us, before the answer to our write', async () => {
    const { desk, record } = await Desk.create();
    desk.between = once('PUT', async () => {
      await desk.writes('drilled', drilled);
      await desk.notice();
    });
    desk.records.learn(record, learns({ seenOn }));
    await desk.settled(record);
    assert.deepEqual(record.status, { drilled, seenOn });
    desk.records.learn(record, learns({ power: 'on' }));
    assert.deepEqual(await desk.settled(record), { drilled, seenOn, power: 'on' });
  });

  test('what is learnt while something is written is written next', async () => {
    const { desk, record } = await Desk.create();
    desk.between = once('PUT', async () => desk.records.learn(record, learns({ power: 'off' })));
    desk.records.learn(record, learns({ seenOn }));
    assert.deepEqual(await desk.settled(record), { seenOn, power: 'off' });
  });

  test('what somebody has deleted is not made again, whoever had written it', async () => {
    for (const spec of [{ node: 'a' }, { node: 'a', agent: 'fence_apc' }]) {
      for (const isSeen of [false, true]) {
        const { desk, record } = await Desk.create(spec);
        desk.before = once('PUT', async () => {
          const object = await desk.cluster.read<StoredDevice>(ref);
          await desk.cluster.remove(ref);
          if (isSeen) desk.records.notice(object, 'deleted');
        });
        desk.records.learn(record, learns({ seenOn }));
        assert.equal(await desk.settled(record), undefined);
        assert.equal(desk.records.named(ref.name), undefined);
        const anew = desk.records.begin(ref.name, { node: 'a' });
        desk.records.learn(anew, learns({ power: 'on' }));
        assert.deepEqual(await desk.settled(anew), { power: 'on' }, 'what was known went with it');
        assert.deepEqual(desk.problems, []);
      }
    }
  });

  test('nor does what was known of it pass to one that was made anew', async () => {
    const { desk, record } = await Desk.create();
    desk.before = once('PUT', async () => {
      const { metadata, ...object } = await desk.cluster.read<StoredDevice>(ref);
      await desk.cluster.remove(ref);
      desk.records.notice({ metadata, ...object }, 'deleted');
      await desk.cluster.client.create(fenceDevices, { ...object, metadata: ref } as never);
    });
    desk.records.learn(record, learns({ seenOn }));
    assert.deepEqual(await desk.settled(record), {});
  });

  test('one that was made meanwhile, before we have seen it, is theirs', async () => {
    const { desk, record: known } = await Desk.create({ node: 'a', agent: 'fence_apc' });
    desk.records.notice(known.object ?? assert.fail(), 'deleted');
    const record = desk.records.begin(ref.name, { node: 'a' });
    desk.records.learn(record, learns({ seenOn }));
    assert.deepEqual(await desk.settled(record), { seenOn });
    assert.equal((await desk.cluster.read<StoredDevice>(ref)).spec.agent, 'fence_apc');
    assert.deepEqual([record.spec.agent, desk.problems], ['fence_apc', []]);
  });

  test('what could not be written is known, and written with what is learnt next', async () => {
    const { desk, record } = await Desk.create();
    desk.before = once('PUT', async () => {
      throw new TransportError('broken', 'the connection broke');
    });
    desk.records.learn(record, learns({ seenOn }));
    assert.deepEqual(await desk.settled(record), {});
    assert.deepEqual([record.status, desk.problems.length], [{ seenOn }, 1]);
    desk.records.learn(record, learns({ seenOn }));
    assert.deepEqual(await desk.settled(record), { seenOn });
  });

  test('what is not written when an instance leads no more is not taken for news when it leads again', async () => {
    const { desk, record } = await Desk.create();
    desk.records.learn(record, learns({ seenOn }));
    const unstored = desk.records.begin('b.pdu', { node: 'b' });
    desk.records.learn(unstored, learns({ seenOn }));
    desk.records.clear();
    assert.deepEqual([record.status, desk.records.named('b.pdu')], [{}, undefined]);
    desk.records.learn(record, learns({ power: 'on' }));
    assert.deepEqual(await desk.settled(record), { power: 'on' });
  });
});

describe('[FEN-15] the devices of a node', () => {
  const of = ({ records }: Desk, node: string): string[] => [...records.ofNode(node)].map(({ name }) => name);

  test('are those that are written for it now', async () => {
    const { desk, record } = await Desk.create();
    assert.deepEqual([of(desk, 'a'), of(desk, 'b')], [[ref.name], []]);
    const object = record.object ?? assert.fail();
    const { metadata } = object;
    desk.records.notice(
      { ...object, metadata: { ...metadata, resourceVersion: '999' }, spec: { node: 'b' } },
      'updated',
    );
    assert.deepEqual([of(desk, 'a'), of(desk, 'b')], [[], [ref.name]]);
  });

  test('are none that is deleted, also where that is seen before the answer to our write', async () => {
    const { desk, record } = await Desk.create();
    desk.between = once('PUT', async () => desk.records.notice(record.object ?? assert.fail(), 'deleted'));
    desk.records.learn(record, learns({ seenOn }));
    assert.deepEqual(await desk.settled(record), { seenOn });
    assert.deepEqual([of(desk, 'a'), desk.records.named(ref.name)], [[], undefined]);
  });

  test('are not those that were deleted, or forgotten before they were stored', async () => {
    const { desk, record } = await Desk.create();
    desk.records.begin('b.pdu', { node: 'b' });
    assert.deepEqual(of(desk, 'b'), ['b.pdu']);
    desk.records.clear();
    assert.deepEqual([of(desk, 'a'), of(desk, 'b')], [[ref.name], []]);
    desk.records.notice(record.object ?? assert.fail(), 'deleted');
    assert.deepEqual(of(desk, 'a'), []);
  });
});

describe('[FEN-15] what the operator has made to remember a device by', () => {
  const unfenceable = { configuration: 'of-before', fenceable: false, reason: 'NoDevice', message: 'there is none' };

  test('says since when no configuration names it, and not whether it would do', async () => {
    const { desk, record } = await Desk.create();
    const known: FenceDeviceStatus = { ...unfenceable, drilled };
    desk.records.learn(record, learns(known));
    desk.records.noteNamed(new Map([['b', new Set(['of-today'])]]));
    assert.deepEqual(record.status, { ...unfenceable, drilled }, 'nobody knows how it is configured');
    desk.records.noteNamed(new Map([['a', new Set(['of-today', 'of-before'])]]));
    assert.deepEqual(record.status, { ...unfenceable, drilled });
    desk.records.noteNamed(new Map([['a', new Set(['of-today'])]]));
    const { unnamedSince, ...rest } = desk.records.named(ref.name)?.status ?? {};
    assert.ok(unnamedSince !== undefined);
    assert.deepEqual(rest, { configuration: 'of-before', drilled });
    desk.records.noteNamed(new Map([['a', new Set(['of-before'])]]));
    assert.deepEqual(record.status, rest, 'it is written again');
  });

  test('is told from what somebody has written', async () => {
    const { desk, record } = await Desk.create({ node: 'a', agent: 'fence_ipmilan' });
    desk.records.learn(record, learns(unfenceable));
    desk.records.noteNamed(new Map([['a', new Set(['of-today'])]]));
    assert.deepEqual(record.status, unfenceable);
  });
});
