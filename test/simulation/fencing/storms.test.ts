/** The brake: whatever makes many nodes silent at once is not mended by cutting their power. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresIn } from '../../mutants/run.ts';
import { storyNamed } from '../../mutants/stories.ts';
import { failuresOf } from '../run-file.ts';
import { observe } from '../release/observed.ts';
import { askedOf, atOnce, everywhere, fenced, fenceOf, place } from './fenced.ts';
import { manyPods } from './mutants.ts';

const patient = { ...atOnce, isolateAfter: '15s', powerManagementAfter: '15s', bootTimeout: '3m' };
const cut = (at: string, ...nodes: string[]): object[] => nodes.map((partition) => ({ at, partition }));
const mend = (at: string, ...nodes: string[]): object[] => nodes.map((heal) => ({ at, heal }));

describe('storms', () => {
  test('[STM-1, STM-6] two of three nodes: none is fenced, with the reason; when one is back the other is', async () => {
    const seen = await observe(
      fenced('storm', {
        policy: { fence: patient, storm: { cooldown: '10s' } },
        objects: [everywhere()],
        events: [...cut('0s', 'node-1', 'node-2'), ...mend('90s', 'node-1'), ...mend('3m', 'node-2')],
        expect: [
          { at: '85s', fence: { node: 'node-1', status: 'new' } },
          { by: '2m30s', fence: { node: 'node-2', status: 'done' } },
          { by: '5m', fence: { node: 'node-2', status: 'final' } },
          { fences: 1 },
        ],
        runFor: '6m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(askedOf(seen, 'node-1'), []);
    const holds = seen.statuses.filter(({ atMs }) => atMs < 85_000).map(({ status }) => status.hold);
    assert.ok(holds.some((hold) => hold?.reason === 'StormLimit' && /2 of 3 nodes are in trouble/.test(hold.message)));
    assert.equal(fenceOf(seen.world, 'node-2')?.status.hold, undefined);
  });

  test('[STM-1] a zone: two of its three nodes, two of six in all', async () => {
    const seen = await observe(
      fenced('zone-storm', {
        cluster: {
          nodes: ['a', 'b'].flatMap((zone) => [1, 2, 3].map((number) => ({ name: `${zone}-${number}`, zone }))),
        },
        policy: { fence: patient },
        events: [...cut('0s', 'a-1', 'a-2')],
        expect: [{ fences: 0 }],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(fenceOf(seen.world, 'a-1')?.status.hold?.reason, 'ZoneStormLimit');
  });

  test('[STM-7] a switch: a whole zone is cut off and comes back, and no node is fenced', async () => {
    const seen = await observe(
      fenced('switch', {
        cluster: {
          nodes: ['a', 'b'].flatMap((zone) => [1, 2, 3].map((number) => ({ name: `${zone}-${number}`, zone }))),
        },
        policy: { fence: patient },
        events: [
          { at: '0s', zonePartition: 'a' },
          { at: '5m', zoneHeal: 'a' },
        ],
        expect: [{ fences: 0 }],
        runFor: '8m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(askedOf(seen), []);
  });

  test('[STM-3] a host that cannot reach its storage is not fenced, and is when that is over', async () => {
    const skipWhen = [{ type: 'StorageUnreachable', status: 'True' }];
    const says = (at: string, type: string, status: string): object => ({
      at,
      condition: { node: 'node-1', type, status },
    });
    const trouble = { type: 'Trouble', status: 'True', for: '5s' };
    const seen = await observe(
      fenced('no-storage', {
        policy: {
          thresholds: [{ condition: trouble, remedies: [{ name: 'fence', cleanResources: true, period: '10s' }] }],
          storm: { maxUnresponsive: '40%', maxConcurrent: 1, skipWhen },
        },
        events: [
          says('0s', 'StorageUnreachable', 'True'),
          says('5s', 'Trouble', 'True'),
          says('2m', 'StorageUnreachable', 'False'),
          says('2m15s', 'Trouble', 'False'),
        ],
        expect: [
          { at: '119s', fence: { node: 'node-1', status: 'new' } },
          { by: '4m', fence: { node: 'node-1', status: 'final' } },
          { fences: 1 },
        ],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const first = askedOf(seen, 'node-1')[0]?.at ?? 0;
    assert.ok(first > 120_000, `asked at ${first}`);
    const holds = seen.statuses.filter(({ atMs }) => atMs < 120_000).map(({ status }) => status.hold?.reason);
    assert.ok(holds.includes('SkipCondition'));
  });

  test('[STM-4, SAF-10] one at a time: the second begins by itself when all is gone from the first', async () => {
    const seen = await observe(
      fenced('one-at-a-time', {
        cluster: { nodes: 5 },
        policy: { fence: patient },
        objects: [everywhere(5)],
        events: [...cut('0s', 'node-1', 'node-2'), ...mend('60s', 'node-1', 'node-2')],
        expect: [{ always: { fencesAtMost: 1 } }, { fences: 2 }],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(
      askedOf(seen)
        .slice(0, 3)
        .map(({ what }) => what),
      ['off', 'on', 'off'],
    );
  });

  test('[STM-4] so many pods a minute: the next ones when it has passed, also after a crash, and on waits for the last', async () => {
    const seen = await observe(
      fenced('paced', {
        policy: { storm: { podsPerMinute: 3 } },
        objects: [manyPods(6)],
        events: [
          { at: '0s', powerOff: place },
          { at: '20s', crashOperator: 1 },
        ],
        expect: [{ by: '5m', node: { name: place, ready: true, schedulable: true, taints: [] } }],
        runFor: '6m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const gone = seen.writes.filter(({ what }) => what.startsWith('delete pods/')).map(({ atMs }) => atMs);
    assert.equal(gone.length, 7);
    for (const at of gone) assert.ok(gone.filter((other) => other > at - 60_000 && other <= at).length <= 3);
    const on = askedOf(seen).find(({ what }) => what === 'on')?.at ?? 0;
    assert.ok(on > Math.max(...gone));
    assert.ok(
      seen.events.some(({ note }) => /as many pods as may go in a minute \(3\) have gone; the next one at/.test(note)),
    );
  });

  test('[STM-1, STM-4] machines that are found off are not cut: they wait for no turn, and for no storm to pass', async () => {
    const dead = ['node-1', 'node-2', 'node-3'];
    const seen = await observe(
      fenced('found-off', {
        cluster: { nodes: 5 },
        policy: { fence: patient },
        events: dead.map((powerOff) => ({ at: '0s', powerOff })),
        expect: dead.map((node) => ({ by: '60s', fence: { node, status: 'final' } })),
        runFor: '2m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual([...new Set(askedOf(seen).map(({ what }) => what))], ['on']);
  });

  test('[STM-4] S20: measured across restarts', async () => {
    assert.deepEqual(await failuresIn(storyNamed('storm, one at a time, and the operator is started again')), []);
    const seen = await observe(
      fenced('turns-restarted', {
        cluster: { nodes: 5 },
        policy: { fence: patient },
        events: [
          ...cut('0s', 'node-1', 'node-2'),
          { at: '28s', crashOperator: 1 },
          { at: '45s', crashOperator: 1 },
          { at: '80s', crashOperator: 1 },
        ],
        expect: [{ always: { fencesAtMost: 1 } }],
        runFor: '4m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
  });

  test('[STM-1] S26: an operator that has just begun takes no node for healthy that it has not judged', async () => {
    assert.deepEqual(await failuresIn(storyNamed('storm, and another operator has just begun to lead')), []);
  });
});
