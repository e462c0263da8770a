import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ActCluster, fenceRef, nodeRef } from '../../test/support/act-cluster.ts';
import { anIncident } from '../../test/support/release-case.ts';
import type { Clock } from '../clock.ts';
import { remedyPolicies } from '../kube/resources.ts';
import { attach, drill } from './drill.ts';
import { fenceAs, requestFence } from './fence.ts';
import type { Done, StoredFence } from './node-fence.ts';

const at = '2026-01-01T00:00:00Z';
const fenceIn = (phase: string, rest: object = {}): object => ({
  step: 'power-management',
  status: phase === 'failed' ? 'error' : phase === 'finished' ? 'final' : 'running',
  phase,
  startedAt: at,
  stepStartedAt: at,
  ...rest,
});
const status = (fence: object, rest: object = {}): Record<string, unknown> => ({
  epoch: 4,
  holder: 'me',
  fence,
  request: { by: 'jane', at, answeredAt: at, reason: 'TakenUp' },
  ...rest,
});

/** Which life of the node a request is about. */
async function seenOf(cluster: ActCluster): Promise<object> {
  const { uid } = (await cluster.read<StoredFence>(nodeRef)).metadata;
  return { nodeUid: uid, bootId: 'boot-1' };
}

/** Whenever it would wait, the next of these happens instead. */
function scripted(cluster: ActCluster, steps: (() => Promise<void>)[]): Clock {
  let elapsedMs = 0;
  return {
    now: () => cluster.clock.now(),
    monotonic: () => elapsedMs,
    after(delayMs, callback) {
      elapsedMs += delayMs;
      const step = steps.shift();
      void (step === undefined ? Promise.resolve() : step()).then(callback);
      return () => {};
    },
  };
}

async function drilled(
  steps: (cluster: ActCluster) => (() => Promise<void>)[],
): Promise<{ cluster: ActCluster; said: string[]; fence: StoredFence }> {
  const cluster = await ActCluster.create();
  const said: string[] = [];
  const context = { client: cluster.client, clock: scripted(cluster, steps(cluster)) };
  const flags = { timeout: 600_000 };
  const fence = await drill(context, 'node-1', { by: 'jane', flags, say: (line) => said.push(line) });
  return { cluster, said, fence };
}

test('[EXP-3] a drill asks for a fence, tells how it goes, and ends when the node is back', async () => {
  const entry = (reason: string, message?: string): object => ({ at, reason, epoch: 4, ...(message && { message }) });
  const incident = anIncident();
  const { said, fence } = await drilled((cluster) => [
    async () => {},
    () =>
      cluster.patchStatus(fenceRef, status(fenceIn('off'), { incident, history: [entry('PoweredOff', 'ipmi-off')] })),
    () =>
      cluster.patchStatus(
        fenceRef,
        status(fenceIn('finished'), { incident, history: [entry('PoweredOff', 'ipmi-off'), entry('Recovered')] }),
      ),
    () => cluster.patchStatus(fenceRef, status(fenceIn('finished'))),
  ]);
  assert.deepEqual(said, [`${at}  fence requested by jane`, `${at}  PoweredOff: ipmi-off`, `${at}  Recovered`]);
  assert.deepEqual({ ...fence.spec.requested, about: undefined }, { by: 'jane', at, about: undefined });
  assert.equal(fence.status?.incident, undefined, 'not before the node is back in service');
});

test('[EXP-3] a fence that fails, and one that nobody begins: the request does not stay', async () => {
  await assert.rejects(
    drilled((cluster) => [
      () => cluster.patchStatus(fenceRef, status(fenceIn('failed', { message: 'ipmi-off: refused' }))),
    ]),
    /has failed: ipmi-off: refused/,
  );
  let seen: ActCluster | undefined;
  await assert.rejects(
    drilled((cluster) => {
      seen = cluster;
      return [];
    }),
    /nobody has begun the fence within 60 s \(is an operator running\?\); the request is withdrawn/,
  );
  assert.ok(seen);
  assert.equal((await seen.read<StoredFence>(fenceRef)).spec.requested, undefined);
});

test('[EXP-3] a drill outlives a connection that is lost, and says so once', async () => {
  const entry = (reason: string): object => ({ at, reason, epoch: 4 });
  const incident = anIncident();
  const { said } = await drilled((cluster) => [
    async () => {},
    () => cluster.patchStatus(fenceRef, status(fenceIn('off'), { incident, history: [entry('PoweredOff')] })),
    async () => {
      cluster.server.faults.down('notSent');
    },
    async () => {},
    async () => {
      cluster.server.faults.up();
      const history = [entry('PoweredOff'), entry('Recovered')];
      await cluster.patchStatus(fenceRef, status(fenceIn('finished'), { history }));
    },
  ]);
  assert.match(said[2] ?? '', /^no answer \(.*\): the fence goes on without us; asking again$/);
  assert.deepEqual(said.slice(3), ['the API server answers again', `${at}  Recovered`]);
});

test('[EXP-3] whoever attaches asks for nothing, hears all of it from the beginning of the incident, and is told where nothing is under way', async () => {
  const cluster = await ActCluster.create();
  const said: string[] = [];
  const attached = (...steps: (() => Promise<void>)[]): Promise<StoredFence> => {
    const context = { client: cluster.client, clock: scripted(cluster, steps) };
    return attach(context, 'node-1', { flags: { timeout: 5000 }, say: (line) => said.push(line) });
  };
  await assert.rejects(attached(), /nothing is under way at node-1/);
  const entry = (reason: string, when: string): object => ({ at: when, reason, epoch: 4 });
  const incident = { ...anIncident(), startedAt: at };
  const history = [entry('BackInService', '2025-12-31T00:00:00Z'), entry('Incident', at)];
  const open = { epoch: 4, holder: 'me', fence: fenceIn('off'), incident, history };
  await cluster.patchStatus(fenceRef, open);
  const before = cluster.writes.length;
  const over = {
    epoch: 4,
    holder: 'me',
    fence: fenceIn('finished'),
    history: [...history, entry('Recovered', '2026-01-01T00:01:00Z')],
  };
  const fence = await attached(
    async () => {},
    () => cluster.patchStatus(fenceRef, over),
  );
  assert.deepEqual(said, [`${at}  Incident`, '2026-01-01T00:01:00Z  Recovered']);
  assert.equal(fence.status?.incident, undefined);
  assert.equal(cluster.writes.length, before + 1, 'that of the operator');
  await cluster.patchStatus(fenceRef, open);
  await assert.rejects(attached(), /node-1 is not back yet: off; .*fenceline drill node-1 --attach/);
});

test('[SAF-6] a drill that the operator refuses ends with its sentence', async () => {
  const request = { by: 'jane', at, answeredAt: at, reason: 'Maintenance', message: 'under maintenance until noon' };
  await assert.rejects(
    drilled((cluster) => [() => cluster.patchStatus(fenceRef, { epoch: 4, holder: 'me', request })]),
    /the operator has refused it \(Maintenance\): under maintenance until noon/,
  );
});

test('[SAF-6] no fence is asked for under a policy that does not act, or without any', async () => {
  const cluster = await ActCluster.create();
  const policy = { resource: remedyPolicies, name: 'release' };
  const ask = (withoutPolicy = false): Promise<StoredFence> =>
    requestFence(cluster.client, 'node-1', 'jane', { withoutPolicy });
  for (const mode of ['DryRun', 'Paused']) {
    await cluster.patch(policy, '/spec/mode', mode);
    await assert.rejects(ask(), new RegExp(`policy release has mode ${mode}: nothing is fenced`));
    await assert.rejects(ask(true), new RegExp(`policy release has mode ${mode}: nothing is fenced`));
  }
  await cluster.remove(policy);
  await assert.rejects(ask(), /no policy selects node-1: if you mean it all the same, add --without-policy/);
  assert.equal((await cluster.read<StoredFence>(fenceRef)).spec.requested, undefined);
  const { about: _, ...asked } = (await ask(true)).spec.requested ?? {};
  assert.deepEqual(asked, { by: 'jane', at, withoutPolicy: true });
});

test('a fence is asked for once, not while one runs, and not of a node that is stopped', async () => {
  const cluster = await ActCluster.create();
  const ask = (dryRun = false): Promise<StoredFence> => requestFence(cluster.client, 'node-1', 'jane', { dryRun });
  const about = await seenOf(cluster);
  assert.deepEqual((await ask(true)).spec.requested, { by: 'jane', at, about });
  assert.equal((await cluster.read<StoredFence>(fenceRef)).spec.requested, undefined);
  await cluster.patch(fenceRef, '/spec/stop', true);
  await assert.rejects(ask(), /node-1 is stopped: fenceline resume node-1 comes first/);
  await cluster.patch(fenceRef, '/spec/stop', false);
  await cluster.patchStatus(fenceRef, status(fenceIn('booting')));
  await assert.rejects(ask(), /node-1 is being fenced already/);
  await cluster.patchStatus(fenceRef, status(fenceIn('poweringOff')));
  await assert.rejects(ask(), /node-1 is being fenced already/);
  await cluster.patchStatus(fenceRef, status(fenceIn('finished')));
  await assert.rejects(ask(), /node-1 has been fenced in this very second: try again/);
  const earlier = { by: 'jane', at: '2025-12-31T00:00:00Z', answeredAt: at, reason: 'TakenUp' };
  await cluster.patchStatus(fenceRef, status(fenceIn('waiting'), { request: earlier }));
  assert.deepEqual(
    (await ask(true)).spec.requested,
    { by: 'jane', at, about },
    'one that has touched nothing is not waited for',
  );
  await cluster.patchStatus(fenceRef, status(fenceIn('finished'), { request: earlier }));
  await ask();
  await assert.rejects(ask(), /was asked for already, by jane at 2026-01-01T00:00:00Z/);
  await cluster.remove(fenceRef);
  await ask();
  assert.equal((await cluster.read<StoredFence>(fenceRef)).spec.node, 'node-1');
  await cluster.remove(fenceRef);
  await cluster.remove(nodeRef);
  await assert.rejects(ask(), /no such node: node-1/);
});

async function asked(steps: (cluster: ActCluster) => (() => Promise<void>)[]): Promise<Done> {
  const cluster = await ActCluster.create();
  const context = { client: cluster.client, clock: scripted(cluster, steps(cluster)) };
  return fenceAs(context, 'node-1', { by: 'jane', flags: {} });
}

const lapses = 'if nothing is begun for it by 2026-01-01T00:10:00Z, it lapses, and nothing happens later';

test('[SAF-6] whoever asks for a fence is told at once that it is held back, by what, and when it lapses', async () => {
  const hold = { reason: 'Storm', message: '3 of 6 nodes are silent', since: at, ends: 'fewer are' };
  const held = await asked((cluster) => [
    async () => {},
    () => cluster.patchStatus(fenceRef, status(fenceIn('waiting'), { incident: anIncident(), hold })),
  ]);
  assert.deepEqual([held.what, held.isUnanswered], ['fence requested', undefined]);
  assert.deepEqual(held.notes, ['it is held back (Storm): 3 of 6 nodes are silent, until fewer are', lapses]);
  const waits = { ...hold, reason: 'AwaitingApproval', message: 'it waits', ends: 'somebody approves' };
  const approve = await asked((cluster) => [
    () => cluster.patchStatus(fenceRef, status(fenceIn('waiting'), { incident: anIncident(), hold: waits })),
  ]);
  assert.deepEqual(approve.notes, ['it is held back (AwaitingApproval): it waits, until somebody approves', lapses]);
  const begun = await asked((cluster) => [
    () => cluster.patchStatus(fenceRef, status(fenceIn('poweringOff'), { incident: anIncident() })),
  ]);
  assert.deepEqual(begun.notes, []);
});

test('[SAF-6] where no operator answers, or refuses, that is said as well', async () => {
  const silent = await asked(() => []);
  assert.deepEqual(silent.notes, [`no operator has answered within 15 s (see fenceline explain node-1); ${lapses}`]);
  assert.equal(silent.isUnanswered, true, 'a script is told by the exit code');
  const request = { by: 'jane', at, answeredAt: at, reason: 'Maintenance', message: 'under maintenance until noon' };
  await assert.rejects(
    asked((cluster) => [() => cluster.patchStatus(fenceRef, { epoch: 4, holder: 'me', request })]),
    /the operator has refused it \(Maintenance\): under maintenance until noon/,
  );
});

test('[SAF-6] one that has lapsed without an answer does not stand in the way of the next', async () => {
  const cluster = await ActCluster.create();
  await cluster.patch(fenceRef, '/spec/requested', { by: 'joe', at: '2025-12-31T23:50:01Z' });
  const ask = (): Promise<StoredFence> => requestFence(cluster.client, 'node-1', 'jane', {});
  await assert.rejects(ask(), /was asked for already, by joe at 2025-12-31T23:50:01Z/);
  await cluster.patch(fenceRef, '/spec/requested', { by: 'joe', at: '2025-12-31T23:49:59Z' });
  assert.deepEqual((await ask()).spec.requested, { by: 'jane', at, about: await seenOf(cluster) });
});

test('[SAF-6] a request says which life of the node it is about', async () => {
  const cluster = await ActCluster.create();
  const asked = async (): Promise<unknown> =>
    (await requestFence(cluster.client, 'node-1', 'jane', { dryRun: true })).spec.requested?.about;
  assert.deepEqual(await asked(), await seenOf(cluster), 'it is not Ready');
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: at }];
  await cluster.patchStatus(nodeRef, { conditions, nodeInfo: { bootID: 'boot-1' } });
  assert.deepEqual(await asked(), { ...(await seenOf(cluster)), readySince: at });
});
