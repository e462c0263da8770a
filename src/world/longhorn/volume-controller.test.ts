import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { VirtualClock } from '../time/virtual-clock.ts';
import type { TrueReplica, TrueVolume } from './truth.ts';
import { Truth } from './truth.ts';
import type { Intent, Surroundings } from './volume-controller.ts';
import { nextIntent } from './volume-controller.ts';

describe('the volume controller', () => {
  let truth: Truth;
  let volume: TrueVolume;
  let down: Set<string>;
  let cordoned: Set<string>;
  let asked: Set<string>;
  let place: string | undefined;
  let nowMs: number;

  function next(): Intent | undefined {
    const around: Surroundings = {
      nowMs,
      serves: (node) => !down.has(node),
      isCordoned: (node) => cordoned.has(node),
      isAskedToLeave: ({ name }) => asked.has(name),
      placeFor: () => place,
      replenishWaitMs: 600_000,
    };
    return nextIntent(volume, around);
  }

  function replica(node: string, change: Partial<TrueReplica> = {}): TrueReplica {
    return Object.assign(truth.addReplica(volume, `on-${node}`, node, true), { running: true }, change);
  }

  function told(intent: Intent | undefined): string {
    if (intent === undefined) return 'nothing';
    return `${intent.do} ${'replica' in intent ? intent.replica.node : 'node' in intent ? intent.node : ''}`.trim();
  }

  beforeEach(() => {
    const clock = new VirtualClock();
    nowMs = clock.now();
    truth = new Truth(clock);
    volume = truth.addVolume({ name: 'v', sizeBytes: 1, wanted: 2, attachedTo: 'a' });
    volume.engineOn = 'a';
    down = new Set();
    cordoned = new Set();
    asked = new Set();
    place = 'c';
  });

  test('leaves a volume alone that has what it wants', () => {
    replica('a');
    replica('b');
    assert.equal(told(next()), 'nothing');
  });

  test('makes an extra copy for one that is asked to leave, and lets it go when that is whole', () => {
    replica('a');
    replica('b');
    asked.add('on-a');
    assert.equal(told(next()), 'build c');
    const extra = truth.addReplica(volume, 'on-c', 'c', false);
    assert.equal(told(next()), 'nothing', 'it waits for the copy');
    Object.assign(extra, { state: 'healthy', running: true });
    assert.equal(told(next()), 'delete a');
  });

  test('a request that is taken back leaves what was begun', () => {
    replica('a');
    replica('b');
    const extra = truth.addReplica(volume, 'on-c', 'c', false);
    assert.equal(told(next()), 'nothing');
    Object.assign(extra, { state: 'healthy', running: true });
    assert.equal(told(next()), 'nothing', 'one more than wanted stays');
  });

  test('lets nothing go that cannot be replaced', () => {
    replica('a');
    replica('b');
    asked.add('on-a');
    place = undefined;
    assert.equal(told(next()), 'nothing');
  });

  test('uses a volume that nobody uses for as long as a copy has to move', () => {
    delete volume.attachedTo;
    delete volume.engineOn;
    replica('a', { running: false });
    replica('b', { running: false });
    asked.add('on-a');
    assert.equal(told(next()), 'use');
    place = undefined;
    assert.equal(told(next()), 'nothing', 'it cannot move');
    asked.clear();
    volume.engineOn = 'a';
    assert.equal(told(next()), 'rest');
  });

  test('a copy whose process is gone has failed, and is waited for before another one is made', () => {
    replica('a');
    const lost = replica('b');
    down.add('b');
    assert.equal(told(next()), 'fail b');
    truth.fail(lost);
    assert.equal(told(next()), 'nothing');
    nowMs += 600_000;
    assert.equal(told(next()), 'build c');
    down.clear();
    assert.equal(told(next()), 'repair b', 'it is back');
    cordoned.add('b');
    assert.equal(told(next()), 'build c', 'but its node is on its way out');
  });

  test('a rebuild ends with the last copy that it could come from', () => {
    const source = replica('a');
    truth.addReplica(volume, 'on-c', 'c', false);
    down.add('a');
    assert.equal(told(next()), 'fail a');
    truth.fail(source);
    assert.equal(told(next()), 'fail c');
  });

  test('salvages only what failed last', () => {
    replica('a', { state: 'failed', failedAtMs: 1, running: false });
    replica('b', { state: 'failed', failedAtMs: 2, running: false });
    down.add('b');
    assert.notEqual(told(next()), 'salvage a');
    down.clear();
    assert.equal(told(next()), 'salvage b');
  });

  test('the engine goes on elsewhere when its node has lost it', () => {
    replica('b');
    down.add('a');
    assert.deepEqual(next(), { do: 'use', engineOn: 'b' });
  });
});

describe('what is on the disks', () => {
  test('a copy out of use is behind from the next write on, and a rebuilt one is not', async () => {
    const clock = new VirtualClock();
    const truth = new Truth(clock);
    const volume = truth.addVolume({ name: 'v', sizeBytes: 1, wanted: 2, attachedTo: 'a' });
    volume.engineOn = 'a';
    const [a, b] = ['a', 'b'].map((node) => truth.addReplica(volume, node, node, true));
    assert.ok(a !== undefined && b !== undefined);
    a.running = b.running = true;
    await clock.runFor(1000);
    assert.equal(truth.report('v')?.dataIntact, true);
    assert.deepEqual(a.content, b.content);
    truth.fail(b);
    await clock.runFor(1000);
    assert.deepEqual(truth.report('v'), {
      volume: 'v',
      robustness: 'degraded',
      replicasOn: ['a', 'b'],
      healthyOn: ['a'],
      attached: true,
      dataIntact: true,
    });
    assert.notDeepEqual(a.content, b.content);
    truth.fail(a);
    truth.heal(b);
    assert.equal(truth.report('v')?.dataIntact, false, 'the stale copy alone is not the data');
    truth.heal(a);
    truth.complete(volume, b);
    assert.equal(truth.report('v')?.robustness, 'healthy');
    truth.remove(a);
    assert.equal(truth.report('v')?.dataIntact, true);
    assert.equal(truth.report('x'), undefined);
  });
});
