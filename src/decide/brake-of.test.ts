import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aCount,
  aFence,
  anIncident,
  aNode,
  aRemedy,
  inForce,
  withoutNode,
} from '../../test/support/release-case.ts';
import { aStored } from '../../test/support/fenced-case.ts';
import { questionOf } from '../api/power.ts';
import type { LiveNode, NodeCase } from '../api/release-view.ts';
import type { LadderState } from '../remedy/ladder.ts';
import { jobName } from '../remedy/job.ts';
import type { Harsh, RemedyHold } from './brake-of.ts';
import { brakeOf, handsOver, harshHold, isFoundOff, isHarshRung, isInStorm, spellOf } from './brake-of.ts';
import { ladderKey } from './of-case.ts';
import { withSilence } from './silence.ts';

const nowMs = Date.parse('2026-01-01T01:00:00Z');
const calledMs = nowMs - 600_000;
const renewTime = '2025-06-01T00:00:00.000000Z';

function seen(unchangedForMs: number, more: object = {}): NodeCase {
  const lease = { unchangedForMs, durationMs: 40_000, renewed: true, renewTime, ...more };
  return { lease, serverNowMs: nowMs, policy: { kind: 'none' } } as unknown as NodeCase;
}
const sinceOf = (nodeCase: NodeCase): number => (spellOf(nodeCase, calledMs).sinceMs - nowMs) / 1000;
const recorded = (nodeCase: NodeCase, since: string, of = renewTime): NodeCase => ({
  ...nodeCase,
  fence: aFence({ incident: anIncident({ silence: { since, renewTime: of } }) }),
});

describe('since when a node has patience', () => {
  test('[SAF-18] one that was back meanwhile has the whole of bootTimeout again, from its last renewal on', () => {
    assert.equal(sinceOf(seen(20_000)), -19);
    assert.equal(sinceOf(seen(1_000_000)), -600, 'the cut was called for after that');
    assert.equal(sinceOf(seen(1000)), -600, 'it renews, and is in other trouble');
  });

  test('[SAF-18] of one that nobody has seen live it counts from when it could have been heard of, and no longer', () => {
    assert.equal(sinceOf(seen(20_000, { renewed: false })), -19);
    assert.equal(sinceOf(seen(1000, { renewed: false })), 0, 'nobody knows yet');
    assert.equal(sinceOf(seen(500_000, { hearableForMs: 5000 })), -4, 'the API server was away');
  });

  test('[SAF-18] what is on record counts for whoever leads, as long as the Lease says what it said then', () => {
    const since = '2026-01-01T00:55:00Z';
    assert.equal(sinceOf(recorded(seen(20_000, { renewed: false }), since)), -300);
    assert.equal(sinceOf(recorded(seen(20_000, { renewed: false }), since, 'another')), -19, 'it was back');
    const { lease: _, ...gone } = recorded(seen(0), since);
    assert.equal(sinceOf(gone), -300, 'that its Lease is gone is no sign of life');
    const { lease: __, ...unknown } = seen(0);
    assert.equal(sinceOf(unknown), -600);
  });

  test('[SAF-18] when its kubelet was last heard of is known of one that lives, too', () => {
    assert.equal(spellOf(seen(5000), calledMs).heardMs, nowMs - 4000);
  });
});

describe('what is recorded of it', () => {
  const silence = { since: '2026-01-01T00:55:00Z', renewTime };
  const after = (nodeCase: NodeCase, before?: typeof silence): unknown =>
    withSilence(nodeCase, anIncident(before === undefined ? {} : { silence: before })).silence;

  test('[SAF-18] since when it is silent, once that is known, and the same as long as it is', () => {
    assert.deepEqual(after(seen(20_000)), { since: '2026-01-01T00:59:41Z', renewTime });
    assert.deepEqual(after(recorded(seen(20_000), silence.since), silence), silence);
    assert.equal(after(seen(5000, { renewed: false })), undefined, 'nobody knows yet');
    assert.equal(after(seen(500_000, { hearableForMs: 5000 })), undefined, 'nobody knows yet');
  });

  test('[SAF-18] nothing of one that lives', () => {
    assert.equal(after(seen(1000, { renewTime: 'another' }), silence), undefined);
    const { lease: _, ...gone } = recorded(seen(0), silence.since);
    assert.deepEqual(after(gone, silence), silence);
  });
});

describe('what holds back what cannot be taken back', () => {
  const acting = (change: object = {}): NodeCase['policy'] => inForce({ remedy: aRemedy(), ...change });
  const spell = { sinceMs: nowMs, heardMs: 0, bootTimeoutMs: 600_000 };
  const plans = { isCordoned: true, isShuttingDown: false, pauses: {} };
  const heldBy = (harsh: Harsh, change: Partial<NodeCase> = {}): string | undefined =>
    brakeOf(aCase({ serverNowMs: nowMs, policy: acting(), ...change }), harsh)?.reason;

  test('[ADM-6] that somebody else is at work on it, or that nobody knows yet; but for a person', () => {
    const far = { by: 'Fence Agents Remediation', does: 'remedies', object: 'x' } as const;
    for (const kind of ['fence', 'remedy'] as const) {
      assert.equal(heldBy({ kind }, { elsewhere: { found: [far] } }), 'LeftToOthers');
      assert.equal(heldBy({ kind }, { elsewhere: { found: [], openForMs: 0 } }), 'LookingAround');
      assert.equal(heldBy({ kind }, { elsewhere: { found: [] } }), undefined);
      assert.equal(heldBy({ kind, isRequested: true }, { elsewhere: { found: [far], openForMs: 0 } }), undefined);
    }
  });

  describe('of a node that was silent and renews its Lease again', () => {
    const lease = { renewTime, unchangedForMs: 0, durationMs: 40_000, renewed: true, renewedSinceNotReady: true };
    const back = (backForMs?: number, change: object = {}): Partial<NodeCase> => ({
      lease: { ...lease, ...(backForMs === undefined ? {} : { backForMs }), ...change },
    });

    test('[SAF-8] nothing begins for a minute: it will be Ready in a moment', () => {
      for (const kind of ['fence', 'remedy'] as const) assert.equal(heldBy({ kind }, back(59_999)), 'ComingBack');
      const hold = brakeOf(aCase({ serverNowMs: nowMs, policy: acting(), ...back(20_000) }), { kind: 'fence' });
      const message = 'its kubelet renews its Lease again: it has until 2026-01-01T01:00:40Z to be Ready';
      assert.deepEqual(hold, { reason: 'ComingBack', message, recheckAtMs: nowMs + 40_000, untilMs: nowMs + 40_000 });
    });

    test('[SAF-8] not where it is Ready and in other trouble, is silent again, never was, or is long back; nor for a person', () => {
      assert.equal(heldBy({ kind: 'fence' }, back(60_000)), undefined);
      assert.equal(heldBy({ kind: 'fence' }, back()), undefined);
      assert.equal(heldBy({ kind: 'fence' }, back(20_000, { unchangedForMs: 12_000 })), undefined);
      assert.equal(heldBy({ kind: 'fence' }, { ...back(20_000), node: aNode({ ready: 'True' }) }), undefined);
      assert.equal(heldBy({ kind: 'fence', isRequested: true }, back(20_000)), undefined);
    });
  });

  describe('where the node of the operator is silent too', () => {
    const silent = { node: 'node-9', handOver: 'possible' } as const;
    const count = aCount({ standpoint: { silent } });
    const trouble = { conditions: [], leaseSilentMs: 20_000 };
    const policy = acting({ remedy: aRemedy({ fence: { ...aRemedy().fence, bootTimeoutMs: 600_000 } }) });
    const since = (minutes: number): NonNullable<NodeCase['fence']> =>
      aFence({ incident: anIncident({ startedAt: new Date(nowMs - minutes * 60_000).toISOString() }) });

    test('[STM-2] what is silent waits for the time of a boot, from the beginning of its trouble', () => {
      const known = { count, trouble, policy };
      assert.equal(heldBy({ kind: 'fence' }, known), 'OwnNodeSilent');
      assert.equal(heldBy({ kind: 'remedy' }, { ...known, fence: since(9) }), 'OwnNodeSilent');
      assert.equal(heldBy({ kind: 'fence' }, { ...known, fence: since(10) }), undefined);
    });

    test('[STM-2] not what is in other trouble, nor what a person asks for', () => {
      assert.equal(heldBy({ kind: 'fence' }, { count, policy, trouble: { conditions: [] } }), undefined);
      assert.equal(heldBy({ kind: 'fence', isRequested: true }, { count, policy, trouble }), undefined);
    });

    test('[STM-2] the lead is handed over where somebody may take it', () => {
      const hold = { reason: 'OwnNodeSilent', message: '' } as const;
      const by = (handOver: 'possible' | 'inVain'): boolean =>
        handsOver(aCase({ count: aCount({ standpoint: { silent: { ...silent, handOver } } }) }), { hold });
      assert.deepEqual([by('possible'), by('inVain')], [true, false]);
      assert.ok(!handsOver(aCase(), { hold }));
    });
  });

  describe('where a person has to approve', () => {
    const policy = acting({ mode: 'Approve' });
    const approval = { by: 'somebody', at: '2026-01-01T00:00:00Z', incident: 'node-1-1' };
    const approved = (id: string): Partial<NodeCase> => ({
      policy,
      fence: aFence({ approval, incident: anIncident({ id }) }),
    });

    test('[STM-1] nothing begins before that, or by what was approved of another incident', () => {
      assert.equal(heldBy({ kind: 'fence' }), undefined);
      assert.equal(heldBy({ kind: 'fence' }, { policy }), 'AwaitingApproval');
      assert.equal(heldBy({ kind: 'fence' }, approved('node-1-1')), undefined);
      assert.equal(heldBy({ kind: 'fence' }, approved('node-1-2')), 'AwaitingApproval');
      const unasked = aFence({ incident: anIncident() });
      assert.equal(heldBy({ kind: 'fence' }, { policy, fence: unasked }), 'AwaitingApproval');
      const unpoliced = { policy: { kind: 'none' }, count: aCount() } as const;
      assert.equal(heldBy({ kind: 'fence', isRequested: true }, unpoliced), undefined);
    });

    test('[STM-1] nor is what was found off let go before', () => {
      const off = { name: 'ipmi', action: 'off', driver: 'agent:x', parameters: {}, secrets: [] } as const;
      const answer = { device: 'ipmi', power: 'off', identity: 'same', message: 'off', wasSeenOn: true } as const;
      const config = { isolation: [], powerManagement: [{ off: [off], on: [] }], recovery: [] };
      const power = { question: questionOf([off]), askedForMs: 0, answers: [answer] };
      const found = { config: { ok: true, config }, power } as const;
      assert.equal(isFoundOff(aCase({ ...found, policy: acting() })), true);
      assert.equal(isFoundOff(aCase({ ...found, policy })), false);
    });
  });

  test('[SAF-18] a cut has patience, unless a person wants it; what is gone has no plans', () => {
    const cordoned = { node: aNode({ plans }) };
    assert.equal(heldBy({ kind: 'fence', spell }, cordoned), 'PlannedWork');
    assert.equal(heldBy({ kind: 'fence', spell, isRequested: true }, cordoned), undefined);
    assert.equal(heldBy({ kind: 'remedy' }, cordoned), undefined, 'what cuts nothing has none');
    assert.equal(
      heldBy({ kind: 'fence', spell }, { ...cordoned, isUnread: true }),
      undefined,
      'nobody has read its pods',
    );
    const gone = withoutNode(aCase({ serverNowMs: nowMs, policy: acting() }));
    assert.equal(brakeOf(gone, { kind: 'fence', spell }), undefined);
  });

  test('[SAF-18] a cut waits while the API server lets nothing go; a person, and what cuts nothing, need not', () => {
    const refused = { message: 'a webhook says no', forMs: 0 };
    const brake = brakeOf(aCase({ serverNowMs: nowMs, policy: acting(), refused }), { kind: 'fence' });
    assert.deepEqual(brake, {
      reason: 'ReleaseRefused',
      message: 'nothing would be freed by a cut: a webhook says no',
      recheckAtMs: nowMs + 60_000,
    });
    assert.equal(heldBy({ kind: 'fence', isRequested: true }, { refused }), undefined);
    assert.equal(heldBy({ kind: 'remedy' }, { refused }), undefined);
  });

  test('[SAF-18, SAF-4] what cuts it off from its storage is no such cut: that it was cut off before is found out by it', () => {
    const refused = { message: 'a webhook says no', forMs: 0 };
    const off = { name: 'fc-off', action: 'off', driver: 'agent:x', parameters: {}, secrets: [] } as const;
    const config = {
      ok: true,
      config: { isolation: [{ off: [off], on: [] }], powerManagement: [], recovery: [] },
    } as const;
    const broken = { ok: false, problems: [] } as const;
    const phase = (name: 'waiting' | 'isolated'): ReturnType<typeof aFence> => aFence({ fence: aStored(name) });
    assert.equal(heldBy({ kind: 'fence' }, { refused, config }), undefined);
    assert.equal(heldBy({ kind: 'fence' }, { refused, config, fence: phase('waiting') }), undefined);
    assert.equal(heldBy({ kind: 'fence' }, { refused, config, fence: phase('isolated') }), 'ReleaseRefused');
    assert.equal(heldBy({ kind: 'fence' }, { refused, config: broken }), 'ReleaseRefused');
  });

  test('[SAF-18] whoever takes over has tried before it cuts what was held by that', () => {
    const since = '2026-01-01T00:59:00Z';
    const left = (holder: string, reason: 'ReleaseRefused' | 'Cooldown' = 'ReleaseRefused'): NodeCase => {
      const hold = { reason, message: 'a webhook says no', since };
      return aCase({ serverNowMs: nowMs, policy: acting(), identity: 'one', fence: aFence({ hold, holder }) });
    };
    const brake = brakeOf(left('another'), { kind: 'fence' });
    assert.deepEqual([brake?.reason, brake?.message], ['ReleaseRefused', 'a webhook says no']);
    assert.equal(brake?.recheckAtMs, nowMs + 1000, 'it has tried by then');
    assert.equal(brakeOf(left('one'), { kind: 'fence' }), undefined, 'and something has gone');
    assert.equal(brakeOf(left('another', 'Cooldown'), { kind: 'fence' }), undefined);
  });

  test('[SAF-7] a cut by a ladder looks around first; a person, and what cuts nothing, need not', () => {
    const around = { unheard: 1, names: ['node-2'], settledAtMs: nowMs };
    assert.equal(heldBy({ kind: 'fence' }, { around }), 'LookingAround');
    assert.equal(heldBy({ kind: 'fence', isRequested: true }, { around }), undefined);
    assert.equal(heldBy({ kind: 'remedy' }, { around }), undefined);
  });

  test('[STM-1] what only those hold back who are not judged yet is looked at again by itself', () => {
    const storm = { maxUnresponsive: 2, maxConcurrent: 1, cooldownMs: 0 };
    const againAt = (troubled: number, unjudged: number): number | undefined => {
      const count = { ...aCount(), nodes: 5, troubled, unjudged };
      const policy = inForce({ remedy: aRemedy({ storm }) });
      const brake = brakeOf(aCase({ serverNowMs: nowMs, policy, count }), { kind: 'remedy' });
      assert.equal(brake?.reason, 'StormLimit');
      return brake?.recheckAtMs;
    };
    assert.equal(againAt(3, 1), nowMs + 1000);
    assert.equal(againAt(3, 0), undefined, 'it is told when one of them is back');
    assert.equal(againAt(4, 1), undefined, 'it is a storm without that one');
    const held = (troubled: number, unjudged: number): RemedyHold | undefined => {
      const quorums = [{ of: 'etcd', nodes: 3, troubled, busy: [] }];
      const count = { ...aCount(), unjudged, quorums };
      return brakeOf(aCase({ serverNowMs: nowMs, policy: acting(), count }), { kind: 'remedy' });
    };
    assert.deepEqual([held(2, 0)?.reason, held(2, 0)?.recheckAtMs], ['ControlPlaneQuorum', undefined]);
    assert.equal(held(2, 1)?.recheckAtMs, nowMs + 1000);
    assert.equal(held(1, 1), undefined, 'nothing holds it back');
  });

  test('[SAF-7] when all others are known of is said once, although each pass counts it anew', () => {
    const until = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
    const ends = (
      settledAtMs: number,
      said: number,
      reason: 'LookingAround' | 'Cooldown' = 'LookingAround',
    ): number => {
      const around = { unheard: 1, names: ['node-2'], settledAtMs };
      const hold = { reason, message: 'x', since: until(nowMs), until: until(said) };
      const known = aCase({ serverNowMs: nowMs, policy: acting(), around, fence: aFence({ hold }) });
      return ((brakeOf(known, { kind: 'fence' })?.untilMs ?? 0) - nowMs) / 1000;
    };
    assert.equal(ends(nowMs + 9000, nowMs + 10_000), 10);
    assert.equal(ends(nowMs + 10_000, nowMs + 9000), 9);
    assert.equal(ends(nowMs + 10_000, nowMs + 5000), 10, 'others were heard of meanwhile');
    assert.equal(ends(nowMs + 10_000, nowMs + 9000, 'Cooldown'), 10, 'that was about something else');
  });

  test('[STM-6] a storm is on record where a policy says how many are too many', () => {
    const count = aCount({ nodes: 3, troubled: 3 });
    assert.equal(isInStorm(aCase({ policy: acting(), count }), undefined), true);
    assert.equal(isInStorm(aCase({ policy: acting() }), undefined), false);
    assert.equal(isInStorm(aCase({ count }), undefined), false);
    const storm = { sinceMs: nowMs, nodes: 10, zones: {} };
    const unjudged = { ...count, unjudged: count.troubled };
    assert.equal(isInStorm(aCase({ policy: acting(), count: unjudged }), undefined), false, 'they begin none');
    assert.equal(isInStorm(aCase({ policy: acting(), count: { ...unjudged, storm } }), undefined), true, 'nor end one');
    assert.equal(isInStorm(aCase({ policy: acting(), count: aCount({ storm }) }), undefined), false);
  });

  describe('a remedy', () => {
    const ladder: LadderState = {
      threshold: 'Broken=True',
      position: 0,
      remedy: 'look',
      phase: 'running',
      startedAt: '2026-01-01T00:00:00Z',
    };
    const held = (change: Partial<NodeCase>, kind = 'podTemplate'): string | undefined => {
      const node: LiveNode = aNode();
      const count = aCount({ nodes: 9, troubled: 1, remedying: ['node-2'] });
      return harshHold({ ...aCase({ policy: acting(), count, ...change }), node }, ladder, kind)?.reason;
    };

    test('[STM-4] waits for its slot, and goes on once it was begun, by whomever', () => {
      assert.equal(held({}), 'ConcurrencyLimit');
      assert.equal(held({}, 'cordon'), undefined);
      assert.equal(held({ task: { key: ladderKey(ladder), outcome: 'running', told: true } }), undefined);
      const job = {
        namespace: 'x',
        name: jobName(ladder, 'node-uid'),
        uid: 'u',
        purpose: 'look',
        template: '',
        startedAt: ladder.startedAt,
      };
      assert.equal(held({ fence: aFence({ jobs: [job] }) }), undefined);
      assert.equal(isHarshRung(ladder, 'podTemplate'), true);
      assert.equal(isHarshRung({ ...ladder, phase: 'recovering' }, 'podTemplate'), false);
      assert.equal(isHarshRung(undefined, 'podTemplate'), false);
    });
  });
});

describe('the node that the operator runs on', () => {
  const own: NodeCase['own'] = { handOver: 'possible' };
  const hold = { reason: 'OwnNode', message: '' } as const;
  const ago = (minutes: number): string => new Date(nowMs - minutes * 60_000).toISOString();
  const incident = (minutesAgo: number, heldFor?: number): NodeCase['fence'] =>
    aFence({
      incident: anIncident({ startedAt: ago(minutesAgo) }),
      ...(heldFor === undefined ? {} : { hold: { ...hold, since: ago(heldFor) } }),
    });
  const beside = (troubled: number, minutesAgo: number, change: Partial<NodeCase> = {}, heldFor?: number): NodeCase =>
    ({ ...seen(0), own, count: aCount({ troubled }), fence: incident(minutesAgo, heldFor), ...change }) as NodeCase;

  test('[STM-8] the lead is handed over when nobody else is in trouble, or has been for the time of a boot', () => {
    assert.ok(handsOver(beside(1, 0), { hold }));
    assert.ok(!handsOver(beside(2, 9, {}, 9), { hold }));
    assert.ok(handsOver(beside(2, 10, {}, 1), { hold }));
  });

  test('[STM-8] others have their turn once nothing else holds it back, and then the time of a boot for each step', () => {
    assert.ok(!handsOver(beside(2, 30), { hold }), 'nobody has looked at them yet');
    assert.ok(!handsOver(beside(2, 30, {}, 0.9), { hold }));
    assert.ok(handsOver(beside(2, 30, {}, 1), { hold }));
    const step = (minutesAgo: number): Partial<NodeCase> => ({
      count: aCount({ troubled: 2, fencedAtMs: nowMs - minutesAgo * 60_000 }),
    });
    assert.ok(!handsOver(beside(2, 30, step(9), 20), { hold }), 'the next to lead may run there');
    assert.ok(handsOver(beside(2, 30, step(10), 20), { hold }));
  });

  test('[STM-8] not where something else holds it, another one leads already, or it was in vain', () => {
    assert.ok(!handsOver(beside(1, 0), {}));
    assert.ok(!handsOver(beside(1, 0), { hold: { ...hold, reason: 'StormLimit' } }));
    assert.ok(!handsOver(beside(1, 0, { own: { handOver: 'inVain' } }), { hold }));
    assert.ok(!handsOver(beside(1, 0, { own: { handOver: 'tooSoon' } }), { hold }));
    const { own: _, ...elsewhere } = beside(1, 0);
    assert.ok(!handsOver(elsewhere, { hold }));
  });
});
