import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import { holdsSlot } from '../api/facts.ts';
import { commandKey } from '../api/task.ts';
import type { FenceCase, FenceDecision } from './decide-fence.ts';
import { decideFence, fenceOutcome } from './decide-fence.ts';
import { tryKey, underWay } from './place.ts';
import type { TaskNews } from './state.ts';
import type { StoredFence } from './stored.ts';
import { stateOf } from './stored.ts';

const method = (name: string, action: Method['action']): Method => ({
  name,
  action,
  driver: 'built-in',
  parameters: {},
  secrets: [],
});
const config: FenceConfig = {
  isolation: [],
  powerManagement: [{ off: [method('pdu-off', 'off')], on: [method('pdu-on', 'on')] }],
  recovery: [],
};
const limits = { isolateAfterMs: 0, powerManagementAfterMs: 0, bootTimeoutMs: 60_000, retries: 1, restarts: 0 };
const nowMs = Date.parse('2026-01-01T00:00:00Z');
const base: FenceCase = {
  nowMs,
  status: undefined,
  isWanted: true,
  isCalledFor: true,
  cleanResources: true,
  bootId: 'boot-1',
  config: { ok: true, config },
  limits,
  isBack: false,
  isHarmless: true,
  isReleased: false,
  isWorthIt: true,
  isFoundOff: false,
  isAliveSince: false,
  isStopped: false,
  isPaused: false,
};

type Entry = StoredFence['switched'][number];

interface Change extends Omit<Partial<FenceCase>, 'task'> {
  fence?: StoredFence | undefined;
  /** The answer of the method that the fence is about. */
  task?: TaskNews;
}

function decide({ fence, task, ...rest }: Change): FenceDecision {
  const status = fence === undefined ? undefined : { ...EMPTY_STATUS, fence };
  const answer = fence && task && { task: { ...task, key: keyFor(fence, rest.config ?? base.config) } };
  return decideFence({ ...base, status, ...rest, ...answer });
}

function keyFor(fence: StoredFence, by: FenceCase['config']): string {
  const state = stateOf(fence);
  return tryKey(state, (by.ok ? underWay(state, by.config) : undefined) ?? assert.fail());
}

const poweringOff = decide({}).fence;
const off = decide({ fence: poweringOff, task: { outcome: 'succeeded', message: 'off', told: true } }).fence;
const brake = { reason: 'StormLimit', message: '2 of 3 nodes' };
const waiting = decide({ brake }).fence;

describe('the next step of a fence', () => {
  test('nobody wants one: there is none', () => {
    assert.deepEqual(decide({ isWanted: false }), { isCancelled: false });
  });

  test('[FEN-3] goes as far as it can in one look, and says what runs', () => {
    assert.equal(poweringOff?.phase, 'poweringOff');
    assert.ok(poweringOff?.switched[0]?.commandSentAt);
    assert.equal(decide({}).run?.name, 'pdu-off');
  });

  test('the answer of a method counts once, for the state that it was asked in', () => {
    const failed = decide({ fence: poweringOff, task: { outcome: 'failed', message: 'refused' } });
    assert.deepEqual([failed.fence?.phase, failed.fence?.retries], ['poweringOff', 1]);
    assert.equal(failed.fence?.message, 'refused');
    assert.equal(failed.run, undefined, 'not at once');
    assert.equal(failed.recheckAtMs, nowMs + 10_000);
    const again = decide({ fence: failed.fence, nowMs: nowMs + 10_000 });
    assert.equal(again.run?.name, 'pdu-off');
    const last = decide({ fence: failed.fence, task: { outcome: 'unknown', message: 'silence' } });
    assert.deepEqual([last.fence?.phase, last.fence?.status, last.fence?.message], ['failed', 'error', 'silence']);
    assert.equal(fenceOutcome(last, limits), 'failed');
  });

  test('[FEN-10] off waits for the release, then on; switched on by others it has the time of a boot, and is not cut meanwhile', () => {
    assert.equal(off?.phase, 'off');
    assert.equal(decide({ fence: off }).run, undefined);
    assert.equal(decide({ fence: off, isReleased: true }).run?.name, 'pdu-on');
    const on = decide({ fence: off, onAgain: 'it says on' });
    assert.deepEqual([on.fence?.phase, on.fence?.message, on.run], ['booting', 'it says on', undefined]);
    assert.equal(decide({ fence: off, onAgain: 'it says on', bootId: 'boot-2' }).fence?.phase, 'booting');
  });

  test('[SAF-5, SAF-18] S40: what was off and says on by the time that it is heard is not off, and has the time of a boot as well', () => {
    const task = { outcome: 'succeeded', message: 'off', told: true, onAgain: 'it says on' } as const;
    const on = decide({ fence: poweringOff, task });
    assert.deepEqual([on.fence?.phase, on.fence?.message, on.run], ['booting', 'it says on', undefined]);
    assert.deepEqual(on.fence?.switched, []);
    const found = { ...poweringOff!, switched: [] };
    assert.equal(decide({ fence: found, task: { ...task, told: false } }).fence?.phase, 'booting');
    const ports: FenceConfig = {
      ...config,
      isolation: [{ off: [method('fc-off', 'off')], on: [method('fc-on', 'on')] }],
    };
    const by = { ok: true, config: ports } as const;
    const isolating = decide({ config: by }).fence;
    assert.equal(isolating?.phase, 'isolating');
    const open = decide({ config: by, fence: isolating, task });
    assert.deepEqual([open.fence?.phase, open.fence?.retries, open.fence?.message], ['isolating', 1, 'it says on']);
    assert.equal(open.fence?.switched[0]?.confirmedAt, undefined);
    const { onAgain: _, ...closed } = task;
    assert.equal(decide({ config: by, fence: isolating, task: closed }).fence?.phase, 'poweringOff');
  });

  test('S4: Ready alone does not end the boot: the kubelet of another boot does', () => {
    const booting = { ...off!, phase: 'booting' as const };
    assert.equal(decide({ fence: booting, isBack: true }).fence?.phase, 'booting');
    assert.equal(decide({ fence: booting, isBack: true, bootId: 'boot-2' }).fence?.phase, 'finished');
    assert.equal(decide({ fence: booting, bootId: 'boot-2' }).fence?.phase, 'booting', 'it is on its way');
  });

  test('[FEN-13] nor is a boot waited for that has come and gone while the fence was stopped', () => {
    const lost = { isLostAgain: true, bootId: 'boot-2' };
    for (const phase of ['poweringOff', 'off', 'poweringOn', 'booting'] as const) {
      assert.equal(decide({ fence: { ...off!, phase }, ...lost }).fence?.phase, 'finished', phase);
    }
    assert.equal(decide({ fence: { ...off!, phase: 'booting' }, ...lost, bootId: 'boot-1' }).fence?.phase, 'booting');
  });

  test('S21: braked, nothing is begun, and it says why; what was begun goes on', () => {
    const held = decide({ brake });
    assert.deepEqual([held.fence?.phase, held.run, held.hold], ['waiting', undefined, brake]);
    assert.deepEqual(held.fence?.switched, []);
    const unsent = commandKey('pdu-off', poweringOff?.switched[0]?.commandSentAt ?? '');
    const begun = decide({ fence: poweringOff, brake, unsent });
    assert.deepEqual([begun.run?.name, begun.hold], ['pdu-off', undefined]);
    const again = decide({ fence: poweringOff, brake, unsent, nowMs: nowMs + 10_000 });
    assert.deepEqual([again.run, again.hold], [undefined, brake], 'to tell it again is another cut');
    const another = decide({ fence: poweringOff, brake });
    assert.deepEqual(
      [another.run, another.hold],
      [undefined, brake],
      'and so is to tell what another process has recorded',
    );
    assert.equal(decide({ fence: poweringOff }).run?.name, 'pdu-off', 'which nothing holds back');
    const isBack = decide({ fence: poweringOff, brake, isBack: true, nowMs: nowMs + 10_000 });
    assert.equal(isBack.hold, undefined, 'it would not be told without the brake either');
  });

  test('[FEN-4] S23: cancelled while nothing was begun: the node is back, or nobody wants it any more', () => {
    assert.equal(decide({ fence: waiting, isBack: true }).isCancelled, true);
    assert.equal(decide({ fence: waiting, isWanted: false }).isCancelled, true);
    assert.equal(decide({ fence: poweringOff, isWanted: false }).run?.name, 'pdu-off');
    assert.equal(fenceOutcome({ isCancelled: true }, limits), 'succeeded');
  });

  test('[FEN-7] what cannot be done is an error with file, key and reason, and nothing runs', () => {
    const problems = [{ file: 'fence-config-a', key: 'isolation', reason: 'no such method' }];
    const broken = decide({ config: { ok: false, problems } });
    assert.deepEqual(
      [broken.fence?.status, broken.fence?.message, broken.run],
      ['error', 'fence-config-a isolation: no such method', undefined],
    );
    assert.equal(decide({ config: { ok: false, problems }, fence: broken.fence, isBack: true }).isCancelled, true);
  });

  test('[SAF-8, FEN-4] the node is back: what may have been sent has its time to show first', () => {
    const stays = decide({ fence: poweringOff, isBack: true, nowMs: nowMs + 89_000 });
    assert.deepEqual([stays.fence?.phase, stays.run, stays.recheckAtMs], ['poweringOff', undefined, nowMs + 90_000]);
    assert.equal(holdsSlot('fence', { status: stays }), true);
    const free = decide({ fence: poweringOff, isBack: true, nowMs: nowMs + 90_000 });
    assert.deepEqual([free.fence?.phase, free.run, free.recheckAtMs], ['poweringOff', undefined, nowMs + 180_000]);
    assert.match(free.fence?.waitsFor ?? '', /^the node is back, and its device may still do what it was told/u);
    assert.equal(holdsSlot('fence', { status: free }), false, 'nobody else waits for that (S41)');
    assert.equal(decide({ fence: poweringOff, isBack: true, nowMs: nowMs + 179_000 }).fence?.phase, 'poweringOff');
    const over = decide({ fence: poweringOff, isBack: true, nowMs: nowMs + 180_000 });
    assert.deepEqual([over.fence?.phase, over.run?.name], ['recovering', 'pdu-on'], 'and is not left as it is');
    const cut = { ok: true, config: { ...config, isolation: [{ off: [method('fc-off', 'off')], on: [] }] } } as const;
    const isolating = decide({ config: cut }).fence;
    assert.equal(isolating?.phase, 'isolating');
    const waits = decide({ config: cut, fence: isolating, isBack: true, nowMs: nowMs + 179_000 });
    assert.deepEqual([waits.fence?.phase, waits.run, waits.recheckAtMs], ['isolating', undefined, nowMs + 180_000]);
    const late = decide({ config: cut, fence: isolating, isBack: true, nowMs: nowMs + 180_000 });
    assert.deepEqual([late.fence?.phase, late.run?.action], ['recovering', 'on']);
  });

  test('[SAF-19] what would leave a machine off that was found so says nothing of one that we have cut', () => {
    const staysOff = 'others have the node cordoned';
    assert.equal(decide({ fence: off, isReleased: true, staysOff }).run?.name, 'pdu-on');
    const found = decide({ fence: poweringOff, task: { outcome: 'succeeded', message: 'off', told: false } }).fence;
    const left = decide({ fence: found, isReleased: true, staysOff });
    assert.deepEqual([left.fence?.phase, left.run], ['off', undefined]);
    assert.match(left.fence?.waitsFor ?? '', /was found off, and stays so: others/);
    assert.equal(decide({ fence: found, isReleased: true }).run?.name, 'pdu-on');
    assert.equal(decide({ fence: found, isPaused: true }).run, undefined, 'a pause gives back what we have taken');
    assert.equal(decide({ fence: off, isPaused: true }).run?.name, 'pdu-on');
  });

  test('[SAF-12, FEN-10] what was on already when it is switched on boots; under a pause it has never been off', () => {
    const on = decide({ fence: off, isReleased: true }).fence;
    assert.equal(on?.phase, 'poweringOn');
    const wasOn = { outcome: 'succeeded', message: 'on', told: false } as const;
    assert.equal(decide({ fence: on, task: wasOn }).fence?.phase, 'booting', 'and is not cut once more');
    const paused = decide({ fence: on, task: wasOn, isPaused: true }).fence;
    assert.deepEqual([paused?.phase, paused?.switched], ['waiting', []]);
  });

  test('[SAF-5] a device that is added while the machine is off has to be off as well before anything goes', () => {
    const [level] = config.powerManagement;
    const both = { ...config, powerManagement: [{ ...level!, off: [...level!.off, method('psu-off', 'off')] }] };
    const added = decide({ fence: off, config: { ok: true, config: both }, isReleased: true });
    assert.deepEqual([added.fence?.phase, added.run?.name], ['poweringOff', 'psu-off']);
    const confirmed = { outcome: 'succeeded', message: 'off', told: true } as const;
    const covered = decide({ fence: added.fence, config: { ok: true, config: both }, task: confirmed });
    assert.deepEqual([covered.fence?.phase, covered.fence?.switched.length], ['off', 2]);
  });

  test('[SAF-3] a node that lives on was never off: what was told gets its power back, what was found off is over', () => {
    const alive = decide({ fence: off, isAliveSince: true });
    assert.deepEqual([alive.fence?.phase, alive.run?.name], ['poweringOn', 'pdu-on']);
    const asked = decide({ isFoundOff: true });
    assert.deepEqual([asked.run?.name, asked.isQuestion, asked.fence?.switched], ['pdu-off', true, []]);
    const found = decide({ fence: asked.fence, task: { outcome: 'succeeded', told: false } }).fence;
    assert.deepEqual([found?.phase, found?.switched[0]?.commandSentAt], ['off', undefined]);
    assert.equal(decide({ fence: found, isAliveSince: true }).isCancelled, true);
  });

  test('[STM-1, FEN-5] what is found off and is on when it is asked begins anew', () => {
    const { fence } = decide({ isFoundOff: true, brake });
    const asked = decide({ fence, brake, task: { outcome: 'running' } });
    assert.deepEqual([asked.fence?.phase, asked.hold], ['poweringOff', undefined], 'its answer is not there yet');
    const again = decide({ fence, brake, task: { outcome: 'failed', message: 'it is only asked', told: false } });
    assert.deepEqual([again.fence?.phase, again.run, again.hold?.reason], ['waiting', undefined, 'StormLimit']);
  });

  describe('[FEN-7, SAF-5] what cannot be read any more', () => {
    const problems = [{ file: 'fence-config-a', key: 'isolation', reason: 'no such method' }];
    const broken = { config: { ok: false, problems } } as const;
    const commandSentAt = '2026-01-01T00:00:00.000Z';
    const cut: Entry = { step: 'isolation', method: 'fc-off', device: 'fc', storage: [], commandSentAt };
    const failed = decide(broken).fence ?? assert.fail();

    test('ends no fence that may have switched something, though the node is back', () => {
      const back = { ...broken, isBack: true };
      assert.equal(decide({ ...back, fence: failed }).isCancelled, true);
      const left = decide({ ...back, fence: { ...failed, switched: [cut] } });
      assert.deepEqual([left.isCancelled, left.fence?.switched], [false, [cut]]);
      const told = decide({ ...back, fence: { ...waiting!, told: ['pdu'] } });
      assert.deepEqual([told.isCancelled, told.fence?.told], [false, ['pdu']]);
    });

    test('[FEN-2, SAF-19] does not keep a machine that is back in another boot: nothing is left to be switched on', () => {
      const [entry] = off!.switched;
      const on = { ...off!, phase: 'poweringOn' as const, switched: [entry!] };
      const back = { ...broken, isBack: true, bootId: 'boot-2' };
      const over = decide({ ...back, fence: on });
      assert.deepEqual([over.fence?.phase, over.fence?.switched, over.fence?.waitsFor], ['finished', [], undefined]);
      assert.equal(decide({ ...back, fence: { ...on, phase: 'booting' } }).fence?.phase, 'finished');
      assert.equal(decide({ ...back, isBack: false, fence: on }).fence?.phase, 'poweringOn');
      assert.equal(decide({ ...broken, isBack: true, fence: on }).fence?.phase, 'poweringOn', 'in the same boot');
      assert.equal(
        decide({ ...back, fence: { ...on, swapped: ['b'] } }).fence?.phase,
        'poweringOn',
        'another one waits',
      );
      const cutOff = decide({ ...back, fence: { ...on, switched: [cut] } }).fence;
      assert.equal(cutOff?.phase, 'poweringOn', 'it waits to be connected');
    });

    test('holds what was begun where it is, and makes nothing of an error but that', () => {
      const held = decide({ ...broken, fence: off }).fence;
      assert.deepEqual([held?.phase, held?.waitsFor], ['off', 'fence-config-a isolation: no such method']);
      const still = decide({ ...broken, fence: { ...failed, message: 'refused' } }).fence;
      assert.deepEqual([still?.phase, still?.waitsFor, still?.message], ['failed', undefined, held?.waitsFor]);
    });

    test('is told in as many words as a record has room for', () => {
      const many = Array.from({ length: 99 }, () => problems[0]!);
      const unread = { config: { ok: false, problems: many } } as const;
      assert.equal(decide(unread).fence?.message?.length, 1024);
      assert.equal(decide({ ...unread, fence: off }).fence?.waitsFor?.length, 1024);
    });
  });

  test('[SAF-17] how many others there were is counted when it begins, and not again', () => {
    const { fence } = decide({ others: 3, brake });
    assert.deepEqual(fence?.others, { count: 3, at: '2026-01-01T00:00:00.000Z' });
    assert.equal(decide({ fence, others: 2, brake }).fence?.others?.count, 3);
    assert.equal(decide({ brake }).fence?.others, undefined);
    const youngOthers = Array.from({ length: 300 }, (_, index) => `${index}`);
    const young = decide({ others: 300, youngOthers, brake }).fence;
    assert.deepEqual([young?.others?.count, young?.others?.young?.length], [300, 256], 'what does not fit is missed');
    assert.deepEqual(decide({ fence: young, others: 2, brake }).fence?.others, young?.others);
  });

  test('[FEN-4, FEN-14] what has ended is not cancelled: it stays on record', () => {
    for (const phase of ['failed', 'finished'] as const) {
      const kept = decide({ fence: { ...waiting!, phase }, isWanted: false });
      assert.deepEqual([kept.isCancelled, kept.fence?.phase], [false, phase]);
    }
    const found: StoredFence = { ...poweringOff!, isForGood: true, switched: [] };
    assert.equal(decide({ fence: found, isWanted: false }).isCancelled, false, 'it had failed before it was found off');
    assert.equal(decide({ fence: { ...found, isForGood: false }, isWanted: false }).isCancelled, true);
  });

  test('[SAF-12, FEN-4] nobody wants it any more: what an earlier try may have cut goes on, and nothing else changes', () => {
    const unwanted = { isWanted: false };
    assert.equal(decide({ ...unwanted, fence: { ...waiting!, told: ['pdu'] } }).run?.name, 'pdu-on');
    const confirmedAt = '2026-01-01T00:00:00Z';
    const cordon: Entry = { step: 'isolation', method: 'cordon', storage: [], confirmedAt };
    const isolated = { ...waiting!, phase: 'isolated' as const, switched: [cordon] };
    const cut = {
      ok: true,
      config: { ...config, isolation: [{ off: [method('cordon', 'cordon')], on: [] }] },
    } as const;
    assert.equal(decide({ ...unwanted, config: cut, fence: isolated }).fence?.phase, 'poweringOff', 'it was begun');
    const [entry] = off!.switched;
    const { commandSentAt: _, ...foundOff } = entry!;
    const found = { ...off!, told: ['pdu'], switched: [foundOff] };
    assert.equal(decide({ ...unwanted, fence: found }).fence?.phase, 'off', 'what is off lets go first');
  });

  test('[FEN-10] that all has gone is noted in the phase that let it go, once', () => {
    const kept = {
      ok: true,
      config: { ...config, powerManagement: [{ off: [method('pdu-off', 'off')], on: [] }] },
    } as const;
    const at = (fence: StoredFence, later = 0): string | undefined =>
      decide({ fence, config: kept, isReleased: true, nowMs: nowMs + later }).fence?.releasedAt;
    const first = decide({ fence: off, config: kept, isReleased: true }).fence ?? assert.fail();
    assert.equal(first.releasedAt, '2026-01-01T00:00:00.000Z');
    assert.equal(at(first, 5000), first.releasedAt);
    assert.equal(decide({ fence: first, config: kept, nowMs: nowMs + 5000 }).fence?.releasedAt, undefined);
    assert.equal(
      decide({ fence: off, isReleased: true }).fence?.releasedAt,
      undefined,
      'it is in another phase by now',
    );
  });

  test('[REM-5] a ladder sees how its fence is doing', () => {
    assert.equal(fenceOutcome({ isCancelled: false }, limits), 'running');
    const of = (phase: StoredFence['phase'], change: Partial<StoredFence> = {}): string =>
      fenceOutcome({ isCancelled: false, fence: { ...off!, phase, ...change } }, limits);
    assert.deepEqual([of('finished'), of('off'), of('failed')], ['succeeded', 'running', 'failed']);
    assert.equal(of('poweringOn', { isForGood: true }), 'failed', 'it is tried all the same');
    assert.equal(
      fenceOutcome({ isCancelled: false, fence: { ...off!, phase: 'failed' } }, { ...limits, restarts: 1 }),
      'running',
    );
  });

  test('[SAF-5] what has to be off is noted when it begins, and goes from one fence to the next in the same boot', () => {
    const two = {
      ok: true,
      config: {
        ...config,
        powerManagement: [{ off: [method('a-off', 'off'), { ...method('b-off', 'off'), driver: 'b' }], on: [] }],
      },
    } as const;
    const names = (decision: FenceDecision): unknown => decision.fence?.planned?.map(({ off: all }) => all.length);
    const begun = decide({ config: two, brake });
    assert.deepEqual([names(begun), names(decide({}))], [[2], undefined]);
    const [{ off: pair }] = two.config.powerManagement;
    const more = {
      ok: true,
      config: { ...config, powerManagement: [{ off: [...pair, method('c-off', 'off')], on: [] }] },
    } as const;
    for (const edit of [base.config, more])
      assert.deepEqual(decide({ fence: begun.fence, brake, config: edit }).fence?.planned, begun.fence?.planned);
    const failed: StoredFence = { ...begun.fence!, phase: 'failed', status: 'error' };
    const { planned: _, ...unplanned } = failed;
    assert.equal(names(decide({ fence: unplanned, config: two, brake })), undefined, 'that has ended');
    assert.deepEqual(names(decide({ earlier: failed, brake })), [2]);
    assert.equal(names(decide({ earlier: failed, brake, bootId: 'boot-2' })), undefined);
  });

  test('[FEN-13] stopped, it stays where it is', () => {
    const stopped = decide({ fence: poweringOff, isStopped: true, task: { outcome: 'succeeded' } });
    assert.deepEqual([stopped.fence, stopped.run], [poweringOff, undefined]);
  });
});
