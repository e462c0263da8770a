/** What the API server refuses has a word, keeps nobody's slot, and leaves no machine off that we have cut. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { asExpected, askedOf, atOnce, everywhere, fenceOf, place, policyOf, victimOf } from '../fencing/fenced.ts';
import { cutAndPowered } from '../fencing/switches.ts';
import type { Observed } from '../release/observed.ts';
import { runHoles } from './files.ts';

runHoles('a machine that was cut', {
  'webhook-down-pods': '[SAF-10, SAF-19] keeps nobody waiting while a webhook is down and its pods cannot go',
  'webhook-down-nodes':
    '[SAF-10, SAF-19] is switched on again while a webhook is down and nothing can be written on its Node',
  'pause-unreadable-leaves-it-off':
    '[SAF-12, SAF-19] is switched on again although nobody can read whether all is paused',
});

runHoles('whoever leads again', {
  'records-refused-while-off':
    '[STM-8, SAF-19] and may write its records again goes on where its fence stood: no machine is left off',
  'asked-by-a-dry-run': '[STM-8] S17: asks whether it may keep its records, and has decided nothing by that',
});

runHoles('a machine that is cut off from its storage', {
  'cut-although-refused': '[SAF-18] keeps its power while the API server lets nothing go from it',
});

describe('a machine is cut, and the API server refuses', () => {
  for (const [fault, what] of [
    ['deniesPods', 'to delete its pods'],
    ['deniesNodes', 'its quarantine'],
    ['failsPods', 'to delete its pods, because a webhook is down'],
    ['failsNodes', 'its quarantine, because a webhook is down'],
    ['limitsPods', 'to delete its pods, because a webhook has too much to do'],
    ['limitsNodes', 'its quarantine, because a webhook has too much to do'],
    ['hangsPods', 'to answer whether its pods are deleted'],
    ['hangsNodes', 'to answer whether it is in quarantine'],
  ] as const) {
    test(`[SAF-10, SAF-19] S25, S41: ${what}: it is said, it is switched on again, and another one has its turn`, async () => {
      const seen = await asExpected(`refused-${fault}`, {
        cluster: { nodes: 6 },
        policy: {
          fence: { ...atOnce, markOutOfService: false, restarts: 2 },
          storm: { maxConcurrent: 1, maxUnresponsive: '100%', cooldown: '0s' },
        },
        objects: [everywhere(6)],
        events: [
          { at: '0s', apiFault: { operator: 1, fault } },
          { at: '0s', partition: place },
          { at: '30s', partition: 'node-2' },
        ],
        runFor: '8m',
      });
      const victim = victimOf(seen);
      assert.deepEqual(
        askedOf(seen, victim).map(({ what: command }) => command),
        ['off', 'on'],
        'it is not cut again for the same',
      );
      assert.match(fenceOf(seen.world, victim)?.status.fence?.message ?? '', /webhook|not Ready in time/);
      assert.notEqual(victim, 'node-2');
      assert.ok(askedOf(seen, 'node-2').length > 0);
    });
  }

  test('[SAF-10, EVD-5] S7, S21, S41: to delete its pods, and others were told that it is off: Kubernetes takes them before it is on', async () => {
    const seen = await asExpected('refused-marked', {
      cluster: { nodes: 6 },
      policy: {
        fence: { ...atOnce, restarts: 2 },
        storm: { maxConcurrent: 1, maxUnresponsive: '100%', cooldown: '0s' },
      },
      objects: [everywhere(6)],
      events: [
        { at: '0s', apiFault: { operator: 1, fault: 'deniesPods' } },
        { at: '0s', partition: place },
        { at: '30s', partition: 'node-2' },
      ],
      runFor: '8m',
    });
    const victim = victimOf(seen);
    assert.deepEqual(
      askedOf(seen, victim).map(({ what }) => what),
      ['off', 'on'],
    );
    const told = (fenceOf(seen.world, victim)?.status.history ?? []).map(({ reason }) => reason);
    assert.ok(told.includes('Complete') && told.indexOf('Complete') < told.indexOf('PoweringOn'), told.join());
    assert.ok(askedOf(seen, 'node-2').length > 0, 'nobody else has waited for that');
  });

  test('S2, S4: to delete its pods for a moment, in which somebody switches it on: they do not go after that', async () => {
    const seen = await asExpected('refused-and-switched-on', {
      policy: { fence: { ...atOnce, markOutOfService: false } },
      events: [
        { at: '0s', apiFault: { operator: 1, fault: 'limitsPods' } },
        { at: '0s', partition: place },
        { at: '25s', powerOn: place },
        { at: '26s', apiFault: { operator: 1, fault: 'none' } },
      ],
    });
    assert.equal(askedOf(seen, victimOf(seen))[0]?.what, 'off');
  });

  test('[EVD-5, SAF-12] S5: to take away what says that it is off: a pause does not switch it on under that', async () => {
    const seen = await asExpected('refused-untaint', {
      cluster: { nodes: 6 },
      objects: [everywhere(6)],
      events: [
        { at: '0s', apiFault: { operator: 1, fault: 'deniesPods' } },
        { at: '0s', partition: 'node-1' },
        { at: '60s', apiFault: { operator: 1, fault: 'deniesNodes' } },
        { at: '60s', apply: policyOf({ mode: 'Paused' }) },
        { at: '3m', apiFault: { operator: 1, fault: 'none' } },
      ],
      runFor: '5m',
    });
    const asked = askedOf(seen, 'node-1');
    assert.deepEqual(
      asked.map(({ what }) => what),
      ['off', 'on'],
    );
    assert.ok((asked[1]?.at ?? 0) >= 180_000, 'when it may');
  });

  test('[SAF-10] S25, S41: to say whether all is paused: nothing is cut, and that is said in the end', async () => {
    const seen = await asExpected('refused-pause', {
      cluster: { nodes: 6 },
      objects: [everywhere(6)],
      events: [
        { at: '13s', apiFault: { operator: 1, fault: 'deniesPause' } },
        { at: '0s', partition: 'node-1' },
      ],
      runFor: '8m',
    });
    assert.deepEqual(askedOf(seen, 'node-1'), []);
    const { fence } = fenceOf(seen.world, 'node-1')?.status ?? {};
    assert.deepEqual([fence?.phase, /webhook/.test(fence?.message ?? '')], ['failed', true], fence?.message);
  });
});

/** Cut off from its storage at once, and from its power a minute later; until then it is found out whether anything goes. */
function isolatedFirst(name: string, events: object[], more: { operators?: number } = {}): Promise<Observed> {
  return asExpected(name, {
    cluster: more,
    policy: { fence: { ...atOnce, powerManagementAfter: '60s', bootTimeout: '5m' } },
    objects: [...cutAndPowered],
    events: [{ at: '0s', partition: place }, ...events],
    runFor: '8m',
  });
}

function holdsOf({ statuses }: Observed): string[] {
  const all = statuses.flatMap(({ status }) => status.hold?.reason ?? []);
  return all.filter((reason, index) => reason !== all[index - 1]);
}

describe('a machine lives, and the API server has let nothing go from it', () => {
  for (const fault of ['deniesPods', 'deniesNodes', 'failsPods', 'failsNodes', 'hangsPods', 'limitsNodes'] as const) {
    test(`[SAF-18, SAF-10] S25, S45: ${fault}: it is not cut before that is over, and says so`, async () => {
      const seen = await isolatedFirst(`held-${fault}`, [
        { at: '0s', apiFault: { operator: 1, fault } },
        { at: '4m', apiFault: { operator: 1, fault: 'none' } },
      ]);
      const asked = askedOf(seen, victimOf(seen));
      assert.deepEqual(
        asked.map(({ what }) => what),
        ['off', 'on'],
      );
      assert.ok((asked[0]?.at ?? 0) >= 240_000, `cut at ${asked[0]?.at}`);
      assert.ok(holdsOf(seen).includes('ReleaseRefused'), holdsOf(seen).join());
    });
  }

  test('[SAF-18] S45: nor by whoever leads next, and has not tried yet', async () => {
    const denied = [1, 2].map((operator) => ({ at: '0s', apiFault: { operator, fault: 'deniesNodes' } }));
    const seen = await isolatedFirst('held-by-the-next', [...denied, { at: '3m', crashOperator: 1 }], { operators: 2 });
    assert.deepEqual(askedOf(seen, victimOf(seen)), []);
    const leaders = new Set(seen.statuses.flatMap(({ status }) => /^operator-\d/.exec(status.holder ?? '') ?? []));
    assert.deepEqual([...leaders], ['operator-1', 'operator-2']);
  });

  test('[SAF-4] S25: nor is it forgotten what was cut off from its storage, whose record somebody deletes meanwhile', async () => {
    const seen = await isolatedFirst('held-and-forgotten', [
      { at: '0s', apiFault: { operator: 1, fault: 'deniesNodes' } },
      { at: '42s', delete: { kind: 'NodeFence', name: 'node-fence-node-3' } },
      { at: '65s', heal: place },
      { at: '125s', apiFault: { operator: 1, fault: 'none' } },
    ]);
    assert.equal(victimOf(seen), 'node-3');
  });
});
