import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ManualClock, manualClock } from '../../../test/support/manual-clock.ts';
import { Machine } from './machine.ts';

const pod = { uid: 'uid-1', namespace: 'default', name: 'web-0' };

function setUp(): { clock: ManualClock; machine: Machine; events: string[] } {
  const clock = manualClock();
  let seed = 1;
  const random = (): number => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  const machine = new Machine({ name: 'node-1', clock, random, bootTimeMs: 90_000 });
  const events: string[] = [];
  machine.on((event) => {
    const detail = event.type === 'processStopped' ? ` ${event.exitCode}` : '';
    events.push(`${event.type}${detail}`);
  });
  return { clock, machine, events };
}

function booted(): ReturnType<typeof setUp> {
  const world = setUp();
  world.machine.powerOn(0);
  world.clock.advance(0);
  world.events.length = 0;
  return world;
}

describe('a machine', () => {
  test('needs its time to boot, and every boot has another ID', () => {
    const { clock, machine } = setUp();
    assert.equal(machine.power, 'off');
    machine.powerOn();
    assert.equal(machine.power, 'on');
    clock.advance(89_999);
    assert.equal(machine.alive, false);
    assert.equal(machine.connected, false);
    clock.advance(1);
    assert.equal(machine.alive, true);
    const first = machine.bootId;
    assert.match(first, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    machine.reset();
    clock.advance(90_000);
    assert.notEqual(machine.bootId, first);
  });

  test('without power runs nothing, remembers nothing, and none of its timers fires', () => {
    const { clock, machine, events } = booted();
    machine.mount(pod.uid, [{ persistentVolume: 'pv-0' }]);
    machine.startProcess(pod);
    let fired = 0;
    machine.clock.after(1000, () => (fired += 1));
    machine.powerOff();
    assert.equal(machine.processes.size, 0);
    assert.equal(machine.mounts.size, 0);
    machine.powerOn(0);
    clock.advance(5000);
    assert.equal(fired, 0);
    assert.equal(machine.processes.size, 0, 'a boot starts nothing by itself');
    assert.deepEqual(events, ['processStarted', 'processStopped undefined', 'off', 'booting', 'booted']);
  });

  test('powered off while it boots does not come up', () => {
    const { clock, machine } = setUp();
    machine.powerOn();
    clock.advance(50_000);
    machine.powerOff();
    clock.advance(100_000);
    assert.equal(machine.alive, false);
    assert.equal(machine.bootId, '');
  });

  test('that hangs has power and its processes, but nothing moves until it resumes', async () => {
    const { clock, machine } = booted();
    machine.startProcess(pod);
    const fired: string[] = [];
    machine.clock.after(1000, () => fired.push('first'));
    const cancel = machine.clock.after(1500, () => fired.push('cancelled while due'));
    machine.clock.after(2000, () => fired.push('second'));
    machine.clock.after(9000, () => fired.push('third'));
    machine.hang();
    let awake = false;
    const waking = machine.whenAwake().then(() => (awake = true));
    clock.advance(5000);
    cancel();
    await Promise.resolve();
    assert.deepEqual([machine.power, machine.alive, awake, fired], ['on', false, false, []]);
    assert.ok(machine.processOf(pod.uid));
    assert.equal(machine.startProcess({ ...pod, uid: 'uid-2' }), undefined);
    machine.resume();
    await waking;
    assert.deepEqual(fired, ['first', 'second']);
    clock.advance(4000);
    assert.deepEqual(fired, ['first', 'second', 'third']);
  });

  test('that hung and lost power forgets what was due', async () => {
    const { clock, machine } = booted();
    let fired = 0;
    machine.clock.after(1000, () => (fired += 1));
    machine.hang();
    const waking = machine.whenAwake();
    clock.advance(2000);
    machine.reset();
    await waking;
    clock.advance(90_000);
    assert.equal(fired, 0);
    assert.equal(machine.alive, true);
  });

  test('that is cut off runs on', () => {
    const { machine, events } = booted();
    machine.startProcess(pod);
    machine.partition();
    machine.partition();
    assert.deepEqual([machine.connected, machine.alive, machine.processes.size], [false, true, 1]);
    machine.heal();
    assert.equal(machine.connected, true);
    assert.deepEqual(events, ['processStarted', 'linkDown', 'linkUp']);
  });

  test('ends a process in the time it needs, or kills it when its grace is over; the shortest wish wins', () => {
    const { clock, machine, events } = booted();
    machine.startProcess(pod);
    machine.stopProcess(pod.uid, 3000, 30_000);
    clock.advance(2999);
    assert.ok(machine.processOf(pod.uid));
    clock.advance(1);
    assert.equal(machine.exitOf(pod.uid)?.code, 0);

    machine.startProcess(pod);
    machine.stopProcess(pod.uid, 60_000, 30_000);
    machine.stopProcess(pod.uid, 60_000, 1000);
    machine.stopProcess(pod.uid, 60_000, 50_000);
    clock.advance(1000);
    assert.equal(machine.exitOf(pod.uid)?.code, 137);
    assert.deepEqual(events, ['processStarted', 'processStopped 0', 'processStarted', 'processStopped 137']);
    machine.forget(pod.uid);
    assert.equal(machine.exitOf(pod.uid)?.code, undefined);
  });

  test('gives a process what is mounted for it, and does not unmount under it', () => {
    const { clock, machine } = booted();
    machine.mount(pod.uid, [{ persistentVolume: 'pv-0' }]);
    const process = machine.startProcess(pod, { afterMs: 500, code: 3 });
    assert.deepEqual(process?.volumes, [{ persistentVolume: 'pv-0' }]);
    assert.throws(() => machine.startProcess(pod), /runs already/);
    assert.throws(() => machine.unmount(pod.uid), /under a running process/);
    clock.advance(500);
    assert.equal(machine.exitOf(pod.uid)?.code, 3);
    assert.ok(machine.mounts.has(pod.uid));
    machine.unmount(pod.uid);
    assert.equal(machine.mounts.size, 0);
  });
});
