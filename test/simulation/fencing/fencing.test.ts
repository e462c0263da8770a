/** Nodes that lose their power or are cut off are fenced, released and brought back; and everything that gets in between. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failuresOf, scenarioOf } from '../run-file.ts';
import type { Observed } from '../release/observed.ts';
import { observe, statusAt } from '../release/observed.ts';
import type { Fenced } from './fenced.ts';
import {
  askedOf,
  atOnce,
  byCondition,
  byLease,
  cutsOf,
  elsewhere,
  fenced,
  fenceIs,
  fenceOf,
  inPlace,
  place,
  policyOf,
  victimOf,
  wellBy,
} from './fenced.ts';

const partition = [
  { at: '0s', partition: place },
  { at: '60s', heal: place },
];
const powerLoss = [{ at: '0s', powerOff: place }];
const onOff = ['off', 'on'];

async function asExpected(name: string, what: Fenced): Promise<Observed> {
  const seen = await observe(fenced(name, what));
  assert.deepEqual(failuresOf(seen.report), []);
  return seen;
}

function commands(seen: Observed): string[] {
  return askedOf(seen, victimOf(seen)).map(({ what }) => what);
}

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
      const seen = await asExpected(`off-${how}`, {
        policy: { thresholds },
        events: powerLoss,
        expect: [elsewhere('40s'), fenceIs('2m', 'final'), ...wellBy('2m')],
      });
      assert.deepEqual(commands(seen), ['on']);
    });
  }

  test('[REM-1] cleanResources false: power is cycled, and nothing is released', async () => {
    const seen = await asExpected('unclean', {
      policy: {
        thresholds: [
          { lease: { staleFor: '12s' }, remedies: [{ name: 'fence', cleanResources: false, period: '10s' }] },
        ],
      },
      events: [partition[0]!, { at: '18s', heal: place }],
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
    assert.equal(statusAt(seen).ladder, undefined);
  });

  test('[FEN-4] after the point of no return: it is cut all the same, once, and comes back by its boot', async () => {
    const seen = await asExpected('back-late', {
      events: [partition[0]!, { at: '12300ms', heal: place }],
      expect: [fenceIs('2m', 'final'), ...wellBy('3m')],
    });
    assert.deepEqual(commands(seen), onOff);
    assert.equal(cutsOf(seen, victimOf(seen)), 1);
  });

  test('[FEN-10] S4: booted again by somebody during the fence: the step is over, and nothing rests on the earlier boot', async () => {
    for (const at of ['12100ms', '12700ms', '13200ms', '14s', '16s']) {
      const seen = await asExpected(`reboot-${at}`, {
        events: [partition[0]!, { at, reboot: place }, { at: '40s', heal: place }],
        expect: [{ fences: 1 }, ...wellBy('4m')],
        runFor: '4m',
      });
      assert.equal(fenceOf(seen.world, victimOf(seen))?.status.incident, undefined, at);
    }
  });
});

describe('a person', () => {
  test('[FEN-13] stops the fence, also across a restart; resumed, it goes on', async () => {
    const stop = (node: string, value: boolean): object => ({
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'NodeFence',
      metadata: { name: `node-fence-${node}` },
      spec: { node, stop: value },
    });
    for (const at of ['12100ms', '12800ms', '13600ms']) {
      const seen = await asExpected(`stop-${at}`, {
        events: [
          partition[0]!,
          { at, apply: stop('node-3', true) },
          { at: '30s', crashOperator: 1 },
          { at: '80s', apply: stop('node-3', false) },
          { at: '100s', heal: place },
        ],
        expect: [elsewhere('2m'), fenceIs('3m', 'final'), ...wellBy('4m')],
        runFor: '4m',
      });
      assert.equal(victimOf(seen), 'node-3');
      const stopped = seen.report.timeline.filter((entry) => entry.at > 14_500 && entry.at < 80_000);
      assert.deepEqual(
        stopped.filter(({ actor, what }) => actor === 'device' && what !== 'asked for status'),
        [],
        at,
      );
      assert.deepEqual(
        seen.writes.filter(({ what, atMs }) => /pods/.test(what) && atMs > 14_500 && atMs < 80_000),
        [],
      );
      assert.equal(statusAt(seen, 60_000).hold?.reason, 'Stopped');
      assert.equal(cutsOf(seen, 'node-3'), 1);
    }
  });

  test('[FEN-13] a stop that comes while the device is asked how it is: it is not told', async () => {
    const seen = await observe(
      fenced('stop-in-time', {
        events: [
          partition[0]!,
          {
            at: '12200ms',
            apply: {
              apiVersion: 'fenceline.dev/v1alpha1',
              kind: 'NodeFence',
              metadata: { name: 'node-fence-node-3' },
              spec: { node: 'node-3', stop: true },
            },
          },
        ],
        runFor: '1m',
      }),
    );
    assert.deepEqual(commands(seen), []);
  });

  for (const mode of ['DryRun', 'Paused']) {
    test(`S21: mode ${mode}: no device is asked, nothing is released`, async () => {
      const seen = await asExpected(mode, {
        policy: { mode },
        events: [partition[0]!],
        expect: [inPlace, { fences: 0 }],
        runFor: '5m',
      });
      assert.deepEqual(
        seen.report.timeline.filter(({ actor }) => actor === 'device'),
        [],
      );
      assert.equal(statusAt(seen).hold?.reason, mode);
    });
  }

  test('mode Approve: nothing is begun before a person has approved this very incident', async () => {
    let approve: (() => Promise<void>) | undefined;
    const seen = await observe(
      fenced('approve', {
        policy: { mode: 'Approve' },
        events: [partition[0]!, { at: '3m', heal: place }],
        expect: [
          { at: '100s', pod: { label: 'app=web', deleted: false } },
          elsewhere('2m10s'),
          fenceIs('5m', 'final'),
          ...wellBy('6m'),
        ],
        runFor: '6m',
      }),
      {
        onWorld(world, clock) {
          approve = async () => {
            const fence = fenceOf(world, 'node-3');
            const incident = fence?.status.incident?.id ?? '';
            const transport = world.server.transport('a-person');
            const send = async (which: string): Promise<void> => {
              const response = await transport.send({
                method: 'PATCH',
                path: '/apis/fenceline.dev/v1alpha1/nodefences/node-fence-node-3/status',
                purpose: 'call',
                timeoutMs: 10_000,
                headers: { accept: 'application/json', 'content-type': 'application/merge-patch+json' },
                body: JSON.stringify({
                  status: { approval: { by: 'ann', at: new Date(clock.now()).toISOString(), incident: which } },
                }),
              });
              assert.equal(response.status, 200);
            };
            await send('another');
            clock.after(40_000, () => void send(incident));
          };
          clock.after(100_000, () => void approve?.());
        },
      },
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(statusAt(seen, 60_000).hold?.reason, 'AwaitingApproval');
    assert.deepEqual(commands(seen), onOff);
    assert.ok((askedOf(seen)[0]?.at ?? 0) > 100_000);
  });

  test('edits or deletes the policy in the middle: what was begun is brought to its end', async () => {
    const edits = {
      edited: { apply: policyOf({ fence: { ...atOnce, retries: 5 } }) },
      'without ladder': { apply: policyOf({ thresholds: [], remedies: [] }) },
      deleted: { delete: { kind: 'RemedyPolicy', name: 'fence' } },
    };
    for (const [name, edit] of Object.entries(edits)) {
      for (const at of ['12200ms', '13s', '13700ms', '15300ms']) {
        const seen = await asExpected(`${name} at ${at}`, {
          events: [...partition, { at, ...edit }],
          expect: [elsewhere('40s'), fenceIs('3m', 'final'), ...wellBy('3m')],
        });
        assert.equal(cutsOf(seen, victimOf(seen)), 1, `${name} at ${at}`);
      }
    }
  });

  test('[FEN-4] withdraws the policy before anything was begun: there is no fence any more', async () => {
    const seen = await asExpected('withdrawn', {
      policy: { fence: { ...atOnce, isolateAfter: '60s', powerManagementAfter: '60s' } },
      events: [partition[0]!, { at: '30s', delete: { kind: 'RemedyPolicy', name: 'fence' } }],
      expect: [{ fences: 0 }],
      runFor: '4m',
    });
    assert.deepEqual(commands(seen), []);
    assert.equal(statusAt(seen).fence, undefined);
  });

  test('S18: deletes the NodeFence in the middle: it begins anew, the machine is off already', async () => {
    for (const at of ['12200ms', '13s', '13700ms', '15s', '20s']) {
      const seen = await observe(
        fenced(`record-gone-${at}`, {
          events: [...partition, { at, delete: { kind: 'NodeFence', name: 'node-fence-node-3' } }],
          expect: wellBy('4m'),
          runFor: '4m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), [], at);
      assert.ok(cutsOf(seen, 'node-3') <= 2, at);
    }
  });

  test('S14: deletes the Node in the middle: the fence ends in error, and holds up nobody else', async () => {
    for (const at of ['12200ms', '13s', '13700ms']) {
      const seen = await observe(
        fenced(`node-gone-${at}`, {
          cluster: { nodes: 4 },
          events: [
            { at: '0s', partition: 'node-3' },
            { at, deleteNode: 'node-3' },
            { at: '60s', partition: 'node-2' },
          ],
          expect: [{ by: '90s', fence: { node: 'node-2', status: 'done' } }],
          runFor: '2m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), [], at);
      const fence = fenceOf(seen.world, 'node-3')?.status.fence;
      assert.deepEqual(
        [fence?.status, fence?.message],
        ['error', 'the Node object was deleted before the fence had ended'],
      );
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
        elsewhere('35s'),
        fenceIs('3m', 'final'),
        ...wellBy('3m'),
      ],
    });
    const off = askedOf(seen).find(({ what }) => what === 'off')?.at ?? 0;
    assert.ok(off >= 26_000 && off < 30_000, `off at ${off}`);
  });

  test('[REM-4] the node is back within the period: recovery, and no fence', async () => {
    const seen = await asExpected('ladder-back', {
      policy: { remedies, thresholds },
      events: [partition[0]!, { at: '20s', heal: place }],
      expect: [{ by: '13s', node: { name: place, schedulable: false } }, { fences: 0 }, ...wellBy('2m')],
    });
    assert.deepEqual(commands(seen), []);
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
      for (const seed of [scenario.seed, 1234]) {
        const seen = await observe({ ...scenario, seed });
        assert.deepEqual(failuresOf(seen.report), [], `seed ${seed}`);
      }
    });
  }
});
