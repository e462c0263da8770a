import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aFence, aNode, anIncident, aPod } from '../../test/support/release-case.ts';
import {
  belongsToNode,
  clockTime,
  hasTaint,
  isFromBefore,
  isOver,
  isUnderFence,
  phaseHasEnded,
  fenceRung,
  fencesSilence,
  holdsSlot,
  isStillLookedAt,
  sharesBoot,
  hasCut,
} from './facts.ts';
import type { LadderThreshold } from './release-view.ts';

const at = '2026-01-01T00:00:00Z';
const cutting = { phase: 'poweringOff', switched: [{ commandSentAt: at }] };

test('[SAF-10, STM-4] a slot is held from the first command until what may go has gone, and by nobody who can do no more', () => {
  const holds = (fence: object, more: object = {}, spec = {}): boolean =>
    holdsSlot('fence', { spec, status: { fence: { ...cutting, ...fence }, ...more } });
  assert.equal(holds({}), true);
  assert.equal(holds({ switched: [{}] }), false, 'nothing was told');
  assert.equal(holds({ releasedAt: at }), false, 'all has gone');
  assert.equal(holds({ waitsFor: 'a person' }), false, 'only a person can help');
  assert.equal(holds({ phase: 'booting' }), false, 'not through the boot');
  const off = { phase: 'off', switched: [{ commandSentAt: at, confirmedAt: at }] };
  assert.equal(holds(off), true);
});

test('[SAF-10, STM-4] what was told has its slot, whoever holds the rest, until it is stored that it is at rest', () => {
  for (const held of [
    { spec: { stop: true } },
    { hold: { reason: 'AwaitingApproval' } },
    { hold: { reason: 'Any' } },
  ]) {
    const holds = (fence: object): boolean =>
      holdsSlot('fence', { spec: held.spec, status: { fence: { ...cutting, ...fence }, hold: held.hold } });
    const confirmed = { commandSentAt: at, confirmedAt: at };
    assert.equal(holds({}), true);
    assert.equal(holds({ phase: 'isolating' }), true);
    assert.equal(holds({ phase: 'isolated', switched: [confirmed] }), true);
    assert.equal(holds({ phase: 'off', switched: [confirmed] }), true, 'it is off, and its pods are there');
    assert.equal(holds({ phase: 'off', switched: [{ confirmedAt: at }] }), false, 'it was found off');
    assert.equal(holds({ phase: 'off', switched: [confirmed], waitsFor: 'a person' }), false);
    assert.equal(holds({ switched: [{ confirmedAt: at }, {}] }), false, 'nothing was told');
    assert.equal(holds({ phase: 'failed' }), false);
  }
});

test('[STM-4] a Job or a drain has a slot of its own from when it begins until it ends', () => {
  const holds = (ladder: { phase: string; begunAt?: string }, more: object = {}): boolean =>
    holdsSlot('remedy', { status: { ladders: [ladder], ...more } });
  assert.equal(holds({ phase: 'running', begunAt: at }), true);
  assert.equal(holds({ phase: 'running' }), false);
  assert.equal(holds({ phase: 'exhausted', begunAt: at }), false);
  assert.equal(holds({ phase: 'running', begunAt: at }, { hold: { reason: 'StormLimit' } }), false);
  const stopped = { spec: { stop: true }, status: { ladders: [{ phase: 'running', begunAt: at }] } };
  assert.equal(holdsSlot('remedy', stopped), false);
});

test('[FEN-16] a boot ID that another node has, or had, says nothing', () => {
  const node = aNode();
  assert.equal(sharesBoot({ node }), false);
  assert.equal(sharesBoot({ node: { ...node, sharesBootId: true } }), true);
  const had = (sharedBootId: string): boolean =>
    sharesBoot({ node, fence: aFence({ incident: anIncident({ sharedBootId }) }) });
  assert.deepEqual([had('boot-1'), had('boot-0')], [true, false]);
  assert.equal(sharesBoot({}), false, 'of no node nothing is known');
});

test('[EVD-2] a ladder is one for silence by the Lease, or by Ready as Kubernetes tells of silence, and fences somewhere', () => {
  const remedies = ['look', 'fence'].map((name) => ({ name, periodMs: 0, cleanResources: false }));
  const kinds: Record<string, string> = { look: 'podTemplate', fence: 'fence' };
  const rung = (change: Partial<LadderThreshold>): number | undefined =>
    fenceRung({ key: 'k', remedies, recovery: [], ...change }, (name) => kinds[name]);
  const of = (type: string, status: string): Partial<LadderThreshold> => ({ condition: { type, status, forMs: 0 } });
  assert.equal(rung(of('Ready', 'NotTrue')), 1);
  assert.equal(rung(of('Ready', 'Unknown')), 1);
  assert.equal(rung({ lease: { staleForMs: 12_000 } }), 1);
  assert.equal(rung(of('Ready', 'False')), undefined, 'its kubelet speaks');
  assert.equal(rung(of('Broken', 'Unknown')), undefined);
  assert.equal(rung({ ...of('Ready', 'Unknown'), remedies: remedies.slice(0, 1) }), undefined);
  assert.equal(rung({ ...of('Ready', 'Unknown'), remedies: remedies.slice(1) }), 0);
  const silent = { key: 'a', remedies, recovery: [], ...of('Ready', 'Unknown') };
  const broken = { key: 'b', remedies, recovery: [], ...of('Broken', 'True') };
  const facts = (...thresholds: LadderThreshold[]): boolean => fencesSilence({ thresholds, kinds });
  assert.deepEqual([facts(broken, silent), facts(broken), facts()], [true, false, false]);
});

test('[POD-6] somebody will still look at a pod that has a finalizer, or that a Job counts', () => {
  const owner = { group: 'batch', kind: 'Job', name: 'a', uid: 'a' };
  assert.equal(isStillLookedAt(aPod()), false);
  assert.equal(isStillLookedAt(aPod({ hasFinalizers: true })), true);
  assert.equal(isStillLookedAt(aPod({ owner })), true);
  assert.equal(isStillLookedAt(aPod({ owner: { ...owner, group: 'batch.example.com' } })), false);
  assert.equal(isStillLookedAt(aPod({ owner: { ...owner, kind: 'CronJob' } })), false);
});

test('[FEN-2] a fence is under way while a machine is off or comes back, or something was told, until it has ended', () => {
  for (const phase of ['off', 'poweringOn', 'booting', 'recovering'])
    assert.equal(isUnderFence({ phase }), true, phase);
  for (const phase of ['finished', 'failed']) {
    assert.equal(isUnderFence({ phase, switched: [{}], told: ['d'] }), false, phase);
    assert.equal(phaseHasEnded(phase), true);
  }
  assert.deepEqual([isUnderFence({ phase: 'waiting' }), isUnderFence(undefined)], [false, false]);
  assert.equal(isUnderFence({ phase: 'waiting', told: [] }), true);
  assert.equal(isUnderFence({ phase: 'waiting', switched: [{}] }), true);
  assert.deepEqual([phaseHasEnded('off'), phaseHasEnded(undefined)], [false, false]);
});

test('[STM-4] one of several commands, or of several ladders, is enough for a slot', () => {
  const status = { fence: { ...cutting, switched: [{}, { commandSentAt: at }] } };
  assert.equal(holdsSlot('fence', { status }), true);
  const ladders = [{ phase: 'waiting' }, { phase: 'running', begunAt: at }];
  assert.equal(holdsSlot('remedy', { status: { ladders } }), true);
  assert.deepEqual([holdsSlot('fence', {}), holdsSlot('remedy', {})], [false, false]);
});

test('[SAF-6] from before there was the object is what clocks that differ by a minute cannot explain', () => {
  const object = { metadata: { creationTimestamp: '2026-01-01T00:10:00Z' } };
  const since = (ms: number): boolean => isFromBefore(clockTime(Date.parse('2026-01-01T00:09:00Z') + ms), object);
  assert.deepEqual([since(-1000), since(0)], [true, false]);
});

test('[FEV-2, POD-6] what belongs to a node, what is over, and which taint it is', () => {
  const owner = { group: 'apps', kind: 'DaemonSet', name: 'a', uid: 'a' };
  assert.deepEqual([aPod(), aPod({ mirror: true }), aPod({ owner })].map(belongsToNode), [false, true, true]);
  assert.deepEqual(
    ['Running', 'Failed', 'Succeeded'].map((phase) => isOver({ phase })),
    [false, true, true],
  );
  const node = aNode({
    taints: [
      { key: 'a', effect: 'NoSchedule' },
      { key: 'b', effect: 'NoExecute' },
    ],
  });
  assert.deepEqual(
    [hasTaint(node, 'b', 'NoExecute'), hasTaint(node, 'b', 'NoSchedule'), hasTaint(undefined, 'a', 'NoSchedule')],
    [true, false, false],
  );
});

test('[RET-2] a fence has cut what a device was told, and has not undone', () => {
  const [device, commandSentAt] = ['a1', '2026-01-01T00:00:00Z'];
  const has = (entry: object, phase = 'failed'): boolean => hasCut({ phase, switched: [entry] });
  assert.deepEqual([has({ device, commandSentAt }), has({ device }), has({ commandSentAt })], [true, false, false]);
  assert.deepEqual([hasCut({ phase: 'waiting', told: [device] }), hasCut({ phase: 'waiting' })], [true, false]);
  assert.deepEqual([has({ device, commandSentAt }, 'finished'), hasCut(undefined)], [false, false]);
});
