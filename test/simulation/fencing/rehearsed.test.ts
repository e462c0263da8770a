/** A policy that only rehearses says what it would have done and when, rung by rung; and does nothing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Observed } from '../release/observed.ts';
import { observe, statusAt } from '../release/observed.ts';
import { failuresOf } from '../run-file.ts';
import { askedOf, asExpected, atOnce, fenced, inPlace, place, policyOf } from './fenced.ts';

const ladder = {
  thresholds: [
    {
      lease: { staleFor: '12s' },
      remedies: [
        { name: 'cordon', period: '30s' },
        { name: 'fence', period: '10s' },
        { name: 'replace', period: '10s' },
      ],
      recovery: [{ name: 'uncordon' }],
    },
  ],
  remedies: [
    { name: 'cordon', cordon: {} },
    { name: 'fence', fence: {} },
    { name: 'replace', deleteMachine: {} },
    { name: 'uncordon', uncordon: {} },
  ],
};

const rehearsing = { ...ladder, mode: 'DryRun' };

type Step = { atMs: number; reason: string };

/** In the order of the record, with the time of the scenario at which each was first there. */
function stepsOf({ statuses }: Observed): Step[] {
  const first = new Map<string, Step>();
  for (const { atMs, status } of statuses) {
    for (const { at, reason, message } of status.rehearsal?.steps ?? []) {
      const key = `${at} ${message}`;
      if (!first.has(key)) first.set(key, { atMs, reason });
    }
  }
  return [...first.values()];
}

const reasonsOf = (seen: Observed): string[] => stepsOf(seen).map(({ reason }) => reason);

/** What was done to nodes, pods, volumes and devices. */
function deedsOf(seen: Observed): string[] {
  const writes = seen.writes.map(({ what }) => what).filter((what) => !/nodefences|fencedevices|policies/.test(what));
  return [...writes, ...askedOf(seen).map(({ what }) => `device ${what}`)];
}

const whole = ['WouldCordon', 'WouldCutPower', 'WouldQuarantine', 'WouldRelease', 'WouldConnect'];

describe('a policy that only rehearses', () => {
  test('[SAF-12, ADM-5] says each rung when it would have been done, once, and does nothing', async () => {
    const events = [{ at: '0s', partition: place }];
    const seen = await asExpected('rehearsed', { policy: rehearsing, events, expect: [inPlace], runFor: '4m' });
    assert.deepEqual(deedsOf(seen), []);
    assert.deepEqual(reasonsOf(seen), [...whole, 'WouldFail', 'WouldDeleteMachine']);
    const { rehearsal, hold, ladders, fence } = statusAt(seen);
    assert.match(rehearsal?.steps[3]?.message ?? '', /default\/web-\S+ on the basis PowerOff/);
    assert.deepEqual([hold?.reason, ladders, fence], ['DryRun', [], undefined]);
    // On the Node and on its NodeFence.
    for (const reason of whole) assert.equal(seen.events.filter((event) => event.reason === reason).length, 2, reason);
    // As it would have been.
    const real = await observe(fenced('rehearsed', { policy: ladder, events, runFor: '4m' }));
    const cutAt = askedOf(real)[0]?.at ?? 0;
    const said = stepsOf(seen).find(({ reason }) => reason === 'WouldCutPower')?.atMs ?? 0;
    assert.ok(Math.abs(cutAt - said) <= 2000, `cut at ${cutAt}, rehearsed at ${said}`);
  });

  test('[SAF-12] of a node that comes back says how it would have come back, and can be read afterwards', async () => {
    const events = [
      { at: '0s', partition: place },
      { at: '30s', heal: place },
    ];
    const seen = await asExpected('rehearsed-back', { policy: rehearsing, events, runFor: '3m' });
    assert.deepEqual(reasonsOf(seen), ['WouldCordon', 'WouldUncordon']);
    const { incident, rehearsal } = statusAt(seen);
    assert.deepEqual([incident, rehearsal?.steps.length], [undefined, 2]);
    assert.deepEqual(deedsOf(seen), []);
  });

  test('[SAF-12] rehearses trouble of a node that is Ready, and what would have held it', async () => {
    const condition = { type: 'KernelDeadlock', status: 'True', for: '5s' };
    const thresholds = [{ condition, remedies: [{ name: 'fence', period: '10s' }] }];
    const events = [
      { at: '0s', condition: { node: 'node-1', type: 'KernelDeadlock', status: 'True' } },
      { at: '0s', condition: { node: 'node-2', type: 'KernelDeadlock', status: 'True' } },
      { at: '1m', condition: { node: 'node-2', type: 'KernelDeadlock', status: 'False' } },
    ];
    const policy = { mode: 'DryRun', thresholds, storm: { maxUnresponsive: 1, cooldown: '10s' }, fence: atOnce };
    const seen = await asExpected('rehearsed-ready', { policy, events, runFor: '3m' });
    const early = seen.statuses.filter(({ atMs }) => atMs < 60_000);
    assert.ok(early.some(({ status }) => /may be/.test(status.rehearsal?.waitsFor ?? '')));
    assert.deepEqual(
      early.filter(({ status }) => status.rehearsal?.steps.length),
      [],
    );
    assert.ok(reasonsOf(seen).includes('WouldCutPower'));
    assert.deepEqual(deedsOf(seen), []);
  });

  test('[SAF-12, SAF-7] begins at the beginning when it is told to act', async () => {
    const events = [
      { at: '0s', partition: place },
      { at: '90s', apply: policyOf({ ...ladder, mode: 'Enforce' }) },
    ];
    const seen = await observe(fenced('rehearsed-then-meant', { policy: rehearsing, events, runFor: '150s' }));
    assert.deepEqual(failuresOf(seen.report), []);
    assert.deepEqual(
      seen.writes.filter(({ what, atMs }) => /nodes\/|pods\//.test(what) && atMs < 90_000),
      [],
    );
    const status = statusAt(seen);
    assert.equal(status.rehearsal, undefined);
    // The first rung, its period, and only then the second, which looks around first.
    const cordon = seen.writes.find(({ what, body }) => /nodes\//.test(what) && body.includes('unschedulable'));
    assert.ok(cordon !== undefined && cordon.atMs >= 90_000 && cordon.atMs < 95_000);
    const cut = askedOf(seen)[0];
    assert.ok(cut !== undefined && cut.at >= 120_000 && cut.what === 'off');
    assert.ok(Date.parse(status.fence?.startedAt ?? '') - Date.parse(status.incident?.startedAt ?? '') > 100_000);
  });

  test('[SAF-7, SAF-12] a fence that had touched nothing when its policy was paused begins anew', async () => {
    for (const mode of ['Paused', 'DryRun']) {
      const slow = { fence: { ...atOnce, isolateAfter: '60s', powerManagementAfter: '60s' } };
      const events = [
        { at: '0s', partition: place },
        { at: '30s', apply: policyOf({ ...slow, mode }) },
        { at: '3m', apply: policyOf({ ...slow, mode: 'Enforce' }) },
      ];
      const seen = await observe(fenced(`waited-${mode}`, { policy: slow, events, runFor: '5m' }));
      assert.deepEqual(failuresOf(seen.report), []);
      assert.equal(statusAt(seen, 29_000).fence?.phase, 'waiting');
      const cut = askedOf(seen)[0];
      assert.ok(cut !== undefined && cut.at >= 240_000, `${mode}: cut at ${cut?.at}`);
    }
  });
});
