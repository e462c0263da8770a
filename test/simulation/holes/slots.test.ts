/** Slots are bounded by what is stored, not by a view that may lag, and held by nobody who does nothing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import { asExpected, askedOf, atOnce, everywhere, fenced } from '../fencing/fenced.ts';
import { configMap, cutAndPowered } from '../fencing/switches.ts';
import { observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { runHoles } from './files.ts';

const slow = { ...atOnce, retries: 3 };

/** The second operator hears of no record, and cannot read that of one node. */
function blindTo(node: string): NonNullable<RunOptions['onWorld']> {
  return ({ server: { faults } }) => {
    faults.dropEvents(({ version }, user) => user === 'operator-2' && version.object.kind === 'NodeFence');
    faults.inject({
      matches: ({ user, method, path }) =>
        user === 'operator-2' && method === 'GET' && path.includes(`/nodefences/node-fence-${node}`),
      code: 500,
    });
  };
}

describe('slots', () => {
  test('[STM-4] after a failover a view that lags lets no second fence begin', async () => {
    const seen = await observe(
      fenced('lagging-view', {
        cluster: { nodes: 5, operators: 2 },
        policy: { fence: slow },
        objects: [everywhere(5)],
        events: [
          { at: '0s', device: { node: 'node-2', fault: 'ignores' } },
          { at: '0s', partition: 'node-2' },
          { at: '12s', partition: 'node-1' },
          { at: '30s', isolateOperator: 1 },
        ],
        runFor: '100s',
      }),
      { onWorld: blindTo('node-2') },
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.ok(
      askedOf(seen, 'node-2').some(({ what }) => what === 'off'),
      'the first was begun',
    );
    assert.deepEqual(askedOf(seen, 'node-1'), []);
  });

  for (const [why, lateness] of [
    ['it is marked before it is cut', { isolation: 'isolation=mark-unschedulable fc-off\n', events: [] }],
    [
      'its device has refused the first try',
      {
        isolation: '',
        events: [
          { at: '0s', device: { node: 'node-1', fault: 'refuses' } },
          { at: '56s', device: { node: 'node-1', fault: 'none' } },
        ],
      },
    ],
  ] as const) {
    test(`[STM-4] nor where ${why}: the first command finds a slot free, whichever try or method it is of`, async () => {
      const { isolation, events } = lateness;
      const data = {
        'config.properties': `node_name=node-1\n${isolation}power_management=pdu-off pdu-on`,
        'fence-method-fc-off': 'template=fence-method-template-fc-switch\nplug=2\naction=off',
        'fence-method-pdu-on': 'template=fence-method-template-pdu\nplug=1\naction=on',
        'fence-method-pdu-off': 'template=fence-method-template-pdu\nplug=1\naction=off',
      };
      const others = cutAndPowered.filter((one) => !JSON.stringify(one).includes('fence-config-'));
      const seen = await observe(
        fenced('lagging-view', {
          cluster: { nodes: 5, operators: 2 },
          policy: { fence: slow },
          objects: [everywhere(5), ...others, configMap('fence-config-node-1', data)],
          events: [
            { at: '0s', device: { node: 'node-2', fault: 'ignores' } },
            { at: '0s', partition: 'node-2' },
            { at: '12s', partition: 'node-1' },
            { at: '30s', isolateOperator: 1 },
            ...events,
          ],
          runFor: '110s',
        }),
        { onWorld: blindTo('node-2') },
      );
      assert.deepEqual(failuresOf(seen.report), []);
      assert.ok(
        askedOf(seen, 'node-2').some(({ what }) => what === 'off'),
        'the first was begun',
      );
      assert.deepEqual(
        askedOf(seen, 'node-1').filter(({ what }) => what === 'off'),
        [],
      );
    });
  }

  test('[SAF-10] two machines are lost: the second is let go while the first one boots', async () => {
    const seen = await asExpected('boots-slowly', {
      cluster: { nodes: 6, kubernetes: { nodeMonitorGracePeriod: '20s', bootTime: '4m' } },
      policy: { fence: { ...atOnce, bootTimeout: '10m' } },
      objects: [everywhere(6)],
      events: ['node-1', 'node-2'].map((partition) => ({ at: '0s', partition })),
      expect: [{ always: { fencesAtMost: 2 } }],
      runFor: '2m',
    });
    for (const node of ['node-1', 'node-2']) {
      const off = askedOf(seen, node).find(({ what }) => what === 'off');
      assert.ok(off !== undefined && off.at < 60_000, `${node} at ${off?.at}`);
    }
  });
});

runHoles('a slot', {
  'back-behind-a-slow-device':
    '[SAF-10, STM-4] is not kept for three minutes by a node that is back, in case its device still does what it was told',
  'held-while-off':
    '[SAF-10, STM-4] is kept by a machine that is off and whose pods are held back, whoever holds them, for as long as a command takes',
  'slot-kept-by-a-command':
    '[SAF-10, SAF-12, STM-4] is kept by a command that is under way, although its fence is paused or stopped',
  'slot-kept-through-a-failover':
    '[STM-4, SAF-8] is kept by a command of the leader before, also while the next one does not know yet whether its trouble goes on',
  'slot-forgotten-with-its-record': '[STM-4] is kept by a command that is under way, although its record is deleted',
  'watches-behind': '[STM-4, SAF-10] is not waited for until a server that had lagged happens to send a bookmark',
});
