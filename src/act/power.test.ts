import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { whileTimePasses } from '../../test/support/while-time-passes.ts';
import type { Device, DeviceAction, DeviceAnswer } from '../devices/device.ts';
import { asked, bringTo } from './power.ts';
import type { PowerOptions } from './power.ts';

/** Answers as it is told; notes what it was asked. */
class Puppet implements Device {
  readonly name = 'puppet';
  readonly asked: DeviceAction[] = [];
  readonly #answer: (action: DeviceAction, count: number) => DeviceAnswer | Promise<DeviceAnswer>;

  constructor(answer: (action: DeviceAction, count: number) => DeviceAnswer | Promise<DeviceAnswer>) {
    this.#answer = answer;
  }

  async ask(action: DeviceAction, signal: AbortSignal): Promise<DeviceAnswer> {
    this.asked.push(action);
    const gaveUp = new Promise<DeviceAnswer>((resolve) => {
      signal.addEventListener('abort', () => resolve({ kind: 'unknown', message: 'no answer' }), { once: true });
    });
    return Promise.race([Promise.resolve(this.#answer(action, this.asked.length)), gaveUp]);
  }
}

const on: DeviceAnswer = {
  kind: 'status',
  power: 'on',
  identity: { kind: 'systemUUID', value: '4C4C4544-0042-3510-8052-B4C04F4B3932' },
};
const off: DeviceAnswer = { ...on, power: 'off' };
const accepted: DeviceAnswer = { kind: 'accepted' };

async function run(
  device: Device,
  { power = 'off', ...more }: Partial<PowerOptions> & { power?: 'on' | 'off' } = {},
): Promise<string> {
  const clock = manualClock();
  const identities = [{ kind: 'systemUUID' as const, value: '4c4c4544-0042-3510-8052-b4c04f4b3932' }];
  const times = { confirmWithinMs: 5000, pollEveryMs: 1000, askTimeoutMs: 2000 };
  const hear: PowerOptions['hear'] = (said) => ({ ...said, wasSeenOn: true });
  const options = { clock, identities, hear, doubt: () => undefined, ...times, ...more };
  const outcome = bringTo(power, device, options);
  const state = { done: false };
  void outcome.then(() => (state.done = true));
  for (let tick = 0; tick < 50 && !state.done; tick += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(500);
  }
  return (await outcome).outcome;
}

describe('power', () => {
  test('S4: believed only when a question after the action says so', async () => {
    let power = on;
    const honest = new Puppet((action) => {
      if (action === 'off') power = off;
      return action === 'status' ? power : accepted;
    });
    assert.equal(await run(honest), 'succeeded');
    assert.deepEqual(honest.asked, ['status', 'off', 'status']);
    assert.equal(
      await run(new Puppet((action) => (action === 'status' ? on : accepted))),
      'failed',
      'says yes, does nothing',
    );
    let told = 0;
    const late = new Puppet((action, count) => {
      if (action === 'off') told = count;
      return action !== 'status' ? accepted : told > 0 && count > told + 2 ? off : on;
    });
    assert.equal(await run(late), 'succeeded');
  });

  test('[FEN-10] already off is success, and nothing is sent', async () => {
    const device = new Puppet(() => off);
    assert.equal(await run(device), 'succeeded');
    assert.deepEqual(device.asked, ['status']);
  });

  test('[SAF-5, FEN-11] off before anybody of us has told it proves nothing of a way to the storage', async () => {
    const closed = new Puppet(() => off);
    assert.equal(await run(closed, { mayBeOurs: false }), 'failed');
    assert.deepEqual(closed.asked, ['status'], 'nor would it once it is told');
    assert.equal(await run(new Puppet(() => off), { mayBeOurs: true }), 'succeeded');
    assert.equal(
      await run(new Puppet(() => on), { mayBeOurs: false, power: 'on' }),
      'succeeded',
      'an open one is open',
    );
  });

  test('[SAF-1] S34: off that nobody believes is not success, before a command or after it', async () => {
    const doubtful = (said: unknown[]): Pick<PowerOptions, 'doubt'> => ({
      doubt: (answer, about) => {
        said.push([answer.power, about?.offForMs]);
        return answer.power === 'off' ? { reason: 'WrongMachine', message: 'the node lives' } : undefined;
      },
    });
    const before: unknown[] = [];
    const liar = new Puppet(() => off);
    assert.equal(await run(liar, doubtful(before)), 'failed');
    assert.deepEqual([liar.asked, before], [['status'], [['off', undefined]]]);
    const after: unknown[] = [];
    let power = on;
    const swapped = new Puppet((action) => {
      if (action === 'off') power = off;
      return action === 'status' ? power : accepted;
    });
    assert.equal(await run(swapped, doubtful(after)), 'failed', 'asked for as long as it may take');
    assert.deepEqual(after.slice(0, 2), [
      ['on', undefined],
      ['off', 0],
    ]);
    assert.ok(after.length > 3);
  });

  test('[SAF-1] S41: one that turns out to be wrong is not waited for any longer', async () => {
    let power = on;
    const device = new Puppet((action) => {
      if (action === 'off') power = off;
      return action === 'status' ? power : accepted;
    });
    const doubt = (): { reason: 'WrongMachine'; message: string } => ({ reason: 'WrongMachine', message: 'it renews' });
    const about: Partial<PowerOptions> = { doubt: (said) => (said.power === 'off' ? doubt() : undefined) };
    assert.equal(await run(device, about), 'failed');
    const waited = device.asked.length;
    power = on;
    const hear: PowerOptions['hear'] = (said) => ({
      ...said,
      wasSeenOn: true,
      ...(device.asked.length >= waited + 4 && { wrong: 'its node has renewed since' }),
    });
    assert.equal(await run(device, { ...about, hear }), 'failed');
    assert.deepEqual(device.asked.slice(waited), ['status', 'off', 'status', 'status']);
    assert.ok(waited > 4, 'whose word is only doubted has its time');
  });

  test('S15: what it rests on is asked again right before the command, and not where none is needed', async () => {
    const alive = new Puppet((action) => (action === 'status' ? on : accepted));
    assert.equal(await run(alive, { mayAct: async () => 'taken over' }), 'dropped');
    assert.deepEqual(alive.asked, ['status']);
    assert.equal(await run(new Puppet(() => off), { mayAct: async () => 'taken over' }), 'succeeded');
  });

  test('S19: an instance that does not lead any more asks nothing more, and says so', async () => {
    let leads = true;
    const device = new Puppet((action, count) => {
      if (count === 3) leads = false;
      return action === 'status' ? on : accepted;
    });
    assert.equal(await run(device, { guard: () => leads }), 'dropped');
    assert.deepEqual(device.asked, ['status', 'off', 'status']);
  });

  test('S29: a device that answers for another machine is not used', async () => {
    const stranger: DeviceAnswer = {
      kind: 'status',
      power: 'on',
      identity: { kind: 'systemUUID', value: '00000000-0042-3510-8052-b4c04f4b3932' },
    };
    const device = new Puppet(() => stranger);
    assert.equal(await run(device), 'failed');
    assert.deepEqual(device.asked, ['status']);
    assert.deepEqual(
      await asked(new Puppet(() => ({ ...stranger, power: 'off' })), {
        clock: manualClock(),
        identities: [{ kind: 'systemUUID', value: '4c4c4544-0042-3510-8052-b4c04f4b3932' }],
      }),
      {
        device: 'puppet',
        power: 'off',
        identity: 'other',
        says: '00000000-0042-3510-8052-b4c04f4b3932',
        message:
          'puppet answers for 00000000-0042-3510-8052-b4c04f4b3932, and the node is 4c4c4544-0042-3510-8052-b4c04f4b3932',
      },
    );
  });

  test('[NGS-11] S29: who does not say how it is, and so not whose power it is, is told nothing', async () => {
    for (const power of ['off', 'on'] as const) {
      const silent = new Puppet((action, count) =>
        action === 'status' && count === 1 ? { kind: 'unknown', message: 'busy' } : off,
      );
      assert.equal(await run(silent, { power }), 'unknown');
      assert.deepEqual(silent.asked, ['status'], power);
    }
  });

  test('S29: one that answers for another machine after a command has switched another machine', async () => {
    const swapped = new Puppet((action, count) => {
      if (action !== 'status') return accepted;
      return count === 1
        ? on
        : {
            kind: 'status',
            power: 'off',
            identity: { kind: 'systemUUID', value: '00000000-0042-3510-8052-b4c04f4b3932' },
          };
    });
    assert.equal(await run(swapped), 'failed');
    assert.deepEqual(swapped.asked, ['status', 'off', 'status'], 'and is not waited for');
  });

  test('what was switched off is switched on again, whatever is thought of its device by now', async () => {
    const doubt = (): ReturnType<PowerOptions['doubt']> => ({
      reason: 'WrongMachine',
      message: 'it is known to be wrong',
    });
    const hear: PowerOptions['hear'] = (said) => ({ ...said, wasSeenOn: true, wrong: 'its node has renewed' });
    let power = off;
    const device = new Puppet((action) => {
      if (action === 'on') power = on;
      return action === 'status' ? power : accepted;
    });
    assert.equal(await run(device, { power: 'on', doubt, hear }), 'succeeded');
    assert.deepEqual(device.asked, ['status', 'on', 'status']);
    assert.equal(await run(device, { power: 'on', doubt, hear }), 'succeeded', 'it is on already');
  });

  test('[EVD-4] of one that is found off it counts whether nobody answers at its kubelet; of others nobody knocks', async () => {
    const heard: unknown[] = [];
    let knocks = 0;
    const about: Partial<PowerOptions> = {
      doubt: (answer, { isMissed } = {}) => {
        heard.push([answer.power, isMissed]);
        return undefined;
      },
      isMissed: async () => {
        knocks += 1;
        return true;
      },
    };
    assert.equal(await run(new Puppet(() => off), about), 'succeeded');
    assert.deepEqual([knocks, heard], [1, [['off', true]]]);
    await run(new Puppet((action) => (action === 'status' ? on : { kind: 'refused', message: 'no' })), about);
    await run(new Puppet(() => on), { ...about, power: 'on' });
    assert.equal(knocks, 1);
  });

  test('a command that takes a minute to show is waited for, and given once', async () => {
    const clock = manualClock();
    let toldAtMs = Infinity;
    const slow = new Puppet((action) => {
      if (action === 'off') toldAtMs = Math.min(toldAtMs, clock.monotonic());
      if (action !== 'status') return accepted;
      return clock.monotonic() - toldAtMs > 80_000 ? off : on;
    });
    const hear: PowerOptions['hear'] = (said) => ({ ...said, wasSeenOn: true });
    const outcome = bringTo('off', slow, { clock, identities: [], hear, doubt: () => undefined });
    assert.equal((await whileTimePasses(clock, outcome)).outcome, 'succeeded');
    assert.equal(slow.asked.filter((action) => action === 'off').length, 1);
  });

  test('S26: refused is a failure, silence is unknown, an unclear answer is followed up', async () => {
    const refuses = new Puppet((action) => (action === 'status' ? on : { kind: 'refused', message: 'no' }));
    assert.equal(await run(refuses), 'failed');
    assert.deepEqual(refuses.asked, ['status', 'off'], 'nothing was done, so that nothing is waited for');
    assert.equal(await run(new Puppet(() => ({ kind: 'refused', message: 'login' }))), 'failed');
    assert.equal(await run(new Puppet(() => new Promise(() => {}))), 'unknown', 'hangs');
    let power = on;
    const actsAndFails = new Puppet((action) => {
      if (action === 'off') power = off;
      return action === 'status' ? power : { kind: 'unknown', message: 'failed' };
    });
    assert.equal(await run(actsAndFails), 'succeeded');
    const vanishes = new Puppet((_, count) => (count === 1 ? on : { kind: 'unknown', message: 'gone' }));
    assert.equal(await run(vanishes), 'unknown');
  });
});
