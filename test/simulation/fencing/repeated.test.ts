/** A node that fails again and again: it is counted, told with the pod that was there each time, and soaks longer. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeFenceStatus } from '../../../src/api/node-fence.ts';
import type { Observed } from '../release/observed.ts';
import { eventsOf, observe } from '../release/observed.ts';
import { isOperator } from '../../../src/scenario/operator-user.ts';
import { failuresOf } from '../run-file.ts';
import type { Fenced } from './fenced.ts';
import { fenced, fenceOf, policyOf } from './fenced.ts';

const node = 'node-1';
const minuteMs = 60_000;
/** Goes back to the same node whenever that takes pods again. */
const crasher = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'crasher', namespace: 'default' },
  spec: {
    serviceName: 'crasher',
    replicas: 1,
    selector: { matchLabels: { app: 'crasher' } },
    template: {
      metadata: { labels: { app: 'crasher' } },
      spec: {
        nodeSelector: { 'kubernetes.io/hostname': node },
        containers: [{ name: 'main', image: 'example/crasher:1' }],
      },
    },
  },
};
const fails = (...minutes: number[]): object[] => minutes.map((minute) => ({ at: `${minute}m`, powerOff: node }));
const crash = (at: string): object => ({ at, crashOperator: 1 });
const spec = { return: { soak: '10s', backoff: 2, maxSoak: '40s' } };
const alarms = [{ condition: 'Ready', count: 3, within: '9m' }];
const message = '3 incidents of Ready within 9m; default/crasher-0 was there each time';

async function runs(name: string, what: Fenced): Promise<Observed> {
  const seen = await observe(fenced(name, { objects: [crasher], ...what }));
  assert.deepEqual(failuresOf(seen.report), []);
  return seen;
}

interface Phase {
  atMs: number;
  alarm: string;
}

/** Each state that the alarm was in, with when it came to be. */
function alarmsOf({ statuses }: Observed): Phase[] {
  const all = statuses.map(({ atMs, status }) => ({ atMs, alarm: alarmIn(status) }));
  return all.filter(({ alarm }, index) => alarm !== (all[index - 1]?.alarm ?? 'none'));
}

function alarmIn({ conditions }: NodeFenceStatus): string {
  const found = conditions.find(({ type }) => type === 'Alarm');
  return found === undefined ? 'none' : `${found.status} ${found.reason}`;
}

function messagesOf({ statuses }: Observed): string[] {
  const all = statuses.flatMap(({ status }) => status.conditions.filter(({ type }) => type === 'Alarm'));
  return [...new Set(all.filter(({ status }) => status === 'True').map((condition) => condition.message))];
}

/** How long the node really had to wait between being clean and taking pods, each time. */
function soaksOf({ statuses }: Observed): number[] {
  const stages = statuses.map(({ atMs, status }) => ({ atMs, stage: status.return?.stage }));
  const begun = stages.filter(({ stage }, index) => stage === 'clean' && stages[index - 1]?.stage !== 'clean');
  return begun.map(({ atMs }) => {
    const end = stages.find((one) => one.atMs > atMs && one.stage !== 'clean')?.atMs ?? Infinity;
    return Math.round((end - atMs) / 1000);
  });
}

const raised = 'True RepeatedTrouble';
const ended = 'False NoAlarm';

describe('a node that fails again and again', () => {
  test('[ADM-2] counted across crashes of the operator; the third time an alarm names the pod, and ends by itself', async () => {
    const events = [...fails(0), crash('2m'), ...fails(4), crash('250s'), ...fails(8), crash('510s')];
    const seen = await runs('thrice', { policy: { ...spec, alarms }, events, runFor: '11m' });
    const status = fenceOf(seen.world, node)?.status;
    assert.equal(status?.incident, undefined, 'it is well');
    const [problem, ...others] = status?.problems ?? [];
    assert.deepEqual(others, []);
    assert.deepEqual([problem?.condition, problem?.count, problem?.times.length], ['Ready', 3, 3]);
    assert.deepEqual(problem?.pods[0], { pod: 'default/crasher-0', count: 3 });
    const [first, second, ...more] = alarmsOf(seen);
    assert.deepEqual([first?.alarm, second?.alarm, more], [raised, ended, []]);
    const { atMs: raisedMs = 0 } = first ?? {};
    assert.ok(raisedMs > 8 * minuteMs && raisedMs < 8.5 * minuteMs, `raised at ${raisedMs}`);
    const endMs = Date.parse(problem?.times[0] ?? '') - Date.parse(problem?.times[2] ?? '') + raisedMs + 9 * minuteMs;
    const { atMs: endedMs = 0 } = second ?? {};
    assert.ok(endedMs >= endMs - 1000 && endedMs < endMs + 15_000, `ended at ${endedMs}, due at ${endMs}`);
    assert.deepEqual(messagesOf(seen), [message]);
    assert.deepEqual(eventsOf(seen, 'RepeatedTrouble'), [message, message], 'once on the Node, once on its record');
    assert.equal(status?.history.filter(({ reason }) => reason === 'RepeatedTrouble').length, 1);
  });

  test('[RET-1] each time it soaks twice as long, up to the limit, and says why', async () => {
    const seen = await runs('longer', { policy: spec, events: fails(0, 4, 8, 12), runFor: '15m' });
    const soaks = soaksOf(seen);
    assert.equal(soaks.length, 4);
    for (const [index, wanted] of [10, 20, 40, 40].entries()) {
      const soak = soaks[index] ?? 0;
      // The record has whole seconds.
      assert.ok(soak >= wanted - 1 && soak <= wanted + 2, `${soaks.join()} s`);
    }
    const back = seen.statuses.flatMap(({ status }) => (status.return?.stage === 'clean' ? [status.return] : []));
    const told = [...new Set(back.map(({ waitsFor, failures }) => `${failures}: ${waitsFor}`))];
    const wait = `${node} has to stay Ready and clean for`;
    assert.deepEqual(told, [
      `0: ${wait} 10s`,
      `1: ${wait} 20s, because it has failed once before within a day`,
      `2: ${wait} 40s, because it has failed 2 times before within a day`,
      `3: ${wait} 40s, because it has failed 3 times before within a day`,
    ]);
  });

  test('[ADM-2] an alarm of a policy that is edited while the node is well is raised, and taken back, soon', async () => {
    const edited = (at: string, change: object): object => ({ at, apply: policyOf({ ...spec, ...change }) });
    const events = [...fails(0), edited('3m', { alarms: [{ ...alarms[0], count: 1 }] }), edited('5m', { alarms: [] })];
    const seen = await runs('edited', { policy: spec, events, runFor: '7m' });
    const phases = alarmsOf(seen);
    assert.deepEqual(
      phases.map(({ alarm, atMs }) => [alarm, Math.floor(atMs / minuteMs)]),
      [
        [raised, 3],
        [ended, 5],
      ],
    );
    for (const { atMs } of phases) assert.ok(atMs % minuteMs < 15_000, `${atMs}`);
    assert.deepEqual(messagesOf(seen), ['1 incident of Ready within 9m']);
  });

  /** Nothing of it is heard any more, not even by its Lease. */
  const unseen = [crash('178s'), { at: '179s', powerOff: node }];
  for (const [when, before] of Object.entries({ 'while we look': [], 'while nobody looks': unseen })) {
    test(`[ADM-2] the alarm goes with the node, deleted ${when}`, async () => {
      const one = [{ ...alarms[0], count: 1 }];
      const events = [...fails(0), ...before, { at: '3m', deleteNode: node }];
      const seen = await runs('deleted', { policy: { ...spec, alarms: one }, events, runFor: '240s' });
      assert.deepEqual(
        alarmsOf(seen).map(({ alarm }) => alarm),
        [raised, ended],
      );
    });
  }

  test('[ADM-2] a node that is well is not attended to because of its alarm, until that ends', async () => {
    const one = [{ ...alarms[0], count: 1 }];
    const reads: number[] = [];
    let now = (): number => 0;
    const scenario = fenced('quiet', { policy: { ...spec, alarms: one }, events: fails(0), runFor: '10m' });
    const seen = await observe(scenario, {
      onWorld: (_, clock) => (now = () => clock.monotonic()),
      wire: (user, inner) => ({
        send: (request) => {
          if (isOperator(user) && request.path === `/api/v1/nodes/${node}`) reads.push(now());
          return inner.send(request);
        },
        close: () => inner.close(),
      }),
    });
    const [, end] = alarmsOf(seen);
    assert.equal(end?.alarm, ended);
    const zeroMs = now() - 10 * minuteMs;
    const between = reads.filter((atMs) => atMs > zeroMs + 3 * minuteMs && atMs < zeroMs + (end?.atMs ?? 0) - 5000);
    assert.deepEqual([reads.length > 0, between], [true, []]);
  });
});
