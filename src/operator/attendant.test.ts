import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { seenNode, silent } from '../../test/support/shared-stage.ts';
import type { NodeView } from '../api/view.ts';
import type { AttendantOptions } from './attendant.ts';
import { Attendant } from './attendant.ts';
import { defaultLimits } from '../judge/judge-node.ts';
import type { Again, Why } from './keyed-loop.ts';
import { KeyedLoop } from './keyed-loop.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One node that cannot be decided about, and others that are gone: there is nothing to attend to. */
function stage(limits: () => AttendantOptions['limits']) {
  const clock = manualClock();
  const told: string[] = [];
  const published: string[] = [];
  const forgotten: string[] = [];
  const view = (name: string): NodeView => ({
    name,
    ageMs: 0,
    silentMs: 0,
    get power(): never {
      throw new Error('round in circles');
    },
  });
  const gone = (name: string): NodeView => ({ name, ageMs: 0, silentMs: 0 });
  const options = {
    client: undefined,
    clock,
    isLeading: () => true,
    identity: 'operator-1',
    get limits() {
      return limits();
    },
    gates: {},
    observer: { view: (name: string) => (name === 'bad' ? view(name) : gone(name)) },
    cluster: {
      policySummary: { count: 0, thresholds: [], hasAlarms: false, fencesSilence: false, stamp: '' },
      hasOpenFence: () => false,
      problemsOf: () => 'none',
    },
    reader: { forget: () => {} },
    longActs: { powerOf: () => ({}), forget: () => {} },
    shared: { forget: () => {} },
    reporter: {
      report: () => {},
      forget: (name: string) => void forgotten.push(name),
      undecided: (name: string, _: unknown, why: Error) => told.push(`${name}: ${why.message}`),
    },
    publish: (name: string) => void published.push(name),
  };
  const attendant = new Attendant(options as unknown as AttendantOptions);
  const loop = new KeyedLoop({
    clock,
    concurrency: 1,
    ordinary: 1,
    comesFirst: () => false,
    work: (name) => attendant.consider(name, () => true),
  });
  return { clock, told, published, forgotten, loop };
}

const patient = {
  leaseStaleMs: 40_000,
  silentForMs: 30_000,
  viewAgeMs: 60_000,
} as unknown as AttendantOptions['limits'];

describe('attendant', () => {
  test('what cannot be decided about one node is told and tried again, ever later, and the others go on', async () => {
    const { clock, told, published, forgotten, loop } = stage(() => patient);
    const stop = new AbortController();
    const running = loop.run(stop.signal, ['bad', 'good']);
    await settle();
    assert.deepEqual([told, published], [['bad: round in circles'], ['good']]);
    for (const [waitMs, tries] of [
      [499, 1],
      [1, 2],
      [999, 2],
      [1, 3],
    ] as const) {
      clock.advance(waitMs);
      await settle();
      assert.equal(told.length, tries);
    }
    loop.add('better');
    await settle();
    assert.deepEqual(published, ['good', 'better']);
    assert.deepEqual(forgotten, published, 'of whom nobody attends to nothing is told');
    stop.abort();
    await running;
  });

  test('what goes wrong elsewhere is not about one node, and ends the loop', async () => {
    const { told, loop } = stage(() => assert.fail('broken'));
    await assert.rejects(loop.run(new AbortController().signal, ['good']), /broken/);
    assert.deepEqual(told, []);
  });
});

/** A node that is silent, in a cluster where many are. */
function silentStage() {
  const seen = {
    hasRoom: false,
    isBegun: false,
    marks: [] as string[],
    power: {} as { answers?: { power: string }[] },
  };
  const published: string[] = [];
  let attended = 0;
  const options = {
    clock: manualClock(),
    isLeading: () => true,
    identity: 'operator-1',
    limits: defaultLimits,
    gates: {},
    observer: {
      view: (name: string) => ({
        name,
        ageMs: 0,
        silentMs: 0,
        node: { ...seenNode(name), marks: seen.marks },
        lease: { ...silent, confirmed: true },
      }),
    },
    cluster: {
      policySummary: { count: 1, thresholds: [], hasAlarms: false, fencesSilence: true, stamp: '' },
      hasOpenFence: () => false,
      isBegunWith: () => seen.isBegun,
      problemsOf: () => 'none',
    },
    reader: {
      forget: () => {},
      hasRoomFor: () => seen.hasRoom,
      ready: () => {
        attended += 1;
      },
    },
    longActs: { powerOf: () => (seen.power.answers === undefined ? {} : { power: seen.power }), forget: () => {} },
    shared: { forget: () => {} },
    reporter: { report: () => {}, forget: () => {}, undecided: () => {} },
    publish: (_: string, { verdict }: { verdict: string }) => void published.push(verdict),
  };
  const attendant = new Attendant(options as unknown as AttendantOptions);
  const look = async (why: Why): Promise<[Again['inTurn'], number]> => {
    const { inTurn } = await attendant.consider('a', () => true, why);
    return [inTurn, attended];
  };
  return { seen, published, look };
}

describe('one of many that are silent', () => {
  test('[STM-1] is judged at once, and attended to when it is its turn, or somebody asks', async () => {
    const { published, look } = silentStage();
    assert.deepEqual(
      [await look('heard'), await look('timer')],
      [
        [true, 0],
        [true, 0],
      ],
    );
    assert.deepEqual(published, ['suspect', 'suspect']);
    assert.deepEqual(
      [await look('turn'), await look('asked')],
      [
        [undefined, 1],
        [undefined, 2],
      ],
    );
  });

  test('[STM-1, EVD-2] waits for no turn where there is room, where something was begun, or where its device has said off', async () => {
    const { seen, look } = silentStage();
    seen.power = { answers: [{ power: 'on' }] };
    assert.deepEqual(await look('heard'), [true, 0]);
    seen.power = { answers: [{ power: 'off' }] };
    assert.deepEqual(await look('heard'), [undefined, 1]);
    seen.power = {};
    seen.hasRoom = true;
    assert.deepEqual(await look('heard'), [undefined, 2]);
    seen.hasRoom = false;
    seen.isBegun = true;
    assert.deepEqual(await look('heard'), [undefined, 3]);
    seen.isBegun = false;
    seen.marks = ['fenceline.dev/quarantine'];
    assert.deepEqual(await look('heard'), [undefined, 4]);
  });
});
