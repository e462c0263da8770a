import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FenceDeviceStatus } from '../api/fence-device.ts';
import type { Heard, Together } from '../api/power.ts';
import { learn, learnCut, learnNeverOff, learnSwapped, withMemory } from './memory.ts';

const at = '2026-01-01T00:00:00.000Z';
const later = '2026-01-01T00:10:00.000Z';
type Change = Partial<Omit<Heard, 'said'>> & { said?: Partial<Heard['said']> };
const heard = ({ said, ...change }: Change = {}): Heard => ({
  device: 'agent:fence_apc',
  place: undefined,
  configuration: 'h1',
  at,
  by: 'check',
  isAlive: true,
  isContradicted: false,
  bootId: 'b1',
  ...change,
  said: { device: 'pdu', power: 'on', identity: 'none', message: 'pdu: it says on', ...said },
});
const well = learn({}, heard());

describe('what is kept of a device', () => {
  test('[SAF-1, FEN-15] what it says and since when; nothing changes while it says the same', () => {
    assert.deepEqual(well, {
      device: 'agent:fence_apc',
      configuration: 'h1',
      power: 'on',
      since: at,
      askedBy: 'check',
      seenOn: at,
    });
    assert.deepEqual(learn(well, heard({ at: later, by: 'fence', isAlive: false })), well);
    const off = learn(well, heard({ at: later, by: 'fence', isAlive: false, said: { power: 'off' } }));
    assert.deepEqual(off, { ...well, power: 'off', since: later, askedBy: 'fence' });
  });

  test('[FEN-15, SAF-17] whose machine it says it is, if that can be compared; it still can when it does not answer', () => {
    const named = learn(well, heard({ said: { identity: 'same', says: 'x' } }));
    assert.equal(named.identity, 'x');
    assert.equal(learn(named, heard({ said: { power: 'unknown' } })).identity, 'x');
    assert.equal(learn(named, heard({ said: { identity: 'none', says: 'x' } })).identity, undefined);
    assert.equal(learn(named, heard({ said: { identity: 'none' } })).identity, undefined);
  });

  describe('a cut of a living node', () => {
    const cut = learnCut(well, { at, configuration: 'h1', bootId: 'b1', isAlive: true });
    const off = heard({ isAlive: false, said: { power: 'off' } });
    const back = heard({ at: later, bootId: 'b2' });

    test('[SAF-17] by which it fell silent, and after which it was booted again, is a drill', () => {
      assert.deepEqual(cut, { ...well, cut: { at, bootId: 'b1' } });
      const silent = learn(cut, off);
      assert.deepEqual(silent.cut, { at, bootId: 'b1', isSilent: true });
      const waits = learn(learn(silent, heard({ isAlive: false })), heard({ said: { power: 'unknown' } }));
      assert.deepEqual(waits.cut, silent.cut, 'it boots');
      const drilled = learn(waits, back);
      assert.deepEqual([drilled.drilled, drilled.cut], [later, undefined]);
      assert.equal(learn(drilled, heard()).drilled, later, 'and it stays so');
      assert.equal(learn(drilled, heard({ configuration: 'h2' })).drilled, undefined, 'until another is configured');
    });

    test('[SAF-17] shows nothing where it did not fall silent, or was not booted again', () => {
      assert.equal(learn(learn(cut, heard({ said: { power: 'off' } })), back).drilled, undefined, 'alive while off');
      assert.equal(learn(cut, back).drilled, undefined, 'never seen off');
      assert.equal(learn(learn(cut, off), heard({ at: later })).drilled, undefined, 'the same boot');
      const wrong = learn(learn(cut, off), heard({ isContradicted: true, said: { power: 'off' } }));
      assert.equal(learn(wrong, back).drilled, undefined, 'a renewal after it said off');
    });

    test('[SAF-17] shows nothing where it was booted while it still said off', () => {
      const silent = learn(cut, off);
      const booted = { bootId: 'b2', said: { power: 'off' } } as const;
      assert.equal(learn(learn(silent, heard(booted)), back).drilled, undefined);
      assert.equal(learn(learn(silent, heard({ ...booted, isPart: true })), back).drilled, later, 'by another feed');
      assert.equal(learn(learn(silent, heard({ ...booted, isAlive: false })), back).drilled, later, 'not heard of yet');
      assert.equal(learn(learn(silent, heard({ ...booted, bootId: 'b1' })), back).drilled, later, 'a late renewal');
    });

    test('[SAF-17] is void once it is found to be of another machine, or a renewal came after it said off', () => {
      for (const known of [cut, { ...well, drilled: at }]) {
        for (const fact of [heard({ said: { identity: 'other' } }), heard({ isContradicted: true })]) {
          const { drilled, cut: left } = learn(known, fact);
          assert.deepEqual([drilled, left], [undefined, undefined]);
        }
      }
    });

    test('[SAF-17] shows nothing of a node that was silent before, nor without a boot ID', () => {
      const about = { at, configuration: 'h1', bootId: 'b1', isAlive: true };
      assert.deepEqual(learnCut(cut, { ...about, isAlive: false }), well);
      assert.deepEqual(learnCut(well, { ...about, bootId: '' }), well);
      assert.deepEqual(learnCut(well, { ...about, configuration: 'h2' }), {
        configuration: 'h2',
        cut: { at, bootId: 'b1' },
      });
    });
  });

  test('[SAF-17] one by which another node went dark is wrong, and no check clears that', () => {
    const drilled: FenceDeviceStatus = { ...well, drilled: at };
    const swapped = learnSwapped(drilled, { at: later, message: 'node-2 fell silent' });
    const wrong = { since: later, reason: 'OutletsSwapped', message: 'node-2 fell silent' } as const;
    assert.deepEqual(swapped, { ...well, wrong });
    assert.equal(learnSwapped(swapped, { at, message: 'again' }), swapped);
    assert.deepEqual(learn(swapped, heard()).wrong, wrong);
    assert.deepEqual(learn(swapped, heard({ isContradicted: true, said: { power: 'off' } })).wrong, wrong);
    assert.equal(learn(swapped, heard({ configuration: 'h2' })).wrong, undefined);
  });

  test('[SAF-1, SAF-17] until a person has said of this very finding that it is mended, and a check agrees', () => {
    const swapped = learnSwapped(well, { at: later, message: 'node-2 fell silent' });
    const cleared = { by: 'jane', wrongSince: later };
    assert.ok(learn(swapped, heard({ cleared: { ...cleared, wrongSince: at } })).wrong, 'of an earlier one');
    assert.ok(learn(swapped, heard({ cleared, by: 'fence' })).wrong, 'a fence is no check');
    assert.ok(learn(swapped, heard({ cleared, isAlive: false })).wrong);
    assert.ok(learn(swapped, heard({ cleared, said: { power: 'off' } })).wrong);
    assert.ok(learn(swapped, heard({ cleared, said: { identity: 'other' } })).wrong);
    const right = learn(swapped, heard({ cleared, at: later }));
    assert.deepEqual(right, { ...well, cleared: { by: 'jane', at: later, reason: 'OutletsSwapped' } });
    assert.deepEqual(learn(right, heard({ cleared })), right, 'which is kept');
    const again = learnSwapped(right, { at: '2026-01-01T01:00:00.000Z', message: 'again' });
    assert.ok(learn(again, heard({ cleared })).wrong, 'and is not for what is found later');
  });

  describe('[SAF-1] one whose node lived on in the boot in which it had said off', () => {
    const drilled: FenceDeviceStatus = { ...well, drilled: at };
    const told = { at, message: 'it lived on' };
    const never = learnNeverOff(drilled, told);
    const wrong = { since: at, reason: 'NeverOff', message: 'it lived on' } as const;

    test('is wrong, whatever a drill has shown, and no check clears that', () => {
      assert.deepEqual(never, { ...well, wrong });
      assert.equal(learnNeverOff(never, { at: later, message: 'again' }), never);
      assert.deepEqual(learn(never, heard({ at: later })).wrong, wrong);
      assert.deepEqual(learn(never, heard({ isContradicted: true, said: { power: 'off' } })).wrong, wrong);
      const contradicted = learn(well, heard({ isContradicted: true, said: { power: 'off' } }));
      assert.equal(learnNeverOff(contradicted, told).wrong?.reason, 'NeverOff', 'which a check would clear');
      const swapped = learnSwapped(well, { at, message: 'node-2 fell silent' });
      assert.equal(learnNeverOff(swapped, told), swapped, 'a person has to look anyway');
    });

    test('until a person has said so, which is not overruled by what was known then', () => {
      const right = learn(never, heard({ cleared: { by: 'jane', wrongSince: at }, at: later }));
      assert.deepEqual([right.wrong, right.cleared?.reason], [undefined, 'NeverOff']);
      assert.equal(learnNeverOff(right, told), right);
      const muchLater = '2026-01-01T01:00:00.000Z';
      assert.equal(
        learnNeverOff(right, { ...told, at: muchLater }).wrong?.since,
        muchLater,
        'but by what is found later',
      );
      const other: FenceDeviceStatus = { ...well, cleared: { by: 'check', at: later, reason: 'OffWhileAlive' } };
      assert.equal(learnNeverOff(other, told).wrong?.reason, 'NeverOff', 'nor has anybody cleared this');
    });
  });

  test('[SAF-1] what a check has cleared by itself is kept as well', () => {
    const wrong = learn(well, heard({ isContradicted: true, said: { power: 'off' } }));
    const right = learn(wrong, heard({ at: later }));
    assert.deepEqual([right.wrong, right.cleared], [undefined, { by: 'check', at: later, reason: 'OffWhileAlive' }]);
  });

  test('[SAF-1] it was seen on only while its node was alive', () => {
    assert.equal(learn({}, heard({ isAlive: false })).seenOn, undefined);
    assert.equal(learn({}, heard({ said: { power: 'off' } })).seenOn, undefined);
    assert.equal(learn({}, heard({ said: { identity: 'other' } })).seenOn, undefined);
  });

  test('[SAF-1] with another configuration it is another device', () => {
    const wrong = learn(well, heard({ isContradicted: true, said: { power: 'off' } }));
    assert.deepEqual(learn(wrong, heard({ configuration: 'h2', isAlive: false, at: later })), {
      device: 'agent:fence_apc',
      configuration: 'h2',
      power: 'on',
      since: later,
      askedBy: 'check',
    });
  });

  const reasonOf = (before: FenceDeviceStatus, change: Change): string | undefined =>
    learn(before, heard({ at: later, ...change })).wrong?.reason;

  test('[SAF-1] wrong: off while the kubelet renewed, of another machine, shared with another node', () => {
    assert.equal(reasonOf(well, { isContradicted: true, said: { power: 'off' } }), 'OffWhileAlive');
    assert.equal(reasonOf(well, { isContradicted: true, isAlive: false }), 'OffWhileAlive');
    assert.equal(reasonOf(well, { isContradicted: true }), undefined, 'on again: it may have been restarted');
    assert.equal(reasonOf(well, { said: { identity: 'other' } }), 'AnotherMachine');
    assert.equal(reasonOf(well, { sharedWith: 'node-2' }), 'SharedWithAnotherNode');
    assert.equal(reasonOf(well, {}), undefined);
  });

  test('[FEN-15] what is said of it fits into its status, however much a device says', () => {
    const message = 'x'.repeat(1000);
    const found = learn(well, heard({ said: { identity: 'other', message } }));
    for (const { wrong } of [found, learnSwapped(well, { at, message })]) assert.equal(wrong?.message.length, 512);
  });

  test('[SAF-1] until a check clears it; since when is kept', () => {
    const wrong = learn(well, heard({ isContradicted: true, said: { power: 'off' } }));
    assert.equal(wrong.wrong?.since, at);
    assert.equal(learn(wrong, heard({ isContradicted: true, said: { power: 'off' }, at: later })).wrong?.since, at);
    assert.equal(reasonOf(wrong, { said: { power: 'off' }, isAlive: false }), 'OffWhileAlive');
    assert.equal(reasonOf(wrong, { by: 'fence' }), 'OffWhileAlive', 'a fence clears nothing');
    assert.equal(reasonOf(wrong, { isAlive: false }), 'OffWhileAlive', 'nor on under a dead node');
    assert.equal(reasonOf(wrong, {}), undefined);
    const other = learn(well, heard({ said: { identity: 'other' } }));
    assert.equal(reasonOf(other, { said: { identity: 'same', power: 'off' } }), undefined);
    assert.equal(reasonOf(other, { said: { power: 'off' } }), 'AnotherMachine');
    assert.equal(
      reasonOf(other, { said: { identity: 'same', power: 'unknown' } }),
      'AnotherMachine',
      'it says nothing',
    );
    assert.equal(reasonOf(other, {}), undefined, 'on under a living node, and it cannot say any more whose it is');
    assert.equal(reasonOf(other, { isAlive: false }), 'AnotherMachine');
    const shared = learn(well, heard({ sharedWith: 'node-2' }));
    assert.equal(reasonOf(shared, { by: 'fence' }), undefined, 'the other node has another device now');
  });

  test('[SAF-1] its word is weighed with that', () => {
    const { said } = heard();
    assert.deepEqual(withMemory(said, well), { ...said, wasSeenOn: true });
    const wrong = learn({}, heard({ said: { identity: 'other', message: 'of node-2' } }));
    assert.deepEqual(withMemory(said, wrong), { ...said, wasSeenOn: false, wrong: 'of node-2' });
  });

  test('[SAF-17] of several outlets a cut of all of them has to have shown it, of this boot or with these very ones', () => {
    const { said } = heard();
    const cut = { at, bootId: 'b1', level: 'l1' };
    const drilled = { drilled: at, drilledLevel: 'l1' };
    const asks = (known: FenceDeviceStatus[], change: Partial<Together> = {}, of = said): string | undefined =>
      withMemory(of, well, { together: { node: 'a', level: 'l1', outlets: 2, known, bootId: 'b1', ...change } })
        .needsDrill;
    assert.equal(asks([{}, {}]), 'a');
    assert.equal(asks([{}, {}], {}, { ...said, identity: 'same' }), undefined);
    assert.equal(asks([{}, { identity: 'x' }]), undefined, 'a controller beside it knows whose machine is off');
    assert.equal(asks([{}], { level: undefined, outlets: 1 }), undefined, 'the only one: others would fall dark');
    assert.equal(asks([{}], { level: undefined }), 'a', 'one device with two outlets');
    assert.equal(asks([drilled, drilled]), undefined);
    assert.equal(asks([drilled, {}]), 'a');
    assert.equal(asks([drilled, { drilled: at }]), 'a', 'without the other');
    assert.equal(asks([drilled, drilled], { level: 'l2' }), 'a', 'with another');
    assert.equal(asks([{ cut }, { cut }]), undefined);
    assert.equal(asks([{ cut }, {}]), 'a', 'it was silent by then');
    assert.equal(asks([{ cut }, { cut: { ...cut, level: 'l2' } }]), 'a');
    assert.equal(asks([{ cut }, { cut }], { bootId: 'b2' }), 'a', 'of an earlier boot');
  });

  test('[SAF-1] whose port it is has to have been shown by somebody', () => {
    const port = learn({}, heard({ what: 'storage' }));
    assert.equal(port.cuts, 'Storage');
    const { said } = heard();
    const isUnshown = (status: FenceDeviceStatus, isShown = false, of = said): boolean =>
      withMemory(of, status, { isShown }).isUnshown === true;
    assert.equal(isUnshown(port), true);
    assert.equal(isUnshown(port, true), false);
    assert.equal(withMemory(said, port).isUnshown, true);
    assert.equal(isUnshown(port, false, { ...said, identity: 'same' }), false);
    assert.equal(isUnshown(well), false, 'no port');
  });

  test('[SAF-17] a drill of several is one only when all of them were off', () => {
    const about = { at, configuration: 'h1', bootId: 'b1', isAlive: true, level: 'l1' };
    const cut = learnCut(well, about);
    assert.deepEqual(cut.cut, { at, bootId: 'b1', level: 'l1' });
    const off = { isAlive: false, said: { power: 'off' }, bootId: 'b1' } as const;
    const back = { at: later, bootId: 'b2' };
    const shown = learn(learn(cut, heard(off)), heard(back));
    assert.deepEqual([shown.drilled, shown.drilledLevel], [later, 'l1']);
    assert.equal(learn(learn(cut, heard({ ...off, isPart: true })), heard(back)).drilled, undefined);
    assert.equal(learn(shown, heard({ at: later })).drilledLevel, 'l1', 'it is kept');
    const swapped = learnSwapped(shown, { at, message: '' });
    assert.deepEqual([swapped.drilled, swapped.drilledLevel], [undefined, undefined]);
    const lied = learnNeverOff(shown, { at, message: '' });
    assert.deepEqual([lied.drilled, lied.drilledLevel], [undefined, undefined]);
  });

  test('[SAF-17] what was learnt with another machine says nothing of the one that has its name now, and a cut of it neither', () => {
    const known = { ...learn({}, heard({ machine: 'm1' })), drilled: at, drilledLevel: 'l1' };
    assert.equal(known.machine, 'm1');
    assert.deepEqual(learn(known, heard({ machine: 'm1', isAlive: false })), known, 'a reboot, or its Node made again');
    assert.deepEqual(learn(known, heard({ isAlive: false })), known, 'nobody knows which it is');
    const { seenOn: _, drilled: __, drilledLevel: ___, ...rest } = { ...known, machine: 'm2' };
    assert.deepEqual(learn(known, heard({ machine: 'm2', isAlive: false })), rest);
    assert.deepEqual(learn(known, heard({ machine: 'm2', at: later })), { ...rest, seenOn: later });
    const about = { at, configuration: 'h1', bootId: 'b1', isAlive: true };
    assert.deepEqual(learnCut(known, { ...about, machine: 'm2' }), { ...rest, cut: { at, bootId: 'b1' } });
  });

  test('[FEN-15] learnt once more, over what is stored by then, it comes to the same', () => {
    const flags = [true, false];
    const facts = flags.flatMap((isAlive) => flags.map((isContradicted) => ({ isAlive, isContradicted })));
    const circumstances: Change[] = facts.flatMap((fact) => [
      fact,
      { ...fact, at: later, bootId: 'b2' },
      { ...fact, by: 'fence', configuration: 'h2' },
      { ...fact, sharedWith: 'b' },
      { ...fact, at: later, cleared: { by: 'jane', wrongSince: at } },
    ]);
    const says = (['on', 'off', 'unknown'] as const).flatMap((power) =>
      (['none', 'same', 'other'] as const).map((identity) => ({ power, identity, says: 'x' })),
    );
    const lessons: ((before: FenceDeviceStatus) => FenceDeviceStatus)[] = [
      ...circumstances
        .flatMap((change) => says.map((said) => heard({ ...change, said })))
        .map((one) => (before: FenceDeviceStatus) => learn(before, one)),
      ...flags.map(
        (isAlive) => (before: FenceDeviceStatus) =>
          learnCut(before, { at, configuration: 'h1', bootId: 'b1', isAlive }),
      ),
      (before) => learnSwapped(before, { at, message: 'b fell silent' }),
    ];
    let known: FenceDeviceStatus[] = [{}];
    for (let depth = 0; depth < 4; depth += 1) {
      const next = new Map<string, FenceDeviceStatus>();
      for (const before of known) {
        for (const lesson of lessons) {
          const once = lesson(before);
          assert.deepEqual(lesson(once), once);
          next.set(JSON.stringify(once), once);
        }
      }
      known = [...next.values()];
    }
    assert.ok(known.length > 100);
  });
});
