import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aStored, entryOf, minutesAgo } from '../../test/support/fenced-case.ts';
import { aFence, anIncident, aRemedy, inForce, nowMs } from '../../test/support/release-case.ts';
import { pulse, secondsAgo, SharedStage, silent } from '../../test/support/shared-stage.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { LadderThreshold, NodeCase } from '../api/release-view.ts';
import type { NodeCondition } from '../api/view.ts';
import type { Age } from './roll.ts';

const policy = inForce({ podsPerMinute: 10 });
const gone = { recordedMs: nowMs - 5000, goneMs: nowMs, pods: 4 };

describe('what all nodes share', () => {
  test('[STM-4] pods that one node has let go are no allowance of another, and count once when they are on record', () => {
    const stage = new SharedStage();
    assert.equal(stage.complete({ policy }).allowance?.pods, 10);
    stage.claim({ name: 'a' }, { pods: 4 });
    assert.equal(stage.complete({ policy }).allowance?.pods, 6);
    stage.claim({ name: 'b' }, { pods: 4 });
    assert.equal(stage.complete({ policy }).allowance?.pods, 2);
    stage.released = new Map([
      ['a', [gone]],
      ['b', [gone]],
    ]);
    assert.equal(stage.complete({ policy }).allowance?.pods, 2);
    stage.shared.forget('a');
    assert.equal(stage.complete({ policy }).allowance?.pods, 2, 'they have gone all the same');
    assert.ok(!('allowance' in stage.complete({ policy: { kind: 'none' } })));
  });

  test('[STM-4] a slot is taken by what is decided, and by what is on record', () => {
    const stage = new SharedStage(['node-1', 'a', 'b', 'c']);
    const slots = (): string[][] => {
      const { fencing, remedying } = stage.complete().count;
      return [fencing.toSorted(), remedying.toSorted()];
    };
    assert.deepEqual(slots(), [[], []]);
    stage.claim({ name: 'a' }, { fence: true });
    stage.claim({ name: 'b' }, { remedy: true });
    assert.deepEqual(slots(), [['a'], ['b']]);
    stage.records.fencing = ['c'];
    stage.records.remedying = ['a'];
    assert.deepEqual(slots(), [
      ['a', 'c'],
      ['a', 'b'],
    ]);
    stage.shared.forget('a');
    assert.deepEqual(slots()[0], ['c']);
    stage.cutting = ['d'];
    assert.deepEqual(slots()[0], ['c', 'd'], 'its device is being told, and that is on no record yet');
    stage.records.told = ['d'];
    assert.deepEqual(slots()[0], ['c'], 'what was told is on record, and with it whether it still fences');
  });

  test('[STM-1] everybody is counted as they are now, or once a second for all that are content with that', () => {
    const stage = new SharedStage();
    const { policy } = stage.complete();
    const troubled = (age: Age): number => stage.complete({ policy }, age).count.troubled;
    stage.fall('a');
    assert.deepEqual([troubled('lately'), troubled('now')], [2, 2]);
    stage.fall('b');
    assert.deepEqual([troubled('lately'), troubled('now')], [2, 3]);
    stage.clock.advance(999);
    assert.equal(troubled('lately'), 2);
    stage.clock.advance(1);
    assert.equal(troubled('lately'), 3);
  });

  test('[STM-1] everybody is counted as they are now also where there are hundreds', () => {
    const stage = new SharedStage(Array.from({ length: 500 }, (_, index) => (index === 0 ? 'node-1' : `n${index}`)));
    assert.ok(stage.shared.hasMany);
    const seen = (): number[] => {
      const { count, beside } = stage.complete({}, 'now');
      return [count.nodes, beside?.silent.length ?? 0];
    };
    assert.deepEqual(seen(), [500, 0]);
    stage.fall('n1');
    assert.deepEqual(seen(), [500, 1]);
    stage.nodes.delete('n2');
    assert.deepEqual(seen(), [499, 1]);
  });

  test('[STM-1] who is counted once for many is counted by the policy of each', () => {
    const broken: NodeCondition = { type: 'DiskBroken', status: 'True', reason: '', since: minutesAgo(9) };
    const by = (type: string): NodeCase['policy'] => {
      const condition = { type, status: 'True', forMs: 0 };
      const threshold = { key: type, condition, remedies: [{ name: 'off' }] } as unknown as LadderThreshold;
      return inForce({ name: type, remedy: aRemedy({ thresholds: [threshold], kinds: { off: 'fence' } }) });
    };
    const [disk, fan] = [by('DiskBroken'), by('FanBroken')];
    const stage = new SharedStage();
    stage.add('a', { conditions: [broken] });
    const told = (of: NodeCase['policy']): Record<string, number> => {
      const { byThreshold } = stage.complete({ policy: of }, 'lately').count;
      return Object.fromEntries(Object.entries(byThreshold).map(([key, { troubled }]) => [key, troubled]));
    };
    assert.deepEqual(told(fan), {});
    assert.deepEqual(told(disk), { DiskBroken: 1 });
  });

  test('[STM-1] whoever is being fenced, or was, is in trouble, though it was heard of', () => {
    const stage = new SharedStage();
    assert.equal(stage.complete().count.troubled, 1);
    stage.records.fenced = ['a'];
    assert.equal(stage.complete().count.troubled, 2);
    stage.claim({ name: 'b' }, { fence: true });
    assert.equal(stage.complete().count.troubled, 3);
  });

  test('[STM-1] of whom nobody knows is told from who is silent, and neither is well', () => {
    const stage = new SharedStage();
    stage.verdicts.delete('a');
    stage.leases.set('b', pulse({ unchangedForMs: 12_000 }));
    stage.fall('c');
    const { troubled, unjudged } = stage.complete().count;
    assert.deepEqual([troubled, unjudged], [4, 2]);
  });

  test('[STM-8] who is of the control plane, or has etcd, is counted apart', () => {
    const stage = new SharedStage(['a', 'b', 'c']);
    stage.add('node-1', { isControlPlane: true });
    stage.add('a', { isControlPlane: true });
    stage.add('b', { isEtcd: true });
    const quorums = stage.complete().count.quorums?.map(({ of, nodes }) => [of, nodes]);
    assert.deepEqual(quorums, [['the control plane', 2]]);
    stage.add('node-1', { isEtcd: true });
    const etcd = stage.complete().count.quorums?.map(({ of, nodes }) => [of, nodes]);
    assert.deepEqual(etcd, [['etcd', 2]]);
  });

  test('[STM-7] when another one was last cut is now, while one is being cut, and otherwise as it is on record', () => {
    const stage = new SharedStage();
    assert.ok(!('fencedAtMs' in stage.complete().count));
    stage.fencedSince = [nowMs - 50_000, nowMs - 20_000, nowMs - 30_000];
    assert.equal(stage.complete().count.fencedAtMs, nowMs - 20_000);
    stage.claim({ name: 'a' }, { fence: true });
    assert.equal(stage.complete().count.fencedAtMs, nowMs);
  });

  test('what is going on here is in the case, and whether it is our own node', () => {
    const stage = new SharedStage();
    const { identity, namespace, unsent, own } = stage.complete() as ReturnType<SharedStage['complete']> & {
      unsent: unknown;
    };
    assert.deepEqual([identity, namespace, unsent, own], ['me', 'fenceline', 'kept', undefined]);
    stage.own = { node: 'a', handOver: 'possible' };
    assert.ok(!('own' in stage.complete()));
    stage.own = { node: 'node-1', handOver: 'tooSoon' };
    assert.deepEqual(stage.complete().own, { handOver: 'tooSoon' });
  });

  test('[STM-2] where we stand: on a node that is silent, or was, or in the only zone that is heard of', () => {
    const stage = new SharedStage([]);
    for (const zone of ['x', 'y', 'z']) stage.add(zone, { zone });
    assert.ok(!('standpoint' in stage.complete({ name: 'y' }).count), 'nobody knows where');
    stage.own = { node: 'x', handOver: 'possible' };
    assert.deepEqual(stage.complete({ name: 'y' }).count.standpoint, {});
    stage.fall('y');
    stage.fall('z');
    assert.deepEqual(stage.complete({ name: 'y' }).count.standpoint, { zone: 'x' });
    stage.judge('z', 'healthy');
    stage.leases.set('z', pulse());
    stage.leases.set('x', silent);
    assert.deepEqual(stage.complete({ name: 'y' }).count.standpoint, { silent: stage.own });
    stage.leases.set('x', pulse({ backForMs: 5000 }));
    assert.deepEqual(stage.complete({ name: 'y' }).count.standpoint, { silent: stage.own });
    stage.leases.delete('x');
    assert.deepEqual(stage.complete({ name: 'y' }).count.standpoint, {}, 'of which nothing is known');
  });
});

describe('[STM-1] a storm', () => {
  const sign = { sinceMs: nowMs - 60_000, nodes: 4, troubled: 3, policy: 'release' };
  const stored = { since: secondsAgo(60), nodes: 4, troubled: 3 };
  const strict = inForce({ remedy: aRemedy({ storm: { maxUnresponsive: 3, maxConcurrent: 1, cooldownMs: 0 } }) });
  const status = { incident: anIncident(), storm: stored };

  test('is what is on record of others, of the node itself, or was decided here and is on no record any more', () => {
    const stage = new SharedStage();
    assert.deepEqual(stage.complete().count.stormOf, undefined);
    stage.storms = [{ ...sign, node: 'a' }];
    assert.deepEqual(stage.complete().count.stormOf, ['a']);
    assert.deepEqual(stage.complete({ fence: aFence(status) }).count.stormOf, ['a', 'node-1']);
    stage.storms = [];
    stage.claim({ name: 'b', fence: aFence(status) }, {});
    const { storm, stormOf } = stage.complete().count;
    assert.deepEqual([stormOf, storm?.sinceMs, storm?.nodes], [['b'], nowMs - 60_000, 4]);
    stage.shared.close();
    assert.deepEqual(stage.complete().count.stormOf, undefined);
  });

  test('by a decision is what is about to be written, and not what was on record', () => {
    const stage = new SharedStage();
    const record = { status: aFence({ storm: { ...stored, endedAt: secondsAgo(5) } }).status };
    stage.claim({ name: 'b', fence: aFence(status) }, {}, record);
    const { storm, stormEndedMs } = stage.complete().count;
    assert.deepEqual([storm, stormEndedMs], [undefined, nowMs - 5000]);
  });

  test('of which enough others say so on record is remembered of who has no record, and these are counted by zone', () => {
    const stage = new SharedStage();
    assert.equal(stage.complete().count.witnesses, undefined);
    const ended = { ...sign, endedMs: nowMs - 5000 };
    stage.storms = [
      { ...sign, node: 'a', zone: 'x', isTold: true },
      { ...sign, node: 'b', isTold: true },
      { ...ended, node: 'c', zone: 'x', isTold: true },
    ];
    assert.deepEqual(stage.complete().count.witnesses, { nodes: 2, zones: { x: 1, '': 1 } });
    stage.claim({ name: 'd' }, {}, undefined, stored);
    const { stormOf, witnesses } = stage.complete().count;
    assert.deepEqual(stormOf, ['a', 'b', 'c', 'd']);
    assert.equal(witnesses?.nodes, 2, 'whose records are there');
  });

  test('is said by nobody whose record says something else, though it is in it too', () => {
    const stage = new SharedStage();
    stage.storms = [{ ...sign, node: 'a', zone: 'x' }];
    const { storm, witnesses } = stage.complete().count;
    assert.deepEqual([storm?.sinceMs, witnesses], [sign.sinceMs, undefined]);
  });

  test('of one that nobody attends to any more is over', () => {
    const stage = new SharedStage();
    stage.claim({ name: 'b', fence: aFence(status) }, {});
    stage.shared.forget('b');
    const { storm, stormEndedMs } = stage.complete().count;
    assert.deepEqual([storm, stormEndedMs], [undefined, nowMs]);
  });

  test('by another policy alone is none, but what the node itself is in is one', () => {
    const stage = new SharedStage();
    stage.storms = [{ ...sign, node: 'a', policy: 'other' }];
    assert.deepEqual(stage.complete({ policy: strict }).count.stormOf, undefined, 'three are not too many');
    assert.deepEqual(stage.complete({ policy: strict, fence: aFence(status) }).count.stormOf, ['node-1']);
    stage.storms = [{ ...sign, node: 'a' }];
    assert.deepEqual(stage.complete({ policy: strict }).count.stormOf, ['a'], 'its own policy has called it one');
    stage.storms = [];
    stage.claim({ name: 'b', fence: aFence(status), policy: { kind: 'none' } }, {});
    assert.deepEqual(stage.complete({ policy: strict }).count.stormOf, undefined, 'under no policy');
    stage.claim({ name: 'b', fence: aFence(status), policy: strict }, {});
    assert.deepEqual(stage.complete({ policy: strict }).count.stormOf, ['b'], 'under the same');
    assert.deepEqual(
      stage.complete({ policy: { kind: 'none' } }).count.stormOf,
      ['b'],
      'by what holds where none does',
    );
  });

  test('counts who was there when it began, and not who has joined since', () => {
    const stage = new SharedStage();
    stage.storms = [{ ...sign, node: 'a', nodes: 5 }];
    stage.add('d', { createdAt: secondsAgo(10) });
    const { nodes, troubled, isAsItBegan } = stage.complete().count;
    assert.deepEqual([nodes, troubled, isAsItBegan], [5, 2, true]);
  });

  test('[STM-1, STM-6] whoever was there when it began and is made again is no stranger, until it is over', () => {
    const stage = new SharedStage();
    stage.storms = [{ ...sign, node: 'a' }];
    assert.equal(stage.complete().count.nodes, 4);
    stage.add('b', { createdAt: secondsAgo(10) });
    assert.deepEqual([stage.complete().count.nodes, stage.complete().count.troubled], [4, 1]);
    stage.storms = [];
    stage.complete();
    stage.storms = [{ ...sign, node: 'a' }];
    assert.equal(stage.complete().count.troubled, 2, 'that was another one');
  });

  test('[STM-1, STM-6] an end by a clock that was ahead was when that was first seen; one before a clock was set is as long ago', () => {
    const stage = new SharedStage();
    const endedMs = nowMs + 3_600_000;
    stage.storms = [{ ...sign, node: 'a', endedMs }];
    assert.equal(stage.complete().count.stormEndedMs, nowMs);
    stage.clock.advance(30_000);
    assert.equal(stage.complete({ serverNowMs: nowMs + 30_000 }).count.stormEndedMs, nowMs);
    stage.storms = [{ ...sign, node: 'a', endedMs: endedMs + 1 }];
    assert.equal(stage.complete({ serverNowMs: nowMs + 30_000 }).count.stormEndedMs, nowMs + 30_000, 'another one');
    const earlier = { ...sign, node: 'a', endedMs: nowMs - 120_000 };
    stage.storms = [earlier, { ...sign, node: 'a', endedMs }];
    assert.equal(stage.complete({ serverNowMs: nowMs + 30_000 }).count.stormEndedMs, nowMs, 'whatever else is known');
    stage.storms = [{ ...sign, node: 'a', endedMs: nowMs - 1000 }];
    stage.leaptMs = 60_000;
    assert.equal(stage.complete({ serverNowMs: nowMs + 90_000 }).count.stormEndedMs, nowMs + 59_000);
  });
});

describe('[SAF-17] who waits for another one that is silent', () => {
  test('goes on when it is heard of, or when its Node is gone, and not by what else happens to it', () => {
    const stage = new SharedStage();
    stage.fall('a');
    stage.complete();
    stage.shared.touched('a', 'node');
    stage.shared.touched('b', 'lease');
    assert.deepEqual(stage.woken, []);
    stage.leases.set('a', pulse());
    stage.shared.touched('a', 'lease');
    assert.deepEqual(stage.woken, ['node-1']);
    stage.fall('a');
    stage.nodes.delete('a');
    stage.shared.touched('a', 'node');
    assert.deepEqual(stage.woken, ['node-1', 'node-1']);
  });

  test('goes on when an outlet of it says off that one of its two fences has not heard of', () => {
    const stage = new SharedStage();
    stage.fall('a');
    const rehearsed = { ...aStored('waiting'), startedAt: secondsAgo(580) };
    const rehearsal = { incident: 'i', steps: [], ladders: [], pods: [], fence: rehearsed } as object;
    const status = { incident: anIncident({ startedAt: secondsAgo(540) }), rehearsal };
    const dry = { policy: inForce({ mode: 'DryRun' }), fence: aFence(status as Partial<NodeFenceStatus>) };
    const sides = (): unknown[] => {
      const { beside, rehearsed } = stage.complete(dry);
      return [beside, rehearsed?.beside].map((side) => side?.silent.map(({ isOff }) => isOff));
    };
    stage.offForMs.set('a', 560_000);
    assert.deepEqual(sides(), [[false], [true]]);
    stage.memory.onOff('a');
    assert.deepEqual(stage.woken, ['node-1']);
    stage.offForMs.set('a', 1000);
    assert.deepEqual(sides(), [[true], [true]]);
    stage.memory.onOff('a');
    assert.deepEqual(stage.woken, ['node-1'], 'it is no news that it is off');
  });
});

describe('how a node is fenced', () => {
  const cut = aStored('off', { switched: [entryOf('power-management')] });

  test('is known of one that is there, and of one that is gone while something of it is cut', () => {
    const stage = new SharedStage();
    const levels = (nodeCase: ReturnType<SharedStage['complete']>): number | undefined =>
      nodeCase.config.ok ? nodeCase.config.config.powerManagement.length : undefined;
    assert.equal(levels(stage.complete()), 1);
    assert.equal(levels(stage.completeGone()), 0);
    assert.equal(levels(stage.completeGone({ fence: aFence({ fence: cut }) })), 1);
    assert.equal(levels(stage.completeGone({ fence: aFence({ fence: aStored('waiting') }) })), 0);
    assert.deepEqual(stage.complete().trouble.conditions, []);
  });

  test('is told to who weighs the words of its devices, unless nobody can read it', () => {
    const stage = new SharedStage();
    stage.complete();
    assert.deepEqual(stage.configured, ['node-1']);
    stage.maps = [{ name: 'fence-config-node-1', data: { config: '{' } }];
    assert.equal(stage.complete().config.ok, false);
    assert.deepEqual(stage.configured, ['node-1']);
  });

  test('[FEN-8] which of its ports nobody can know to be its own is in the case', () => {
    const stage = new SharedStage();
    assert.ok(!('unshownPorts' in stage.complete()));
    stage.unshown = new Set(['fc-off']);
    assert.equal(stage.complete().unshownPorts?.length, 1);
    stage.unshown = new Set(['ipmi-off']);
    assert.ok(!('unshownPorts' in stage.complete()), 'its power is no port');
  });
});
