/**
 * Half of a large cluster falls silent: some have it on record, the others are known by these, across a change of leaders too; and
 * when it is over, whoever is still in trouble is attended to as if it were alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeFence } from '../../src/api/node-fence.ts';
import { KubeClient, type KubeObject } from '../../src/kube/client.ts';
import { nodeFences } from '../../src/kube/resources.ts';
import type { Scenario } from '../../src/scenario/format.ts';
import { administrator } from '../../src/scenario/operator-user.ts';
import type { Report } from '../../src/scenario/report.ts';
import { workersPolicy } from '../support/workers.ts';
import { failuresOf, parsed, run } from './run-file.ts';

const silent = Array.from({ length: 120 }, (_, index) => `node-${index + 1}`);
const back = silent.slice(0, 70);
/** The bound, and whose turn comes before the records of the others are seen. */
const atMost = 100;
const seconds = 1000;
/** Why nothing is done is known before their time has come. */
const waits = { isolateAfter: '30s', powerManagementAfter: '30s' };

type Record = NodeFence & KubeObject;

/** With the records that there were at these times, in seconds. */
async function runSeeing(
  scenario: Scenario,
  times: readonly number[],
): Promise<{ ended: Report; seen: Map<number, Record[]> }> {
  const seen = new Map<number, Record[]>();
  let begin: (() => void) | undefined;
  const ended = await run(scenario, {
    onWorld: (world, clock) => {
      const transport = world.server.transport(administrator, { shares: true });
      const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
      begin = () => {
        for (const atMs of times.map((time) => time * seconds)) {
          clock.after(atMs, () => {
            void client.list<Record>(nodeFences).then((read) => {
              seen.set(atMs, read.ok ? read.value.items : []);
            });
          });
        }
      };
    },
    onZero: () => begin?.(),
  });
  return { ended, seen };
}

test('[STM-1, STM-6] of half of 240 nodes that fall silent some have a record, and all are held; of whom is left all have one', async () => {
  const scenario = parsed('half-of-many', {
    cluster: { nodes: 240, operators: 1 },
    objects: [workersPolicy({ storm: { cooldown: '5m' }, fence: waits })],
    events: [
      ...silent.map((partition) => ({ at: '0s', partition })),
      { at: '60s', crashOperator: 1 },
      ...back.map((heal) => ({ at: '120s', heal })),
    ],
    runFor: '4m',
  });
  const { ended, seen } = await runSeeing(scenario, [50, 115, 235]);
  assert.deepEqual(failuresOf(ended), []);
  const open = (atMs: number): Record[] =>
    (seen.get(atMs) ?? []).filter(
      ({ status }) => status.incident !== undefined && status.incident.clearedAt === undefined,
    );
  for (const atMs of [50 * seconds, 115 * seconds]) {
    assert.ok(open(atMs).length >= 64 && open(atMs).length <= atMost, `${open(atMs).length} of ${silent.length}`);
    assert.deepEqual([...new Set(open(atMs).map(({ status }) => status.hold?.reason))], ['StormLimit']);
  }
  const [before, after] = [50, 115].map((at) => open(at * seconds)[0]?.status.storm?.since);
  assert.equal(after, before, 'it is the same storm to whoever leads next');
  const left = open(235 * seconds);
  assert.deepEqual(
    left.map(({ spec }) => spec.node).sort(),
    silent.slice(70).sort(),
    'nobody who is left is forgotten',
  );
  const reasons = [...new Set(left.map(({ status }) => status.hold?.reason ?? ''))].toSorted();
  assert.deepEqual(reasons, ['Cooldown', 'NothingToFree'], 'each by itself');
  assert.ok(left.every(({ status }) => (status.fence?.switched ?? []).length === 0));
});

test('[STM-1, EXP-1] machines that are found off do not say what holds the others: of these some have it on record', async () => {
  const off = silent.slice(0, 100);
  const cutOff = silent.slice(100);
  const scenario = parsed('found-off-beside-a-storm', {
    cluster: { nodes: 240, operators: 1 },
    objects: [workersPolicy()],
    events: [
      ...off.map((powerOff) => ({ at: '0s', powerOff })),
      ...cutOff.map((node) => ({ at: '10s', device: { node, fault: 'hangs' } })),
      ...cutOff.map((partition) => ({ at: '30s', partition })),
    ],
    runFor: '61s',
  });
  const { ended, seen } = await runSeeing(scenario, [60]);
  assert.deepEqual(failuresOf(ended), []);
  const held = (seen.get(60 * seconds) ?? []).filter(({ status }) => status.hold?.reason === 'StormLimit');
  assert.deepEqual(held.map(({ spec }) => spec.node).sort(), cutOff.toSorted());
});
