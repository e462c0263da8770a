/** What is known of patience outlives whoever knew it: a leader that dies makes nobody's time shorter, and nobody's endless. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { observe } from '../release/observed.ts';
import { atOnce, askedOf, fenced, place, victimOf } from '../fencing/fenced.ts';
import { failuresOf } from '../run-file.ts';
import { runHoles } from './files.ts';

runHoles('patience outlives who had it', {
  'planned-reboot-failover':
    '[SAF-18] a reboot that a leader did not live to see: the next one does not count the time before it',
  'switched-on-failover':
    '[SAF-18] a machine that was off and is on: whoever leads next knows that somebody has switched it on',
  'reset-while-it-boots':
    '[SAF-18] S45: a machine that is reset while it boots has the time of a boot from when it was on, as its device said',
  'kubelet-upgraded-after-a-pause': '[SAF-18] a kubelet has its five minutes from when it went away',
  'kubelet-stopped-as-a-pause-ends': '[SAF-18] also where its port alone says that it is away',
  'neighbour-back': '[SAF-17] who waits for a neighbour goes on when that one is back, not when a timer says so',
});

const byDeadlock = [
  { condition: { type: 'KernelDeadlock', status: 'True', for: '10s' }, remedies: [{ name: 'fence', period: '10s' }] },
  { lease: { staleFor: '12s' }, remedies: [{ name: 'fence', period: '10s' }] },
];
const deadlock = { at: '5s', condition: { node: place, type: 'KernelDeadlock', status: 'True' } };
const cordon = { at: '0s', cordon: place };
const crash = (at: string, operator = 1): object => ({ at, crashOperator: operator });

/** Beside one that is silent, too, nobody believes an outlet that says off: what is off waits for the time of power management. */
const blind = Array.from({ length: 6 }, (_, index) => ({ name: `node-${index + 1}`, identity: false }));
const silent = { at: '0s', partition: 'node-2' };

interface Story {
  operators?: number;
  nodes?: object[];
  bootTime?: string;
  fence?: object;
  events: object[];
  runFor?: string;
}

/** When its machine was told off. */
async function cutsIn(
  name: string,
  { operators = 1, nodes, bootTime = '60s', fence, events, runFor }: Story,
): Promise<number[]> {
  const seen = await observe(
    fenced(name, {
      cluster: { operators, ...(nodes && { nodes }), kubernetes: { nodeMonitorGracePeriod: '20s', bootTime } },
      policy: { thresholds: byDeadlock, fence: { ...atOnce, bootTimeout: '2m', ...fence } },
      events,
      runFor: runFor ?? '5m',
    }),
  );
  assert.deepEqual(failuresOf(seen.report), []);
  const victim = seen.report.timeline.find(({ what }) => what === 'powerOff')?.object.slice('node/'.length);
  return askedOf(seen, victim ?? victimOf(seen)).flatMap(({ what, at }) => (what === 'off' ? [at / 1000] : []));
}

describe('nobody is cut because a leader died', () => {
  const later = { powerManagementAfter: '60s' };
  const stories: Record<string, Story> = {
    'two leaders die in a reboot': {
      operators: 2,
      events: [cordon, deadlock, { at: '1m40s', reboot: place }, crash('1m45s'), crash('2m10s', 2)],
    },
    'the leader dies in the middle of a slow boot': {
      bootTime: '100s',
      events: [cordon, { at: '20s', reboot: place }, crash('60s')],
    },
    'the leader dies between the cordon and the silence': {
      events: [cordon, crash('10s'), { at: '15s', reboot: place }],
    },
    'the API server is away when the reboot begins': {
      events: [
        cordon,
        deadlock,
        { at: '30s', apiDown: true },
        { at: '1m50s', reboot: place },
        { at: '2m10s', apiUp: true },
      ],
    },
    'the API server is away, and the leader dies': {
      events: [
        cordon,
        deadlock,
        { at: '30s', apiDown: true },
        { at: '1m45s', reboot: place },
        crash('1m50s'),
        { at: '2m', apiUp: true },
      ],
    },
    'the leader dies before the machine is switched on': {
      nodes: blind,
      fence: { powerManagementAfter: '3m' },
      events: [silent, { at: '0s', powerOff: place }, crash('30s'), { at: '2m50s', powerOn: place }],
    },
    'the leader dies after the machine was switched on': {
      nodes: blind,
      fence: later,
      events: [silent, { at: '0s', powerOff: place }, { at: '40s', powerOn: place }, crash('50s'), crash('90s')],
    },
    'the machine is switched on when the time since the trouble began is nearly up': {
      nodes: blind,
      fence: { powerManagementAfter: '2m20s' },
      events: [silent, { at: '0s', powerOff: place }, { at: '2m10s', powerOn: place }],
    },
    'the leader dies while a kubelet is replaced': {
      events: [
        deadlock,
        cordon,
        { at: '2m', kubeletStop: place },
        crash('2m5s'),
        { at: '3m', condition: { ...deadlock.condition, status: 'False' } },
        { at: '4m', kubeletStart: place },
      ],
    },
  };
  for (const [name, story] of Object.entries(stories)) {
    test(`[SAF-18] ${name}`, async () => {
      assert.deepEqual(await cutsIn(name.replaceAll(' ', '-'), story), []);
    });
  }
});

describe('patience ends, however many leaders die', () => {
  test('[SAF-18] a machine that is dead under a cordon is cut when its time is up, counted from the first leader on', async () => {
    const [first = Infinity] = await cutsIn('dead-under-a-cordon', {
      events: [cordon, { at: '10s', hang: place }, crash('40s'), crash('80s'), crash('120s')],
    });
    assert.ok(first >= 130 && first < 175, `cut at ${first} s`);
  });

  test('[SAF-18] also where no leader had found it silent yet', async () => {
    const [first = Infinity] = await cutsIn('dead-before-anybody-knew', {
      events: [cordon, deadlock, { at: '60s', hang: place }, crash('62s'), crash('110s'), crash('150s')],
    });
    assert.ok(first >= 180 && first < 215, `cut at ${first} s`);
  });

  test('[SAF-18] a machine that somebody has switched on, and that does not boot', async () => {
    const [first = Infinity] = await cutsIn('never-boots', {
      nodes: blind,
      bootTime: '30m',
      fence: { powerManagementAfter: '60s' },
      events: [silent, { at: '0s', powerOff: place }, { at: '40s', powerOn: place }, crash('70s'), crash('110s')],
    });
    assert.ok(first >= 160 && first < 205, `cut at ${first} s`);
  });
});
