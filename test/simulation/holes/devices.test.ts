/** What a device says is worth as much as is known of it: an outlet that says off under a living node proves nothing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FenceDevice } from '../../../src/api/fence-device.ts';
import { clearDevices } from '../../../src/cli/check.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { nodes } from '../../../src/kube/resources.ts';
import { failuresOf, run, scenarioOf, seedsOf } from '../run-file.ts';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';
import { runHoles } from './files.ts';
import { askedOf, commands, elsewhere, fenced, fenceOf, inPlace, place, victimOf, wellBy } from '../fencing/fenced.ts';

const names = ['node-1', 'node-2', 'node-3'];
const outlets = { nodes: names.map((name) => ({ name, identity: false })) };
const request = (at: string, node: string): object => ({
  at,
  apply: {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'NodeFence',
    metadata: { name: `node-fence-${node}` },
    spec: { node, requested: { by: 'jane', at: '2026-01-01T00:00:00Z' } },
  },
});

describe('off under a kubelet that renews its Lease', () => {
  for (const identity of [true, false]) {
    const kind = identity ? 'a controller that names the machine' : 'an outlet';
    test(`[SAF-1] S34: said by ${kind} when a person asks for a fence: nothing goes, and the fence says why`, async () => {
      const seen = await observe(
        fenced('requested-says-off', {
          cluster: { nodes: names.map((name) => ({ name, identity })) },
          policy: { storm: { maxUnresponsive: '100%', maxConcurrent: 3 } },
          events: [
            ...names.map((node) => ({ at: '0s', device: { node, fault: 'saysOff' } })),
            ...names.map((node) => request('10s', node)),
          ],
          expect: [inPlace, { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } }],
          runFor: '3m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), []);
      for (const node of names) {
        assert.match(
          fenceOf(seen.world, node)?.status.fence?.message ?? '',
          /it says off(, and |; it cannot say whose power it is)/,
        );
        assert.deepEqual(askedOf(seen, node), [], 'and nothing is switched');
      }
    });
  }

  test('[SAF-1] S34: an outlet that was told to switch off is believed when the node has fallen silent', async () => {
    const seen = await observe(
      fenced('requested-outlet', {
        cluster: outlets,
        events: [request('10s', 'node-1')],
        expect: [
          { by: '2m', fence: { node: 'node-1', status: 'final' } },
          { by: '3m', node: { name: 'node-1', ready: true, schedulable: true, taints: [] } },
        ],
        runFor: '4m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(
      askedOf(seen, 'node-1').map(({ what }) => what),
      ['off', 'on'],
    );
  });
});

describe('what is known of a device', () => {
  const titles: Record<string, string> = {
    'outlet-says-off': 'an outlet that says off while its node is Ready proves nothing when the node is cut off',
    'outlet-says-off-once': 'however seldom the kubelet renews: a single renewal after it has said off is enough',
    'outlet-says-off-unasked': 'nor where nobody has asked it again before another instance leads',
    'outlet-says-off-failover': 'nor for the next instance: that it is wrong is on record',
    'outlet-seen-on': 'an outlet that was seen on while its node lived is believed, also by the next instance',
  };
  for (const [name, title] of Object.entries(titles)) {
    test(`[SAF-1, FEN-15] S34: ${title}`, async () => {
      for (const seed of seedsOf(scenarioOf(`holes/${name}`))) {
        assert.deepEqual(failuresOf(await run({ ...scenarioOf(`holes/${name}`), seed })), [], `with seed ${seed}`);
      }
    });
  }

  test('[SAF-1] S34: without identity and never seen on, an outlet is neither believed nor used', async () => {
    const seen = await observe(
      fenced('never-seen-on', { cluster: outlets, events: [{ at: '1s', partition: place }], expect: [inPlace] }),
      {
        onWorld: (world) => {
          for (const bmc of world.bmcs.values()) bmc.setFault('saysOff');
        },
      },
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(commands(seen), []);
    assert.match(
      fenceOf(seen.world, victimOf(seen))?.status.fence?.message ?? '',
      /was never seen on|known to be wrong/,
    );
  });

  test('[SAF-1, FEN-15] what is known is in a FenceDevice, which is written when something changes and not with every answer', async () => {
    const seen = await observe(
      fenced('memory', {
        cluster: outlets,
        events: [{ at: '10s', device: { node: 'node-2', fault: 'saysOff' } }],
        runFor: '25m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const device = (node: string): FenceDevice =>
      seen.world.server.peek('fenceline.dev', 'fencedevices', `fenceline/${node}.power-off`) as unknown as FenceDevice;
    const { status: well } = device('node-1');
    assert.deepEqual([well.power, well.fenceable, well.wrong], ['on', true, undefined]);
    assert.ok(well.seenOn !== undefined);
    const { status: wrong } = device('node-2');
    assert.deepEqual(
      [wrong.power, wrong.fenceable, wrong.reason, wrong.wrong?.reason],
      ['off', false, 'WrongMachine', 'OffWhileAlive'],
    );
    const writes = seen.writes.filter(({ what }) => what.includes('fencedevices/fenceline/node-1.'));
    assert.ok(writes.length <= 4, `${writes.length}`);
    assert.ok(writes.every(({ atMs }) => atMs < 120_000));
  });

  test('[SAF-1] a device that says on again under its living node is cleared by the next check, and is used', async () => {
    const seen = await observe(
      fenced('cleared', {
        cluster: outlets,
        events: [
          { at: '0s', device: { node: place, fault: 'saysOff' } },
          { at: '13m', device: { node: place, fault: 'none' } },
          { at: '15m', partition: place },
          { at: '16m', heal: place },
        ],
        expect: [elsewhere('15m55s'), ...wellBy('20m')],
        runFor: '20m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
  });
});

runHoles('two outlets are swapped, and neither says whose power it is', {
  'two-devices-of-one-machine':
    '[SAF-17] nor does it account for a node that fell silent with a cut that its own device says off, which may be the same one',
  'outlets-swapped':
    '[SAF-17] another node goes dark when this one is cut: nothing is let go, it is switched on again, and it is an alarm',
  'outlets-swapped-failover': '[SAF-17] the same for the next instance, where the one that has cut it dies',
  'outlets-swapped-with-a-silent-one':
    '[SAF-17] one that was silent before cannot go dark: nobody knows whose power it was',
  'outlet-off-beside-a-silent-node':
    '[SAF-17, SAF-9] a node whose outlet says off beside another that is silent is fenced when its policy calls for it, and not begun without an end',
  'outlets-swapped-found-off':
    '[SAF-17] nor where the outlet was found off: of two that are silent it may be the other',
  'outlets-swapped-without-policy':
    '[SAF-17] the other one need not be under a policy: whoever is in the cluster has to be heard of',
  'outlets-swapped-device-deleted': '[SAF-17] nor need there be a FenceDevice of it',
  'outlet-of-one-with-a-controller': '[SAF-17] nor does a device of its own that says whose it is make a difference',
  'outlet-of-one-that-fell-with-it': '[SAF-17] nor is it needed: one that fell silent with it may be the one',
  'outlet-beside-a-dead-node': '[SAF-17] one that was gone long before is waited for until somebody brings it back',
  'outlet-of-a-dead-node': '[SAF-17] nor is one written off whose configuration cannot be read',
  'outlet-of-a-dead-node-without-device': '[SAF-17] nor one without any device: it may be plugged in all the same',
  'outlet-said-off-before': '[SAF-17] an outlet accounts for its node only by what it has said since the cut',
  'outlets-swapped-silent-one-deleted': '[SAF-17] nobody is accounted for because its Node was deleted meanwhile',
  'outlets-swapped-struck-one-deleted': '[SAF-17] nor where that is done before anybody has missed it',
  'outlets-swapped-deleted-before': '[SAF-17] nor because it was deleted shortly before the cut',
  'outlet-after-a-removal': '[SAF-17] nobody waits for what was removed long before',
  'outlet-beside-a-removed-machine':
    '[SAF-17] nor because its machine was removed, and whoever is off meanwhile says what somebody has to look at',
  'outlet-of-an-earlier-configuration':
    '[SAF-17] one that is off by the outlet that it has now is accounted for, whatever is left of an earlier one',
  'outlet-drilled': '[SAF-17] after a drill nobody is waited for, also not by the next instance',
});

test('[SAF-17] where only a person can help, it is looked at less and less often', async () => {
  let passes = 0;
  const scenario = { ...scenarioOf('holes/outlets-swapped-with-a-silent-one'), runForMs: 20 * 60_000 };
  const report = await run(scenario, { onPass: ({ nodeCase }) => void (passes += nodeCase.name === 'node-4' ? 1 : 0) });
  assert.deepEqual(failuresOf(report), []);
  // Once a second would be a thousand.
  assert.ok(passes < 200, `${passes}`);
});

test('[POD-6, SAF-17] what is written of a node that is silent anyway is no news to the others that are', async () => {
  const silent = ['node-2', 'node-3', 'node-4', 'node-5'];
  const seenOf = (edits: number): Promise<number> => {
    let passes = 0;
    const scenario = fenced('silent-and-edited', {
      cluster: { nodes: ['node-1', ...silent].map((name) => ({ name, identity: false })) },
      policy: { storm: { maxUnresponsive: '20%' } },
      events: silent.map((node) => ({ at: '1s', partition: node })),
      expect: [],
      runFor: '2m',
    });
    return observe(scenario, {
      onPass: ({ nodeCase }) => void (passes += silent.slice(1).includes(nodeCase.name) ? 1 : 0),
      onWorld(world, clock) {
        const transport = world.server.transport('jane');
        const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'jane' });
        const edit = (at: number): void => {
          clock.after(90_000 + at * 250, () => {
            const object = { metadata: { name: 'node-2' }, spec: { unschedulable: at % 2 === 0 } };
            void client.apply({ resource: nodes, name: 'node-2' }, object);
          });
        };
        for (let at = 0; at < edits; at += 1) edit(at);
      },
    }).then(({ report }) => {
      assert.deepEqual(failuresOf(report), []);
      return passes;
    });
  };
  assert.equal(await seenOf(100), await seenOf(0));
});

describe('what is known after a cut', () => {
  const device = (seen: Observed, node: string): FenceDevice =>
    seen.world.server.peek('fenceline.dev', 'fencedevices', `fenceline/${node}.power-off`) as unknown as FenceDevice;

  test('[SAF-17, FEN-15] a drill is on record in the FenceDevice once the node is back', async () => {
    const seen = await observe(
      fenced('drilled', { cluster: outlets, events: [request('10s', 'node-1')], expect: [], runFor: '3m' }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const { drilled, cut, wrong } = device(seen, 'node-1').status;
    assert.deepEqual([typeof drilled, cut, wrong], ['string', undefined, undefined]);
    assert.equal(device(seen, 'node-2').status.drilled, undefined);
  });

  test('[SAF-17, FEN-15] both outlets are known to be wrong, and no check clears that', async () => {
    const scenario = scenarioOf('holes/outlets-swapped');
    const seen = await observe({ ...scenario, runForMs: 30 * 60_000 });
    for (const node of ['node-1', 'node-4']) {
      const { status } = device(seen, node);
      assert.deepEqual(
        [status.wrong?.reason, status.fenceable, status.reason],
        ['OutletsSwapped', false, 'WrongMachine'],
        node,
      );
    }
    assert.equal(device(seen, 'node-2').status.wrong, undefined);
    const { conditions } = fenceOf(seen.world, 'node-4')?.status ?? { conditions: [] };
    const told = seen.report.timeline.filter(({ what }) => what.includes('OutletsSwapped')).length;
    assert.ok(told <= 2, 'once each');
    assert.equal(conditions.find(({ type }) => type === 'Alarm')?.reason, 'OutletsSwapped');
    assert.match(
      conditions.find(({ type }) => type === 'Alarm')?.message ?? '',
      /^node-1 fell silent when it was cut: the outlets may be swapped/,
    );
  });
});

describe('what was found wrong', () => {
  test('[SAF-1, SAF-17] is cleared by a person who has looked, once a check agrees, and that is on record', async () => {
    const scenario = scenarioOf('holes/outlets-swapped');
    const told: string[] = [];
    const seen = await observe(
      { ...scenario, runForMs: 15 * 60_000, expectations: [] },
      {
        onWorld(world, clock) {
          const transport = world.server.transport('jane');
          const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'jane' });
          const clear = async (): Promise<void> => {
            world.swapDevices('node-1', 'node-4');
            const context = { client, namespace: 'fenceline' };
            told.push(...(await clearDevices(context, ['node-1', 'node-4'], 'jane')));
          };
          clock.after(10 * 60_000, () => void clear());
        },
      },
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(told.length, 2);
    assert.match(
      told[0] ?? '',
      /^node-1\.power-off: OutletsSwapped: when node-4 was cut, node-1 fell silent; cleared when/,
    );
    for (const node of ['node-1', 'node-4']) {
      const { wrong, cleared, fenceable } = (
        seen.world.server.peek('fenceline.dev', 'fencedevices', `fenceline/${node}.power-off`) as unknown as FenceDevice
      ).status;
      assert.deepEqual([wrong, cleared?.by, cleared?.reason, fenceable], [undefined, 'jane', 'OutletsSwapped', true]);
    }
  });
});

/** Every node with a device of its own, and what an administrator says that it answers. */
function pinned(identity: (node: string) => string): object[] {
  const map = (name: string, data: object): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'fenceline' },
    data,
  });
  const method = (node: string, action: string): string =>
    [`template=fence-method-template-bmc`, `action=${action}`, `identity=${identity(node)}`].join('\n');
  return [
    map('fence-method-template-bmc', { 'template.properties': 'driver=simulated' }),
    ...names.map((node) =>
      map(`fence-config-${node}`, {
        'config.properties': 'power_management=bmc-off bmc-on',
        'fence-method-bmc-off': method(node, 'off'),
        'fence-method-bmc-on': method(node, 'on'),
      }),
    ),
  ];
}

describe('what an administrator says that a device answers', () => {
  const cut = [
    { at: '30s', partition: place },
    { at: '2m', heal: place },
  ];

  test('[SAF-2] pinned rightly, it is fenced by it', async () => {
    const seen = await observe(
      fenced('pinned', {
        objects: pinned((node) => node),
        events: cut,
        expect: [elsewhere('1m30s'), ...wellBy('5m')],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
  });

  test('[SAF-2] S29: pinned wrongly, its device is not used, and nothing is let go', async () => {
    const seen = await observe(
      fenced('pinned-wrongly', {
        objects: pinned(() => 'another'),
        events: cut.slice(0, 1),
        expect: [inPlace],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(commands(seen), []);
    assert.match(
      fenceOf(seen.world, victimOf(seen))?.status.fence?.message ?? '',
      /answers for node-\d, and the node is another/,
    );
  });

  test('[SAF-2] unchecked: taken for a device that cannot say whose power it is, and the policy is Risky', async () => {
    const seen = await observe(
      fenced('unchecked', {
        objects: pinned(() => 'unchecked'),
        events: cut,
        expect: [elsewhere('1m30s'), ...wellBy('5m')],
        runFor: '5m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const { status } = seen.world.server.peek('fenceline.dev', 'remedypolicies', 'fence') as unknown as {
      status: { conditions: { type: string; status: string; reason: string; message: string }[] };
    };
    const risky = status.conditions.find(({ type }) => type === 'Risky');
    assert.equal(risky?.status, 'True');
    assert.match(risky.message, /identity=unchecked for node-1, node-2, node-3/);
  });
});

describe('the devices of a node that waits for its fence', () => {
  const late = { isolateAfter: '60s', powerManagementAfter: '60s', bootTimeout: '60s', retries: 1, restarts: 0 };
  const statuses = ({ report }: { report: { timeline: { at: number; actor: string; what: string }[] } }): number[] =>
    report.timeline.filter(({ actor, what }) => actor === 'device' && what === 'asked for status').map(({ at }) => at);

  test('[EVD-2] are asked how they are at once, and again while it waits', async () => {
    const seen = await observe(
      fenced('asked-first', { policy: { fence: late }, events: [{ at: '0s', partition: 'node-1' }], runFor: '40s' }),
    );
    const asked = statuses(seen).filter((at) => at > 11_000 && at < 40_000);
    assert.ok(asked.length >= 4 && asked.length <= 8, asked.join());
    assert.ok((asked[0] ?? 0) < 15_000, asked.join());
  });

  test('S27: one question at a time: a device that hangs is not asked again beside it', async () => {
    const seen = await observe(
      fenced('hanging-first', {
        policy: { fence: late },
        events: [
          { at: '0s', device: { node: 'node-1', fault: 'hangs' } },
          { at: '0s', partition: 'node-1' },
        ],
        runFor: '60s',
      }),
    );
    assert.equal(statuses(seen).filter((at) => at > 11_000 && at < 60_000).length, 1);
  });
});
