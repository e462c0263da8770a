import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { Random } from '../random.ts';
import { VirtualClock } from '../time/virtual-clock.ts';
import type { BmcAction, BmcAnswer, BmcFault } from './bmc.ts';
import { Bmc } from './bmc.ts';
import { Machine } from './machine.ts';

describe('a power device', () => {
  let clock: VirtualClock;
  let machine: Machine;
  let other: Machine;
  let bmc: Bmc;

  beforeEach(async () => {
    clock = new VirtualClock();
    [machine, other] = ['mine', 'other'].map((name) => {
      const made = new Machine({ name, clock, random: new Random(1).stream(name), bootTimeMs: 0 });
      made.powerOn();
      return made;
    }) as [Machine, Machine];
    bmc = new Bmc({ machine, clock, other: () => other });
    await clock.runFor(1);
  });

  async function ask(action: BmcAction, fault: BmcFault = 'none'): Promise<BmcAnswer | undefined> {
    bmc.setFault(fault);
    let answer: BmcAnswer | undefined;
    void bmc.request(action).then((got) => (answer = got));
    await clock.runFor(1000);
    return answer;
  }

  test('turns its machine off and on, and says what it is', async () => {
    assert.deepEqual(await ask('status'), { ok: true, power: 'on', identity: 'mine' });
    assert.deepEqual(await ask('off'), { ok: true, power: 'off', identity: 'mine' });
    assert.equal(machine.power, 'off');
    assert.deepEqual(await ask('on'), { ok: true, power: 'on', identity: 'mine' });
    assert.equal(machine.power, 'on');
  });

  test('refuses: nothing happens, and it says so', async () => {
    assert.deepEqual(await ask('off', 'refuses'), { ok: false, error: 'refused' });
    assert.equal(machine.power, 'on');
  });

  test('hangs: no answer until the caller gives up', async () => {
    bmc.setFault('hangs');
    const caller = new AbortController();
    let answer: BmcAnswer | undefined;
    void bmc.request('off', caller.signal).then((got) => (answer = got));
    await clock.runFor(3_600_000);
    assert.equal(answer, undefined);
    caller.abort();
    await clock.runFor(1);
    assert.deepEqual(answer, { ok: false, error: 'no answer' });
    assert.equal(machine.power, 'on');
  });

  test('ignores: says yes and does nothing, which the status shows', async () => {
    assert.deepEqual(await ask('off', 'ignores'), { ok: true, power: 'off', identity: 'mine' });
    assert.equal(machine.power, 'on');
    assert.deepEqual(await ask('status', 'ignores'), { ok: true, power: 'on', identity: 'mine' });
  });

  test('late: says yes and acts a minute later', async () => {
    await ask('off', 'late');
    assert.equal(machine.power, 'on');
    await clock.runFor(59_000);
    assert.equal(machine.power, 'on');
    await clock.runFor(1000);
    assert.equal(machine.power, 'off');
  });

  test('reports failure although it acted', async () => {
    assert.deepEqual(await ask('off', 'reportsFailure'), { ok: false, error: 'failed' });
    assert.equal(machine.power, 'off');
  });

  test('belongs to another machine, and tells so to whoever asks', async () => {
    assert.deepEqual(await ask('off', 'wrongMachine'), { ok: true, power: 'off', identity: 'other' });
    assert.equal(machine.power, 'on');
    assert.equal(other.power, 'off');
  });
});
