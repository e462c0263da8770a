import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aStored, entryOf } from '../../test/support/fenced-case.ts';
import { aPolicy, anIncident, aRemedy } from '../../test/support/release-case.ts';
import { EMPTY_STATUS } from '../api/empty-status.ts';
import type { NodeFence, NodeFenceStatus } from '../api/node-fence.ts';
import { ALARM, FENCED } from '../api/reasons.ts';
import type { Known } from './explanation.ts';
import { waitsOf } from './explain-waits.ts';
import { explain } from './explain.ts';
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
const cuts = { policy: aPolicy({ remedy: aRemedy({ kinds: { fence: 'fence', repair: 'podTemplate' } }) }) };
const byItself = 'nothing to do: it goes on by itself';

describe('[EXP-1] what is asked of whoever reads an explanation', () => {
  test('is nothing of a node that is well, and what to see to before its next outage', () => {
    assert.equal(yours(well), 'nothing to do');
    assert.equal(yours({ ...down, judgement: { ...down.judgement, reason: 'NodeGone' } }), 'nothing to do');
    const before = 'nothing to do now; before its next outage see to this';
    const devices = [{ name: 'd', status: { fenceable: false, reason: 'DeviceSilent', message: 'no answer' } }];
    assert.equal(yours({ ...well, devices }), `${before}: it could not be fenced by d: no answer`);
    const maintained = [{ reason: 'Maintenance', message: 'why' }] as const;
    assert.equal(yours({ ...well, leftAlone: maintained }), `${before}: why, without an end of its own`);
    const untilMs = Date.parse('2026-01-01T01:00:00Z');
    const leftAlone = [{ reason: 'Maintenance', message: 'why', untilMs }] as const;
    assert.equal(yours({ ...well, leftAlone }), `${before}: why`);
    const request = { by: 'jane', at, answeredAt: at, reason: 'Maintenance', message: 'why' } as never;
    const refused = { spec: { node: 'node-1', stop: false }, status: { ...EMPTY_STATUS, request } };
    assert.equal(
      yours({ ...well, leftAlone, record: refused }),
      `${before}: the fence that jane asked for was refused: why`,
    );
    const threshold = { key: 'x', condition: { type: 'Broken', status: 'True', forMs: 1 }, remedies: [], recovery: [] };
    const policy = aPolicy({ remedy: aRemedy({ thresholds: [threshold] as never }) });
    const facts = { conditions: [{ type: 'Broken', status: 'True', reason: '', since: at }] } as never;
    const reported = 'nothing to do, if you want what its policy is about to do (below)';
    assert.equal(yours({ ...well, policy, facts }), `${reported}; to prevent it: fenceline stop node-1`);
    const fencing = aPolicy({ remedy: aRemedy({ thresholds: [threshold] as never, kinds: { fence: 'fence' } }) });
    assert.match(
      yours({ ...well, policy: fencing, facts }),
      /^have to decide: it is Ready and may be serving.*what runs there dies then; to prevent it: fenceline stop node-1$/,
    );
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
    const endless = /^have to decide: somebody has wished .* still holds; it has no end of its own, and lasts until /;
    for (const reason of ['Paused', 'DryRun', 'PausedForAll', 'Maintenance', 'NamedPause', 'Forbidden']) {
      assert.match(yours(inTrouble(held(reason))), endless, reason);
    }
    assert.match(yours(inTrouble(held('Stopped'), { stop: true })), /^have to decide: somebody has wished/);
    const until = '2026-01-01T01:00:00.123Z';
    const plain = /; its protection ends at 01:00:00Z \(in 50m\): if somebody still works on it, prolong it \(below\)$/;
    assert.match(yours(inTrouble(held('Maintenance', until))), plain);
    assert.match(
      yours({ ...inTrouble(held('NamedPause', until)), ...cuts }),
      /, and its power may be cut then: if some/,
    );
    assert.match(yours({ ...inTrouble(held('PausedForAll', until)), ...cuts }), /, and its power may be cut then$/);
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
    const swapped = aStored('failed', { swapped: ['node-2'] });
    assert.match(
      yours(inTrouble({ ...alarmed('OutletsSwapped'), fence: swapped })),
      /by itself; node-2 fell silent when it was cut, and may be off by that; begin with: fenceline explain node-2$/,
    );
    const refused = { name: 'd', status: { fenceable: false, reason: 'DeviceRefused', message: 'no' } } as never;
    const told = { type: FENCED.of, status: 'False', reason: 'FenceFailed', message: 'why', lastTransitionTime: at };
    const failed = { conditions: [told], fence: aStored('failed') } as Partial<NodeFenceStatus>;
    assert.match(
      yours({ ...inTrouble(failed), devices: [refused] }),
      /begin with: fenceline check node-1 -n fenceline -o wide$/,
    );
    const stuck = [{ namespace: 'a', name: 'b', reason: 'x', message: 'y' }] as never;
    assert.match(yours(inTrouble({ fence: left, stuck })), /; but first its pods have to go, see below$/);
  });

  test('is to look at what many have in common, or at a device that does not do what it is told', () => {
    for (const reason of ['StormLimit', 'ZoneStormLimit', 'ControlPlaneQuorum', 'OwnZoneAlone']) {
      const look = 'have to look whether a network, a switch or the power of many has failed';
      assert.equal(yours(inTrouble(held(reason))), `${look}: nothing is begun about it until that is over`, reason);
      assert.equal(
        yours({ ...inTrouble(held(reason)), ...cuts }),
        `${look}: it is not cut meanwhile, but may be when that is over, if it is still silent then; while you repair it: fenceline pause --for 2h -n fenceline`,
      );
      const begun = { ...inTrouble({ ...held(reason), fence: cutting }), ...cuts };
      assert.equal(yours(begun), `${look}: it waits until that is over`);
    }
    const again = aStored('poweringOff', { retries: 1 });
    assert.match(
      yours(inTrouble({ fence: again })),
      /^have to look at its device, which does not do what it is told; /,
    );
    const silent = { name: 'd', status: { power: 'unknown' } } as never;
    assert.match(
      yours({ ...inTrouble({ fence: again }), devices: [silent] }),
      /^have to look at its device, which does not say whether it is on or off \(look at its network and its login first\); /,
    );
    assert.equal(yours(inTrouble({ fence: aStored('booting', { retries: 1 }) })), byItself);
  });

  test('is to have it back in time, where it is cut otherwise', () => {
    const until = '2026-01-01T00:20:00Z';
    assert.equal(
      yours(inTrouble(held('KubeletDown', until))),
      'have to start its kubelet on the machine: else its power may be cut, by 00:20:00Z (in 10m) at the latest, and its pods, which run on until then, end',
    );
    const wait = 'nothing to do now; unless it is back its power may be cut, by 00:20:00Z (in 10m) at the latest';
    const longer = '; if somebody works on it for longer: fenceline stop node-1';
    assert.equal(yours(inTrouble(held('PlannedWork', until))), `${wait}${longer}`);
    assert.equal(yours(inTrouble(held('NothingToFree', until))), wait);
  });

  test('is to decide about what somebody has asked for, of a node that is well', () => {
    const requested = { by: 'jane', at: '2026-01-01T00:09:00Z' };
    const request = { ...requested, reason: 'TakenUp', answeredAt: at } as never;
    const open = inTrouble({ ...held('StormLimit'), request }, { requested });
    const known = { ...open, judgement: well.judgement };
    assert.equal(
      yours(known),
      'have to decide: node-1 is well and may be serving, and jane wants its power cut (asked for at 2026-01-01T00:09:00Z); that waits for what holds it back, and lapses at 00:19:00Z (in 9m); if nobody wants it any more: ' +
        `kubectl patch nodefence node-fence-node-1 --type=json -p '[{"op":"remove","path":"/spec/requested"}]'`,
    );
    const commands = explain(known).commands.map(({ command }) => command);
    assert.ok(!commands.some((command) => command.startsWith('kubectl edit')), 'the limit is not lifted for it');
  });

  test('is to prevent a cut that is about to come, and says when', () => {
    const soon = (what: string, nextAt?: string): Pick<NodeFenceStatus, 'next'> => ({
      next: { what, ...(nextAt === undefined ? {} : { at: nextAt }) },
    });
    const cut = 'its power is cut';
    const fence = aStored('waiting');
    const prevent = 'to prevent it: fenceline stop node-1';
    const about = 'nothing to do, if this may happen';
    const due = '2026-01-01T00:20:00Z';
    for (const phase of ['waiting', 'isolated'] as const) {
      assert.equal(
        yours(inTrouble({ fence: aStored(phase), ...soon(cut, due) })),
        `${about}: at 00:20:00Z (in 10m) ${cut}, unless it is back by then; ${prevent}`,
      );
    }
    const around = inTrouble({ fence, ...soon(cut), ...held('LookingAround', due) });
    assert.equal(
      yours(around),
      `${about}: by 00:20:00Z (in 10m) at the latest ${cut}, unless it is back by then, or too many others turn out to be silent; ${prevent}`,
    );
    const others = inTrouble({ fence, ...soon(cut), ...held('LeftToOthers') });
    assert.match(
      yours(others),
      /^have to look whether those .* no end of its own; begin with: kubectl describe node node-1$/,
    );
    assert.match(yours(inTrouble({ fence, ...soon(cut) })), /: next its power is cut/);
    assert.match(yours(inTrouble({ fence, ...soon(cut, at) })), /: now its power is cut/);
    const requested = { by: 'jane', at: '2026-01-01T00:09:00Z' };
    assert.equal(
      yours(inTrouble({ fence, ...soon(cut, due) }, { requested })),
      `${about}: at 00:20:00Z (in 10m) ${cut}; ${prevent}`,
    );
    const begins = inTrouble(soon('fence begins, if Ready=NotTrue goes on', due));
    assert.match(
      yours({ ...begins, ...cuts }),
      /\(in 10m\) its fence begins, and its power may be cut from then on, unless/,
    );
    const repairs = inTrouble(soon('repair begins, if Ready=NotTrue goes on', due));
    assert.match(yours({ ...repairs, ...cuts }), /\(in 10m\) repair begins, unless it is back by then/);
  });

  test('is nothing to prevent, where nothing is cut any more', () => {
    const next = { what: 'its power is cut', at: '2026-01-01T00:20:00Z' };
    const goesOn = `${byItself}, by 2026-01-01T00:20:00Z at the latest; look again then`;
    assert.equal(yours(inTrouble({ next: { ...next, what: 'it takes pods again' } })), goesOn);
    assert.equal(yours(inTrouble({ next, fence: aStored('booting') })), goesOn);
    assert.equal(yours(inTrouble({ next, incident: { ...anIncident(), clearedAt: at } })), goesOn);
    assert.equal(yours(inTrouble({ next, return: { stage: 'seen', since: at } as never })), goesOn);
    const ladder = { threshold: 'lease', position: 0, remedy: 'repair', phase: 'running', startedAt: at } as never;
    assert.equal(yours(inTrouble({ next, ladders: [ladder] })), goesOn);
  });

  test('is nothing, where it goes on by itself, and when to look again', () => {
    assert.equal(yours(inTrouble()), byItself);
    const again = 'by 2026-01-01T00:20:00Z at the latest; look again then';
    assert.equal(yours(inTrouble(held('LookingAround', '2026-01-01T00:20:00Z'))), `${byItself}, ${again}`);
    const next = { at: '2026-01-01T00:20:00Z' } as NonNullable<NodeFenceStatus['next']>;
    assert.equal(yours(inTrouble({ ...held('LookingAround', '2026-01-01T00:30:00Z'), next })), `${byItself}, ${again}`);
  });
});
