/** What the automaton is told of a node: each of these facts alone lets a node back to its storage, or its machine on. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  anIncident,
  aNode,
  aPod,
  aRecord,
  aRemedy,
  entry,
  inForce,
  nowMs,
  renewedLease,
  silentLease,
} from '../../test/support/release-case.ts';
import { level } from '../../test/support/fence-steps.ts';
import { timeOf } from '../api/facts.ts';
import { deviceHash } from '../api/fence-config.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { LiveNode, NodeCase } from '../api/release-view.ts';
import type { FenceDecision } from '../fence/decide-fence.ts';
import { fenceOf, fenceSpell, isBack, methodRun, withoutEarlier } from './fence-of.ts';

type Fence = NonNullable<NodeFenceStatus['fence']>;
type Entry = Fence['switched'][number];

const [fc, ipmi] = [level('fc-off'), level('ipmi-off', 'ipmi-on')];
const config = { isolation: [fc], powerManagement: [ipmi], recovery: [] };
const minutesAgo = (minutes: number): string => timeOf(nowMs - minutes * 60_000);

function entryOf(step: Entry['step'], change: Partial<Entry> = {}): Entry {
  const method = (step === 'isolation' ? fc : ipmi).off[0]!;
  const device = deviceHash(method) ?? assert.fail();
  return { step, method: method.name, device, storage: [], commandSentAt: minutesAgo(8), ...change };
}

function aStored(phase: Fence['phase'], change: Partial<Fence> = {}): Fence {
  return {
    step: phase === 'recovering' ? 'recovery' : 'power-management',
    status: 'running',
    phase,
    level: 0,
    index: 0,
    retries: 0,
    restarts: 0,
    startedAt: minutesAgo(9),
    stepStartedAt: minutesAgo(7),
    bootId: 'boot-1',
    cleanResources: true,
    switched: [],
    ...change,
  };
}

function acting(change: Parameters<typeof inForce>[0] = {}): NodeCase['policy'] {
  return inForce({ remedy: aRemedy(), ...change });
}

interface Change extends Omit<Partial<NodeCase>, 'node' | 'fence'> {
  node?: Partial<LiveNode>;
  status?: Partial<NodeFenceStatus>;
}

function fenced(fence: Fence, { node, status = {}, ...change }: Change = {}): NodeCase & { node: LiveNode } {
  const record = aFence({ incident: anIncident(), ...status, fence });
  return { ...aCase({ config: { ok: true, config }, fence: record, ...change }), node: aNode(node) };
}

function decided(nodeCase: NodeCase & { node: LiveNode }, isRequested = false): FenceDecision {
  const status = nodeCase.fence?.status ?? assert.fail();
  return fenceOf(nodeCase, { status, ladder: undefined, isWanted: true, isRequested });
}

describe('[SAF-4] a node that is back is let to its storage again', () => {
  const confirmedAt = minutesAgo(7);
  const cut = aStored('recovering', { switched: [entryOf('isolation', { confirmedAt })] });
  const serving = aPod();
  delete serving.deletionAtMs;
  const back = (change: Change = {}): FenceDecision => {
    const { node, ...more } = change;
    return decided(fenced(cut, { lease: renewedLease, pods: [serving], node: { ready: 'True', ...node }, ...more }));
  };
  const isLet = (change: Change = {}): boolean => back(change).run?.action === 'on';

  test('when each volume that its kubelet uses is one of a pod that is there', () => {
    assert.ok(isLet());
    assert.ok(isLet({ pods: [], node: { volumesInUse: [] } }));
    assert.equal(isLet({ pods: [] }), false, 'whose is it?');
    assert.match(back({ pods: [] }).fence?.waitsFor ?? '', /^it stays cut off .* until nothing that was let go/);
    assert.equal(isLet({ node: { volumesInUse: [entry, `${entry}-other`] } }), false);
  });

  test('a pod that somebody has sent away accounts for nothing: it may be gone by force at any moment', () => {
    assert.equal(isLet({ pods: [aPod()] }), false);
  });

  test('nor does one whose volumes cannot be read, whatever else is accounted for', () => {
    assert.equal(isLet({ volumes: {} }), false);
    assert.equal(isLet({ volumes: {}, node: { volumesInUse: [] } }), false);
  });

  test('with every pod there that no kubelet can speak for, or in another boot', () => {
    const unseen = (bootId: string): Change => ({
      status: { incident: anIncident({ unseen: { bootId, pods: ['pod-9'] } }) },
    });
    assert.equal(isLet(unseen('boot-1')), false);
    assert.match(back(unseen('boot-1')).fence?.waitsFor ?? '', /until it is rebooted/);
    assert.ok(isLet(unseen('boot-0')));
    const there = { ...unseen('boot-1'), pods: [serving, { ...serving, uid: 'pod-9' }] };
    assert.ok(isLet(there));
    assert.equal(isLet({ ...there, pods: [serving, aPod({ uid: 'pod-9' })] }), false, 'on its way out');
    const two = { status: { incident: anIncident({ unseen: { bootId: 'boot-1', pods: ['pod-0', 'pod-9'] } }) } };
    assert.equal(isLet(two), false, 'every one of them');
  });

  test('and what was released from this very boot is clean and soaked', () => {
    const released = (change: Parameters<typeof aRecord>[0]): Change => ({ status: { releases: [aRecord(change)] } });
    assert.equal(isLet(released({})), false);
    assert.ok(isLet(released({ bootId: 'boot-0' })));
    assert.ok(isLet(released({ nodeUid: 'another' })));
    const soaked = { stage: 'clean' as const, since: minutesAgo(5), failures: 0 };
    const status = { releases: [aRecord({ endedAt: minutesAgo(6) })], return: soaked };
    assert.ok(isLet({ status, attachments: [], pods: [], node: { volumesInUse: [] } }));
  });
});

describe('who is back', () => {
  test('[SAF-8] is Ready, and was seen to renew: the first sight of a Lease is no renewal', () => {
    const node = aNode({ ready: 'True' });
    assert.ok(isBack({ ...aCase({ lease: renewedLease }), node }));
    const { renewed: _, ...first } = renewedLease;
    assert.equal(isBack({ ...aCase({ lease: first }), node }), false);
    assert.equal(isBack({ ...aCase({ lease: { ...renewedLease, unchangedForMs: 60_000 } }), node }), false);
    assert.equal(isBack({ ...aCase({ lease: renewedLease }), node: aNode() }), false);
  });

  const alive = { lease: renewedLease, node: { ready: 'True' as const } };

  test('[FEN-4] a node that a person wants fenced is not back before it was off', () => {
    assert.equal(decided(fenced(aStored('waiting'), alive)).isCancelled, true);
    assert.equal(decided(fenced(aStored('waiting'), alive), true).isCancelled, false);
    assert.equal(decided(fenced(aStored('waiting', { bootId: 'boot-0' }), alive), true).isCancelled, false);
    assert.equal(decided(fenced(aStored('waiting'))).isCancelled, false, 'it is not back at all');
    const booted = fenced(aStored('booting', { bootId: 'boot-0' }), alive);
    assert.equal(decided(booted, true).fence?.phase, 'finished', 'and afterwards it is like any other');
  });

  test('[FEN-4] nor is one that is Ready and has the trouble that its fence is for', () => {
    const broken = {
      key: 'Broken=True',
      condition: { type: 'Broken', status: 'True', forMs: 0 },
      remedies: [],
      recovery: [],
    };
    const policy = inForce({ remedy: aRemedy({ thresholds: [broken] }) });
    const ladder = {
      threshold: broken.key,
      position: 0,
      remedy: 'act',
      phase: 'running',
      startedAt: minutesAgo(9),
    } as const;
    const isCancelled = (status: 'True' | 'False'): boolean => {
      const trouble = { conditions: [{ type: 'Broken', status, forMs: 1000 }] };
      const nodeCase = fenced(aStored('waiting'), { ...alive, policy, trouble });
      return fenceOf(nodeCase, { status: nodeCase.fence!.status, ladder, isWanted: true }).isCancelled;
    };
    assert.deepEqual([isCancelled('True'), isCancelled('False')], [false, true]);
  });

  test('[FEN-4] a fence that has ended is not the one that somebody asks for now', () => {
    const status = (fence: Fence, more: Partial<NodeFenceStatus> = {}): NodeFenceStatus =>
      aFence({ fence, ...more }).status;
    const requested = { by: 'anna', reason: 'it hangs', at: minutesAgo(1) };
    const asked = aCase({ fence: aFence({}, { requested }) });
    const ended = status(aStored('finished'));
    assert.deepEqual(withoutEarlier(asked, ended).earlier, ended.fence);
    assert.equal(withoutEarlier(asked, ended).status.fence, undefined);
    const answered = { at: requested.at, by: requested.by, reason: 'TakenUp', message: '' } as const;
    const itsOwn = status(aStored('finished'), { request: answered as NonNullable<NodeFenceStatus['request']> });
    assert.deepEqual(withoutEarlier(asked, itsOwn), { status: itsOwn });
    const running = status(aStored('poweringOff', { switched: [entryOf('power-management')] }));
    assert.deepEqual(withoutEarlier(asked, running), { status: running });
    assert.deepEqual(withoutEarlier(aCase(), ended), { status: ended }, 'nobody has written anything');
  });
});

describe('[SAF-18] how long a cut has been called for', () => {
  const sinceMs = (fence: Fence): number | undefined => {
    const nodeCase = fenced(fence);
    return fenceSpell(nodeCase, nodeCase.fence?.status ?? assert.fail())?.sinceMs;
  };
  const [began, trouble] = [Date.parse(minutesAgo(9)), Date.parse(anIncident().startedAt)];

  test('is since it began; one that has failed and begins anew counts from the beginning of the trouble', () => {
    const startedAt = minutesAgo(3);
    assert.equal(sinceMs(aStored('waiting')), began);
    assert.equal(sinceMs(aStored('waiting', { restarts: 1, startedAt })), trouble);
    assert.equal(sinceMs(aStored('failed', { startedAt })), trouble);
  });

  test('is nothing any more once a device has confirmed; a cordon confirms nothing', () => {
    const confirmedAt = minutesAgo(7);
    assert.equal(sinceMs(aStored('poweringOff', { switched: [entryOf('isolation', { confirmedAt })] })), undefined);
    assert.equal(sinceMs(aStored('poweringOff', { switched: [entryOf('power-management')] })), began);
    const { device: _, ...cordon } = entryOf('isolation', { confirmedAt });
    assert.equal(sinceMs(aStored('poweringOff', { switched: [cordon] })), began);
  });
});

describe('a command on record', () => {
  const told = aStored('poweringOff', { switched: [entryOf('power-management')] });
  const method = ipmi.off[0] ?? assert.fail();

  test('[SAF-17, FEN-3] is the first of its kind only in the decision that records it: whoever leads next may repeat one', () => {
    const sent = (stored: Fence): unknown => {
      const run = methodRun(fenced(stored), told, { method });
      return run.do === 'switch' ? run.sent : assert.fail();
    };
    const at = minutesAgo(8);
    assert.deepEqual(sent(told), { at, isFirst: false });
    assert.deepEqual(sent(aStored('poweringOff')), { at, isFirst: true });
    const earlier = entryOf('power-management', { commandSentAt: minutesAgo(9) });
    assert.deepEqual(sent(aStored('poweringOff', { switched: [earlier] })), { at, isFirst: true }, 'another command');
    const isolating = entryOf('isolation', { method: method.name, device: deviceHash(method) ?? '' });
    assert.deepEqual(sent(aStored('isolating', { switched: [isolating] })), { at, isFirst: true }, 'of another step');
  });

  test('[SAF-17] has who was silent by then', () => {
    const silent = [{ name: 'node-2', isOff: false }];
    const beside = { unheard: 0, names: [], settledAtMs: nowMs, silent, present: 1 };
    const entries = decided(fenced(aStored('poweringOff'), { beside, policy: acting() })).fence?.switched;
    assert.deepEqual(entries?.[0]?.silentBeside, ['node-2']);
  });

  test('is about power or about storage; a cordon is about neither', () => {
    const run = (phase: Fence['phase'], one = method): ReturnType<typeof methodRun> =>
      methodRun(fenced(aStored(phase)), aStored(phase), { method: one });
    const what = (phase: Fence['phase']): unknown => ({ ...run(phase) } as { what?: unknown }).what;
    assert.deepEqual(
      ['poweringOff', 'poweringOn'].map((phase) => what(phase as Fence['phase'])),
      ['power', 'power'],
    );
    assert.deepEqual([what('isolating'), what('recovering')], ['storage', 'storage']);
    for (const action of ['cordon', 'uncordon'] as const) {
      const { key, ...rest } = run('isolating', { ...method, name: action, action });
      assert.deepEqual(rest, { do: action });
      assert.match(key, /^isolating /);
    }
  });
});

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
      [{ node: { plans: { ...plans, isCordoned: true } } }, /others have the node cordoned/],
      [{ node: { plans: { ...plans, isShuttingDown: true } } }, /was shutting down/],
      [{ node: { maintenanceUntil: timeOf(nowMs + 1000) } }, /under maintenance until/],
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
    assert.equal(off({}, { onAgain: { since: minutesAgo(7), message } }).fence?.phase, 'failed');
    assert.equal(off({}, { onAgain: { since: minutesAgo(8), message } }).fence?.phase, 'poweringOn');
    const onAgain = { since: minutesAgo(7), message };
    const before = fenced(aStored('poweringOff', { switched: [offNow] }), { onAgain });
    assert.equal(decided(before).fence?.phase, 'off', 'what was said before that is no answer to it');
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

  test('nor has anybody switched it on by hand who was heard of all the time, or is not', () => {
    assert.equal(shared('poweringOn').fence?.phase, 'finished');
    assert.equal(shared('poweringOn', { heard: { signs, wasAlive: true } }).run?.action, 'on');
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
  };
  const held = (change: Change): FenceDecision => decided(fenced(aStored('isolated'), change));

  test('its power stays on, for as long as the policy says', () => {
    const policy = acting({ kdump: { timeoutMs: 90_000 } });
    assert.equal(held({ policy, crash }).recheckAtMs, nowMs + 90_000);
    assert.equal(held({ policy }).fence?.phase, 'poweringOff');
    assert.equal(held({ policy: acting(), crash }).fence?.phase, 'poweringOff', 'where it listens');
  });
});
