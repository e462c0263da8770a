/** The fence of the source's own example: the storage first, then the power, and the storage again at the end. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Observed } from '../release/observed.ts';
import { observe } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { atOnce, elsewhere, fenced, fenceOf, place, victimOf } from './fenced.ts';
import { configMap, configs, cutAndPowered } from './switches.ts';

function cut(
  more: { events?: object[]; expect?: object[]; powerManagementAfter?: string; objects?: object[] } = {},
): Promise<Observed> {
  const { events = [{ at: '0s', partition: place }], expect = [], powerManagementAfter = '60s', objects = [] } = more;
  const fence = { ...atOnce, isolateAfter: '5s', powerManagementAfter, bootTimeout: '5m' };
  const all = [...cutAndPowered, ...objects];
  return observe(fenced('storage-fence', { policy: { fence }, objects: all, events, expect, runFor: '8m' }));
}

const phases = (seen: Observed): string[] => {
  const all = seen.statuses.flatMap(({ status }) => status.fence?.phase ?? []);
  return all.filter((phase, index) => phase !== all[index - 1]);
};

describe('a node that is cut off from its storage', () => {
  test('[FEN-1, FEN-6, FEN-11] its pods go at once, its power later, and it gets its storage back when it was booted', async () => {
    const seen = await cut({
      events: [
        { at: '0s', partition: place },
        { at: '2m', heal: place },
      ],
      expect: [
        elsewhere('30s'),
        { by: '6m', fence: { node: place, status: 'final' } },
        { by: '6m', node: { name: place, ready: true, schedulable: true, taints: [] } },
        { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
      ],
    });
    assert.deepEqual(failuresOf(seen.report), []);
    const expected = [
      'waiting',
      'isolating',
      'isolated',
      'poweringOff',
      'off',
      'poweringOn',
      'booting',
      'recovering',
      'finished',
    ];
    assert.deepEqual(phases(seen), expected);
    const release = seen.statuses.flatMap(({ status }) => status.releases)[0];
    assert.deepEqual([release?.basis, release?.by], ['StorageFenced', 'fc-off']);
    assert.equal(seen.world.storage.isPortClosed(victimOf(seen)), false);
  });

  test('S9: back without a reboot, it stays cut off until what was released there has ended', async () => {
    const seen = await cut({
      powerManagementAfter: '1h',
      events: [
        { at: '0s', partition: place },
        { at: '90s', heal: place },
      ],
      expect: [
        elsewhere('60s'),
        { by: '5m', node: { name: place, ready: true, schedulable: true, taints: [] } },
        { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
      ],
    });
    assert.deepEqual(failuresOf(seen.report), []);
    assert.ok(!phases(seen).includes('poweringOff'));
    assert.equal(seen.world.storage.isPortClosed(victimOf(seen)), false);
    assert.equal(fenceOf(seen.world, victimOf(seen))?.status.fence?.phase, 'finished');
  });

  test('[FEN-11] S30: a pod with a volume elsewhere waits for the power', async () => {
    const other = configMap('fence-method-template-fc-switch', {
      'template.properties': 'driver=simulated-switch\nstorage=another.csi.test',
    });
    const seen = await cut({ objects: [other], expect: [elsewhere('2m')] });
    assert.deepEqual(failuresOf(seen.report), []);
    const bases = new Set(seen.statuses.flatMap(({ status }) => status.releases.map(({ basis }) => basis)));
    assert.deepEqual([...bases], ['PowerOff']);
  });
});

describe('what was cut off', () => {
  const without = (config: object): object => {
    const { data, ...rest } = config as { data: Record<string, string> };
    return {
      ...rest,
      data: { ...data, 'config.properties': data['config.properties']?.replace('\nrecovery=fc-on', '') },
    };
  };

  test('[RET-2] is connected by the method that cut it off where no recovery is configured', async () => {
    for (const powerManagementAfter of ['60s', '1h']) {
      const seen = await cut({
        powerManagementAfter,
        objects: configs.map(without),
        events: [
          { at: '0s', partition: place },
          { at: '2m', heal: place },
        ],
        expect: [
          elsewhere('60s'),
          { by: '6m', node: { name: place, ready: true, schedulable: true, taints: [] } },
          { ledger: { volume: 'pv-0', writersAtMost: 1, dataIntact: true } },
        ],
      });
      assert.deepEqual(failuresOf(seen.report), []);
      assert.equal(seen.world.storage.isPortClosed(victimOf(seen)), false);
      assert.equal(fenceOf(seen.world, victimOf(seen))?.status.fence?.phase, 'finished');
    }
  });
});
