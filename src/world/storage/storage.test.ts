import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Machine } from '../machines/machine.ts';
import { Random } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import { Storage } from './storage.ts';

const safe = 'safe.example.com';
const plainDriver = 'plain.example.com';

describe('the ledger of who can write', () => {
  let clock: VirtualClock;
  let storage: Storage;
  let a: Machine;
  let b: Machine;
  const shared = new Set<string>();

  beforeEach(async () => {
    clock = new VirtualClock();
    shared.clear();
    storage = new Storage({
      clock,
      isShared: (volume) => shared.has(volume),
      isSafeDetach: (driver) => driver === safe,
    });
    [a, b] = ['a', 'b'].map((name) => {
      const machine = new Machine({ name, clock, random: new Random(1).stream(name), bootTimeMs: 0 });
      storage.watch(machine);
      machine.powerOn();
      return machine;
    }) as [Machine, Machine];
    await clock.runFor(1);
  });

  function start(machine: Machine, driver = plainDriver, uid = `pod-on-${machine.name}`): void {
    machine.mount(uid, [{ persistentVolume: 'pv', driver, handle: 'pv' }]);
    machine.startProcess({ uid, namespace: 'default', name: 'db-0' });
  }

  function detach(machine: Machine, driver: string): void {
    const spec = { attacher: driver, nodeName: machine.name, source: { persistentVolumeName: 'pv' } };
    storage.attachmentChanged({ type: 'detached', attachment: { metadata: { name: 'va' }, spec } });
  }

  function attach(machine: Machine, driver: string): void {
    const spec = { attacher: driver, nodeName: machine.name, source: { persistentVolumeName: 'pv' } };
    storage.attachmentChanged({ type: 'attached', attachment: { metadata: { name: 'va' }, spec } });
  }

  const writers = (): string[] => storage.ledger.writersOf('pv').map(({ machine }) => machine);

  test('a driver that detaches safely attaches a volume for one machine to no second one', () => {
    const asked = (machine: Machine, attacher: string): string | undefined => {
      const spec = { attacher, nodeName: machine.name, source: { persistentVolumeName: 'pv' } };
      return storage.refusalOf({ metadata: { name: 'va' }, spec });
    };
    attach(a, safe);
    assert.equal(asked(a, safe), undefined);
    assert.equal(asked(b, safe), 'volume pv is attached to a');
    assert.equal(asked(b, plainDriver), undefined, 'another driver knows nothing');
    shared.add('pv');
    assert.equal(asked(b, safe), undefined);
    shared.clear();
    detach(a, safe);
    assert.equal(asked(b, safe), undefined);
  });
  const intact = (): boolean | undefined => storage.ledger.report('pv')?.dataIntact;

  test('one after the other is what it should be: the next reads what the last wrote', () => {
    start(a);
    const before = storage.ledger.report('pv')?.records ?? 0;
    a.powerOff();
    start(b);
    assert.deepEqual(writers(), ['b']);
    const report = storage.ledger.report('pv');
    assert.equal(report?.mostWriters, 1);
    assert.equal(report.dataIntact, true);
    assert.ok(report.records > before);
    assert.deepEqual(report.overlaps, []);
  });

  test('a machine that is cut off from the API goes on writing, and a second one damages the data', async () => {
    start(a);
    a.partition();
    assert.deepEqual(writers(), ['a']);
    await clock.runFor(10);
    start(b);
    await clock.runFor(10);
    a.powerOff();
    const report = storage.ledger.report('pv');
    assert.equal(report?.mostWriters, 2);
    assert.equal(report.dataIntact, false);
    assert.deepEqual(report.overlaps, [{ volume: 'pv', sinceMs: 11, untilMs: 21, machines: ['a', 'b'] }]);
  });

  test('detaching takes the access away only with a driver that says so', () => {
    start(a, safe);
    detach(a, safe);
    assert.deepEqual(writers(), []);
    start(b, safe);
    assert.deepEqual(writers(), ['b']);
    assert.equal(intact(), true);
    b.powerOff();
    attach(a, safe);
    assert.deepEqual(writers(), ['a']);
    assert.equal(intact(), false, 'it went on where it had been and wrote over what the other wrote');
  });

  test('detaching with any other driver leaves who has it mounted writing', () => {
    start(a);
    detach(a, plainDriver);
    assert.deepEqual(writers(), ['a']);
  });

  test('a storage fence and a cut cable stop the writing until they are taken back', () => {
    start(a);
    storage.fence('a', 'another.example.com');
    assert.deepEqual(writers(), ['a']);
    storage.fence('a', plainDriver);
    assert.deepEqual(writers(), []);
    storage.unfence('a', plainDriver);
    storage.partition('a');
    assert.deepEqual(writers(), []);
    storage.heal('a');
    assert.deepEqual(writers(), ['a']);
    assert.equal(intact(), true, 'nobody else wrote meanwhile');
  });

  test('a hung machine writes nothing, and goes on with what it knew when it resumes', () => {
    start(a);
    a.hang();
    assert.deepEqual(writers(), []);
    start(b);
    b.powerOff();
    assert.equal(intact(), true);
    a.resume();
    assert.deepEqual(writers(), ['a']);
    assert.equal(intact(), false);
  });

  test('a volume for many may have many writers', () => {
    shared.add('pv');
    start(a);
    start(b);
    const report = storage.ledger.report('pv');
    assert.equal(report?.mostWriters, 2);
    assert.deepEqual(report.overlaps, []);
    assert.equal(report.dataIntact, true);
  });

  test('two pods of one machine are one writer', () => {
    start(a, plainDriver, 'one');
    start(a, plainDriver, 'two');
    assert.equal(storage.ledger.report('pv')?.mostWriters, 1);
  });
});
