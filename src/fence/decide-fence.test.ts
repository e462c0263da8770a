import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FenceConfig, Method } from '../api/fence-config.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { FenceCase, FenceDecision } from './decide-fence.ts';
import { decideFence, fenceOutcome } from './decide-fence.ts';
import type { StoredFence } from './stored.ts';

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
  cleanResources: true,
  bootId: 'boot-1',
  config: { ok: true, config },
  limits,
  isBack: false,
  isHarmless: true,
  isReleased: false,
  isWorthIt: true,
  isStopped: false,
  isPaused: false,
};

function decide(change: Partial<FenceCase> & { fence?: StoredFence | undefined }): FenceDecision {
  const { fence, ...rest } = change;
  const status = fence === undefined ? undefined : { ...EMPTY_STATUS, fence };
  return decideFence({ ...base, status, ...rest });
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
    assert.ok(poweringOff.switched[0]?.commandSentAt);
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

  test('[FEN-10] off waits for the release, then on; switched on by others it is an error, and not cut again', () => {
    assert.equal(off?.phase, 'off');
    assert.equal(decide({ fence: off }).run, undefined);
    assert.equal(decide({ fence: off, isReleased: true }).run?.name, 'pdu-on');
    const on = decide({ fence: off, onAgain: 'it says on' });
    assert.deepEqual([on.fence?.phase, on.fence?.message, on.run], ['failed', 'it says on', undefined]);
    assert.equal(decide({ fence: off, onAgain: 'it says on', bootId: 'boot-2' }).fence?.phase, 'booting');
  });

  test('S4: Ready alone does not end the boot: the kubelet of another boot does', () => {
    const booting = { ...off!, phase: 'booting' as const };
    assert.equal(decide({ fence: booting, isBack: true }).fence?.phase, 'booting');
    assert.equal(decide({ fence: booting, isBack: true, bootId: 'boot-2' }).fence?.phase, 'finished');
  });

  test('S21: braked, nothing is begun, and it says why; what was begun goes on', () => {
    const held = decide({ brake });
    assert.deepEqual([held.fence?.phase, held.run, held.hold], ['waiting', undefined, brake]);
    assert.deepEqual(held.fence?.switched, []);
    const begun = decide({ fence: poweringOff, brake });
    assert.deepEqual([begun.run?.name, begun.hold], ['pdu-off', undefined]);
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

  test('[FEN-13] stopped, it stays where it is', () => {
    const stopped = decide({ fence: poweringOff, isStopped: true, task: { outcome: 'succeeded' } });
    assert.deepEqual([stopped.fence, stopped.run], [poweringOff, undefined]);
  });
});
