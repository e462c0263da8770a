/** Operators that die, are cut off, are two or have a wrong clock: a machine loses its power once, whatever happens to them. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { featureGates } from '../../../src/api/feature-gates.ts';
import { defaultLimits } from '../../../src/judge/judge-node.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { Operator } from '../../../src/operator/operator.ts';
import type { Program, ProgramContext } from '../../../src/scenario/operators.ts';
import { operatorNamespace } from '../../../src/scenario/namespaces.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import type { BmcAction } from '../../../src/world/machines/bmc.ts';
import type { World } from '../../../src/world/world.ts';
import { failuresIn } from '../../mutants/run.ts';
import { storyNamed } from '../../mutants/stories.ts';
import { failuresOf } from '../run-file.ts';
import type { Observed } from '../release/observed.ts';
import type { CrashPoint } from '../killed.ts';
import { crashPointsOf, killedAtWrite, whereOf } from '../killed.ts';
import { observe, statusAt } from '../release/observed.ts';
import { askedOf, atOnce, cutsOf, elsewhere, fenced, fenceIs, fenceOf, place, victimOf, wellBy } from './fenced.ts';

/** With `FENCELINE_EXHAUSTIVE=1` every point (`make soak`), otherwise every fourth. */
const stride = process.env['FENCELINE_EXHAUSTIVE'] === '1' ? 1 : 4;
const partition = [
  { at: '0s', partition: place },
  { at: '70s', heal: place },
];
const end = [elsewhere('68s'), fenceIs('4m', 'final'), ...wellBy('4m')];
const fence = { ...atOnce, bootTimeout: '3m' };

/** S20: how often a device was told to switch off, by epoch of its record. */
function offsByEpoch(seen: Observed): number[] {
  const counts = new Map<number, number>();
  for (const { at, what } of askedOf(seen)) {
    const epoch = statusAt(seen, at).epoch;
    if (what === 'off') counts.set(epoch, (counts.get(epoch) ?? 0) + 1);
  }
  return [...counts.values()];
}

function onceEach(seen: Observed, where: string): void {
  assert.ok(
    offsByEpoch(seen).every((count) => count === 1),
    `${where}: more than one power-off in an epoch`,
  );
  assert.equal(cutsOf(seen, victimOf(seen)), 1, where);
  const status = fenceOf(seen.world, victimOf(seen))?.status;
  assert.equal(status?.incident, undefined, `${where}: the incident is over`);
}

const killed = fenced('killed', { policy: { fence }, events: partition, expect: end, runFor: '4m' });

type Asked = { node: string; action: BmcAction };

/** Lets a test do something before a request reaches a device, or right after it did. */
function onDevices(world: World, hook: (asked: Asked, when: 'before' | 'after') => void): void {
  for (const [node, bmc] of world.bmcs) {
    const request = bmc.request.bind(bmc);
    bmc.request = (action, signal) => {
      hook({ node, action }, 'before');
      const answer = request(action, signal);
      hook({ node, action }, 'after');
      return answer;
    };
  }
}

async function killedAtDevice(point?: CrashPoint, fault = 'none'): Promise<{ seen: Observed; asked: number }> {
  let asked = 0;
  let crash: (() => void) | undefined;
  const scenario = fenced('killed-at-device', {
    policy: { fence },
    events: [{ at: '0s', device: { node: place, fault } }, ...partition],
    expect: fault === 'none' ? end : end.slice(1),
    runFor: '4m',
  });
  const seen = await observe(scenario, {
    onOperator: (operator) => (crash = operator.crash),
    onWorld: (world) =>
      onDevices(world, (_, when) => {
        if (when === 'before') asked += 1;
        if (point?.at === asked - 1 && point.side === when) crash?.();
      }),
  });
  return { seen, asked };
}

const count = { points: 0, run: 0 };

function pointsOf(total: number): CrashPoint[] {
  const all = crashPointsOf(total);
  count.points += all.length;
  const some = all.filter((_, index) => index % stride === 0);
  count.run += some.length;
  return some;
}

describe('an operator that is killed', () => {
  test('[FEN-3] S20: before and after every write: the next one goes on, and the power is cut once', async () => {
    const { writes, seen } = await killedAtWrite(killed);
    assert.deepEqual(failuresOf(seen.report), []);
    onceEach(seen, 'without a crash');
    for (const point of pointsOf(writes.length)) {
      const where = whereOf(point, writes);
      const crashed = await killedAtWrite(killed, point);
      assert.deepEqual(failuresOf(crashed.seen.report), [], where);
      onceEach(crashed.seen, where);
    }
  });

  test('S20: before and during every action of a device: the next one goes on, and the power is cut once', async () => {
    const { asked } = await killedAtDevice();
    assert.ok(asked >= 6);
    for (const point of pointsOf(asked)) {
      const where = `killed ${point.side} request ${point.at + 1} of ${asked}`;
      const crashed = await killedAtDevice(point);
      assert.deepEqual(failuresOf(crashed.seen.report), [], where);
      onceEach(crashed.seen, where);
    }
  });

  after(() => console.log(`crash points of a fence: ${count.run} of ${count.points} run`));
});

/** As the product makes it, but without an election: it always believes that it leads. */
function alwaysLeading({
  number,
  transport,
  clock,
  random,
  log,
  featureGates: gates,
  devices,
  knock,
}: ProgramContext): Program {
  return new Operator({
    client: new KubeClient({ transport, clock, userAgent: 'fenceline', fieldManager: 'fenceline' }),
    clock,
    random,
    log,
    version: '0',
    limits: defaultLimits,
    remedyNamespace: 'fenceline-remedies',
    namespace: operatorNamespace,
    devices,
    knock,
    gates: featureGates(gates),
    identity: `operator-${number}`,
  });
}

describe('operators', () => {
  test('S18, S20: two that both believe they lead: one power cycle', async () => {
    for (const seed of [1, 2, 3]) {
      const seen = await observe(
        fenced('two-leaders', {
          seed,
          cluster: { operators: 2 },
          policy: { fence },
          events: partition,
          expect: [...wellBy('4m')],
          runFor: '4m',
        }),
        { program: alwaysLeading },
      );
      assert.deepEqual(failuresOf(seen.report), [], `seed ${seed}`);
      assert.equal(cutsOf(seen, victimOf(seen)), 1);
      assert.ok(seen.writes.length < 1000, `${seen.writes.length} writes`);
    }
  });

  test('S19, S20: a leader that was paused while it asked the device tells it nothing when it goes on', async () => {
    // Both the time and the network of the first stand still between two answers of the device.
    let paused: (() => void)[] | undefined;
    const options: RunOptions = {
      onWorld: (world, clock) => {
        onDevices(world, () => {});
        for (const bmc of world.bmcs.values()) {
          const request = bmc.request.bind(bmc);
          let first = true;
          bmc.request = async (action, signal) => {
            const answer = await request(action, signal);
            if (first && action === 'status') {
              first = false;
              paused = [];
              await new Promise<void>((resolve) => clock.after(150_000, resolve));
            }
            return answer;
          };
        }
      },
    };
    const seen = await observe(
      fenced('paused', {
        cluster: { operators: 2 },
        policy: { fence },
        events: [
          ...partition,
          { at: '23s', isolateOperator: 1 },
          { at: '23s', isolateOperator: 2 },
          { at: '50s', restoreOperator: 1 },
          { at: '50s', restoreOperator: 2 },
        ],
        expect: wellBy('5m'),
        runFor: '5m',
      }),
      options,
    );
    assert.ok(paused);
    assert.deepEqual(failuresOf(seen.report), []);
    assert.equal(cutsOf(seen, victimOf(seen)), 1);
  });

  test('[STM-2] S21: one that is cut off itself fences nobody', async () => {
    for (const at of ['0s', '5s', '11s', '21200ms', '22s', '23s', '24s']) {
      const seen = await observe(
        fenced(`isolated-${at}`, {
          policy: { fence },
          events: [...partition, { at, isolateOperator: 1 }, { at: '65s', restoreOperator: 1 }],
          expect: [...wellBy('4m')],
          runFor: '4m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), [], at);
      assert.ok(cutsOf(seen, victimOf(seen)) <= 1, at);
    }
  });

  for (const blind of ['sees nothing any more', 'sees what was long ago']) {
    test(`[STM-2] S21: nor does one that ${blind}`, async () => {
      assert.deepEqual(await failuresIn(storyNamed(`judged, by somebody who ${blind}`)), []);
    });
  }

  test('S20: the API server is away in the middle: it goes on afterwards', async () => {
    for (const at of ['21200ms', '21700ms', '22200ms', '22700ms', '23200ms', '24s', '25s']) {
      const seen = await observe(
        fenced(`api-down-${at}`, {
          policy: { fence },
          events: [...partition, { at, apiDown: true }, { at: '40s', apiUp: true }],
          expect: [...wellBy('5m')],
          runFor: '5m',
        }),
      );
      assert.deepEqual(failuresOf(seen.report), [], at);
      assert.ok(cutsOf(seen, victimOf(seen)) <= 1, at);
      assert.ok(
        offsByEpoch(seen).every((times) => times === 1),
        at,
      );
    }
  });

  test('S20: a clock that is wrong or jumps makes no difference', async () => {
    for (const [at, by] of [
      ['0s', '1h'],
      ['0s', '-1h'],
      ['22s', '10m'],
      ['22s', '-10m'],
      ['25s', '1h'],
    ] as const) {
      const seen = await observe(
        fenced(`clock-${by}-at-${at}`, {
          policy: { fence },
          events: [...partition, { at, clockSkew: { operator: 1, by } }],
          expect: [elsewhere('34s'), fenceIs('3m', 'final'), ...wellBy('3m')],
        }),
      );
      assert.deepEqual(failuresOf(seen.report), [], `${by} at ${at}`);
      onceEach(seen, `${by} at ${at}`);
    }
  });
});
