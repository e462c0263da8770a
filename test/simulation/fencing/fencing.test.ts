/** Nodes that lose their power or are cut off are fenced, released and brought back; and everything that gets in between. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresIn } from '../../mutants/run.ts';
import { storyNamed } from '../../mutants/stories.ts';
import { failuresOf, run, scenarioOf, seedsOf } from '../run-file.ts';
import type { Observed } from '../release/observed.ts';
import { observe, statusAt } from '../release/observed.ts';
import {
  askedOf,
  asExpected,
  atOnce,
  byCondition,
  byLease,
  commands,
  cutsOf,
  elsewhere,
  fenceIs,
  fenceOf,
  onOff,
  partition,
  place,
  victimOf,
  wellBy,
} from './fenced.ts';

const powerLoss = [{ at: '0s', powerOff: place }];

function phases({ statuses }: Observed): string[] {
  const all = statuses.flatMap(({ status }) => status.fence?.phase ?? 'none');
  return all.filter((phase, at) => phase !== all[at - 1]);
}

describe('a node is fenced, released and brought back', () => {
  for (const [how, thresholds] of Object.entries({ lease: byLease, condition: byCondition })) {
    test(`[FEN-1, FEN-10, FEN-11, EVD-1] cut off, by ${how}: off, confirmed, released, on, back`, async () => {
      const seen = await asExpected(how, {
        policy: { thresholds },
        events: partition,
        expect: [elsewhere('45s'), fenceIs('3m', 'final'), ...wellBy('3m'), { fences: 1 }],
      });
      assert.deepEqual(commands(seen), onOff);
      assert.equal(cutsOf(seen, victimOf(seen)), 1);
      const [record] = statusAt(seen).releases;
      assert.deepEqual([record?.basis, record?.by, record?.pods.length], ['PowerOff', 'power-off', 1]);
      assert.ok(record?.endedAt);
      const on = askedOf(seen).find(({ what }) => what === 'on')?.at ?? 0;
      const gone = seen.report.timeline.find(({ what, object }) => what === 'deleted' && object.startsWith('pod/'))?.at;
      assert.ok((gone ?? Infinity) < on, 'on waits for the release');
    });

    test(`[FEN-10, EVD-2] without power, by ${how}: asked, and released as it is off`, async () => {
      // By its Lease it is known, asked after and released before Kubernetes has said a word, which takes 20 s.
      const by = how === 'lease' ? '19s' : '40s';
      const seen = await asExpected(`off-${how}`, {
        policy: { thresholds },
        events: powerLoss,
        expect: [elsewhere(by), fenceIs('2m', 'final'), ...wellBy('2m')],
      });
      assert.deepEqual(commands(seen), ['on']);
    });
  }

  test('[ADM-1] every step is an Event on the node and on its record, once', async () => {
    assert.deepEqual(await failuresIn(storyNamed('told, each step of a fence once')), []);
  });

  test('[ADM-1] no Event is without a word, also of a step that has nothing to add', async () => {
    const seen = await asExpected('worded', { events: [partition[0]!, { at: '27s', heal: place }], expect: [] });
    assert.ok(seen.events.length > 10);
    assert.deepEqual(
      seen.events.filter(({ note }) => note === '').map(({ reason }) => reason),
      [],
    );
  });

  test('[EVD-5] what is proven is said at once: not Ready, not ready, out of service until all has gone, and then on', async () => {
    const scenario = scenarioOf('fence/out-of-service');
    for (const seed of seedsOf(scenario)) {
      const report = await run({ ...scenario, seed });
      assert.deepEqual(failuresOf(report), []);
      const ours = report.timeline.filter(({ actor }) => actor === 'operator-1' || actor === 'device');
      const told = ours.map(({ what }) => what);
      const order = [
        'Ready is Unknown',
        'tainted node.kubernetes.io/out-of-service:NoSchedule',
        'deleted',
        'untainted node.kubernetes.io/out-of-service:NoSchedule',
        'asked for on',
      ].map((what) => told.indexOf(what));
      assert.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
      );
      assert.ok(!order.includes(-1), told.join('\n'));
      assert.ok(told.includes('is not ready'));
    }
  });

  test('[EVD-5] a policy can leave it to Kubernetes', async () => {
    const seen = await asExpected('untold', {
      policy: { thresholds: byLease, fence: { ...atOnce, markOutOfService: false } },
      events: powerLoss,
      expect: [elsewhere('19s'), fenceIs('2m', 'final'), ...wellBy('2m')],
    });
    const told = seen.report.timeline.filter(({ actor }) => actor === 'operator-1').map(({ what }) => what);
    assert.ok(!told.some((what) => /out-of-service|Ready is Unknown|is not ready/.test(what)));
  });

  test('[REM-1] cleanResources false: power is cycled, and nothing is released', async () => {
    const seen = await asExpected('unclean', {
      policy: {
        thresholds: [
          { lease: { staleFor: '12s' }, remedies: [{ name: 'fence', cleanResources: false, period: '10s' }] },
        ],
      },
      events: [partition[0]!, { at: '27s', heal: place }],
      expect: [fenceIs('2m', 'final'), ...wellBy('2m')],
    });
    assert.deepEqual(commands(seen), onOff);
    assert.deepEqual(statusAt(seen).releases, []);
    assert.equal(statusAt(seen).incident, undefined);
  });

  test('[REM-1] any condition: a node that is Ready and has the trouble is fenced, and is back only when it has booted', async () => {
    const type = 'DiskBroken';
    const seen = await asExpected('ready-but-broken', {
      policy: {
        thresholds: [
          { condition: { type, status: 'True', for: '5s' }, remedies: [{ name: 'fence', cleanResources: true }] },
        ],
      },
      events: [
        { at: '0s', condition: { node: place, type, status: 'True' } },
        { at: '12s', condition: { node: place, type, status: 'False' } },
      ],
      expect: [elsewhere('15s'), fenceIs('1m', 'final'), ...wellBy('2m')],
    });
    assert.deepEqual(commands(seen), onOff);
    const at = (wanted: string): number => seen.report.timeline.findIndex(({ what }) => what === wanted);
    assert.ok(at('recovery is final') > at('booted') && at('booted') > 0);
  });

  test('[FEN-1] the boot takes too long: error, until the node is Ready with a new boot', async () => {
    const seen = await asExpected('slow-boot', {
      policy: { fence: { ...atOnce, bootTimeout: '20s' } },
      events: partition,
      expect: [elsewhere('25s'), fenceIs('45s', 'error'), fenceIs('2m', 'final'), ...wellBy('3m')],
    });
    assert.equal(cutsOf(seen, victimOf(seen)), 1);
  });
});

describe('a node that comes back', () => {
  const patient = { fence: { ...atOnce, isolateAfter: '20s', powerManagementAfter: '20s' } };

  test('[FEN-4] S23: before isolateAfter: cancelled, as if nothing had been', async () => {
    const seen = await asExpected('back-early', {
      policy: patient,
      events: [partition[0]!, { at: '25s', heal: place }],
      expect: [{ by: '14s', fence: { node: place, status: 'new' } }, { fences: 0 }, ...wellBy('2m')],
    });
    assert.deepEqual(commands(seen), []);
    assert.deepEqual(phases(seen), ['none', 'waiting', 'none']);
    assert.equal(statusAt(seen).ladders.length, 0);
  });

  test('[FEN-4] after the point of no return: it is cut all the same, once, and comes back by its boot', async () => {
    const seen = await asExpected('back-late', {
      events: [partition[0]!, { at: '21300ms', heal: place }],
      expect: [fenceIs('2m', 'final'), ...wellBy('3m')],
    });
    assert.deepEqual(commands(seen), onOff);
    assert.equal(cutsOf(seen, victimOf(seen)), 1);
  });

  test('[FEN-10] S4: booted again by somebody during the fence: the step is over, and nothing rests on the earlier boot', async () => {
    for (const at of ['21100ms', '21700ms', '22200ms', '23s', '25s']) {
      const seen = await asExpected(`reboot-${at}`, {
        events: [partition[0]!, { at, reboot: place }, { at: '40s', heal: place }],
        expect: [{ fences: 1 }, ...wellBy('4m')],
        runFor: '4m',
      });
      assert.equal(fenceOf(seen.world, victimOf(seen))?.status.incident, undefined, at);
    }
  });
});

describe('the ladder', () => {
  const remedies = [
    { name: 'cordon', cordon: {} },
    { name: 'fence', fence: {} },
    { name: 'uncordon', uncordon: {} },
  ];
  const thresholds = [
    {
      lease: { staleFor: '12s' },
      remedies: [
        { name: 'cordon', period: '15s' },
        { name: 'fence', cleanResources: true },
      ],
      recovery: [{ name: 'uncordon' }],
    },
  ];

  test('[REM-4, REM-9] cordon, its period, fence, and uncordon when it is over', async () => {
    const seen = await asExpected('ladder', {
      policy: { remedies, thresholds },
      events: partition,
      expect: [
        { by: '13s', node: { name: place, schedulable: false } },
        elsewhere('45s'),
        fenceIs('3m', 'final'),
        ...wellBy('3m'),
      ],
    });
    const off = askedOf(seen).find(({ what }) => what === 'off')?.at ?? 0;
    assert.ok(off >= 26_000 && off < 39_000, `off at ${off}`);
  });

  test('[REM-4] the node is back within the period: recovery, and no fence', async () => {
    const seen = await asExpected('ladder-back', {
      policy: { remedies, thresholds },
      events: [partition[0]!, { at: '20s', heal: place }],
      expect: [{ by: '13s', node: { name: place, schedulable: false } }, { fences: 0 }, ...wellBy('2m')],
    });
    assert.deepEqual(commands(seen), []);
  });

  test('S20: a second fence of the same incident is another one, with an epoch of its own', async () => {
    const seen = await asExpected('ladder-twice', {
      policy: {
        thresholds: [
          {
            lease: { staleFor: '12s' },
            remedies: [
              { name: 'fence', period: '20s' },
              { name: 'fence', cleanResources: true, period: '10m' },
            ],
          },
        ],
        fence: { ...atOnce, bootTimeout: '20s' },
      },
      events: [{ at: '0s', partition: place }],
      runFor: '4m',
    });
    const offs = askedOf(seen, victimOf(seen)).filter(({ what }) => what === 'off');
    assert.equal(offs.length, 2);
    assert.equal(new Set(offs.map(({ at }) => statusAt(seen, at).epoch)).size, 2);
    assert.equal(new Set(seen.statuses.flatMap(({ status }) => status.incident?.id ?? [])).size, 1);
  });

  test('S8: a cordon of somebody else stays', async () => {
    await asExpected('ladder-cordoned', {
      policy: { remedies, thresholds },
      events: [partition[0]!, { at: '1s', cordon: place }, { at: '20s', heal: place }],
      expect: [{ always: { fencesAtMost: 0 } }, { at: '2m', node: { name: place, ready: true, schedulable: false } }],
    });
  });
});

describe('scenarios/fence', () => {
  for (const name of ['partition', 'power-loss', 'device-refuses', 'storm', 'two-operators']) {
    test(name, async () => {
      const scenario = scenarioOf(`fence/${name}`);
      for (const seed of seedsOf(scenario)) {
        const seen = await observe({ ...scenario, seed });
        assert.deepEqual(failuresOf(seen.report), [], `seed ${seed}`);
      }
    });
  }
});
