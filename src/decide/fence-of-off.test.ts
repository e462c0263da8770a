/** What the automaton is told of a machine that is off, or may be: each of these facts alone lets it go on. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Change, Entry, Fence } from '../../test/support/fenced-case.ts';
import { acting, aStored, config, decided, entryOf, fenced, minutesAgo } from '../../test/support/fenced-case.ts';
import {
  anIncident,
  aPod,
  aRecord,
  aRemedy,
  inForce,
  nowMs,
  renewedLease,
  silentLease,
} from '../../test/support/release-case.ts';
import { timeOf } from '../api/facts.ts';
import { OUR_OUT_OF_SERVICE } from '../api/out-of-service.ts';
import type { LiveNode, NodeCase } from '../api/release-view.ts';
import { OUT_OF_SERVICE_KEY } from '../api/release-view.ts';
import type { FenceDecision } from '../fence/decide-fence.ts';
import { fenceOf } from './fence-of.ts';

describe('a machine that is off', () => {
  const offNow = entryOf('power-management', { confirmedAt: minutesAgo(7) });
  const off = (change: Partial<Entry> = {}, more: Change = {}): FenceDecision => {
    const entry = { ...offNow, ...change };
    const empty = { pods: [], attachments: [] };
    return decided(fenced(aStored('off', { switched: [entry] }), { ...empty, ...more }));
  };
  const isOn = (...asked: Parameters<typeof off>): boolean => off(...asked).run?.action === 'on';

  test('[FEN-10] goes on when nothing is left that may go', () => {
    assert.ok(isOn());
    const { lease: _, ...unheard } = fenced(aStored('off', { switched: [offNow] }), { pods: [], attachments: [] });
    assert.equal(decided(unheard).run?.action, 'on', 'without a Lease as well');
    assert.ok(isOn({}, { pods: [aPod({ mirror: true })] }), 'what stays is not waited for');
    const status = { releases: [aRecord({ basis: 'PowerOff' })] };
    const kept = fenced(aStored('off', { switched: [offNow], cleanResources: false }), { status });
    assert.equal(decided(kept).run?.action, 'on', 'nor is anything where nothing is to go');
    assert.equal(isOn({}, { pods: [aPod()] }), false);
    assert.ok(isOn({}, { pods: [aPod({ phase: 'Succeeded' })] }), 'what is over is not waited for');
    assert.ok(isOn({}, { pods: [aPod()], status: { incident: anIncident({ acts: 200 }) } }), 'nor what is given up');
  });

  test('[FEN-10] waits for what was released from this boot by its power, and for nothing else', () => {
    const released = (change: Parameters<typeof aRecord>[0]): Change => ({ status: { releases: [aRecord(change)] } });
    assert.equal(isOn({}, released({ basis: 'PowerOff' })), false);
    assert.ok(isOn({}, released({ basis: 'PowerOff', bootId: 'boot-0' })));
    assert.ok(isOn({}, released({ basis: 'AcceptedRisk' })));
    assert.ok(isOn({}, released({ basis: 'PowerOff', endedAt: minutesAgo(1) })));
    assert.equal(isOn({}, released({ basis: 'PowerOff', podsGoneAt: timeOf(nowMs - 59_000) })), false);
    assert.ok(
      isOn({}, released({ basis: 'PowerOff', podsGoneAt: minutesAgo(1) })),
      'a detach is not waited for for ever',
    );
  });

  test('[FEN-10, STM-5] does not wait for a pod whose budget keeps it', () => {
    const serving = aPod();
    delete serving.deletionAtMs;
    const spent = { namespace: 'default', name: 'web', selector: { matchLabels: {}, matchExpressions: [] } };
    const respects = { policy: inForce({ budgets: 'Respect' }), budgets: [spent], pods: [serving] };
    assert.ok(isOn({}, respects));
    assert.equal(isOn({}, { ...respects, budgets: [] }), false);
  });

  test('[SAF-17] stays off while nobody knows whether it was the right one', () => {
    const beside = { unheard: 1, names: ['node-2'], settledAtMs: nowMs + 1000, silent: [], present: 1 };
    assert.equal(isOn({}, { beside }), false);
    assert.ok(isOn({}, { beside: { ...beside, unheard: 0, names: [] } }));
  });

  test('[SAF-19, ADM-7] that was found so stays so for whoever has plans with it', () => {
    const found = { commandSentAt: undefined } as unknown as Partial<Entry>;
    const plans = { isCordoned: false, isShuttingDown: false, pauses: {} };
    const policy = (powerOnFoundOff: boolean): NodeCase['policy'] => {
      const remedy = aRemedy();
      return inForce({ remedy: { ...remedy, fence: { ...remedy.fence, powerOnFoundOff } } });
    };
    const rows: [Change, RegExp][] = [
      [{ node: { plans: { ...plans, others: [{ by: 'Karpenter', does: 'removes' }] } } }, /left to that one/],
      [{ elsewhere: { found: [{ by: 'Metal3', does: 'removes', object: 'x' }] } }, /Metal3 removes it/],
      [{ elsewhere: { found: [], openForMs: 0 } }, /is found out first/],
      [{ node: { plans: { ...plans, isCordoned: true } } }, /others have the node cordoned/],
      [{ node: { plans: { ...plans, isShuttingDown: true } } }, /was shutting down/],
      [{ node: { maintenanceUntil: timeOf(nowMs + 1000) } }, /under maintenance until/],
      [{ node: { plans: { ...plans, pauses: { hardware: timeOf(nowMs + 1000) } } } }, /paused until .* by hardware/],
      [{ node: { plans: { ...plans, pauses: { hardware: 'soon' } } } }, /pause\.hardware is .*, which is no time/],
      [{ policy: policy(false) }, /powerOnFoundOff is false/],
    ];
    for (const [change, why] of rows) {
      const held = off(found, change);
      assert.equal(held.run, undefined);
      assert.match(held.fence?.waitsFor ?? '', why);
      assert.ok(isOn({}, change), 'what we have cut goes on');
    }
    assert.ok(isOn(found, { policy: policy(true) }));
  });

  test('[FEN-16] and on again by what its devices said in this very phase is not off', () => {
    const message = 'ipmi says on';
    assert.equal(off({}, { onAgain: { since: minutesAgo(7), message } }).fence?.phase, 'booting');
    assert.equal(off({}, { onAgain: { since: minutesAgo(8), message } }).fence?.phase, 'poweringOn');
    const onAgain = { since: minutesAgo(7), message };
    const before = fenced(aStored('poweringOff', { switched: [offNow] }), { onAgain });
    assert.equal(decided(before).fence?.phase, 'off', 'what was said before that is no answer to it');
  });

  test('[SAF-10, SAF-19] is switched on again where its pods may not go, unless a taint tells others that it is off', () => {
    const refused = { message: 'denied', forMs: 60_000 };
    const pods = [aPod()];
    const told = 'it is off, and its pods cannot go: denied';
    const news = (more: Change): (string | undefined)[] => {
      const { phase, message, waitsFor } = off({}, { pods, ...more }).fence ?? assert.fail();
      return [phase, message, waitsFor];
    };
    assert.deepEqual(news({}), ['off', undefined, undefined]);
    assert.deepEqual(news({ refusedGrounds: refused }), ['off', undefined, undefined], 'that was about a command');
    assert.deepEqual(news({ refused }), ['poweringOn', told, undefined]);
    const taint = (key: string): LiveNode['taints'][number] => ({ key, effect: 'NoSchedule' });
    const other = taint('example.com/other');
    assert.equal(news({ refused, node: { taints: [other] } })[0], 'poweringOn');
    const marked = { taints: [other, taint(OUT_OF_SERVICE_KEY)] };
    assert.deepEqual(news({ refused: { ...refused, forMs: 120_000 }, node: marked }), ['off', told, told]);
    const gone = (change: Parameters<typeof aRecord>[0]): unknown =>
      news({ refused, status: { releases: [aRecord({ basis: 'PowerOff', ...change })] } })[0];
    assert.equal(gone({ podsGoneAt: timeOf(nowMs - 59_000) }), 'off', 'what was let go is being detached');
    assert.equal(gone({ podsGoneAt: minutesAgo(1) }), 'poweringOn', 'not for ever');
    assert.equal(gone({ podsGoneAt: timeOf(nowMs - 59_000), endedAt: timeOf(nowMs) }), 'poweringOn');
    assert.equal(gone({}), 'poweringOn', 'nothing has gone');
    assert.equal(gone({ podsGoneAt: timeOf(nowMs - 59_000), basis: 'AcceptedRisk' }), 'poweringOn', 'not by this');
  });

  test('[SAF-10] what was refused before it was off does not count: whoever mends it has a minute', () => {
    const refused = { message: 'denied', forMs: 180_000 };
    const since = (stepStartedAt: string, phase: Fence['phase'] = 'off'): unknown =>
      decided(fenced(aStored(phase, { switched: [offNow], stepStartedAt }), { pods: [aPod()], refused })).fence?.phase;
    assert.equal(since(timeOf(nowMs - 59_000)), 'off');
    assert.equal(since(timeOf(nowMs - 60_000)), 'poweringOn');
    assert.equal(since(minutesAgo(7), 'poweringOff'), 'off', 'it has just come to be');
  });

  test('[EVD-5, SAF-12] is not switched on while our taint says so, whatever it is switched on for', () => {
    const given = { pods: [aPod()], status: { incident: anIncident({ acts: 200 }) } };
    const under = off({}, { ...given, node: { taints: [{ ...OUR_OUT_OF_SERVICE }] } });
    assert.deepEqual([under.fence?.phase, under.run], ['poweringOn', undefined]);
    assert.equal(off({}, given).run?.action, 'on');
  });

  test('[FEN-10] what has gone is noted in the phase that let it go', () => {
    const none = { ok: true, config: { ...config, powerManagement: [] } } as const;
    const cut = { switched: [entryOf('isolation', { confirmedAt: minutesAgo(7) })] };
    const at = (phase: Fence['phase']): unknown =>
      decided(fenced(aStored(phase, cut), { pods: [], attachments: [], config: none })).fence?.releasedAt;
    assert.equal(at('isolated'), timeOf(nowMs));
    assert.equal(at('booting'), undefined, 'a boot lets nothing go');
  });
});

describe('[FEN-16] where nodes share a boot ID', () => {
  const signs = { renewTime: silentLease.renewTime, heartbeatTime: '' };
  const lease = { ...renewedLease, renewTime: '2026-01-01T00:09:59.000000Z' };
  const shared = (
    phase: Fence['phase'],
    { heard = { signs }, node, ...change }: Change & { heard?: object } = {},
  ): FenceDecision => {
    const incident = anIncident({ poweredOff: { at: minutesAgo(7), bootId: 'boot-1', ...heard } });
    const switched = phase === 'off' ? [entryOf('power-management', { confirmedAt: minutesAgo(7) })] : [];
    const alive = { node: { ready: 'True' as const, sharesBootId: true, ...node }, lease };
    const policy = inForce({ remedy: aRemedy({ fence: { ...aRemedy().fence, bootTimeoutMs: 1e9 } }) });
    return decided(fenced(aStored(phase, { switched }), { ...alive, policy, status: { incident }, ...change }));
  };

  test('a kubelet that has written since the power went on stands for another boot', () => {
    assert.equal(shared('booting').fence?.phase, 'finished');
  });

  test('and before that for none, nor where each has its own, nor where nobody knows what it had written', () => {
    assert.equal(shared('off').fence?.phase, 'poweringOn', 'who lives was never off');
    assert.equal(shared('booting', { node: { sharesBootId: false } }).fence?.phase, 'booting');
    assert.equal(shared('booting', { heard: {} }).fence?.phase, 'booting');
    assert.equal(shared('booting', { lease: renewedLease }).fence?.phase, 'booting', 'nothing was written since');
  });

  test('nor for one that was off in an earlier fence, which says nothing of this one', () => {
    assert.equal(shared('booting', { heard: { signs, at: minutesAgo(10) } }).fence?.phase, 'booting');
    assert.equal(shared('booting', { heard: { signs, at: minutesAgo(9) } }).fence?.phase, 'finished');
    const nodeCase = fenced(aStored('finished'), {
      node: { sharesBootId: true },
      policy: acting(),
      status: { incident: anIncident({ poweredOff: { at: minutesAgo(7), bootId: 'boot-1', signs } }) },
    });
    const { fence: _, ...status } = nodeCase.fence?.status ?? assert.fail();
    const begun = fenceOf(nodeCase, { status, ladder: undefined, isWanted: true, isRequested: true });
    assert.equal(begun.fence?.bootId, 'boot-1', 'nor of one that begins');
  });

  test('nor has anybody switched it on by hand who was heard of all the time, or is not', () => {
    assert.equal(shared('poweringOn').fence?.phase, 'finished');
    assert.equal(shared('poweringOn', { heard: { signs, wasAlive: true } }).run?.action, 'on');
    const late = { signs, at: timeOf(nowMs - 60_000) };
    assert.equal(shared('poweringOn', { heard: late }).run?.action, 'on', 'what is heard may have been written before');
    assert.equal(shared('poweringOn', { lease: undefined } as unknown as Change).run?.action, 'on');
  });

  test('what stands for it fits where a boot ID fits', () => {
    const bootId = 'b'.repeat(64);
    const stored = shared('failed', { node: { bootId } }).fence?.bootId ?? '';
    assert.match(stored, / again$/);
    assert.equal(stored.length, 64);
  });
});

describe('[FEN-12] while a crashed kernel writes its memory down', () => {
  const crash = {
    bootId: 'boot-1',
    address: '10.0.0.1',
    signs: { renewTime: silentLease.renewTime, heartbeatTime: '' },
    heardForMs: 0,
  };
  const held = (change: Change): FenceDecision => decided(fenced(aStored('isolated'), change));

  test('its power stays on, for as long as the policy says', () => {
    const policy = acting({ kdump: { timeoutMs: 90_000 } });
    assert.equal(held({ policy, crash }).recheckAtMs, nowMs + 90_000);
    assert.equal(held({ policy }).fence?.phase, 'poweringOff');
    assert.equal(held({ policy: acting(), crash }).fence?.phase, 'poweringOff', 'where it listens');
  });
});
