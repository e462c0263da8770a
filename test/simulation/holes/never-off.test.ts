/** What the boot that a machine is in says of its devices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FenceDevice } from '../../../src/api/fence-device.ts';
import { fenceOf, victimOf } from '../fencing/fenced.ts';
import { observe } from '../release/observed.ts';
import { failuresOf, run, scenarioOf } from '../run-file.ts';

describe('a machine that lived on in the boot in which it was confirmed off', () => {
  const titles: Record<string, string> = {
    'never-off': 'its device is not believed again, whoever it says that it is',
    'never-off-failover': 'nor by the next instance',
    'never-off-after-its-boot-timeout': 'nor where it was back long after its fence had given up',
  };
  for (const [name, title] of Object.entries(titles)) {
    test(`[SAF-1, FEN-15] S34: ${title}`, async () => {
      assert.deepEqual(failuresOf(await run(scenarioOf(`holes/${name}`))), []);
    });
  }

  test('[SAF-1] S34: that it was never off, and two may have written, is an alarm, and only a person clears its device', async () => {
    const scenario = scenarioOf('holes/never-off');
    const seen = await observe({ ...scenario, runForMs: 19 * 60_000, expectations: [] });
    assert.deepEqual(failuresOf(seen.report), []);
    const node = victimOf(seen);
    const { conditions, fence } = fenceOf(seen.world, node)?.status ?? { conditions: [] };
    const alarm = conditions.find(({ type }) => type === 'Alarm');
    assert.equal(alarm?.reason, 'NeverOff');
    assert.match(alarm?.message ?? '', /it was never off\. default\/web-0 went by that, and two may have written/);
    assert.equal(fence?.message, alarm?.message, 'not that it was not Ready in time');
    const { status } = seen.world.server.peek(
      'fenceline.dev',
      'fencedevices',
      `fenceline/${node}.power-off`,
    ) as unknown as FenceDevice;
    assert.deepEqual([status.wrong?.reason, status.fenceable, status.reason], ['NeverOff', false, 'WrongMachine']);
  });

  test('[SAF-1] S34: an outlet of a machine outside of the cluster is believed once, and not a second time', async () => {
    const report = await run(scenarioOf('holes/outlet-of-a-machine-outside'));
    const late = report.violations.filter(({ at }) => at > 61 * 60_000);
    assert.deepEqual(late, [], 'nobody could know the first time');
  });
});
