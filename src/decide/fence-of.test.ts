/** What the automaton is told of a node that is back, or may be: each of these facts alone lets it back to its storage. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Change, Fence } from '../../test/support/fenced-case.ts';
import { acting, aStored, decided, entryOf, fenced, ipmi, minutesAgo } from '../../test/support/fenced-case.ts';
import {
  aCase,
  aFence,
  anIncident,
  aNode,
  aRemedy,
  inForce,
  nowMs,
  renewedLease,
} from '../../test/support/release-case.ts';
import { timeOf } from '../api/facts.ts';
import type { Method } from '../api/fence-config.ts';
import { deviceHash } from '../api/fence-config.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import { questionOf } from '../api/power.ts';
import type { FenceDecision } from '../fence/decide-fence.ts';
import { isLostAgain } from './boot-of.ts';
import { begunFor, fenceOf, fenceSpell, methodRun, withoutEarlier } from './fence-of.ts';
import { isBack } from './is-back.ts';

const broken = {
  key: 'Broken=True',
  condition: { type: 'Broken', status: 'True', forMs: 0 },
  remedies: [],
  recovery: [],
};
const ladderOf = (threshold: string) =>
  ({ threshold, position: 0, remedy: 'act', phase: 'running', startedAt: minutesAgo(9) }) as const;

describe('[SAF-4, RET-2] a Node object that was made anew has what was cut of its machine', () => {
  const startedAt = minutesAgo(9);
  const cut = aStored('failed', { startedAt, switched: [entryOf('isolation', { confirmedAt: minutesAgo(8) })] });
  const made = (fence: Fence, change: Change = {}): FenceDecision => {
    const { node, ...more } = change;
    const anew = { ready: 'True', createdAt: minutesAgo(2), volumesInUse: [], ...node } as const;
    return decided(fenced(fence, { lease: renewedLease, pods: [], node: anew, attachments: [], ...more }));
  };
  const soaked = { return: { stage: 'clean' as const, since: minutesAgo(5), failures: 0 } };

  test('and is connected when it was booted, or is clean and soaked: what it does not list yet may be there', () => {
    assert.equal(made(cut, { node: { bootId: 'boot-2' } }).run?.action, 'on');
    const same = made(cut);
    assert.deepEqual([same.fence?.phase, same.run], ['recovering', undefined]);
    assert.match(same.fence?.waitsFor ?? '', /^it stays cut off from its storage until nothing that was let go/);
    assert.equal(made(cut, { status: soaked }).run?.action, 'on');
  });

  test('is not cut for what its predecessor was, also where it is not Ready yet', () => {
    for (const phase of ['waiting', 'isolating', 'isolated', 'poweringOff', 'failed', 'recovering'] as const) {
      const { fence, run } = made({ ...cut, phase }, { node: { ready: 'False' } });
      assert.deepEqual([fence?.phase, run], ['recovering', undefined], phase);
    }
  });

  test('is known by its UID in the second in which it was made', () => {
    const young = (incident: object): string | undefined => {
      const node = { createdAt: startedAt, ready: 'False' } as const;
      return made({ ...cut, phase: 'isolated' }, { node, status: { incident: anIncident(incident) } }).fence?.phase;
    };
    assert.equal(young({ nodeUid: 'another' }), 'recovering');
    assert.notEqual(young({}), 'recovering');
    assert.notEqual(young({ nodeUid: '' }), 'recovering', 'nobody knows of another one');
  });

  test('[FEN-2] and whatever the clocks say: its own fence is that of its UID', () => {
    const of = (nodeUid: string, createdAt: string): string | undefined =>
      made({ ...cut, phase: 'isolated', nodeUid }, { node: { createdAt, ready: 'False' } }).fence?.phase;
    assert.equal(of('node-uid', minutesAgo(2)), 'isolated', 'made later, by another clock');
    assert.equal(of('another', minutesAgo(20)), 'recovering');
    assert.equal(of('another', minutesAgo(2)), 'recovering');
  });

  test('is switched on, also where what is found off stays so', () => {
    const policy = acting({ remedy: { ...aRemedy(), fence: { ...aRemedy().fence, powerOnFoundOff: false } } });
    const off = [entryOf('power-management', { confirmedAt: minutesAgo(7) })];
    for (const phase of ['off', 'failed'] as const) {
      const { fence, run } = made(aStored(phase, { switched: off }), { policy, node: { ready: 'Unknown' } });
      assert.deepEqual([fence?.phase, run?.action], ['poweringOn', 'on'], phase);
    }
  });

  test('[SAF-8] and not before what its devices may still do has had its time', () => {
    const sent = (minutes: number): Fence =>
      aStored('poweringOff', { switched: [entryOf('power-management', { commandSentAt: minutesAgo(minutes) })] });
    const [early, late] = [made(sent(2)), made(sent(3))];
    assert.deepEqual(
      [early.fence?.phase, early.run, early.fence?.until],
      ['poweringOn', undefined, timeOf(nowMs + 60_000)],
    );
    assert.deepEqual([late.fence?.phase, late.run?.action, late.fence?.until], ['poweringOn', 'on', undefined]);
  });

  test('[SAF-11] is fenced for trouble of its own all the same', () => {
    const nodeCase = fenced({ ...cut, phase: 'recovering' }, { node: { createdAt: minutesAgo(2) } });
    const { status } = nodeCase.fence ?? assert.fail();
    assert.equal(begunFor(nodeCase, status).earlier?.phase, 'recovering');
    const itsOwn = { ...nodeCase, node: aNode({ createdAt: minutesAgo(20) }) };
    assert.equal(begunFor(itsOwn, status).earlier, undefined);
    const goesOn = { ...status, fence: aStored('poweringOn', { told: ['ipmi'] }) };
    assert.equal(begunFor(nodeCase, goesOn).earlier, undefined, 'its machine goes on first');
  });
});

describe('[FEN-13, SAF-11] who was lost again while its fence was stopped', () => {
  const silent = { ...renewedLease, unchangedForMs: 60_000 };
  const stopped = { reason: 'Stopped', message: '', since: minutesAgo(5) };
  const isSo = (change: Change = {}, fence: Fence | undefined = aStored('booting', { bootId: 'boot-0' })): boolean => {
    const status = { hold: stopped, ...change.status };
    const nodeCase = fenced(fence, { lease: silent, ...change, status });
    return isLostAgain(nodeCase, { ...nodeCase.fence!.status, fence });
  };

  test('has booted meanwhile, and is silent: what its fence was for is over', () => {
    for (const phase of ['poweringOff', 'off', 'poweringOn', 'booting', 'recovering'] as const) {
      assert.ok(isSo({}, aStored(phase, { bootId: 'boot-0' })), phase);
    }
    for (const phase of ['waiting', 'isolating', 'isolated', 'failed', 'finished'] as const) {
      assert.equal(isSo({}, aStored(phase, { bootId: 'boot-0' })), false, phase);
    }
    assert.ok(isSo({ status: { hold: { ...stopped, reason: 'Maintenance' } } }));
    const booting = fenced(aStored('booting', { bootId: 'boot-0' }), { lease: silent });
    const { hold: _, ...going } = booting.fence!.status;
    assert.equal(isLostAgain(booting, going), false, 'it was not stopped');
    assert.equal(isSo({ status: { hold: { ...stopped, reason: 'Paused' } } }), false, 'one that is paused goes on');
  });

  test('but not in the same boot, nor in one that nobody knows of', () => {
    assert.equal(isSo({}, aStored('booting')), false);
    assert.equal(isSo({ node: { bootId: '' } }), false);
  });

  test('nor while its kubelet renews, Ready or not: it is waited for', () => {
    assert.equal(isSo({ lease: renewedLease, node: { ready: 'False' } }), false);
    const { lease: _, ...without } = fenced(aStored('booting', { bootId: 'boot-0' }), {
      status: { hold: stopped },
    });
    const unleased = (ready: 'Unknown' | 'False'): boolean =>
      isLostAgain({ ...without, node: aNode({ ready }) }, without.fence!.status);
    assert.deepEqual([unleased('Unknown'), unleased('False')], [true, false], 'without a Lease its Node tells');
  });

  test('has another fence for the new trouble, once the old one has ended', () => {
    const nodeCase = fenced(aStored('booting', { bootId: 'boot-0' }));
    const { status } = nodeCase.fence ?? assert.fail();
    assert.equal(begunFor(nodeCase, status).earlier, undefined);
    assert.equal(begunFor(nodeCase, status, aStored('recovering')).earlier, undefined, 'it is still undone');
    assert.equal(begunFor(nodeCase, status, aStored('finished')).earlier?.phase, 'finished');
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
    assert.equal(isBack({ ...aCase({ lease: { ...renewedLease, isGone: true } }), node }), false);
    const { lease: __, ...without } = aCase({});
    assert.ok(isBack({ ...without, node }), 'one that has no Lease is heard of by its Node alone');
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
    const policy = inForce({ remedy: aRemedy({ thresholds: [broken] }) });
    const ladder = ladderOf(broken.key);
    const isCancelled = (status: 'True' | 'False'): boolean => {
      const trouble = { conditions: [{ type: 'Broken', status, forMs: 1000 }] };
      const nodeCase = fenced(aStored('waiting'), { ...alive, policy, trouble });
      return fenceOf(nodeCase, { status: nodeCase.fence!.status, ladder, isWanted: true }).isCancelled;
    };
    assert.deepEqual([isCancelled('True'), isCancelled('False')], [false, true]);
  });

  test('[FEN-4, EVD-4] nor is one whose power is lost, though nobody has missed a renewal yet', () => {
    const isOff = (power: 'on' | 'off'): boolean => {
      const answer = { device: 'ipmi', power, identity: 'same', message: 'it says', wasSeenOn: true } as const;
      const asked = { question: questionOf(ipmi.off), askedForMs: 500, answers: [answer], port: 'silent' } as const;
      return !decided(fenced(aStored('waiting'), { ...alive, power: asked })).isCancelled;
    };
    assert.deepEqual([isOff('off'), isOff('on')], [true, false]);
  });

  test('[FEN-4] a fence that has ended is not the one that somebody asks for now', () => {
    const status = (fence: Fence, more: Partial<NodeFenceStatus> = {}): NodeFenceStatus =>
      aFence({ fence, ...more }).status;
    const requested = { by: 'anna', reason: 'it hangs', at: minutesAgo(1) };
    const asked = { ...aCase({ fence: aFence({}, { requested }) }), node: aNode() };
    const ended = status(aStored('finished'));
    assert.deepEqual(withoutEarlier(asked, ended).earlier, ended.fence);
    assert.equal(withoutEarlier(asked, ended).status.fence, undefined);
    const answered = { at: requested.at, by: requested.by, reason: 'TakenUp', message: '' } as const;
    const itsOwn = status(aStored('finished'), { request: answered as NonNullable<NodeFenceStatus['request']> });
    assert.deepEqual(withoutEarlier(asked, itsOwn), { status: itsOwn });
    const running = status(aStored('poweringOff', { switched: [entryOf('power-management')] }));
    assert.deepEqual(withoutEarlier(asked, running), { status: running });
    assert.deepEqual(
      withoutEarlier({ ...aCase(), node: aNode() }, ended),
      { status: ended },
      'nobody has written anything',
    );
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

  test('[SAF-8] is told again while what it is for goes on, or a person asks for it', () => {
    const policy = inForce({ remedy: aRemedy({ thresholds: [broken] }) });
    const isTold = (status: 'True' | 'False', isRequested: boolean): boolean => {
      const trouble = { conditions: [{ type: 'Broken', status, forMs: 1000 }] };
      const nodeCase = fenced(told, { policy, trouble });
      const rung = { status: nodeCase.fence!.status, ladder: ladderOf(broken.key), isWanted: true, isRequested };
      return fenceOf(nodeCase, rung).run !== undefined;
    };
    assert.deepEqual([isTold('True', false), isTold('False', false), isTold('False', true)], [true, false, true]);
  });

  test('[SAF-8, STM-4] is over with its trouble, and not because whoever leads next does not know of that yet', () => {
    const stale = { key: 'lease', lease: { staleForMs: 60_000 }, remedies: [], recovery: [] };
    const policy = inForce({ remedy: aRemedy({ thresholds: [stale, broken] }) });
    const waitsFor = (threshold: string, lease: NonNullable<Change['lease']>): string | undefined => {
      const nodeCase = fenced(told, { policy, lease, trouble: { conditions: [] } });
      const rung = { status: nodeCase.fence!.status, ladder: ladderOf(threshold), isWanted: true };
      return fenceOf(nodeCase, rung).fence?.waitsFor;
    };
    const { renewed: _, ...first } = renewedLease;
    assert.equal(waitsFor('lease', first), undefined, 'its first sight');
    assert.match(waitsFor('lease', renewedLease) ?? '', /^what it was told for is over/);
    assert.match(waitsFor(broken.key, first) ?? '', /^what it was told for is over/, 'no Lease says so');
  });

  test('[SAF-17] has who was silent by then', () => {
    const silent = [{ name: 'node-2', isOff: false }];
    const beside = { unheard: 0, names: [], settledAtMs: nowMs, silent, present: 1 };
    const entries = decided(fenced(aStored('poweringOff'), { beside, policy: acting() })).fence?.switched;
    assert.deepEqual(entries?.[0]?.silentBeside, ['node-2']);
  });

  test('[FEN-14, SAF-1] is of a part where others of its level are not off yet; of a node that is back, of its power where that is left', () => {
    const second = { ...method, name: 'second-off', parameters: { plug: '2' } };
    const config = {
      isolation: [],
      powerManagement: [{ off: [method, second], on: [{ ...method, action: 'on' as const }] }],
      recovery: [],
    };
    const runOf = (stored: Fence, one: Method, ok = true): { what?: string; isPart?: boolean } => {
      const result = ok ? ({ ok, config } as const) : ({ ok, problems: [] } as const);
      return { ...methodRun(fenced(stored, { config: result }), stored, { method: one }) } as never;
    };
    const entry = (one: Method): Fence['switched'][number] =>
      entryOf('power-management', { method: one.name, device: deviceHash(one) ?? '', confirmedAt: minutesAgo(1) });
    assert.equal(runOf(aStored('poweringOff'), method).isPart, true);
    assert.equal(runOf(aStored('poweringOff', { switched: [entry(method)] }), second).isPart, undefined, 'the last');
    assert.equal(runOf(aStored('isolating'), method).isPart, undefined);
    assert.equal(runOf(aStored('poweringOff'), method, false).isPart, undefined);
    assert.equal(runOf(aStored('poweringOff', { level: 1 }), method).isPart, undefined);
    const left = { told: [deviceHash(method) ?? ''] };
    const on = { ...method, action: 'on' as const };
    for (const phase of ['recovering', 'failed'] as const) {
      assert.equal(runOf(aStored(phase, left), on).what, 'power');
      assert.equal(runOf(aStored(phase, left), { ...second, action: 'on' }).what, 'storage');
      assert.equal(runOf(aStored(phase, left), on, false).what, 'storage');
    }
    assert.equal(runOf(aStored('isolating', left), method).what, 'storage');
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
