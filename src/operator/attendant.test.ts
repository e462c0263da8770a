import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { aCase, aCount, aFence, aNode, aRemedy, inForce } from '../../test/support/release-case.ts';
import { seenNode, silent } from '../../test/support/shared-stage.ts';
import type { NodeCase } from '../api/release-view.ts';
import type { NodeView } from '../api/view.ts';
import { decideNode } from '../decide/decide-node.ts';
import type { AttendantOptions } from './attendant.ts';
import { Attendant } from './attendant.ts';
import { defaultLimits } from '../judge/judge-node.ts';
import type { Again, Why } from './keyed-loop.ts';
import { KeyedLoop } from './keyed-loop.ts';
import { latelyMs, type Age } from './roll.ts';

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

/** Of a node that nobody has a policy for: there is nothing to write down, and nothing to do. */
const idle = aCase({ policy: { kind: 'none' }, pods: [], attachments: [] });
/** There is something to write down. */
const troubled = aCase();

/** One node that is attended to, and what is known of everybody by how old it is. Nothing can be written: who tries to fails. */
function sharedStage(known: { hasMany?: boolean; lately: NodeCase; now: NodeCase }) {
  const asked: (Age | 'in brief')[] = [];
  const tried: string[] = [];
  const passes: NodeCase[] = [];
  const { view, limits, gates, policies } = aCase();
  const refuse = (): Promise<unknown> => {
    tried.push('write');
    return Promise.resolve({ ok: false, error: { kind: 'conflict', message: 'not now' } });
  };
  const options = {
    client: { create: refuse, replace: refuse },
    clock: manualClock(),
    serverTime: { note: () => {}, until: (atMs: number, nowMs: number) => atMs - nowMs },
    isLeading: () => true,
    identity: 'operator-1',
    limits,
    gates,
    observer: { view: () => view },
    cluster: { policySummary: policies, hasOpenFence: () => true, isBegunWith: () => true, problemsOf: () => 'none' },
    reader: {
      hasRoomFor: () => true,
      ready: (_: string, isWanted: boolean) => (isWanted ? undefined : 'unread'),
      read: () => Promise.resolve({ ok: true, value: known.lately }),
      kept: () => {},
    },
    longActs: {
      powerOf: () => ({}),
      want: () => {},
      wonder: () => {},
      wonderAboutStorage: () => {},
      wonderAboutKubelet: () => {},
      away: () => {},
      refusals: { noteActs: () => {} },
    },
    shared: {
      hasMany: known.hasMany ?? true,
      complete: (_: NodeCase, age: Age) => {
        asked.push(age);
        return known[age];
      },
      inBrief: (_: NodeCase, age: Age) => {
        asked.push('in brief');
        return known[age];
      },
      claim: () => {},
    },
    memory: { suspect: () => {}, disprove: () => {} },
    reporter: { report: ({ nodeCase }: { nodeCase: NodeCase }) => void passes.push(nodeCase) },
    publish: () => {},
    onProblem: () => {},
    onSuccessor: () => {},
  };
  const attendant = new Attendant(options as unknown as AttendantOptions);
  const look = (why: Why): Promise<Again> => attendant.consider('node-1', () => true, why);
  return { attendant, asked, tried, passes, look };
}

describe('[STM-1] where there are many', () => {
  test('nothing is decided by how everybody was a moment ago but that nothing is done', async () => {
    const { asked, tried, look } = sharedStage({ lately: idle, now: troubled });
    await look('asked');
    assert.deepEqual([asked, tried], [['lately'], []]);
  });

  test('whatever would come of that is decided by everybody as they are now', async () => {
    const calm = sharedStage({ lately: troubled, now: idle });
    await calm.look('asked');
    assert.deepEqual([calm.asked, calm.tried], [['lately', 'now'], []]);
    assert.deepEqual(
      calm.passes.map(({ policy }) => policy.kind),
      ['none'],
    );
    const grim = sharedStage({ lately: troubled, now: troubled });
    await grim.look('asked');
    assert.deepEqual([grim.asked, grim.tried], [['lately', 'now'], ['write']]);
    const few = sharedStage({ hasMany: false, lately: troubled, now: idle });
    await few.look('asked');
    assert.deepEqual(few.asked, ['now']);
  });

  test('who hears of something is looked at once more, as soon as everybody is seen as they are since', async () => {
    for (const why of ['heard', 'turn', 'asked'] as const) {
      const { inMs = Infinity } = await sharedStage({ lately: idle, now: idle }).look(why);
      assert.ok(inMs <= latelyMs, `${why}: ${inMs}`);
    }
    const { inMs = Infinity } = await sharedStage({ lately: idle, now: idle }).look('timer');
    assert.ok(inMs > latelyMs, 'nothing was heard');
    const few = await sharedStage({ hasMany: false, lately: idle, now: idle }).look('heard');
    assert.ok((few.inMs ?? Infinity) > latelyMs, 'it was decided by everybody as they are');
  });
});

describe('[STM-1] one that rests', () => {
  const threshold = {
    key: 'lease',
    lease: { staleForMs: 12_000 },
    remedies: [{ name: 'fence', periodMs: 60_000, cleanResources: true }],
    recovery: [],
  };
  const storm = { maxUnresponsive: '40%', maxConcurrent: 1, cooldownMs: 0 } as const;
  const remedy = aRemedy({ thresholds: [threshold], kinds: { fence: 'fence' }, storm });
  const unread = aCase({
    isUnread: true,
    pods: [],
    attachments: [],
    node: aNode({ volumesInUse: [] }),
    policy: inForce({ podDeletion: 'do-nothing', remedy }),
    trouble: { conditions: [{ type: 'Ready', status: 'Unknown', forMs: 60_000 }], leaseSilentMs: 60_000 },
    count: aCount({ nodes: 10, troubled: 5 }),
  });

  test('knows its record as it is and as it was before, and nothing of what is written later', async () => {
    const { status } = decideNode(unread).record ?? {};
    const fence = aFence(status, { policy: 'release' });
    const stored = { ...fence, metadata: { ...fence.metadata, resourceVersion: '5' } };
    const resting = { ...unread, fence: stored };
    const { attendant, asked, tried, look } = sharedStage({ lately: resting, now: resting });
    assert.equal(attendant.isKnown('node-1', '5'), false, 'nobody has looked at it');
    const { idleMs, inMs } = await look('asked');
    assert.deepEqual([tried, inMs, idleMs !== undefined], [[], undefined, true]);
    assert.deepEqual(asked, ['in brief'], 'a storm holds it back, whoever is silent beside it');
    assert.deepEqual(
      ['4', '5', '6', '10'].map((version) => attendant.isKnown('node-1', version)),
      [true, true, false, false],
    );
  });
});
