import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aStored, entryOf } from '../../test/support/fenced-case.ts';
import { aPolicy, anIncident, aRemedy } from '../../test/support/release-case.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import { ALARM } from '../api/reasons.ts';
import type { Known } from './explanation.ts';
import { waitsOf } from './explain-waits.ts';
import { yoursOf } from './explain-yours.ts';

const at = '2026-01-01T00:10:00Z';
const well: Known = {
  node: 'node-1',
  atMs: Date.parse(at),
  judgement: { verdict: 'healthy', reason: 'ReadyAndRenewing', evidence: [], recheckInMs: 1000 },
  policy: aPolicy(),
  devices: [],
  operator: { leads: 'yes', holder: 'one' },
  leftAlone: [],
  meaningless: [],
  unread: [],
  namespace: 'fenceline',
};
const down: Known = { ...well, judgement: { ...well.judgement, verdict: 'down', reason: 'LeaseStale' } };

/** Its incident is open. */
function inTrouble(status: Partial<NodeFenceStatus> = {}, spec: Partial<NodeFence['spec']> = {}): Known {
  const record = {
    spec: { node: 'node-1', stop: false, ...spec },
    status: { ...EMPTY_STATUS, incident: anIncident(), ...status },
  };
  return { ...down, record };
}

const held = (reason: string, until?: string): Pick<NodeFenceStatus, 'hold'> => ({
  hold: { reason, message: 'why', since: at, ...(until === undefined ? {} : { until }) },
});
const alarmed = (reason: keyof typeof ALARM.reason): Pick<NodeFenceStatus, 'conditions'> => ({
  conditions: [{ type: ALARM.of, status: 'True', reason, message: 'why', lastTransitionTime: at }],
});
const yours = (known: Known): string => yoursOf(known, waitsOf(known));
const wrong = { reason: 'AnotherMachine', message: 'why', since: at };
const wrongDevice = { name: 'd', status: { wrong } } as Known['devices'][number];
const cutting = aStored('poweringOff', { switched: [entryOf('power-management')] });
const byItself = 'nothing to do: it goes on by itself';

describe('[EXP-1] what is asked of whoever reads an explanation', () => {
  test('is nothing of a node that is well, and what to see to before its next outage', () => {
    assert.equal(yours(well), 'nothing to do');
    assert.equal(yours({ ...down, judgement: { ...down.judgement, reason: 'NodeGone' } }), 'nothing to do');
    const before = 'nothing to do now; before its next outage see to this';
    const devices = [{ name: 'd', status: { fenceable: false, reason: 'DeviceSilent', message: 'no answer' } }];
    assert.equal(yours({ ...well, devices }), `${before}: DeviceSilent`);
    const maintained = [{ reason: 'Maintenance', message: 'why' }] as const;
    assert.equal(yours({ ...well, leftAlone: maintained }), `${before}: Maintenance`);
    const threshold = { key: 'x', condition: { type: 'Broken', status: 'True', forMs: 1 }, remedies: [], recovery: [] };
    const policy = aPolicy({ remedy: aRemedy({ thresholds: [threshold] as never }) });
    const facts = { conditions: [{ type: 'Broken', status: 'True', reason: '', since: at }] } as never;
    assert.match(yours({ ...well, policy, facts }), /^nothing to do, if you want what its policy is about to do/);
  });

  test('is an operator, where none leads', () => {
    for (const operator of [{ leads: 'nobody' }, { leads: 'no', holder: 'one', since: at }] as const) {
      assert.match(yours({ ...well, operator }), /^have to act: get an operator to run; if this node fails before/);
      assert.match(yours({ ...down, operator }), /until one leads nothing is done about anything$/);
      const open = { ...inTrouble(), judgement: well.judgement };
      assert.match(yours({ ...open, operator }), /until one leads nothing is done about anything$/);
    }
    assert.equal(yours({ ...well, operator: { leads: 'unknown', message: 'why' } }), 'nothing to do');
  });

  test('is a policy, where none selects a node in trouble', () => {
    const { policy: _, ...unselected } = down;
    assert.match(yours(unselected), /^have to decide: no policy selects it/);
    assert.match(yours({ ...unselected, devices: [wrongDevice] }), /^have to decide: no policy selects it/);
    const { policy: __, ...open } = inTrouble();
    assert.match(yours(open), /^have to decide: no policy selects it/);
    const back = { ...open.record, status: { ...open.record?.status, return: { stage: 'seen', since: at } } };
    assert.equal(yours({ ...open, record: back } as Known), byItself);
    const cut = { ...open.record, status: { ...open.record?.status, fence: cutting } };
    assert.equal(yours({ ...open, record: cut } as Known), byItself);
  });

  test('is to decide, where somebody has wished that nothing is done, and when that ends', () => {
    for (const reason of ['Paused', 'DryRun', 'PausedForAll', 'Maintenance', 'NamedPause', 'Forbidden']) {
      assert.match(yours(inTrouble(held(reason))), /^have to decide: somebody has wished .* still holds$/, reason);
    }
    assert.match(yours(inTrouble(held('Stopped'), { stop: true })), /^have to decide: somebody has wished/);
    assert.match(
      yours(inTrouble(held('Maintenance', '2026-01-01T01:00:00.123Z'))),
      /by itself at 2026-01-01T01:00:00Z$/,
    );
    assert.match(
      yours(inTrouble(held('AwaitingApproval'))),
      /^have to decide: it waits for your approval; first find out whether somebody/,
    );
  });

  test('is nothing, whatever is wished, of a fence that goes on', () => {
    const fence = cutting;
    const leftAlone = [{ reason: 'Maintenance', message: 'why' }] as const;
    const pause = { namespace: 'fenceline', written: { by: 'somebody', since: at } } as unknown as NonNullable<
      Known['pause']
    >;
    for (const more of [{ leftAlone }, { pause }]) assert.equal(yours({ ...inTrouble({ fence }), ...more }), byItself);
    assert.equal(yours(inTrouble({ fence, ...held('Maintenance') })), byItself);
    assert.match(yours({ ...inTrouble(), leftAlone }), /^have to decide/);
  });

  test('is to act, where nothing ends it by itself, also where somebody has wished that nothing is done', () => {
    const act = /^have to act: nothing ends this by itself/;
    for (const reason of ['NeverOff', 'OutletsSwapped', 'LadderExhausted', 'TooManyActs'] as const) {
      assert.match(yours(inTrouble(alarmed(reason))), act, reason);
    }
    assert.match(yours(inTrouble({ ...held('Stopped'), ...alarmed('NeverOff') }, { stop: true })), act);
    assert.match(yours(inTrouble(held('ReleaseRefused'))), act);
    assert.match(yours({ ...inTrouble(), devices: [wrongDevice] }), act);
    const left = aStored('booting', { waitsFor: 'whoever has switched it off' });
    assert.equal(yours(inTrouble({ fence: left })), 'have to act: whoever has switched it off');
    const stuck = [{ namespace: 'a', name: 'b', reason: 'x', message: 'y' }] as never;
    assert.match(yours(inTrouble({ fence: left, stuck })), /; but first its pods have to go, see below$/);
  });

  test('is to look at what many have in common, or at a device that does not do what it is told', () => {
    for (const reason of ['StormLimit', 'ZoneStormLimit', 'ControlPlaneQuorum', 'OwnZoneAlone']) {
      assert.match(yours(inTrouble(held(reason))), /^have to look whether a network, a switch or the power/, reason);
    }
    const again = aStored('poweringOff', { retries: 1 });
    assert.match(yours(inTrouble({ fence: again })), /^have to look at its device/);
    assert.equal(yours(inTrouble({ fence: aStored('booting', { retries: 1 }) })), byItself);
  });

  test('is to have it back in time, where it is cut otherwise', () => {
    const until = '2026-01-01T00:20:00Z';
    assert.match(yours(inTrouble(held('KubeletDown', until))), /^have to start its kubelet .*T00:20:00Z: its pods/);
    assert.match(yours(inTrouble(held('PlannedWork', until))), /^nothing to do if it is back by .*Z: its power is cut/);
    assert.match(yours(inTrouble(held('NothingToFree', until))), /^nothing to do if it is back by /);
  });

  test('is to decide about what somebody has asked for, of a node that is well', () => {
    const requested = { by: 'jane', at: '2026-01-01T00:09:00Z' };
    const request = { ...requested, reason: 'TakenUp', answeredAt: at } as never;
    const open = inTrouble({ ...held('StormLimit'), request }, { requested });
    const known = { ...open, judgement: well.judgement };
    assert.match(yours(known), /^have to decide: jane asked for a fence .*; take it back if nobody wants it any more$/);
  });

  test('is nothing, where it goes on by itself, and when to look again', () => {
    assert.equal(yours(inTrouble()), byItself);
    const again = 'by 2026-01-01T00:20:00Z at the latest; look again then';
    assert.equal(yours(inTrouble(held('LookingAround', '2026-01-01T00:20:00Z'))), `${byItself}, ${again}`);
    const next = { at: '2026-01-01T00:20:00Z' } as NonNullable<NodeFenceStatus['next']>;
    assert.equal(yours(inTrouble({ ...held('LookingAround', '2026-01-01T00:30:00Z'), next })), `${byItself}, ${again}`);
  });
});
