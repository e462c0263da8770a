/** [ADM-7] Somebody works on a node: what happens to it meanwhile is theirs, and when their time is up it is ours again. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { observe } from '../release/observed.ts';
import { failuresOf, run, scenarioOf } from '../run-file.ts';
import { askedOf, atOnce, everywhere, fenced, fenceOf } from './fenced.ts';

const annotate = (at: string, until: string): object => ({
  at,
  apply: {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-1', annotations: { 'fenceline.dev/maintenance-until': until } },
  },
});

describe('maintenance', () => {
  test('[ADM-7] the scenario that comes along', async () => {
    const scenario = scenarioOf('fence/maintenance');
    for (const seed of [scenario.seed, 77]) assert.deepEqual(failuresOf(await run({ ...scenario, seed })), []);
  });

  test('[ADM-7] the hold is told with its time, and goes by itself', async () => {
    const seen = await observe(scenarioOf('fence/maintenance'));
    const holds = seen.statuses.flatMap(({ status }) => status.hold ?? []);
    assert.deepEqual(
      [...new Set(holds.map(({ reason, message }) => `${reason}: ${message}`))],
      [
        'Maintenance: under maintenance until 2026-01-01T00:05:07Z',
        'LookingAround: whether other nodes are silent too is found out first',
        'LookingAround: whether other nodes are silent too is being seen: the next renewal of node-2, node-3 is waited for, until 2026-01-01T00:05:17Z at the latest',
      ],
    );
    assert.equal(fenceOf(seen.world, 'node-1')?.status.hold, undefined);
    const begun = seen.report.timeline.find(({ what }) => what === 'power-management is running');
    assert.ok(
      begun !== undefined && begun.at >= 277_000 && begun.at < 290_000,
      `at once, not at the next look: ${begun?.at}`,
    );
    assert.ok(seen.events.some(({ reason, note }) => reason === 'Held' && /2026-01-01T00:05:07Z/.test(note)));
  });

  test('[ADM-7] what is no time holds for as long as it stands, and says what to write', async () => {
    const seen = await observe(
      fenced('malformed', {
        events: [annotate('0s', 'tonight'), { at: '1s', powerOff: 'node-1' }, annotate('4m', '2026-01-01T00:00:00Z')],
        expect: [{ by: '6m', fence: { node: 'node-1', status: 'final' } }],
        runFor: '7m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    const asked = askedOf(seen, 'node-1');
    assert.ok(asked.length > 0 && asked.every(({ at }) => at >= 240_000), JSON.stringify(asked));
    assert.ok(
      seen.statuses.some(({ status }) => /"tonight", which is no time: write/.test(status.hold?.message ?? '')),
    );
  });

  test('[ADM-7] a fence that was begun goes on to its end', async () => {
    const seen = await observe(
      fenced('begun', {
        policy: { fence: atOnce },
        cluster: { kubernetes: { nodeMonitorGracePeriod: '20s', bootTime: '30s' } },
        objects: [everywhere()],
        events: [
          { at: '0s', partition: 'node-1' },
          annotate('25s', '2027-01-01T00:00:00Z'),
          { at: '40s', heal: 'node-1' },
        ],
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

  test('[SAF-19, ADM-7] a machine that was found off is left so while somebody works on it, and goes on when their time is up', async () => {
    const seen = await observe(
      fenced('found off', {
        objects: [everywhere()],
        events: [
          // Held off by the cordon, which goes while somebody works there.
          { at: '0s', cordon: 'node-1' },
          { at: '1s', powerOff: 'node-1' },
          annotate('60s', '2026-01-01T00:05:00Z'),
          { at: '2m', uncordon: 'node-1' },
        ],
        runFor: '8m',
      }),
    );
    assert.deepEqual(failuresOf(seen.report), []);
    assert.ok(
      seen.statuses.some(({ status }) =>
        /found off, and stays so: under maintenance until 2026-01-01T00:05:00Z/.test(status.fence?.waitsFor ?? ''),
      ),
    );
    const [on, ...more] = askedOf(seen, 'node-1');
    assert.deepEqual([on?.what, more], ['on', []]);
    assert.ok(on !== undefined && on.at >= 270_000 && on.at < 280_000, `when their time is up: ${on?.at}`);
  });
});
