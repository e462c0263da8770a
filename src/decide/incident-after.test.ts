/** What is kept of an incident for whoever leads next, who has not heard what was said. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fence } from '../../test/support/fenced-case.ts';
import { aStored, config, entryOf, ipmi, minutesAgo } from '../../test/support/fenced-case.ts';
import { aCase, anIncident, nowMs } from '../../test/support/release-case.ts';
import { clockTime } from '../api/facts.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { PowerAnswer } from '../api/power.ts';
import { questionOf } from '../api/power.ts';
import type { NodeCase } from '../api/release-view.ts';
import { decideRelease } from './decide-release.ts';
import { asItStands } from './decide-remedy.ts';
import { incidentAfter } from './incident-after.ts';

type Incident = NonNullable<NodeFenceStatus['incident']>;

const now = clockTime(nowMs);
const trouble = { text: 'Ready=Unknown' };

function after(nodeCase: NodeCase, before: Incident, fence?: Fence): Incident {
  const remedy = { ...asItStands(nodeCase), ...(fence === undefined ? {} : { fence }) };
  return incidentAfter({ nodeCase, decision: decideRelease(nodeCase, remedy, 1), remedy, trouble }, before, now);
}

function said(power: PowerAnswer['power'], change: Partial<PowerAnswer> = {}): NodeCase {
  const answer = { device: 'ipmi', power, identity: 'same', wasSeenOn: true, message: power, ...change } as const;
  const asked = { question: questionOf(ipmi.off), askedForMs: 0, answers: [answer] };
  return aCase({ config: { ok: true, config }, power: asked });
}

describe('[SAF-18, EVD-2] that a machine was found off', () => {
  test('is remembered since it was first said, for this boot', () => {
    assert.deepEqual(after(said('off'), anIncident()).foundOff, { at: now, bootId: 'boot-1' });
    const foundOff = { at: minutesAgo(3), bootId: 'boot-1' };
    assert.deepEqual(after(said('off'), anIncident({ foundOff })).foundOff, foundOff);
    const earlier = { ...foundOff, bootId: 'boot-0' };
    assert.deepEqual(after(said('off'), anIncident({ foundOff: earlier })).foundOff, { at: now, bootId: 'boot-1' });
    assert.equal(after(said('on'), anIncident()).foundOff, undefined);
  });

  test('is not, where it was said of another machine, or by a device that is known to be wrong', () => {
    assert.equal(after(said('off', { identity: 'other' }), anIncident()).foundOff, undefined);
    assert.equal(after(said('off', { wrong: 'it is swapped' }), anIncident()).foundOff, undefined);
  });

  test('is forgotten when its power was told anything, and not when only its way to the storage was', () => {
    const foundOff = { at: minutesAgo(3), bootId: 'boot-1' };
    const told = (step: 'isolation' | 'power-management', phase: Fence['phase']): Incident['foundOff'] =>
      after(said('off'), anIncident({ foundOff }), aStored(phase, { step, switched: [entryOf(step)] })).foundOff;
    assert.deepEqual(told('isolation', 'isolating'), foundOff);
    assert.equal(told('power-management', 'poweringOff'), undefined);
  });
});

describe('[SAF-1, FEN-16] that its power was off', () => {
  const fence = aStored('poweringOn', { switched: [entryOf('power-management', { confirmedAt: minutesAgo(7) })] });

  test('in an earlier fence is not taken for the word of this one, which has yet to confirm it', () => {
    const poweredOff = { at: minutesAgo(30), bootId: 'boot-1', devices: ['d'] };
    assert.deepEqual(after(said('on'), anIncident({ poweredOff }), fence).poweredOff, poweredOff);
    assert.equal(after(said('on'), anIncident(), fence).poweredOff, undefined);
  });

  test('in this one is remembered with when, and by which devices, while it is switched on', () => {
    const poweredOff = { at: minutesAgo(7), bootId: 'boot-1', devices: ['d'] };
    const known = after(said('on'), anIncident({ poweredOff }), fence).poweredOff;
    assert.deepEqual([known?.at, known?.devices], [poweredOff.at, ['d']]);
  });
});
