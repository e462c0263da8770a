import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ActCluster, policyRef } from '../../test/support/act-cluster.ts';
import { heardBefore } from '../../test/support/doubt.ts';
import type { Asked } from '../act/device-tasks.ts';
import type { Condition } from '../api/common.ts';
import type { Said } from '../api/power.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { KubeObject } from '../kube/client.ts';
import { KubeClient } from '../kube/client.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { remedyPolicies } from '../kube/resources.ts';
import type { HttpRequest, HttpResponse } from '../kube/transport.ts';
import { projectDevice } from '../observe/project-device.ts';
import type { PolicyStatusOptions } from './policy-status.ts';
import { PolicyStatus } from './policy-status.ts';

const ref: ObjectRef = { resource: remedyPolicies, name: 'fences' };

interface Told {
  observedGeneration?: number;
  nodes?: number;
  conditions?: Condition[];
}

/** One policy that fences one node, whose device is on and answers at once. */
async function begin() {
  const world = await ActCluster.create();
  const { clock } = world;
  await world.remove(policyRef);
  await world.make(remedyPolicies, {
    metadata: { name: ref.name },
    spec: {
      allNodes: true,
      thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] }],
      remedies: [{ name: 'fence', fence: {} }],
    },
  });
  const calls = { nodes: 0, groups: 0, asked: 0 };
  const problems: string[] = [];
  const failed: string[] = [];
  const hooks = { onNodes: () => {}, beforeWrite: async (): Promise<void> => {} };
  const inner = world.server.transport('operator');
  const send = async (request: HttpRequest): Promise<HttpResponse> => {
    const [path] = request.path.split('?');
    if (path === '/api/v1/nodes') {
      calls.nodes += 1;
      hooks.onNodes();
    }
    if (path === '/apis') calls.groups += 1;
    if (request.method === 'PUT') await hooks.beforeWrite();
    return inner.send(request);
  };
  const transport = { send, close: () => inner.close() };
  const device = projectDevice({
    metadata: { name: 'bmc', namespace: 'fenceline' },
    spec: { node: 'node-1', agent: 'fence_ipmilan', parameters: { ip: '10.0.0.1' } },
  } as KubeObject);
  const ask = async (): Promise<object> => {
    calls.asked += 1;
    return { kind: 'status', power: 'on' };
  };
  const options = {
    client: new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'fenceline' }),
    clock,
    observer: { view: () => ({ name: 'node-1', ageMs: 0, silentMs: 0 }) },
    cluster: {
      synced: true,
      fenceConfigs: [],
      writtenDevices: [device],
      nodesWith: () => [],
      failedNodes: failed,
    },
    provider: { device: async () => ({ ok: true, device: { name: 'bmc', ask } }) },
    memory: {
      hear: (node: LiveNode, asked: Asked, { said }: { said: Said }) => heardBefore(node, asked, said),
      checked: () => {},
      share: () => {},
      configure: () => {},
      report: () => {},
      records: { noteNamed: () => {} },
      isOnTrust: () => false,
      isSeenUnshown: () => false,
    },
    watch: { update: () => {} },
    namespace: 'fenceline',
    isLeading: () => true,
    verdicts: () => new Map(),
    onProblem: (source: string) => void problems.push(source),
  };
  const status = new PolicyStatus(options as unknown as PolicyStatusOptions);
  const stop = new AbortController();
  const running = status.run(stop.signal);
  const pass = async (seconds: number): Promise<void> => {
    for (let at = 0; at < seconds; at += 1) {
      clock.advance(1000);
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const told = async (): Promise<Told> => (await world.read<KubeObject & { status?: Told }>(ref)).status ?? {};
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
    assert.deepEqual(problems, []);
  };
  return { world, status, calls, hooks, failed, pass, told, end };
}

describe('what is found out about policies', () => {
  test('[EXP-3] is written a moment later, and found out once for as long as nothing changes', async () => {
    const { status, calls, pass, told, end } = await begin();
    await pass(1);
    assert.equal((await told()).observedGeneration, undefined);
    await pass(9);
    const { observedGeneration, nodes, conditions = [] } = await told();
    assert.deepEqual([observedGeneration, nodes], [1, 1]);
    assert.ok(conditions.length > 0);
    const { nodes: found } = calls;
    status.recount();
    await pass(5);
    assert.equal(calls.nodes, found);
    status.touch();
    await pass(5);
    assert.equal(calls.nodes, found + 1);
    await pass(610);
    assert.equal(calls.nodes, found + 2, 'nor is it found for ever');
    await end();
  });

  test('[FEN-7] is found out anew when something changed while it was found out', async () => {
    const { status, calls, hooks, pass, end } = await begin();
    await pass(10);
    const { nodes: found } = calls;
    let isTouched = false;
    hooks.onNodes = () => {
      if (!isTouched) status.touch();
      isTouched = true;
    };
    status.touch();
    await pass(10);
    assert.equal(calls.nodes, found + 2);
    status.recount();
    await pass(5);
    assert.equal(calls.nodes, found + 2);
    await end();
  });

  test('[FEN-7] is said of the very policy that is there, although nobody has told us of the new one yet', async () => {
    const { world, status, calls, pass, told, end } = await begin();
    await pass(10);
    const { nodes: found } = calls;
    await world.patch(ref, '/spec/mode', 'Paused');
    status.recount();
    await pass(5);
    assert.deepEqual([calls.nodes, (await told()).observedGeneration], [found + 1, 2]);
    await end();
  });

  test('[FEN-7] is written seconds later where somebody has written to the policy meanwhile', async () => {
    const { world, status, hooks, pass, told, end } = await begin();
    await pass(10);
    let writes = 0;
    hooks.beforeWrite = async () => {
      writes += 1;
      if (writes === 1) await world.patch(ref, '/metadata/labels', { by: 'somebody' });
    };
    await world.patch(ref, '/spec/mode', 'Paused');
    status.touch();
    await pass(10);
    assert.deepEqual([writes, (await told()).observedGeneration], [2, 2]);
    await end();
  });

  test('[ADM-6] who else is set up is looked at again after ten minutes, and not whenever something changes', async () => {
    const { status, calls, pass, end } = await begin();
    await pass(10);
    assert.equal(calls.groups, 1);
    await pass(500);
    status.touch();
    await pass(10);
    assert.equal(calls.groups, 1);
    await pass(100);
    status.touch();
    await pass(10);
    assert.equal(calls.groups, 2);
    await end();
  });

  test('[EXP-3] has the device of a node asked at once whose fence has failed', async () => {
    const { status, calls, failed, pass, end } = await begin();
    await pass(10);
    const { asked } = calls;
    assert.ok(asked > 0);
    status.recount();
    await pass(1);
    assert.equal(calls.asked, asked);
    failed.push('node-1');
    status.recount();
    await pass(1);
    assert.ok(calls.asked > asked);
    await end();
  });
});
