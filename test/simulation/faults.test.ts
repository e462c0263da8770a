/** Faults that a scenario can ask for, seen in what they do to the cluster, and operators that die at any moment. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sleep } from '../../src/clock.ts';
import { renderReport } from '../../src/scenario/report.ts';
import type { RunOptions } from '../../src/scenario/runner.ts';
import type { World } from '../../src/world/world.ts';
import { failuresOf, run, variation } from './run-file.ts';

const web = { nodeOf: 'default/web-0' };

describe('faults of a cluster', () => {
  test('a machine cut off from its storage stops writing and goes on when the cable is back', async () => {
    const report = await run(
      variation('stuck-pod', {
        events: [
          { at: '1m', storagePartition: web },
          { at: '3m', storageHeal: web },
        ],
        expect: [
          { always: { node: { name: web, ready: true } } },
          { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
        ],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(report), []);
  });

  test('a detach that fails is soon forgotten, one that hangs after two minutes: the volume is attached elsewhere', async () => {
    const driver = 'driver.longhorn.io';
    for (const [fault, expected] of [
      ['errors', [{ by: '30s', pod: { name: 'web-0', running: true, moved: true } }]],
      [
        'hangs',
        [
          { at: '2m10s', pod: { name: 'web-0', deleted: true, running: false } },
          { by: '2m40s', pod: { name: 'web-0', running: true, moved: true } },
        ],
      ],
    ] as const) {
      const report = await run(
        variation('stuck-pod', {
          events: [
            { at: '10s', detach: { driver, fault } },
            { at: '20s', cordon: web },
            { at: '20s', delete: { kind: 'Pod', name: 'web-0' } },
            { at: '5m', detach: { driver, fault: 'none' } },
          ],
          expect: [...expected, { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } }],
          runFor: '8m',
        }),
      );
      assert.deepEqual(failuresOf(report), [], fault);
    }
  });

  test('a condition that a node reports, a taint that comes and goes, a crash of the kernel', async () => {
    const report = await run(
      variation('stuck-pod', {
        events: [
          { at: '10s', condition: { node: 'node-1', type: 'Ready', status: 'False' } },
          { at: '1m', condition: { node: 'node-1', type: 'Ready', status: 'True' } },
          { at: '10s', taint: { node: 'node-2', key: 'example.com/a', value: 'b', effect: 'NoSchedule' } },
          { at: '1m', untaint: { node: 'node-2', key: 'example.com/a' } },
          { at: '10s', kdump: 'node-3' },
        ],
        expect: [
          { at: '30s', node: { name: 'node-1', ready: false } },
          { by: '2m', node: { name: 'node-1', ready: true, taints: [] } },
          { at: '30s', node: { name: 'node-2', ready: true, schedulable: false, taints: ['example.com/a'] } },
          { by: '2m', node: { name: 'node-2', schedulable: true, taints: [] } },
          { at: '2m', node: { name: 'node-3', ready: false } },
          { by: '4m', node: { name: 'node-3', ready: true, schedulable: true, taints: [] } },
        ],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(report), []);
  });

  test('objects come and go, in namespaces and of kinds that nobody declared', async () => {
    const thing = { apiVersion: 'things.example.com/v1', kind: 'Thing', metadata: { name: 't', namespace: 'far' } };
    let world: World | undefined;
    const report = await run(
      variation('stuck-pod', {
        objects: [{ ...thing, spec: { any: ['thing'] }, status: { fine: true } }],
        events: [
          { at: '10s', apply: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'b' } } },
          { at: '20s', apply: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'c' } } },
          { at: '30s', delete: { kind: 'Thing', name: 't', namespace: 'far' } },
        ],
        runFor: '1m',
      }),
      { onWorld: (built) => (world = built) },
    );
    assert.deepEqual(
      report.timeline.filter(({ what }) => what.startsWith('could not')),
      [],
    );
    const data = world?.server.peek('', 'configmaps', 'default/c') as unknown as { data: object } | undefined;
    assert.deepEqual(data?.data, { a: 'c' });
    assert.equal(world?.server.peek('things.example.com', 'things', 'far/t'), undefined);
  });
});

describe('operators', () => {
  test('one that is killed is started again five seconds later, and the other takes over meanwhile', async () => {
    const report = await run(variation('operator-faults', { events: [{ at: '10s', crashOperator: 1 }], runFor: '2m' }));
    const leading = report.timeline.filter(({ what }) => what === 'leading');
    assert.equal(leading.length, 1);
    assert.ok(leading[0]!.at > 10_000 && leading[0]!.at < 40_000, `took over at ${leading[0]!.at}`);
  });

  test('a killed one does nothing more, restarts by itself, and keeps its wrong clock', async () => {
    const lives: { startedAt: number; ticks: number[] }[] = [];
    const program: NonNullable<RunOptions['program']> = ({ clock, number }) => ({
      async run() {
        const life = { startedAt: clock.now(), ticks: [] as number[] };
        if (number === 1) lives.push(life);
        for (;;) {
          await sleep(clock, 1000);
          life.ticks.push(clock.monotonic());
        }
      },
    });
    await run(
      variation('operator-faults', {
        events: [
          { at: '10s', clockSkew: { operator: 1, by: '1h' } },
          { at: '20s', crashOperator: 1 },
        ],
        runFor: '1m',
      }),
      { program },
    );
    assert.equal(lives.length, 2);
    const [first, second] = lives;
    assert.ok(first && second);
    const diedAfterMs = first.ticks.at(-1)!;
    assert.ok(second.ticks[0]! - diedAfterMs >= 5000 && second.ticks[0]! - diedAfterMs <= 7000);
    assert.ok(second.startedAt - first.startedAt > 3_600_000);
  });

  test('one that throws is started again, the history says so, and the run has failed', async () => {
    let starts = 0;
    const report = await run(variation('stuck-pod', { runFor: '1m' }), {
      program: ({ clock }) => ({
        async run() {
          starts += 1;
          await sleep(clock, 40_000);
          throw new Error('a bug');
        },
      }),
    });
    assert.ok(starts >= 2);
    assert.ok(report.timeline.some(({ actor, what }) => actor === 'operator-1' && what === 'failed: a bug'));
    assert.equal(report.ok, false);
    assert.match(renderReport(report), /✗ a mistake of the operator at 0:\d\d\.\d: operator-1 failed: a bug\n/);
  });

  test('one that ends without having been asked to has failed the run as well', async () => {
    const report = await run(variation('stuck-pod', { runFor: '1m' }), {
      program: ({ clock }) => ({ run: () => sleep(clock, 40_000) }),
    });
    assert.deepEqual([...new Set(report.violations.map(({ detail }) => detail))], ['operator-1 ended by itself']);
  });

  test('on a node, an operator shares its fate', async () => {
    const report = await run(
      variation('operator-faults', {
        cluster: { nodes: 3, operators: { count: 2, onNodes: true } },
        events: [
          { at: '10s', powerOff: 'node-1' },
          { at: '3m', powerOn: 'node-1' },
        ],
        runFor: '10m',
      }),
    );
    const leaders = report.timeline.filter(({ what }) => what === 'leading').map(({ actor }) => actor);
    assert.ok(leaders.length <= 1, leaders.join());
    const judged = report.timeline.filter(({ actor, what }) => actor.startsWith('operator') && what.startsWith('down'));
    assert.deepEqual(
      judged.map(({ actor, object }) => [actor, object]),
      [['operator-2', 'node/node-1']],
    );
  });

  test('one that is cut off knows nothing, and says so when it is the leader', async () => {
    const report = await run(
      variation('stuck-pod', {
        events: [
          { at: '1m', isolateOperator: 1 },
          { at: '3m', restoreOperator: 1 },
        ],
        runFor: '6m',
      }),
    );
    const says = report.timeline.filter(({ actor }) => actor === 'operator-1').map(({ what }) => what);
    assert.ok(says.includes('no longer leading'), says.join());
    assert.ok(says.lastIndexOf('leading') > says.indexOf('no longer leading'), says.join());
  });
});
