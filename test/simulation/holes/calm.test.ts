/** Nothing was wrong: what people and machines do every day is no incident, and what a cut would not help is not cut. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { observe } from '../release/observed.ts';
import { scenarioOf } from '../run-file.ts';
import { askedOf, atOnce, everywhere, fenced, fenceOf, place, victimOf } from '../fencing/fenced.ts';
import { runHoles } from './files.ts';

runHoles('nothing was wrong', {
  'cordon-drain-reboot': '[SAF-18] cordoned, drained and rebooted, with a boot of four minutes: nothing is cut',
  'cordoned-reboot': '[SAF-18] cordoned and rebooted, without a drain: nothing is cut',
  'kubelet-upgraded': '[SAF-18] a kubelet that is away for a minute, and its machine answers: nothing is cut',
  'kubelet-stays-away': '[SAF-18] a kubelet that stays away: its machine is cut after five minutes',
  'graceful-reboot': '[SAF-18] a reboot in good order: nothing is cut',
  'shutdown-taken-back':
    '[SAF-18] a kubelet that is Ready again takes back what it has said of a shutdown: what falls silent then is fenced',
  'pause-after-a-cordon': '[SAF-18] a cordon is no cut: a pause that is named after it holds',
  'kubelet-down-after-a-cordon':
    '[SAF-18] a cordon is no cut: nor does it end the patience with a kubelet that is away',
  'api-server-away': '[STM-2, SAF-18] nobody could renew while the API server was away: nobody is cut when it is back',
  'api-server-away-meanwhile': '[STM-2] what dies while the API server is away is found out when it is back',
  'named-pause': '[SAF-18] all pauses have to have passed',
  'nothing-to-free': '[SAF-18] where nothing would be freed a machine gets bootTimeout first',
  'two-of-six': '[SAF-10] two of six machines are lost: the second database does not wait until the first has booted',
  'cordoned-anew': '[SAF-18] a cordon that a person has put where ours was is theirs: a planned reboot is left alone',
  'cordoned-anew-cleared': '[SAF-18] nor is it taken away when the trouble is over that we had cordoned it for',
});

runHoles('a machine that is found off', {
  'found-off-crash': '[STM-1, SAF-8] is not told anything by whoever leads next, when it is on by then',
  'found-off-and-alive': '[SAF-3, FEN-4] and lives on in the same boot was never off: its fence ends',
  'found-off-again':
    '[EVD-2, REM-6] a second time is asked after at once, although what comes and goes is given longer',
  'found-off': '[SAF-19] is switched on when all that may go has gone',
  'found-off-cordoned': '[SAF-19] stays off while others have its node cordoned',
  'found-off-paused-by-name': '[SAF-18, SAF-19] stays off until every pause that somebody has named has passed',
  'off-and-on-of-another-machine':
    '[SAF-17, SAF-18] is not this one where its device speaks of another: what happens to that is no reboot of this',
  'found-off-left': '[SAF-19] stays off where the policy says so',
  'graceful-shutdown': '[SAF-19] stays off if its kubelet had reported the shutdown',
});

const cuts = (seen: Parameters<typeof askedOf>[0], node: string): number[] =>
  askedOf(seen, node).flatMap(({ what, at }) => (what === 'off' ? [at] : []));
const pause = (node: string, name: string, until: string): object => ({
  at: '0s',
  apply: { apiVersion: 'v1', kind: 'Node', metadata: { name: node, annotations: { [name]: until } } },
});
const reasons = ({ statuses }: Awaited<ReturnType<typeof observe>>): string[] => [
  ...new Set(statuses.flatMap(({ status }) => status.hold?.reason ?? [])),
];

describe('patience', () => {
  test('[SAF-18] a partition under a policy of defaults, with nothing to free, is power-cycled once, late, and not again', async () => {
    const seen = await observe(scenarioOf('holes/nothing-to-free'));
    const [first = 0, ...more] = cuts(seen, 'node-1');
    assert.ok(first >= 600_000, `cut at ${first}`);
    assert.deepEqual(more, []);
    const { status } = fenceOf(seen.world, 'node-1') ?? {};
    assert.deepEqual([status?.fence?.isForGood, status?.fence?.restarts], [true, 0]);
    assert.match(status?.fence?.message ?? '', /to cut it once more would free nothing$/);
    assert.equal(status?.conditions.find(({ type }) => type === 'Alarm')?.reason, 'FenceInError');
  });

  test('[SAF-18] what holds it is told, with a sentence and until when', async () => {
    const planned = await observe(scenarioOf('holes/cordoned-reboot'));
    assert.deepEqual(reasons(planned), ['PlannedWork']);
    const away = await observe(scenarioOf('holes/kubelet-stays-away'));
    assert.deepEqual(reasons(away), ['LookingAround', 'KubeletDown']);
    const messages = away.statuses.flatMap(({ status }) =>
      status.hold?.reason === 'KubeletDown' ? [status.hold.message] : [],
    );
    assert.equal(new Set(messages).size, 1, 'the same for as long as it stands');
    assert.match(messages[0] ?? '', /^its machine answers, and its kubelet is down: it has until 2026-.*Z to be back$/);
    assert.ok(away.events.some(({ reason, note }) => reason === 'Held' && note.startsWith('KubeletDown: ')));
  });

  test('[SAF-18] a pause that is no time holds until it is mended, and says what to write', async () => {
    const seen = await observe(
      fenced('broken-pause', {
        events: [
          pause('node-3', 'fenceline.dev/pause.firmware', 'tonight'),
          { at: '0s', partition: place },
          { ...pause('node-3', 'fenceline.dev/pause.firmware', '2026-01-01T00:00:00Z'), at: '3m' },
        ],
        runFor: '4m',
      }),
    );
    assert.equal(victimOf(seen), 'node-3');
    const [first = 0] = cuts(seen, 'node-3');
    assert.ok(first > 180_000, `cut at ${first}`);
    const messages = seen.statuses.flatMap(({ status }) => status.hold?.message ?? []);
    assert.ok(messages.some((said) => /pause\.firmware is "tonight", which is no time: write one such as/.test(said)));
  });

  test('[SAF-18] a person who asks for a fence is not held by any of it', async () => {
    const asked = { by: 'jane', at: '2026-01-01T00:01:00Z' };
    const seen = await observe(
      fenced('asked-for', {
        policy: { fence: { ...atOnce, bootTimeout: '10m' } },
        events: [
          pause('node-3', 'fenceline.dev/pause.firmware', '2027-01-01T00:00:00Z'),
          { at: '0s', drain: place },
          {
            at: '30s',
            apply: {
              apiVersion: 'fenceline.dev/v1alpha1',
              kind: 'NodeFence',
              metadata: { name: 'node-fence-node-3' },
              spec: { node: 'node-3', requested: asked },
            },
          },
        ],
        runFor: '2m',
      }),
    );
    const [first = Infinity] = cuts(seen, 'node-3');
    assert.ok(first < 60_000, `cut at ${first}`);
  });

  test('[SAF-18] a machine that does not answer is no machine whose kubelet is down', async () => {
    for (const trouble of ['hang', 'partition']) {
      const seen = await observe(
        fenced(trouble, { events: [{ at: '0s', [trouble]: place }], objects: [everywhere()], runFor: '60s' }),
      );
      const [first = Infinity] = cuts(seen, victimOf(seen));
      assert.ok(first < 30_000, `${trouble}: cut at ${first}`);
      assert.ok(!reasons(seen).includes('KubeletDown'));
    }
  });

  test('[SAF-18] a failover in the middle takes nothing away from it', async () => {
    const seen = await observe(
      fenced('failover', {
        cluster: { operators: 2, kubernetes: { nodeMonitorGracePeriod: '20s', bootTime: '90s' } },
        policy: { fence: { ...atOnce, bootTimeout: '3m' } },
        events: [
          { at: '0s', gracefulReboot: place },
          { at: '60s', crashOperator: 1 },
          { at: '80s', crashOperator: 2 },
        ],
        runFor: '5m',
      }),
    );
    assert.deepEqual(cuts(seen, victimOf(seen)), []);
  });
});
