import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { evictingNode } from '../../test/support/drain-case.ts';
import { ActCluster, fenceRef, nodeRef } from '../../test/support/act-cluster.ts';
import { parseLabelSelector } from '../api/label-selector.ts';
import type { KubeObject } from '../kube/client.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { drainPolicies, fenceDevices } from '../kube/resources.ts';
import { explainNode } from './explain.ts';
import { chosenOf, readStatus, render, renderUnreadable } from './status.ts';

const policyRef: ObjectRef = { resource: drainPolicies, name: 'default' };
const deviceRef: ObjectRef = { resource: fenceDevices, namespace: 'default', name: 'node-1-ipmi' };
const { since } = evictingNode;

/** A cordoned node whose drain is as said; undefined: there is no DrainPolicy. */
async function cordoned(drain?: object): Promise<ActCluster> {
  const cluster = await ActCluster.create();
  await cluster.patch(nodeRef, '/spec/unschedulable', true);
  if (drain === undefined) return cluster;
  const policy = { metadata: { name: 'default' }, spec: { allNodes: true } };
  const made = await cluster.client.create<KubeObject>(drainPolicies, policy);
  assert.ok(made.ok, JSON.stringify(made));
  await cluster.patchStatus(policyRef, { draining: [drain] });
  return cluster;
}

async function shown(cluster: ActCluster): Promise<string> {
  return render((await readStatus(cluster.client)).nodes, undefined);
}

describe('status of drains', () => {
  test('[DRN-14] a node that is auto-evicting is shown as such beside unschedulable, and what its drain waits for', async () => {
    const cluster = await cordoned(evictingNode);
    const text = await shown(cluster);
    assert.match(text, /^node-1 .* no, auto-evicting\b/m);
    assert.match(text, /^DRAIN OF +WAITS FOR +AUTO-EVICTING +SINCE +WHY$/m);
    assert.match(
      text,
      /^node-1 +EvictingReplicas +yes +2026-01-01T00:00:00Z +replica v-r-1 of volume v has to be rebuilt/m,
    );
    const { node: _, ...drain } = evictingNode;
    const [one] = (await readStatus(cluster.client)).nodes;
    assert.deepEqual([one?.unschedulable, one?.drain], [true, drain], 'what programs read');
  });

  test('[DRN-14] a drain that waits for a person, and one that waits for nothing any more', async () => {
    const waiting = await shown(await cordoned({ ...evictingNode, autoEvicting: false, reason: 'LastReplica' }));
    assert.match(waiting, /^node-1 .* no, drain waits$/m);
    assert.match(waiting, /^node-1 +LastReplica +no /m);
    const allowed = {
      ...evictingNode,
      blocked: false,
      autoEvicting: false,
      reason: 'Allowed',
      message: 'nothing is lost',
    };
    const free = await shown(await cordoned(allowed));
    assert.match(free, / no$/m);
    assert.match(free, /^node-1 +<nothing> +no +\S+ +nothing is lost$/m);
  });

  test('what was written before an uncordon is no longer so', async () => {
    const cluster = await cordoned(evictingNode);
    await cluster.patch(nodeRef, '/spec/unschedulable', false);
    const text = await shown(cluster);
    assert.doesNotMatch(text, /evicting|DRAIN OF/i);
    assert.match(text, / no, in quarantine$/m);
  });

  test('without a policy, and without Fenceline in the cluster, there is nothing to show and nothing to say', async () => {
    const cluster = await cordoned();
    const plain = await shown(cluster);
    assert.match(plain, /^node-1 .* no$/m);
    assert.doesNotMatch(plain, /DRAIN OF/);
    cluster.server.faults.inject({
      matches: ({ resource }) => ['drainpolicies', 'nodefences'].includes(resource),
      code: 404,
      reason: 'NotFound',
    });
    const { nodes, unreadable } = await readStatus(cluster.client);
    assert.deepEqual([nodes.length, unreadable], [1, []]);
  });

  test('a user who may not read the policies hears that, and sees the verdicts', async () => {
    const cluster = await cordoned(evictingNode);
    cluster.server.faults.inject({
      matches: ({ resource }) => resource === 'drainpolicies',
      code: 403,
      reason: 'Forbidden',
    });
    const { nodes, unreadable } = await readStatus(cluster.client);
    assert.deepEqual(
      nodes.map(({ node, unschedulable, drain }) => [node, unschedulable, drain]),
      [['node-1', true, undefined]],
    );
    assert.equal(
      renderUnreadable(unreadable),
      'you may not read drainpolicies.fenceline.dev, so what they say is not shown',
    );
  });
});

describe('status of fences', () => {
  const fence = { step: 'power-management', status: 'done', phase: 'booting', startedAt: since, stepStartedAt: since };
  const incident = { id: 'node-1-1', startedAt: since, trouble: 'lease', nodeUid: '1' };

  test('[RET-1] a node in quarantine is not schedulable, and one without is', async () => {
    const cluster = await ActCluster.create();
    assert.match(await shown(cluster), /^node-1 .* no, in quarantine$/m);
    const [one] = (await readStatus(cluster.client)).nodes;
    assert.deepEqual([one?.unschedulable, one?.quarantined], [false, true], 'what programs read');
    await cluster.patch(nodeRef, '/spec/taints', []);
    assert.match(await shown(cluster), /^node-1 .* yes$/m);
  });

  test('[ADM-4] how far its fence is, by what, and until when', async () => {
    const cluster = await ActCluster.create();
    const condition = {
      type: 'Fenced',
      status: 'False',
      reason: 'Booting',
      message: 'ipmi-on',
      lastTransitionTime: since,
    };
    const next = { what: 'its fence has failed, if it is not Ready in a new boot by then', at: '2026-01-01T00:10:00Z' };
    await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me', incident, fence, next, conditions: [condition] });
    assert.match(
      await shown(cluster),
      /^node-1 .* Booting: ipmi-on; by 2026-01-01T00:10:00Z: its fence has failed, if/m,
    );
    const [one] = (await readStatus(cluster.client)).nodes;
    assert.deepEqual(
      [one?.recovery?.fence, one?.recovery?.next],
      [{ reason: 'Booting', message: 'ipmi-on', since }, next],
    );
  });

  test('[ADM-4] what comes next where there is no fence yet', async () => {
    const cluster = await ActCluster.create();
    const next = { what: 'fence begins, if Ready=NotTrue goes on', at: '2026-01-01T00:10:00Z' };
    await cluster.patchStatus(fenceRef, {
      epoch: 3,
      holder: 'me',
      incident: { ...incident, trouble: 'Ready=Unknown' },
      next,
    });
    assert.match(await shown(cluster), /^node-1 .* Ready=Unknown; by 2026-01-01T00:10:00Z: fence begins, if/m);
  });
});

test('[ADM-4] nodes are chosen by name and by label, and may be printed as names alone', async () => {
  const report = await readStatus((await ActCluster.create()).client);
  const [one] = report.nodes;
  assert.ok(one !== undefined);
  const two = { ...one, node: 'node-2' };
  const both = { ...report, nodes: [one, two], labels: new Map([['node-2', { pool: 'db' }]]) };
  const chosen = (names: string[], text?: string): string[] => {
    const parsed = text === undefined ? undefined : parseLabelSelector(text);
    return chosenOf(both, names, parsed?.ok === true ? parsed.selector : undefined).map(({ node }) => node);
  };
  assert.deepEqual(chosen([]), ['node-1', 'node-2']);
  assert.deepEqual(chosen([], 'pool=db'), ['node-2']);
  assert.deepEqual(chosen(['node-1'], 'pool=db'), []);
  assert.throws(() => chosen(['node-3']), /no such node: node-3/);
  assert.equal(await render(both.nodes, 'name'), 'node/node-1\nnode/node-2\n');
});

describe('status of releases', () => {
  test('[ADM-4] every pod that was let go is counted, whatever the basis', async () => {
    const cluster = await ActCluster.create();
    const incident = { id: 'node-1-1', startedAt: since, trouble: 'lease', nodeUid: '1' };
    const pods = (...names: string[]): object[] => names.map((name) => ({ namespace: 'default', name, uid: name }));
    const record = { nodeUid: '1', bootId: 'b', epoch: 3, recordedAt: since, podsStay: false, endedAt: since };
    const releases = [
      { ...record, basis: 'PowerOff', pods: pods('a', 'b', 'c', 'd') },
      { ...record, basis: 'Asserted', by: 'me', pods: pods('e') },
    ];
    await cluster.patchStatus(fenceRef, { epoch: 3, incident, releases });
    assert.match(await shown(cluster), /^node-1 .* released 5 pods \(PowerOff, Asserted\)$/m);
  });

  test('[ADM-4] what was let go in an earlier incident, and is gone, is not counted into this one', async () => {
    const cluster = await ActCluster.create();
    const incident = { id: 'node-1-2', startedAt: since, trouble: 'lease', nodeUid: '1' };
    const before = '2025-12-01T00:00:00Z';
    const record = { nodeUid: '1', bootId: 'b', epoch: 3, recordedAt: before, podsStay: false };
    const pods = [{ namespace: 'default', name: 'a', uid: 'a' }];
    const ended = { ...record, basis: 'AcceptedRisk', by: 'policy', pods, endedAt: before };
    await cluster.patchStatus(fenceRef, { epoch: 3, incident, releases: [ended] });
    assert.doesNotMatch(await shown(cluster), /released/);
    const open = { ...record, basis: 'PowerOff', pods };
    await cluster.patchStatus(fenceRef, { epoch: 3, incident, releases: [ended, open] });
    assert.match(await shown(cluster), /^node-1 .* releasing 1 pod \(PowerOff\)$/m, 'what is not gone yet is');
  });
});

describe('status of alarms', () => {
  const message = '3 incidents of Ready within 24h; default/web-0 was there each time';

  async function alarmed(status: 'True' | 'False'): Promise<ActCluster> {
    const cluster = await ActCluster.create();
    const condition = { type: 'Alarm', status, reason: 'RepeatedTrouble', message, lastTransitionTime: since };
    await cluster.patchStatus(fenceRef, { epoch: 3, conditions: [condition] });
    return cluster;
  }

  test('[ADM-2] a node that is well and has failed too often is shown with why', async () => {
    const cluster = await alarmed('True');
    const text = await shown(cluster);
    assert.match(text, /^ALARM OF +REASON +SINCE +WHY$/m);
    assert.match(
      text,
      /^node-1 +RepeatedTrouble +2026-01-01T00:00:00Z +3 incidents of Ready within 24h; default\/web-0/m,
    );
    const [one] = (await readStatus(cluster.client)).nodes;
    assert.deepEqual(one?.alarm, { reason: 'RepeatedTrouble', message, since }, 'what programs read');
    assert.doesNotMatch(await shown(await alarmed('False')), /ALARM/);
  });
});

describe('status of devices', () => {
  test('[ADM-4, EXP-3] a node that is well and could not be fenced is shown, by which device and why', async () => {
    const cluster = await ActCluster.create();
    const told = async (status: object): Promise<string> => {
      await cluster.patchStatus(deviceRef, { configuration: 'c', ...status });
      return shown(cluster);
    };
    await cluster.make(fenceDevices, {
      metadata: { name: 'node-1-ipmi', namespace: 'default' },
      spec: { node: 'node-1', agent: 'fence_ipmilan' },
    });
    assert.doesNotMatch(await told({ fenceable: true }), /COULD NOT/);
    const silent = { fenceable: false, reason: 'DeviceSilent', message: 'it timed out\n' };
    const text = await told(silent);
    assert.match(text, /^COULD NOT BE FENCED +BY +REASON +WHY$/m);
    assert.match(text, /^node-1 +node-1-ipmi +DeviceSilent +it timed out$/m);
    const wrong = { since, reason: 'AnotherMachine', message: 'it is that of node-2' };
    assert.match(
      await told({ fenceable: true, wrong }),
      /^node-1 +node-1-ipmi +AnotherMachine +it is that of node-2$/m,
    );
    const [one] = (await readStatus(cluster.client)).nodes;
    const { reason, message } = wrong;
    assert.deepEqual(one?.unfenceable, [{ device: 'node-1-ipmi', reason, message }], 'what programs read');
  });
});

describe('status of rehearsals', () => {
  test('[SAF-12] each step that a policy would have taken is shown, and what it would wait for', async () => {
    const cluster = await ActCluster.create();
    const steps = [{ at: since, reason: 'WouldCutPower', message: 'would have cut its power for lease (ipmi-off)' }];
    const waitsFor = 'node-2 has not been heard of since';
    await cluster.patchStatus(fenceRef, { epoch: 9, rehearsal: { incident: 'node-1-1', steps, waitsFor } });
    const text = await shown(cluster);
    assert.match(text, /^DRY RUN OF +STEP +AT +WHAT$/m);
    assert.match(
      text,
      /^node-1 +WouldCutPower +2026-01-01T00:00:00Z +would have cut its power for lease \(ipmi-off\)$/m,
    );
    assert.match(text, /^node-1 +<next> +<none> +would wait: node-2 has not been heard of since$/m);
    const [one] = (await readStatus(cluster.client)).nodes;
    assert.deepEqual(one?.rehearsal, { steps, waitsFor }, 'what programs read');
  });
});

describe('status of holds', () => {
  test('[ADM-4] a hold is shown with what to type about it', async () => {
    const cluster = await ActCluster.create();
    const incident = { id: 'node-1-1', startedAt: since, trouble: 'lease', nodeUid: '' };
    const hold = { reason: 'AwaitingApproval', message: 'it waits', since };
    const held = async (more: object): Promise<string> => {
      await cluster.patchStatus(fenceRef, { epoch: 9, incident, hold: { ...hold, ...more } });
      return shown(cluster);
    };
    const command = 'fenceline approve node-1';
    assert.match(await held({ command }), /held: it waits \(fenceline approve node-1\)$/m);
    const to = 'if you mean it: let it go on';
    assert.match(
      await held({ to, command }),
      /held: it waits \(if you mean it: let it go on: fenceline approve node-1\)$/m,
    );
    assert.match(await held({}), /held: it waits$/m);
  });
});

test('[EXP-1] a taint by which an administrator has said that a machine is off is shown on one that lives, with what takes it away', async () => {
  const cluster = await ActCluster.create();
  const before = await shown(cluster);
  assert.doesNotMatch(before, /out of service/);
  const taint = { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' };
  await cluster.patch(nodeRef, '/spec/taints', [taint]);
  assert.match(await shown(cluster), /^node-1 .* no, out of service/m);
  const command = 'kubectl taint node node-1 node.kubernetes.io/out-of-service:NoExecute-';
  const { warnings } = await readStatus(cluster.client);
  assert.ok(
    warnings.some((one) => one.endsWith(command)),
    warnings.join(),
  );
  const explained = await explainNode(cluster.client, 'node-1');
  assert.match(
    explained.warnings.join(),
    /has the taint node.kubernetes.io.out-of-service:NoExecute, by which somebody/,
  );
  await cluster.patch(nodeRef, '/spec/taints', [{ ...taint, value: 'fenceline', effect: 'NoSchedule' }]);
  assert.doesNotMatch(await shown(cluster), /out of service/, 'ours goes by itself');
});

test('[EXP-1] pods that are stuck do not hide the fence, and a hold does not advise what is just being read', async () => {
  const cluster = await ActCluster.create();
  const incident = { id: 'node-1-1', startedAt: since, trouble: 'lease', nodeUid: '1' };
  const at = { startedAt: since, stepStartedAt: since, lastTransitionTime: since };
  const fence = {
    step: 'power-management',
    status: 'error',
    phase: 'failed',
    level: 0,
    index: 0,
    switched: [],
    cleanResources: true,
    retries: 0,
    restarts: 0,
    ...at,
  };
  const conditions = [{ type: 'Fenced', status: 'False', reason: 'FenceFailed', message: 'it timed out', ...at }];
  const stuck = [{ namespace: 'shop', name: 'web-0', uid: 'u', reason: 'FenceUnsettled', message: 'x', since }];
  await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me', incident, fence, conditions, stuck });
  assert.match(await shown(cluster), /FenceFailed: it timed out; 1 pod stuck$/m);
  const hold = { reason: 'StormLimit', message: 'too many', since, to: 'see them', command: 'fenceline status' };
  await cluster.patchStatus(fenceRef, { epoch: 3, holder: 'me', incident, hold });
  assert.match(await shown(cluster), /held: too many$/m);
  await cluster.patchStatus(fenceRef, {
    epoch: 3,
    holder: 'me',
    incident,
    hold: { ...hold, command: 'fenceline resume node-1' },
  });
  assert.match(await shown(cluster), /held: too many \(see them: fenceline resume node-1\)$/m);
});
