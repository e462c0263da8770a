/** What policies say of themselves: mistakes the moment they are written, contenders, and who could not be fenced. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Condition } from '../../../src/api/common.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import { failuresOf, run } from '../run-file.ts';
import type { Fenced } from './fenced.ts';
import { atOnce, fenced, place, policyOf } from './fenced.ts';
import { cutAlone } from './switches.ts';

interface Status {
  observedGeneration?: number;
  nodes?: number;
  unresponsive?: number;
  fencing?: number;
  conditions?: Condition[];
}

interface Seen {
  atMs: number;
  policy: string;
  generation: number;
  status: Status;
  conditions: Condition[];
}

/** Every state of the conditions of every policy; times are since time 0. */
async function conditionsOf(name: string, what: Fenced, options: RunOptions = {}): Promise<Seen[]> {
  const seen: Seen[] = [];
  let [nowMs, zeroMs] = [(): number => 0, 0];
  const report = await run(fenced(name, what), {
    ...options,
    onWorld: (world, clock) => {
      nowMs = () => clock.monotonic();
      world.server.onChange(({ type, version: { object } }) => {
        const { kind, status } = object as { kind?: string; status?: Status };
        if (kind !== 'RemedyPolicy' || type !== 'MODIFIED' || status?.conditions === undefined) return;
        const { name: policy, generation = 0 } = object.metadata;
        seen.push({ atMs: nowMs() - zeroMs, policy, generation, status, conditions: status.conditions });
      });
    },
    onZero: () => {
      const beforeMs = nowMs();
      for (const one of seen) one.atMs -= beforeMs;
      zeroMs = beforeMs;
    },
  });
  assert.deepEqual(failuresOf(report), []);
  return seen;
}

/** What a condition was at a moment. */
function at(seen: readonly Seen[], atMs: number, policy: string, type: string): string {
  const last = seen.findLast((one) => one.policy === policy && one.atMs <= atMs);
  const condition = last?.conditions.find((one) => one.type === type);
  return condition === undefined ? 'nothing' : `${condition.status} ${condition.reason}: ${condition.message}`;
}

/** As GitOps tools read any object: `Current` once what they applied was looked at and is found good. */
function kstatus({ generation, status }: Pick<Seen, 'generation' | 'status'>): string {
  if (status.observedGeneration !== generation) return 'InProgress';
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? 'Current' : 'InProgress';
}

/** Tells of every write to a policy, whether it changes anything or not. */
function counting(onWrite: (user: string) => void): RunOptions {
  return {
    wire: (user, inner) => ({
      send: (request) => {
        if (request.method === 'PUT' && request.path.includes('/remedypolicies/')) onWrite(user);
        return inner.send(request);
      },
      close: () => inner.close(),
    }),
  };
}

const configMap = (data: Record<string, string>, name = 'fence-config-node-2'): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'fenceline' },
  data,
});

describe('the status of policies', () => {
  test('of one of which all is well; it is written only where it differs', async () => {
    let writes = 0;
    const seen = await conditionsOf(
      'well',
      { events: [{ at: '0s', cordon: 'node-1' }], runFor: '1m' },
      counting(() => (writes += 1)),
    );
    assert.equal(at(seen, 0, 'fence', 'Valid'), 'True Accepted: in force for 3 nodes');
    assert.equal(at(seen, 0, 'fence', 'Fenceable'), 'True AllFenceable: the devices of 3 nodes answer');
    assert.match(at(seen, 0, 'fence', 'Risky'), /^(True|False) /);
    const late = seen.filter(({ atMs }) => atMs > 0);
    assert.deepEqual(late, [], 'nothing is written while nothing changes');
    assert.equal(writes, seen.length);
  });

  test('[SEC-3] of one that uses what is forbidden: that, where, and that nothing is done; no other takes its place', async () => {
    const job = {
      name: 'repair',
      podTemplate: { spec: { hostPID: true, containers: [{ name: 'main', image: 'x' }] } },
    };
    const remedies = [{ name: 'fence', fence: {} }, job];
    const cluster = { forbid: ['PrivilegedJobs', 'SafeDetach'] };
    const other = policyOf({ priority: -1 }, 'other');
    const seen = await conditionsOf('forbidden', {
      cluster,
      policy: { remedies },
      objects: [other],
      events: [{ at: '0s', powerOff: place }],
      expect: [{ fences: 0 }],
      runFor: '2m',
    });
    assert.equal(
      at(seen, 0, 'fence', 'Valid'),
      'False Forbidden: the operator was told to forbid PrivilegedJobs (remedy repair: hostPID): nothing is done by this ' +
        'policy about its 3 nodes until it does without',
    );
    assert.match(at(seen, 0, 'other', 'Valid'), /^True Accepted: in force for 0 nodes/);
  });

  test('[EXP-3] how many nodes do not respond, and how many are being fenced, while it lasts', async () => {
    const seen = await conditionsOf('counts', { events: [{ at: '0s', powerOff: 'node-1' }], runFor: '3m' });
    const counts = seen.map(({ status: { nodes, unresponsive, fencing } }) => `${nodes} ${unresponsive} ${fencing}`);
    const changes = counts.filter((one, at) => one !== counts[at - 1]);
    assert.deepEqual(changes, ['3 0 0', '3 1 1', '3 0 0']);
    const suspected = seen.find(({ status }) => status.unresponsive === 1)?.atMs ?? Infinity;
    assert.ok(suspected <= 20_000, `told after ${suspected} ms`);
  });

  test('GitOps tools see a policy as applied when it was looked at and is good, and not before', async () => {
    const wrong = { 'config.properties': 'node_name=node-2\npower_management=ipmi-off ipmi-on' };
    const seen = await conditionsOf('kstatus', {
      events: [
        { at: '10s', apply: policyOf({ mode: 'DryRun' }) },
        { at: '30s', apply: configMap(wrong) },
      ],
      runFor: '1m',
    });
    const states = seen.map((one) => `${one.generation} ${kstatus(one)}`);
    const changes = states.filter((one, at) => one !== states[at - 1]);
    assert.deepEqual(changes, ['1 Current', '2 InProgress', '2 Current', '2 InProgress']);
    const last = seen.at(-1)?.conditions.find(({ type }) => type === 'Ready');
    assert.deepEqual([last?.status, last?.reason, last?.observedGeneration], ['False', 'FenceConfigInvalid', 2]);
  });

  test('[FEN-7] a mistake in a configuration is found when it is written, and forgotten when it is mended', async () => {
    const broken = { 'config.properties': 'node_name=node-2\npower_management=ipmi-off ipmi-on\nlevel=3' };
    const mended = { 'config.properties': 'node_name=node-9\npower_management=restart-instance' };
    const seen = await conditionsOf('mistake', {
      events: [
        { at: '60s', apply: configMap(broken) },
        { at: '90s', delete: { kind: 'ConfigMap', name: 'fence-config-node-2', namespace: 'fenceline' } },
        { at: '120s', apply: configMap(mended, 'fence-config-node-9') },
        { at: '150s', apply: configMap(broken, 'fence-config-node-9') },
      ],
      runFor: '4m',
    });
    const valid = (atMs: number): string => at(seen, atMs, 'fence', 'Valid');
    assert.match(valid(59_000), /^True Accepted/);
    assert.match(
      valid(65_000),
      /^False FenceConfigInvalid: .*fence-config-node-2, config.properties: there is no method ipmi-off/,
    );
    assert.match(valid(65_000), /config.properties:3: "level" is not known/);
    assert.match(at(seen, 65_000, 'fence', 'Fenceable'), /^False NotFenceable: 1 of 3.*node-2: ConfigurationInvalid/);
    assert.match(valid(95_000), /^True Accepted/);
    assert.match(at(seen, 96_000, 'fence', 'Fenceable'), /^True AllFenceable/);
    assert.match(valid(125_000), /^True Accepted/, 'of a node that is not there');
    assert.match(
      valid(155_000),
      /^False FenceConfigInvalid: .*fence-config-node-9.*it says node-2, and the node is node-9/,
    );
  });

  test('[FEN-7] a Secret that is not there is missed, and found when it is made by the next look', async () => {
    const template = configMap(
      { 'template.properties': 'agent=fence_ipmilan\nip=10.0.0.1\nsecret=bmc' },
      'fence-method-template-ipmi',
    );
    const config = configMap({
      'config.properties': 'power_management=ipmi-off',
      'fence-method-ipmi-off': 'template=fence-method-template-ipmi\naction=off',
    });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bmc', namespace: 'fenceline' }, data: {} };
    const seen = await conditionsOf('secret', {
      objects: [template, config],
      events: [
        { at: '60s', apply: secret },
        { at: '70s', apply: configMap({}, 'fence-method-template-unused') },
      ],
      runFor: '2m',
    });
    assert.match(
      at(seen, 0, 'fence', 'Valid'),
      /^False FenceConfigInvalid: ConfigMap fence-method-template-ipmi, template.properties: secret: there is no Secret bmc/,
    );
    assert.match(at(seen, 80_000, 'fence', 'Valid'), /^True Accepted/);
  });

  test('[REM-8] of two that select the same nodes the older one applies, and the other one says so', async () => {
    const seen = await conditionsOf('conflict', {
      events: [
        { at: '10s', apply: policyOf({}, 'another') },
        { at: '60s', delete: { kind: 'RemedyPolicy', name: 'fence' } },
      ],
      runFor: '2m',
    });
    assert.match(at(seen, 59_000, 'fence', 'Valid'), /^True Accepted: in force for 3 nodes/);
    assert.match(
      at(seen, 59_000, 'another', 'Valid'),
      /^False Conflict: fence selects node-1, node-2, node-3 just as specifically, is older, and applies there/,
    );
    assert.match(at(seen, 65_000, 'another', 'Valid'), /^True Accepted: in force for 3 nodes/);
  });

  test('[EXP-3] a device that stops to answer is noticed by the next round, and when it answers again', async () => {
    const seen = await conditionsOf('round', {
      events: [
        { at: '60s', device: { node: 'node-3', fault: 'refuses' } },
        { at: '61s', device: { node: 'node-2', fault: 'wrongMachine' } },
        { at: '15m', device: { node: 'node-3', fault: 'none' } },
      ],
      runFor: '20m',
    });
    const fenceable = (atMs: number): string => at(seen, atMs, 'fence', 'Fenceable');
    assert.match(fenceable(60_000), /^True AllFenceable/);
    assert.match(fenceable(660_000), /^False NotFenceable: 2 of 3.*node-2: WrongMachine: .*node-3: DeviceRefused: /);
    assert.match(fenceable(1_200_000), /^False NotFenceable: 1 of 3.*node-2: WrongMachine: /);
  });

  test('[SAF-4, RET-2] a node that nobody remembers to have cut off from its storage takes no pods; if somebody lets it, that is told', async () => {
    const seen = await conditionsOf('forgotten-cut', {
      policy: { fence: { ...atOnce, isolateAfter: '30s', powerManagementAfter: '1h' } },
      objects: [...cutAlone],
      events: [
        { at: '0s', partition: place },
        { at: '70s', delete: { kind: 'NodeFence', name: 'node-fence-node-3' } },
        { at: '71s', heal: place },
        { at: '8m', untaint: { node: place, key: 'fenceline.dev/quarantine' } },
      ],
      expect: [
        { at: '7m', node: { name: place, ready: true, schedulable: false } },
        { at: '20m', node: { name: place, ready: true, schedulable: true } },
      ],
      runFor: '20m',
    });
    assert.match(
      at(seen, 1_199_000, 'fence', 'Fenceable'),
      /^False NotFenceable: 1 of 3.*node-3: CutOff: fc-off: .*look what runs there, then switch it on/,
    );
  });

  test('[EXP-3] a node that has just lost its power is not taken for one with a wrong device', async () => {
    // A round is due soon after; Kubernetes has not noticed by then.
    const seen = await conditionsOf('power', {
      cluster: { kubernetes: { nodeMonitorGracePeriod: '90s' } },
      policy: { mode: 'DryRun' },
      events: [{ at: '550s', powerOff: 'node-1' }],
      runFor: '10m',
    });
    assert.deepEqual(
      seen.filter(({ conditions }) => conditions.some(({ reason }) => reason === 'NotFenceable')),
      [],
    );
  });

  test('S18: of two operators only the one that leads writes', async () => {
    const writers = new Set<string>();
    await conditionsOf(
      'two',
      {
        cluster: { operators: 2 },
        events: [{ at: '60s', apply: configMap({ 'config.properties': 'selector=a=b' }) }],
        runFor: '2m',
      },
      counting((user) => writers.add(user)),
    );
    assert.equal(writers.size, 1);
  });
});
