import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, fenceRef, nodeRef, policyRef, renewTime } from '../../test/support/act-cluster.ts';
import type { KubeObject } from '../kube/client.ts';
import { configMaps, drainPolicies, leases, namespaces } from '../kube/resources.ts';
import { explainNode } from './explain.ts';
import { requestFence } from './fence.ts';
import { nobodyLeads, unheard } from './leading.ts';
import { configuredIn } from './operator-place.ts';
import { pause } from './pause.ts';
import { tellOfCrds, tellOfOthers } from './run.ts';
import { readStatus, render } from './status.ts';
import { UserError } from './user-error.ts';

const longAgo = '2025-12-31T20:00:00.000000Z';
const ref = { resource: configMaps, namespace: 'ops', name: 'fenceline-pause' };

/** An operator leads in `ops`. */
async function led(): Promise<ActCluster> {
  const cluster = await ActCluster.create();
  await cluster.make(namespaces, { metadata: { name: 'ops' } });
  const spec = { holderIdentity: 'pod_x', renewTime: '2026-01-01T00:00:00.000000Z', leaseDurationSeconds: 15 };
  await cluster.make(leases, { metadata: { name: 'fenceline', namespace: 'ops' }, spec });
  return cluster;
}

async function shown({ client }: ActCluster): Promise<string> {
  return render((await readStatus(client)).nodes, undefined);
}

describe('pause', () => {
  test('[ADM-5] is written where the operator is, with who, why and until when, and taken back', async () => {
    const cluster = await led();
    const { client } = cluster;
    assert.equal((await pause(client, { show: true })).what, 'nothing is paused in ops');
    const dry = await pause(client, { dryRun: true, for: 7_200_000 });
    assert.match(dry.what, /^in ops, since \S+: everything is paused by me until /);
    assert.equal(await cluster.exists(ref), false);
    const told = await pause(client, { for: 7_200_000, reason: 'new switches' });
    assert.match(told.what, /^in ops, since \S+: everything is paused by me until \S+Z: new switches$/);
    assert.ok(told.notes.includes('to go on: fenceline pause --end -n ops'));
    const { data } = await cluster.read<KubeObject & { data: Record<string, string> }>(ref);
    assert.deepEqual(Object.keys(data), ['by', 'reason', 'until']);
    const again = await pause(client, {});
    assert.match(
      again.notes.join('\n'),
      /^before: in ops.*new switches\nit has no end of its own: --for 2h gives it one/,
    );
    assert.match((await pause(client, { show: true })).what, /everything is paused by me$/);
    assert.match((await pause(client, { end: true })).what, /^the pause in ops is over/);
    assert.equal(await cluster.exists(ref), false);
    assert.equal((await pause(client, { end: true })).what, 'nothing was paused in ops');
  });

  test('[ADM-5] is not written where no operator would look for it', async () => {
    const { client } = await ActCluster.create();
    await assert.rejects(
      pause(client, {}),
      new UserError('no operator is found here: write -n and the namespace that it runs in'),
    );
    const there = await pause(client, { namespace: 'default' });
    assert.match(there.what, /^in default, /);
    assert.match(there.notes[0] ?? '', /^no operator leads in default now: a pause there is for one that is run there/);
  });

  test('[ADM-5] a namespace in which no operator is, while one leads elsewhere, or which does not exist, is a mistake', async () => {
    const cluster = await led();
    const { client } = cluster;
    for (const flags of [{}, { show: true }, { end: true }, { dryRun: true }]) {
      await assert.rejects(
        pause(client, { ...flags, namespace: 'default' }),
        new UserError('no operator leads in default: pod leads in ops; write -n ops'),
      );
      await assert.rejects(
        pause(client, { ...flags, namespace: 'opps' }),
        new UserError('there is no namespace opps: did you mean ops?'),
      );
    }
    assert.equal(await cluster.exists({ ...ref, namespace: 'default' }), false);
    const wrong = { namespace: 'default' };
    await pause(client, { reason: 'new switches' });
    await assert.rejects(readStatus(client, 'default'), /no operator leads in default: pod leads in ops/);
    await assert.rejects(explainNode(client, 'node-1', 'default'), /no operator leads in default: pod leads in ops/);
    await assert.rejects(
      requestFence(client, 'node-1', 'bob', wrong),
      /no operator leads in default: pod leads in ops/,
    );
    assert.match((await pause(client, { show: true, namespace: 'ops' })).what, /^in ops, since/);
  });

  test('[USE-1] the namespace that deploy/role.yaml makes is not taken for another one', async () => {
    const { client } = await ActCluster.create();
    const made = 'there is no namespace fenceline: kubectl apply -f deploy/role.yaml makes it';
    await assert.rejects(pause(client, { namespace: 'fenceline' }), new UserError(made));
    const far = /there is no namespace zebra: write -n and the one that the operator runs in/;
    await assert.rejects(pause(client, { namespace: 'zebra' }), far);
  });

  test('[ADM-5] who may not read where the operator is has to say it', async () => {
    const { server, client } = await led();
    server.faults.inject({ matches: ({ resource }) => resource === 'leases', code: 403, reason: 'Forbidden' });
    await assert.rejects(pause(client, {}), /where the operator is could not be read \(.*: write -n and the/);
    const { notes } = await pause(client, { namespace: 'ops' });
    assert.match(notes[0] ?? '', /^whether an operator leads in ops could not be read \(/);
  });

  test('[ADM-5, SAF-6] no fence is asked for meanwhile: it would go off when the pause is over', async () => {
    const { client } = await led();
    await pause(client, { reason: 'new switches' });
    await assert.rejects(
      requestFence(client, 'node-1', 'bob', {}),
      /everything is paused by me: new switches; nothing was asked for/,
    );
    await pause(client, { end: true });
    await requestFence(client, 'node-1', 'bob', {});
  });
});

test('[USE-1] an operator that is started without the CRDs says what to type', async () => {
  const { client, server } = await led();
  const heard: unknown[] = [];
  const log = { warn: (...line: unknown[]) => heard.push(line) };
  await tellOfCrds(client, log);
  assert.deepEqual(heard, []);
  server.faults.inject({ matches: ({ resource }) => resource === 'remedypolicies', code: 404, reason: 'NotFound' });
  await tellOfCrds(client, log);
  assert.match(JSON.stringify(heard), /"toDo":"fenceline crds \| kubectl apply --server-side -f -"/);
});

describe('two operators', () => {
  test('[ADM-5] in two namespaces do not know of each other: whoever starts the second, pauses or looks is told', async () => {
    const cluster = await led();
    const { client } = cluster;
    const spec = { holderIdentity: 'other_x', renewTime: '2026-01-01T00:00:00.000000Z', leaseDurationSeconds: 15 };
    await cluster.make(namespaces, { metadata: { name: 'spare' } });
    const heard: unknown[] = [];
    const log = { warn: (...line: unknown[]) => heard.push(line) };
    await tellOfOthers(client, 'ops', log);
    assert.deepEqual(heard, [], 'another instance of the same operator');
    await tellOfOthers(client, 'spare', log);
    assert.match(JSON.stringify(heard), /another operator leads as well: pod in ops; each keeps to the limits/);
    await cluster.make(leases, { metadata: { name: 'fenceline', namespace: 'spare' }, spec });
    const second = /^another operator leads as well: other in spare; .*end one of them$/;
    assert.match((await pause(client, { namespace: 'ops' })).notes[0] ?? '', second);
    assert.match((await readStatus(client, 'ops')).warnings[0] ?? '', second);
    assert.match((await explainNode(client, 'node-1', 'ops')).warnings[0] ?? '', second);
    heard.length = 0;
    const forbid = { code: 403, reason: 'Forbidden' };
    cluster.server.faults.inject({ matches: ({ resource }) => resource === 'leases', ...forbid });
    await tellOfOthers(client, 'ops', log);
    assert.match(JSON.stringify(heard), /whether another operator leads in another namespace is not known/);
  });
});

describe('how nodes are fenced', () => {
  test('[EXP-2, EXP-3, EXP-4] is looked for where the operator is, unless somebody says where', async () => {
    const cluster = await led();
    const { client } = cluster;
    const usual = 'default';
    assert.equal(await configuredIn(client, { usual }), 'ops');
    const wrong = /no operator leads in default: pod leads in ops; write -n ops/;
    await assert.rejects(configuredIn(client, { given: 'default', usual }), wrong, 'before any device is asked');
    await assert.rejects(configuredIn(client, { given: 'opps', usual }), /there is no namespace opps/);
    await cluster.make(namespaces, { metadata: { name: 'spare' } });
    await cluster.remove({ resource: leases, namespace: 'ops', name: 'fenceline' });
    assert.equal(await configuredIn(client, { usual }), 'default', 'nothing of an operator is found');
    await cluster.make(configMaps, { metadata: { name: 'fence-config-node-1', namespace: 'spare' } });
    assert.equal(await configuredIn(client, { usual }), 'spare', 'where something is written for one');
    assert.equal(await configuredIn(client, { given: 'spare', usual }), 'spare');
    const nothing = /in namespace default no fence configuration is written; there is one in spare: write -n spare/;
    await assert.rejects(configuredIn(client, { given: 'default', usual }), nothing);
    const forbid = { code: 403, reason: 'Forbidden' };
    cluster.server.faults.inject({ matches: ({ resource }) => resource === 'leases', ...forbid });
    assert.equal(await configuredIn(client, { usual }), 'spare');
  });
});

describe('what keeps anything from being done', () => {
  test('[ADM-5] is the first that status says, and said of nodes that are well', async () => {
    const cluster = await led();
    const { client } = cluster;
    assert.match(await shown(cluster), /^NAME/);
    await pause(client, { reason: 'new switches' });
    const text = await shown(cluster);
    assert.match(text, /^NOTHING IS DONE ABOUT ANY NODE \(since \S+\): everything is paused by me: new switches\n/);
    assert.match(text, /^ {2}when nobody needs it any more: fenceline pause --end -n ops$/m);
    const [one] = (await readStatus(client)).nodes;
    assert.equal(one?.paused?.message, 'everything is paused by me: new switches', 'what programs read');
    const { waits, commands } = await explainNode(client, 'node-1');
    assert.deepEqual(
      waits.map(({ reason, message }) => [reason, message]),
      [['PausedForAll', 'everything is paused by me: new switches']],
    );
    assert.ok(commands.some(({ command }) => command === 'fenceline pause --end -n ops'));
  });

  test('[ADM-4, USE-4] that no operator leads comes first, and nothing is promised for it', async () => {
    const cluster = await led();
    const incident = { id: 'node-1-1', startedAt: renewTime, trouble: 'lease', nodeUid: '1' };
    const next = { what: 'its incident is closed', at: '2026-01-01T00:10:00Z' };
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'pod', incident, next });
    assert.match(await shown(cluster), /^NAME[^]* lease; by 2026-01-01T00:10:00Z: its incident is closed$/m);
    await cluster.patch({ resource: leases, namespace: 'ops', name: 'fenceline' }, '/spec/renewTime', longAgo);
    const text = await shown(cluster);
    const who = 'no operator leads (pod was last heard of at 2025-12-31T20:00:00.000000Z)';
    assert.equal(text.split('\n')[0], `NOTHING IS DONE ABOUT ANY NODE: ${who}`);
    assert.doesNotMatch(text, /incident is closed/);
    const [one] = (await readStatus(cluster.client)).nodes;
    assert.deepEqual([one?.unled, one?.recovery?.next], [who, undefined], 'what programs read');
    assert.deepEqual(await unheard(cluster.client), [`${who}: this takes effect when one does`]);
    assert.deepEqual((await pause(cluster.client, { end: true })).notes, [`${who}: this takes effect when one does`]);
  });

  test('[ADM-4] that nobody was ever seen is said, but not where somebody keeps records, or Leases may not be read', async () => {
    const cluster = await ActCluster.create();
    const { client, server } = cluster;
    assert.equal(await nobodyLeads(client), undefined, 'somebody keeps records');
    await cluster.remove(fenceRef);
    assert.equal(await nobodyLeads(client), 'no operator leads (none was ever seen here)');
    server.faults.inject({ matches: ({ resource }) => resource === 'leases', code: 403, reason: 'Forbidden' });
    assert.equal(await nobodyLeads(client), undefined);
  });

  test('[ADM-5] what may not be read is not taken for no pause', async () => {
    const cluster = await led();
    const forbid = { code: 403, reason: 'Forbidden' };
    cluster.server.faults.inject({ matches: ({ resource }) => resource === 'configmaps', ...forbid });
    const { unreadable } = await readStatus(cluster.client);
    assert.deepEqual(unreadable, ['ConfigMap fenceline-pause in ops']);
    const { warnings } = await explainNode(cluster.client, 'node-1');
    assert.deepEqual(warnings, [
      'you may not read ConfigMap fenceline-pause in ops: whether everything is paused is not known',
    ]);
  });

  test('[ADM-5] nor is one that is not found where the operator might be', async () => {
    const cluster = await led();
    await pause(cluster.client, {});
    const isOfAll = ({ path }: { path: string }): boolean => path.startsWith('/apis/coordination.k8s.io/v1/leases');
    cluster.server.faults.inject({ matches: isOfAll, code: 403, reason: 'Forbidden' });
    const { unreadable } = await readStatus(cluster.client);
    assert.match(
      unreadable.join(),
      /^ConfigMap fenceline-pause in the namespace of the operator, which is not known \(/,
    );
    assert.match(
      (await explainNode(cluster.client, 'node-1')).warnings.join(),
      /whether everything is paused is not known$/,
    );
    const [one] = (await readStatus(cluster.client, 'ops')).nodes;
    assert.equal(one?.paused?.message, 'everything is paused by me');
  });

  test('[ADM-5, FEN-13] a node that somebody has stopped, and a policy that does not act, are told of nodes that are well', async () => {
    const cluster = await led();
    assert.doesNotMatch(await shown(cluster), /NOTHING IS DONE/);
    await cluster.patch(fenceRef, '/spec/stop', true);
    assert.match(await shown(cluster), /^NOTHING IS DONE ABOUT +WHY\nnode-1 +it is stopped, until fenceline resume$/m);
    await cluster.patch(fenceRef, '/spec/stop', false);
    await cluster.patch(policyRef, '/spec/mode', 'Paused');
    assert.match(await shown(cluster), /^NOTHING IS DONE ABOUT +WHY\nnode-1 +policy release has mode Paused$/m);
    const [one] = (await readStatus(cluster.client)).nodes;
    assert.deepEqual(one?.inactive, { policy: 'release', mode: 'Paused' }, 'what programs read');
  });
});

describe('what is written on a node', () => {
  const until = '2026-01-01T04:00:00Z';
  const noTime = 'is "tomorrow", which is no time: write one such as';

  test('[ADM-7, SAF-18] maintenance and named pauses of nodes that are well are told by status and explain', async () => {
    const cluster = await led();
    const annotate = (annotations: object): Promise<void> =>
      cluster.patch(nodeRef, '/metadata/annotations', annotations);
    const cases = [
      ['fenceline.dev/maintenance-until', until, 'Maintenance', `under maintenance until ${until}`],
      [
        'fenceline.dev/maintenance-until',
        'tomorrow',
        'Maintenance',
        `the annotation fenceline.dev/maintenance-until ${noTime}`,
      ],
      ['fenceline.dev/pause.fw', until, 'NamedPause', `paused until ${until} by fw`],
      ['fenceline.dev/pause.fw', 'tomorrow', 'NamedPause', `the annotation fenceline.dev/pause.fw ${noTime}`],
    ] as const;
    for (const [key, value, reason, message] of cases) {
      await annotate({ [key]: value });
      const text = await shown(cluster);
      const [, row = ''] = text.split('NOTHING IS DONE ABOUT   WHY\n');
      assert.ok(row.startsWith(`node-1                  ${message}`), text);
      const [one] = (await readStatus(cluster.client)).nodes;
      assert.equal(one?.leftAlone?.[0]?.reason, reason, 'what programs read');
      const { waits } = await explainNode(cluster.client, 'node-1');
      assert.deepEqual(
        waits.map((wait) => [wait.reason, wait.message.startsWith(message)]),
        [[reason, true]],
      );
    }
    await annotate({ 'fenceline.dev/pause.fw': '2025-12-31T00:00:00Z' });
    assert.doesNotMatch(await shown(cluster), /NOTHING IS DONE/, 'it has passed');
  });

  test('[ADM-7] an annotation that means nothing is told, with what may be meant', async () => {
    const cluster = await led();
    const key = 'fenceline.dev/maintenence-until';
    await cluster.patch(nodeRef, '/metadata/annotations', { [key]: until, 'fenceline.dev/cordoned': 'x', other: 'y' });
    const said = `the annotation ${key} of node-1 means nothing: did you mean fenceline.dev/maintenance-until?`;
    assert.deepEqual((await readStatus(cluster.client)).warnings, [said]);
    assert.deepEqual((await explainNode(cluster.client, 'node-1')).warnings, [said]);
  });
});

describe('explain', () => {
  test('[EXP-1, DRN-13] what a drain waits for is told, and what to type about it', async () => {
    const cluster = await led();
    await cluster.patch(nodeRef, '/spec/unschedulable', true);
    await cluster.make(drainPolicies, { metadata: { name: 'default' }, spec: { allNodes: true } });
    const since = '2026-01-01T00:00:00Z';
    const drain = {
      node: 'node-1',
      blocked: true,
      autoEvicting: false,
      reason: 'LastReplica',
      message: 'volume v',
      since,
    };
    await cluster.patchStatus({ resource: drainPolicies, name: 'default' }, { draining: [drain] });
    const { waits, commands } = await explainNode(cluster.client, 'node-1');
    assert.deepEqual(waits, [
      {
        reason: 'LastReplica',
        message: 'its drain waits: volume v',
        since,
        ends: 'another healthy replica is protected elsewhere',
      },
    ]);
    assert.ok(commands.some(({ command }) => command === 'fenceline plan-drain node-1'));
  });

  test('[EXP-1] where nobody leads, the namespace is that of what is written for an operator', async () => {
    const cluster = await ActCluster.create();
    await cluster.remove(fenceRef);
    await cluster.make(namespaces, { metadata: { name: 'ops' } });
    await cluster.make(configMaps, { metadata: { name: 'fence-config-node-1', namespace: 'ops' } });
    const { commands } = await explainNode(cluster.client, 'node-1');
    const run = 'fenceline run --leader-elect-namespace ops --as system:serviceaccount:ops:fenceline';
    assert.ok(commands.some(({ command }) => command === run));
  });
});
