import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aCase,
  aFence,
  anAttachment,
  anIncident,
  aNode,
  aPod,
  aRecord,
  aRemedy,
  inForce,
  nowMs,
  renewedLease,
  silentLease,
  withoutNode,
} from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { PowerAnswer } from '../api/power.ts';
import { questionOf } from '../api/power.ts';
import type { LiveNode, NodeCase, PodFacts, RemedyFacts } from '../api/release-view.ts';
import type { Plans } from '../api/plans.ts';
import { gainOf } from './gain.ts';
import type { Patience } from './patience.ts';
import { patienceWith, wasShuttingDown, worthOf } from './patience.ts';

const noPlans: Plans = { isCordoned: false, isShuttingDown: false, pauses: {} };
const door = { address: '10.0.0.1', port: 10_250 };
/** Called for a minute ago. */
const spell = { sinceMs: nowMs - 60_000, heardMs: nowMs - 60_000, bootTimeoutMs: 600_000 };
const silent = { askedForMs: 1000, port: 'silent' } as const;

function withNode(change: Partial<LiveNode>, more: Partial<NodeCase> = {}): NodeCase & { node: LiveNode } {
  const node = aNode({ plans: noPlans, kubelet: door, ...change });
  return { ...aCase({ kubelet: silent, ...more }), node };
}

const reasonOf = (found: Patience | undefined): string | undefined => found?.reason;

describe('patience', () => {
  test('[SAF-18] a node with something to free, of which nobody has plans, and whose machine is silent, has none', () => {
    assert.equal(patienceWith(withNode({}), spell), undefined);
  });

  test('[SAF-18] a cordon by others gives it the time of a boot, and no more', () => {
    const nodeCase = withNode({ plans: { ...noPlans, isCordoned: true } });
    const found = patienceWith(nodeCase, spell);
    assert.equal(found?.reason, 'PlannedWork');
    assert.equal(found?.recheckAtMs, spell.sinceMs + 600_000);
    assert.match(found?.message ?? '', /^the node is cordoned, .* it has until 2026-01-01T00:19:00Z to be back$/);
    assert.equal(patienceWith(nodeCase, { ...spell, sinceMs: nowMs - 600_000 }), undefined);
  });

  describe('with a machine that was off', () => {
    const method: Method = { name: 'ipmi', action: 'off', driver: 'agent:fence_ipmilan', parameters: {}, secrets: [] };
    const off = [{ method: 'ipmi', ...method }];
    const config = {
      ok: true,
      config: { isolation: [], powerManagement: [{ name: 'level-0', off, on: [] }], recovery: [] },
    } as unknown as NodeCase['config'];
    const seenOff = { at: '2026-01-01T00:08:00Z', bootId: 'boot-1' };
    const after = (
      power: PowerAnswer['power'] | undefined | 'off and on',
      { askedForMs = 0, said, ...more }: { askedForMs?: number; onAt?: string; bootId?: string; said?: object } = {},
    ): Patience | undefined => {
      const answers =
        power === undefined
          ? {}
          : { answers: power.split(' and ').map((one) => ({ power: one, ...said }) as PowerAnswer) };
      const fence = aFence({ incident: anIncident({ foundOff: { ...seenOff, ...more } }) });
      const asked = { question: questionOf(off), askedForMs, ...answers };
      return patienceWith(withNode({}, { config, fence, power: asked }), { ...spell, sinceMs: 0 });
    };

    test('[SAF-17] by a device that is not known to be about this machine: nobody has switched this one on', () => {
      const rows = [{ identity: 'other' }, { wrong: 'two machines answered' }, { identity: 'none', wasSeenOn: false }];
      for (const said of rows) assert.notEqual(reasonOf(after('on', { said })), 'PlannedWork', JSON.stringify(said));
      assert.equal(reasonOf(after('on', { said: { identity: 'none', wasSeenOn: true } })), 'PlannedWork');
    });

    test('[SAF-18] and is on: somebody has switched it on, and it has the time of a boot from then on', () => {
      assert.equal(reasonOf(after('off and on')), 'PlannedWork', 'by one of its devices');
      assert.match(
        after('on')?.message ?? '',
        /^its machine was off and has been switched on, .* until 2026-01-01T00:20:00Z /,
      );
      const onAt = '2026-01-01T00:09:00Z';
      assert.match(after('on', { onAt })?.message ?? '', / until 2026-01-01T00:19:00Z /);
      assert.equal(reasonOf(after('unknown', { onAt })), 'PlannedWork', 'as it is on record');
      assert.equal(after('on', { onAt: '2026-01-01T00:00:00Z' }), undefined, 'it had its time');
      assert.equal(after('on', { bootId: 'boot-0' }), undefined, 'that was another boot');
      assert.equal(after('off'), undefined);
    });

    test('[SAF-18] and of which nobody knows: it is found out first, by whoever can be asked', () => {
      assert.equal(reasonOf(after(undefined)), 'LookingAround');
      assert.equal(after(undefined, { askedForMs: 10_000 }), undefined);
      assert.equal(after('unknown'), undefined);
    });
  });

  test('[SAF-18] a kubelet that went away a moment ago has its five minutes, however long ago the cut was called for', () => {
    const away = withNode({}, { kubelet: { askedForMs: 1000, port: 'refused' } });
    const found = patienceWith(away, { sinceMs: 0, heardMs: nowMs - 5000, bootTimeoutMs: 0 });
    assert.equal(found?.untilMs, nowMs + 295_000);
    assert.deepEqual(worthOf(away, { sinceMs: 0, heardMs: nowMs - 5000, bootTimeoutMs: 0 }).door, door);
  });

  test('[SAF-18] a shutdown that was reported is remembered for its boot, until the node is well', () => {
    const incident = anIncident({ shutDown: { at: '2026-01-01T00:09:00Z', bootId: 'boot-1' } });
    const fence = aFence({ incident });
    assert.equal(reasonOf(patienceWith(withNode({}, { fence }), spell)), 'PlannedWork');
    assert.equal(patienceWith(withNode({ bootId: 'boot-2' }, { fence }), spell), undefined);
    assert.equal(patienceWith(withNode({ ready: 'True' }, { fence }), spell), undefined);
  });

  test('[SAF-18] a port that refuses gives it five minutes, whatever the timers say; one that is silent nothing', () => {
    const away = withNode({}, { kubelet: { askedForMs: 1000, port: 'refused' } });
    assert.equal(reasonOf(patienceWith(away, { ...spell, bootTimeoutMs: 0 })), 'KubeletDown');
    assert.equal(patienceWith(away, { ...spell, heardMs: nowMs - 300_000 }), undefined);
    assert.equal(patienceWith(withNode({}, { kubelet: { askedForMs: 1000, port: 'open' } }), spell), undefined);
  });

  test('[SAF-18] before anybody has knocked nothing is known, and who does not know in time is not waited for', () => {
    const { kubelet: _, ...unasked } = withNode({});
    assert.equal(reasonOf(patienceWith(unasked, spell)), 'LookingAround');
    assert.equal(reasonOf(patienceWith(withNode({}, { kubelet: { askedForMs: 1000 } }), spell)), 'LookingAround');
    assert.equal(patienceWith(withNode({}, { kubelet: { askedForMs: 5000 } }), spell), undefined);
    const old = withNode({}, { kubelet: { askedForMs: 20_000, port: 'silent' } });
    assert.equal(reasonOf(patienceWith(old, spell)), 'LookingAround');
    const { kubelet: __, ...nowhere } = aNode({ plans: noPlans });
    assert.equal(patienceWith({ ...unasked, node: nowhere }, spell), undefined);
  });

  test('[SAF-18] all pauses have to have passed, and one that is no time has not', () => {
    const paused = (pauses: Record<string, string>): Patience | undefined =>
      patienceWith(withNode({ plans: { ...noPlans, pauses } }), { ...spell, sinceMs: 0, heardMs: 0 });
    const [past, soon, later] = ['2026-01-01T00:09:00Z', '2026-01-01T00:11:00Z', '2026-01-01T02:00:00+01:00'];
    assert.equal(paused({ a: past }), undefined);
    assert.equal(paused({ a: '2026-01-01T00:10:00Z' }), undefined, 'over when its time has come');
    assert.deepEqual(paused({ a: past, b: soon, c: later }), {
      reason: 'NamedPause',
      message: 'paused until 2026-01-01T01:00:00Z by b, c',
      recheckAtMs: Date.parse(later),
      untilMs: Date.parse(later),
    });
    const broken = paused({ a: 'tonight', b: soon });
    assert.match(
      broken?.message ?? '',
      /^the annotation fenceline\.dev\/pause\.a is "tonight", which is no time: write/,
    );
    assert.equal(broken?.recheckAtMs, undefined);
  });

  test('[SAF-18] a quarantine of ours of which nobody remembers anything is looked into', () => {
    const taints = [{ key: 'fenceline.dev/quarantine', effect: 'NoSchedule' }];
    const empty = { pods: [], attachments: [] };
    assert.equal(reasonOf(patienceWith(withNode({}, empty), spell)), 'NothingToFree');
    const late = { ...spell, sinceMs: nowMs - spell.bootTimeoutMs, heardMs: nowMs - spell.bootTimeoutMs };
    assert.equal(reasonOf(patienceWith(withNode({}, empty), late)), undefined);
    const unborn = patienceWith(withNode({ bootId: '' }, empty), late);
    assert.match(unborn?.message ?? '', /^no kubelet has ever reported for the node/);
    assert.equal(unborn?.untilMs, undefined);
    assert.equal(patienceWith(withNode({ taints }, { ...empty, fence: aFence() }), spell), undefined);
    const known = aFence({ releases: [aRecord()] });
    assert.equal(reasonOf(patienceWith(withNode({ taints }, { ...empty, fence: known }), spell)), 'NothingToFree');
  });

  test('[SAF-18] what nobody remembers of an earlier boot has ended with its power', () => {
    const taints = [{ key: 'fenceline.dev/quarantine', effect: 'NoSchedule' }];
    const offIn = (bootId: string): Patience | undefined => {
      const fence = aFence({ incident: anIncident({ poweredOff: { at: '2026-01-01T00:05:00Z', bootId } }) });
      return patienceWith(withNode({ taints }, { pods: [], attachments: [], fence }), spell);
    };
    assert.equal(reasonOf(offIn('boot-0')), 'NothingToFree');
    assert.equal(offIn('boot-1'), undefined);
  });

  test('[SAF-18, REM-9] what its own ladder has emptied to restart it is not held, as long as its kubelet lives', () => {
    const lease = { ...renewedLease };
    const rung = (name: string): RemedyFacts['thresholds'][number]['remedies'][number] => ({
      name,
      periodMs: 0,
      cleanResources: true,
    });
    const remedy = aRemedy({
      thresholds: [{ key: 'Broken=True', remedies: [rung('empty'), rung('restart')], recovery: [] }],
      kinds: { empty: 'drain', restart: 'fence' },
    });
    const startedAt = '2026-01-01T00:09:00Z';
    const ladderAt = (position: number, phase: 'running' | 'waiting' = 'running') =>
      ({ threshold: 'Broken=True', position, remedy: 'restart', phase, startedAt }) as const;
    const at = (
      position: number,
      { ready = 'True', ...more }: Partial<NodeCase> & Pick<Partial<LiveNode>, 'ready'> = {},
    ): string | undefined => {
      const fence = aFence({ ladders: [ladderAt(position)] });
      const empty = { pods: [], attachments: [], policy: inForce({ remedy }), fence, lease, ...more };
      return reasonOf(patienceWith(withNode({ ready }, empty), spell));
    };
    assert.equal(at(1), undefined);
    assert.equal(at(0), 'NothingToFree', 'somebody else has emptied it');
    assert.equal(at(1, { lease: silentLease }), 'NothingToFree', 'it may be booting');
    assert.equal(at(1, { ready: 'False' }), undefined);
    assert.equal(at(1, { ready: 'Unknown' }), 'NothingToFree', 'it is just coming back');
    const { renewed: _, ...first } = renewedLease;
    assert.equal(at(1, { lease: first }), 'NothingToFree', 'nobody has seen it renewed');
    assert.equal(at(1, { lease: { ...lease, unchangedForMs: 60_000 } }), 'NothingToFree', 'it has not been for long');
    const waits = aFence({ ladders: [ladderAt(1, 'waiting')] });
    assert.equal(at(1, { fence: waits }), 'NothingToFree', 'it does not restart it now');
    const two = aFence({ ladders: [ladderAt(1, 'waiting'), ladderAt(1)] });
    assert.equal(at(1, { fence: two }), undefined);
    assert.equal(at(1, { policy: { kind: 'none' } }), 'NothingToFree', 'nobody knows what its ladder was');
  });

  test('[SAF-18] what a cut rests on: plans, gain and port while they matter', () => {
    assert.deepEqual(worthOf(withNode({}), spell), {
      plans: noPlans,
      gain: { kind: 'pod', namespace: 'default', name: 'web-0', uid: 'pod-0' },
      door,
    });
    assert.deepEqual(worthOf(withNode({}), { ...spell, sinceMs: 0, heardMs: 0 }), { plans: noPlans });
    const { gain } = worthOf(withNode({}), { ...spell, sinceMs: nowMs - 600_000 });
    assert.equal(gain, undefined, 'the time is over');
    assert.equal(worthOf(withNode({}), { ...spell, heardMs: nowMs - 300_000 }).door, undefined);
  });

  test('[SAF-18] whether a machine that has no Node was shutting down, nobody knows', () => {
    const incident = anIncident({ shutDown: { at: '2026-01-01T00:09:00Z', bootId: 'boot-1' } });
    const nodeCase = withNode({}, { fence: aFence({ incident }) });
    assert.equal(wasShuttingDown(nodeCase), true);
    assert.equal(wasShuttingDown(withoutNode(nodeCase)), false);
  });
});

describe('what there is to gain', () => {
  const of = (pod: Partial<PodFacts>): string | undefined =>
    gainOf(withNode({}, { pods: [aPod(pod)], attachments: [] }))?.kind;
  const daemon = { group: 'apps', kind: 'DaemonSet', name: 'agent', uid: 'set-1' };

  test('[SAF-18] a pod that could run elsewhere, and no other', () => {
    assert.equal(of({}), 'pod');
    assert.equal(of({ owner: daemon }), undefined);
    assert.equal(of({ mirror: true }), undefined);
    assert.equal(of({ phase: 'Succeeded' }), undefined);
    assert.equal(of({ isPinned: true, claims: [] }), undefined);
    assert.equal(of({ isPinned: true }), 'pod', 'its volume could be used elsewhere');
  });

  test('[SAF-18] a volume that is attached there, and that nobody who stays uses', () => {
    const attachments = [anAttachment()];
    assert.deepEqual(gainOf(withNode({}, { pods: [], attachments })), {
      kind: 'attachment',
      name: 'csi-0',
      uid: 'attachment-0',
    });
    assert.equal(gainOf(withNode({}, { pods: [aPod({ owner: daemon })], attachments })), undefined);
    assert.equal(gainOf(withNode({}, { pods: [], attachments: [anAttachment({ node: 'node-2' })] })), undefined);
  });
});
