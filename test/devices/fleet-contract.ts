/** What every cloud does that can be asked for many instances by one call: each is told what it would be told alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '../../src/clock.ts';
import { cloudDriver } from '../../src/devices/clouds/cloud.ts';
import type { Cloud } from '../../src/devices/clouds/interface.ts';
import type { Device, DeviceAnswer, DeviceParameters } from '../../src/devices/device.ts';
import { cloudDevice, type Door } from './endpoints/cloud.ts';
import type { Endpoint, Machine, Variant } from './endpoint.ts';

export interface FleetSubject {
  endpoint: () => Endpoint & { door: Door; parameters: (machine: Machine, variant?: Variant) => DeviceParameters };
  cloud: Cloud;
  /** Those that the call for many knows. */
  machines: readonly Machine[];
  /** As a watched node names it: a provider ID. */
  named: (machine: Machine) => string;
  /** Such a one, that does not exist. */
  absent: string;
  /** One in another place of the same cloud, which the credential does not reach; absent: there is but one place. */
  elsewhere?: string;
  /** One that the call for many would not name, or whose name may be that of several. */
  unnamed: string;
  /** Calls for one round: pages, and a login before the first. */
  calls: number;
}

const never = new AbortController().signal;

export function fleetContract(subject: FleetSubject): void {
  const { endpoint, cloud, machines, named, absent, elsewhere, unnamed, calls } = subject;
  const parametersOf = (instance: string, variant?: Variant): DeviceParameters => {
    const { plain, secret } = endpoint().parameters('a', variant);
    return { plain: { ...plain, instance }, secret };
  };
  const statusOf = (device: Device | undefined): Promise<DeviceAnswer | undefined> =>
    device === undefined ? Promise.resolve(undefined) : device.ask('status', never);

  test('[EVD-4] many are asked by one call, each is told what it would be told alone, and of one that is missing nothing', async () => {
    const driver = cloudDriver(cloud);
    const off = machines.at(-1) ?? 'a';
    await endpoint().setPower(off, 'off');
    const instances = [...machines.map(named), ...machines.map(named), absent];
    const watched = instances.map((instance) => driver.watched?.(parametersOf(instance), realClock));
    const before = endpoint().door.asked();
    const answers = await Promise.all(watched.map(statusOf));
    assert.equal(endpoint().door.asked() - before, calls);
    const alone: DeviceAnswer[] = [];
    for (const machine of machines) {
      alone.push(await cloudDevice(cloud, parametersOf(named(machine))).ask('status', never));
    }
    assert.deepEqual(answers.slice(0, -1), [...alone, ...alone]);
    const powers = answers.map((answer) => (answer?.kind === 'status' ? answer.power : answer?.kind));
    const expected = machines.map((machine) => (machine === off ? 'off' : 'on'));
    assert.deepEqual(powers, [...expected, ...expected, 'unknown']);
    await endpoint().setPower(off, 'on');
    const last = { ...alone.at(-1), power: 'on' };
    assert.deepEqual(await statusOf(watched[machines.length - 1]), last, 'what was said is not kept');
  });

  if (elsewhere !== undefined) {
    test('[EVD-4] a place that cannot be read leaves only its own instances without an answer', async () => {
      const driver = cloudDriver(cloud);
      const watched = [elsewhere, named('a')].map((one) => driver.watched?.(parametersOf(one), realClock));
      const kinds = (await Promise.all(watched.map(statusOf))).map((answer) => answer?.kind);
      assert.deepEqual(kinds, ['refused', 'status']);
    });
  }

  test('[EVD-4] one that is watched is told nothing, and one that cannot be told apart is not watched', async () => {
    const driver = cloudDriver(cloud);
    const watched = driver.watched?.(parametersOf(named('a')), realClock);
    assert.equal((await watched?.ask('off', never))?.kind, 'refused');
    assert.equal(await endpoint().power('a'), 'on');
    assert.equal(driver.watched?.(parametersOf(unnamed), realClock), undefined);
  });

  test('[EVD-4, FEN-10] where the account is refused nobody is told a power state, and whoever calls off is answered', async () => {
    const driver = cloudDriver(cloud);
    const wrong = driver.watched?.(parametersOf(named('a'), { credential: 'wrong' }), realClock);
    assert.equal((await statusOf(wrong))?.kind, 'refused');
    const limit = new AbortController();
    const asked = driver.watched?.(parametersOf(named('a')), realClock)?.ask('status', limit.signal);
    limit.abort();
    assert.equal((await asked)?.kind, 'unknown');
  });
}
