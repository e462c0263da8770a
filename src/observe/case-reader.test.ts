/** What could not be read is no case: nothing is decided on it (S26). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, fenceRef } from '../../test/support/act-cluster.ts';
import { aCase } from '../../test/support/release-case.ts';
import { settle } from '../../test/support/scripted-server.ts';
import { timeOf } from '../api/facts.ts';
import type { KubeClient } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { CaseReader } from './case-reader.ts';
import type { ReadCase } from './case-reader.ts';
import type { ClusterView } from './cluster-view.ts';
import type { CrashReports } from './crash-reports.ts';
import type { Observer } from './observer.ts';

type Failing = Partial<Record<'Node' | 'NodeFence', KubeError['kind']>>;

interface Reading {
  cluster: ActCluster;
  reader: CaseReader;
  read: (pods?: Parameters<CaseReader['read']>[1]) => Promise<Result<ReadCase>>;
}

/** `view`: how old what is watched of the cluster is. */
/** By how much the clock has been set. */
const serverTime = { leptMs: 0 };

async function reading(view = { ageMs: 0 }, failing: Failing = {}, time: object = {}): Promise<Reading> {
  const cluster = await ActCluster.create();
  const { client, clock } = cluster;
  const get = async (ref: ObjectRef, options: object): Promise<Result<unknown>> => {
    const kind = failing[ref.resource.kind as keyof Failing];
    if (kind !== undefined) return { ok: false, error: { kind, message: `no ${ref.name}`, mayHaveHappened: false } };
    return { ...(await client.get(ref, options)), ...time };
  };
  const seen = Object.assign(view, { drivers: new Map(), attachmentsOf: () => [], attachmentsOfVolume: () => [] });
  const reader = new CaseReader({
    client: new Proxy(client, {
      get: (of, key) => (key === 'get' ? get : bound(of, key)),
    }),
    clock,
    serverTime,
    random: () => 0,
    observer: { rival: () => undefined, sharesBoot: () => false, leaseSign: () => undefined } as unknown as Observer,
    cluster: seen as unknown as ClusterView,
    crashes: { of: () => undefined } as unknown as CrashReports,
    policyOf: () => ({ kind: 'none' }),
    onNode: () => {},
    onProblem: () => {},
  });
  const { name, view: sighted, limits, gates, policies, hasOpenRecord, alarm } = aCase();
  const sighting = { name, view: sighted, limits, gates, policies, hasOpenRecord, alarm };
  return { cluster, reader, read: (pods = 'unread') => reader.read(sighting, pods) };
}

function bound(client: KubeClient, key: string | symbol): unknown {
  const found: unknown = Reflect.get(client, key, client);
  return typeof found === 'function' ? (found as (...all: unknown[]) => unknown).bind(client) : found;
}

const errorOf = (result: Result<ReadCase>): string | undefined => (result.ok ? undefined : result.error.kind);

describe('[SAF-14] a case', () => {
  test('has its Node and its record as they are, or says that there is none', async () => {
    const { read } = await reading();
    const found = await read();
    assert.ok(found.ok);
    assert.deepEqual([found.value.node?.name, found.value.fence?.status.epoch], ['node-1', 3]);
    const { read: readGone } = await reading({ ageMs: 0 }, { Node: 'notFound' });
    const gone = await readGone();
    assert.ok(gone.ok);
    assert.deepEqual([gone.value.node, gone.value.fence?.status.epoch], [undefined, 3]);
    const { read: readBare } = await reading({ ageMs: 0 }, { NodeFence: 'notFound' });
    const bare = await readBare();
    assert.ok(bare.ok);
    assert.deepEqual([bare.value.node?.name, bare.value.fence], ['node-1', undefined]);
  });

  test('is none where one of them could not be read: whoever cannot be seen is not gone', async () => {
    for (const kind of ['unavailable', 'forbidden', 'timeout'] as KubeError['kind'][]) {
      for (const what of ['Node', 'NodeFence'] as const) {
        const { read } = await reading({ ageMs: 0 }, { [what]: kind });
        assert.equal(errorOf(await read()), kind, `${what} ${kind}`);
      }
    }
  });

  test('is none where the API server does not say what time it is', async () => {
    const { read } = await reading({ ageMs: 0 }, {}, { serverTime: undefined });
    assert.equal(errorOf(await read()), 'malformed');
  });
});

describe('[SAF-7, SAF-18] what is on record when the clock of the API server is set', () => {
  test('is as long ago as it was, until it is stored like that', async (t) => {
    t.after(() => Object.assign(serverTime, { leptMs: 0 }));
    const { cluster, reader, read } = await reading();
    const at = '2026-01-01T00:00:00Z';
    await cluster.patchStatus(fenceRef, {
      epoch: 3,
      holder: 'me',
      return: { stage: 'seen', since: at, waitsFor: 'x' },
      storm: { since: at, endedAt: at },
    });
    const stamps = async (): Promise<unknown[]> => {
      const found = await read();
      assert.ok(found.ok);
      const { isMended, fence } = found.value;
      return [fence?.status.return?.since, fence?.status.storm, isMended];
    };
    const before = [at, { since: at, endedAt: at }, undefined];
    assert.deepEqual(await stamps(), before);
    serverTime.leptMs = -1_800_000;
    const earlier = timeOf(Date.parse(at) - 1_800_000);
    // Since when there is a storm is compared with when Nodes were made.
    const set = [earlier, { since: at, endedAt: earlier }, true];
    assert.deepEqual([await stamps(), await stamps()], [set, set]);
    reader.kept('node-1');
    assert.deepEqual(await stamps(), before, 'it is stored like that now');
    serverTime.leptMs = -3_600_000;
    reader.endTerm();
    assert.deepEqual(await stamps(), before, 'another instance has written since, as far as anybody knows');
    serverTime.leptMs = 0;
    reader.forget('node-1');
    assert.deepEqual(await stamps(), before, 'whoever has just begun to look has not seen it set');
  });
});

describe('[ADM-6] who else was at work on a node', () => {
  test('is forgotten with it', async () => {
    const { reader } = await reading();
    const forgotten: string[] = [];
    reader.others.forget = (name) => void forgotten.push(name);
    reader.ready('node-1', true);
    reader.forget('node-1');
    assert.deepEqual(forgotten, ['node-1']);
  });
});

describe('[STM-2, SAF-14] a case is read', () => {
  test('when the pods of its node were listed, and nothing that is watched is too old', async () => {
    const view = { ageMs: 0 };
    const { reader } = await reading(view);
    const ready = (): unknown => reader.ready('node-1', true);
    assert.equal(ready(), undefined, 'nobody has seen its pods yet');
    for (let turn = 0; turn < 20 && ready() === undefined; turn += 1) await settle();
    assert.equal(typeof ready(), 'object');
    view.ageMs = 80_001;
    assert.equal(ready(), undefined, 'what came since is not known');
    view.ageMs = Infinity;
    assert.equal(ready(), undefined, 'nor what was never seen');
    view.ageMs = 80_000;
    assert.equal(typeof ready(), 'object');
    reader.forget('node-1');
  });

  test('S17: when what we have written to its pods is seen', async () => {
    const { reader } = await reading();
    const ready = (): ReturnType<CaseReader['ready']> => reader.ready('node-1', true);
    for (let turn = 0; turn < 20 && ready() === undefined; turn += 1) await settle();
    const pods = ready();
    assert.ok(typeof pods === 'object');
    const [pod] = pods.pods;
    assert.ok(pod);
    pods.wrote(pod.uid, String(Number(pod.resourceVersion) + 1000));
    assert.equal(ready(), undefined, 'the view is behind ourselves');
    pods.wrote(pod.uid, pod.resourceVersion);
    assert.equal(ready(), pods);
    reader.forget('node-1');
  });

  test('[STM-5] without budgets that cannot be read: that is not to say that there are none', async () => {
    for (const isRead of [true, false]) {
      const { reader, read, cluster } = await reading();
      for (let turn = 0; turn < 20 && reader.ready('node-1', true) === undefined; turn += 1) await settle();
      const pods = reader.ready('node-1', true);
      assert.ok(typeof pods === 'object');
      if (!isRead) {
        cluster.server.faults.inject({ matches: ({ resource }) => resource === 'poddisruptionbudgets', code: 403 });
      }
      const found = await read(pods);
      assert.ok(found.ok);
      assert.deepEqual(found.value.budgets, isRead ? [] : undefined);
      reader.forget('node-1');
    }
  });

  test('[STM-1] without its pods where those of many are watched, and nobody wants these', async () => {
    const view = { ageMs: 0 };
    const { reader } = await reading(view);
    const names = Array.from({ length: 32 }, (_, index) => `other-${index}`);
    for (const name of names) reader.ready(name, false);
    assert.equal(reader.ready('node-1', false), 'unread');
    view.ageMs = 80_001;
    assert.equal(reader.ready('node-1', false), undefined);
    for (const name of [...names, 'node-1']) reader.forget(name);
  });
});
