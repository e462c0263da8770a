import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aCase } from '../../test/support/release-case.ts';
import { featureGates } from '../api/feature-gates.ts';
import type { Sighting } from '../api/release-view.ts';
import type { Judgement, VerdictReason } from '../api/view.ts';
import { alarmStamp, needsAttention } from './concern.ts';

function judged(verdict: Judgement['verdict'], reason: VerdictReason): Judgement {
  return { verdict, reason, evidence: [], recheckInMs: 1000 };
}

const healthy = judged('healthy', 'ReadyAndRenewing');
const suspect = judged('suspect', 'LeaseStale');
const down = judged('down', 'ReadyUnknown');
const gone = judged('down', 'NodeGone');

const { view } = aCase();
const condition = (type: string, status: 'True' | 'False' | 'Unknown') => ({ type, status, reason: '', since: '' });
const reporting = (...conditions: ReturnType<typeof condition>[]): Sighting['view'] => ({
  ...view,
  ...(view.node && { node: { ...view.node, conditions } }),
});
const quiet: Sighting = {
  ...aCase(),
  view: reporting(condition('Ready', 'True')),
  policies: { count: 0, thresholds: [], hasAlarms: false, fencesSilence: false, stamp: 'p 1' },
};
const laddered = (...thresholds: Sighting['policies']['thresholds']): Sighting['policies'] => ({
  ...quiet.policies,
  count: 1,
  thresholds,
});
const disk = { condition: { type: 'DiskBroken', status: 'True', forMs: 0 } };
const lease = { lease: { staleForMs: 12_000 } };
const watched = { ...quiet.policies, hasAlarms: true };
const looked = { stamp: alarmStamp(quiet, healthy), isDue: false };

const rows: [string, boolean, Partial<Sighting>, Judgement][] = [
  ['a healthy node', false, {}, healthy],
  ['one with an open record', true, { hasOpenRecord: true }, healthy],
  ['one that is gone, with an open record', true, { hasOpenRecord: true }, gone],
  ['one that is gone, with nothing open', false, {}, gone],
  ['one that is down, and nobody wants anything', false, {}, down],
  ['one that is down, with a policy', true, { policies: laddered() }, down],
  ['one that is down, with the gate', true, { gates: featureGates({ NonGracefulFailover: true }) }, down],
  ['a suspect one, without a ladder for it', false, { policies: laddered(disk) }, suspect],
  ['a suspect one, with a ladder for its Lease', true, { policies: laddered(lease) }, suspect],
  ['a healthy one, with a ladder for its Lease', false, { policies: laddered(lease) }, healthy],
  [
    'one with a condition that a ladder is for',
    true,
    { policies: laddered(disk), view: reporting(condition('Ready', 'True'), condition('DiskBroken', 'True')) },
    healthy,
  ],
  [
    'one with that condition in another status',
    false,
    { policies: laddered(disk), view: reporting(condition('DiskBroken', 'Unknown')) },
    healthy,
  ],
  [
    'one with a taint that means something to us',
    true,
    { view: { ...view, ...(view.node && { node: { ...view.node, marks: ['fenceline.dev/quarantine'] } }) } },
    healthy,
  ],
  [
    'one with a note that we cordoned it',
    true,
    { view: { ...view, ...(view.node && { node: { ...view.node, marks: ['fenceline.dev/cordoned'] } }) } },
    healthy,
  ],
  ['one with an alarm that nobody has looked at', true, { alarm: { problems: 'alarmed' } }, healthy],
  ['one with an alarm that was looked at', false, { alarm: { problems: 'alarmed', looked } }, healthy],
  [
    'one with an alarm that ends now',
    true,
    { alarm: { problems: 'alarmed', looked: { ...looked, isDue: true } } },
    healthy,
  ],
  [
    'one with an alarm, and a policy was edited',
    true,
    { alarm: { problems: 'alarmed', looked }, policies: { ...quiet.policies, stamp: 'p 2' } },
    healthy,
  ],
  ['one with problems, and no policy has alarms', false, { alarm: { problems: 'counted' } }, healthy],
  [
    'one with problems that an alarm may be about',
    true,
    { alarm: { problems: 'counted' }, policies: watched },
    healthy,
  ],
  ['one without problems, whatever the alarms', false, { policies: watched }, healthy],
];

describe('who needs a closer look', () => {
  for (const [who, expected, change, judgement] of rows) {
    test(`${who}: ${expected ? 'yes' : 'no'}`, () => {
      assert.equal(needsAttention({ ...quiet, ...change }, judgement), expected);
    });
  }
});
