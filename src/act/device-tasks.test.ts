import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { doubtByReady, heardBefore } from '../../test/support/doubt.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { aNode } from '../../test/support/release-case.ts';
import type { Method } from '../api/fence-config.ts';
import type { LiveNode } from '../api/release-view.ts';
import type { Device, DeviceAction, DeviceAnswer } from '../devices/device.ts';
import type { Knocked } from '../kube/knock.ts';
import type { DeviceTasksOptions, MayAct, Try } from './device-tasks.ts';
import { DeviceTasks, identitiesOf } from './device-tasks.ts';
import type { TryOutcome } from './power.ts';

const off: Method = { name: 'pdu-off', action: 'off', driver: 'puppet', parameters: {}, secrets: [] };
const node = aNode();

interface Bench {
  tasks: DeviceTasks;
  asked: DeviceAction[];
  done: string[];
  answer: (answer: DeviceAnswer) => Promise<void>;
  clock: ReturnType<typeof manualClock>;
}

/** Devices answer when the test says so. */
function bench(change: Partial<DeviceTasksOptions> = {}): Bench {
  const asked: DeviceAction[] = [];
  const done: string[] = [];
  const open: ((answer: DeviceAnswer) => void)[] = [];
  const device: Device = {
    name: 'puppet',
    ask: (action) => {
      asked.push(action);
      return new Promise((resolve) => open.push(resolve));
    },
  };
  const clock = manualClock();
  const tasks = new DeviceTasks({
    clock,
    provider: { device: async () => ({ ok: true, device }) },
    doubt: doubtByReady,
    hear: heardBefore,
    knock: async () => 'silent',
    onDone: (name) => done.push(name),
    ...change,
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    tasks,
    asked,
    done,
    clock,
    async answer(answer) {
      await settle();
      open.shift()?.(answer);
      await settle();
    },
  };
}

/** To switch the machine off. */
function attempt(tasks: DeviceTasks, { key = 'k', mayAct = async () => undefined }: Attempt = {}): Try {
  return { key, run: () => tasks.operate(node, { what: 'power', method: off }, mayAct) };
}

interface Attempt {
  key?: string;
  mayAct?: MayAct;
}

const status = (power: 'on' | 'off'): DeviceAnswer => ({ kind: 'status', power });

describe('device tasks', () => {
  test('S27: nobody waits: it runs, and tells when it has ended', async () => {
    const { tasks, asked, done, answer } = bench();
    await tasks.ensure(node, attempt(tasks));
    assert.deepEqual(tasks.current('node-1'), { key: 'k', outcome: 'running' });
    assert.equal(tasks.current('node-2'), undefined);
    await answer(status('on'));
    await answer({ kind: 'accepted' });
    await answer(status('off'));
    assert.deepEqual(asked, ['status', 'off', 'status']);
    assert.deepEqual(done, ['node-1']);
    assert.deepEqual(tasks.current('node-1'), { key: 'k', outcome: 'succeeded', message: 'pdu-off: puppet says off' });
  });

  test('[SAF-5] S40: what has said on since it was switched off is said beside how that has ended', async () => {
    let says: string | undefined;
    const { tasks, answer } = bench({ saysOn: (name, { name: by }) => says && `${name} ${by}: ${says}` });
    const onAgain = (): string | undefined => tasks.current('node-1')?.onAgain;
    await tasks.ensure(node, { ...attempt(tasks), method: off });
    says = 'it says on';
    assert.equal(onAgain(), undefined, 'nothing has come of it yet');
    await answer(status('off'));
    assert.equal(onAgain(), 'node-1 pdu-off: it says on');
    says = undefined;
    assert.equal(onAgain(), undefined);
    says = 'it says on';
    const run = async (): Promise<TryOutcome> => ({ outcome: 'succeeded', message: '' });
    await tasks.ensure(node, { key: 'on', method: { ...off, action: 'on' }, run, isAwaited: true });
    assert.equal(onAgain(), undefined, 'as it should');
    await tasks.ensure(node, { key: 'job', run, isAwaited: true });
    assert.equal(onAgain(), undefined, 'it is about no device');
  });

  test('S20: one for each node: asked again, or for another try, nothing begins while it runs', async () => {
    const { tasks, asked, answer } = bench();
    await tasks.ensure(node, attempt(tasks));
    await tasks.ensure(node, attempt(tasks));
    await tasks.ensure(node, attempt(tasks, { key: 'next' }));
    await answer(status('off'));
    assert.deepEqual(asked, ['status']);
    await tasks.ensure(node, attempt(tasks));
    assert.deepEqual(asked, ['status'], 'its answer is there');
    await tasks.ensure(node, attempt(tasks, { key: 'next' }));
    await answer(status('off'));
    assert.deepEqual(asked, ['status', 'status']);
  });

  test('S15, S19: asked again right before the device is told: dropped without a trace where it must not be', async () => {
    const { tasks, asked, done, answer, clock } = bench();
    await tasks.ensure(node, attempt(tasks, { mayAct: async () => 'stopped' }));
    await answer(status('on'));
    assert.deepEqual(asked, ['status']);
    assert.equal(tasks.current('node-1'), undefined);
    assert.deepEqual(done, [], 'not as fast as can be: our view may be behind');
    clock.advance(500);
    assert.deepEqual(done, ['node-1']);
  });

  test('[SAF-17] a cut is one of the power, to off, and not before it may be told', async () => {
    const cuts = async (change: {
      what?: 'power' | 'storage';
      action?: 'on' | 'off';
      mayAct?: MayAct;
    }): Promise<string[]> => {
      const noted: string[] = [];
      const { tasks, answer } = bench({ onCut: (_, method) => noted.push(method.name) });
      const { what = 'power', action = 'off', mayAct = async () => undefined } = change;
      const run = (): Promise<TryOutcome> => tasks.operate(node, { what, method: { ...off, action } }, mayAct);
      await tasks.ensure(node, { key: 'k', run });
      await answer(status(action === 'off' ? 'on' : 'off'));
      return noted;
    };
    assert.deepEqual(await cuts({}), ['pdu-off']);
    assert.deepEqual(await cuts({ action: 'on' }), [], 'what the cut has shown would be forgotten');
    assert.deepEqual(await cuts({ what: 'storage' }), []);
    assert.deepEqual(await cuts({ mayAct: async () => 'stopped' }), []);
  });

  test('[SAF-5, FEN-11] a way to the storage that is closed is one that we have closed, until we have opened it', async () => {
    let says: 'on' | 'off' = 'off';
    const device: Device = {
      name: 'puppet',
      ask: async (action): Promise<DeviceAnswer> => {
        if (action === 'status') return status(says);
        says = action === 'off' ? 'off' : 'on';
        return { kind: 'accepted' };
      },
    };
    const { tasks } = bench({ provider: { device: async () => ({ ok: true, device }) } });
    const doubtless = aNode({ ready: 'Unknown' });
    const turn = async (change: Partial<Method> = {}, to: LiveNode = doubtless, mayBeSent = false): Promise<string> => {
      const asked = { what: 'storage', method: { ...off, ...change }, mayBeSent } as const;
      return (await tasks.operate(to, asked, async () => undefined)).outcome;
    };
    assert.equal(await turn(), 'failed', 'it was closed by nobody of us');
    assert.equal(await turn({}, doubtless, true), 'succeeded', 'it may be by what is on record');
    says = 'on';
    assert.deepEqual([await turn(), await turn(), await turn({ name: 'other' })], Array(3).fill('succeeded'));
    assert.equal(await turn({}, { ...doubtless, uid: 'another' }), 'failed');
    assert.equal(await turn({ parameters: { plug: '2' } }), 'failed');
    assert.deepEqual([await turn({ action: 'on' }), says], ['succeeded', 'on']);
    says = 'off';
    assert.equal(await turn(), 'failed', 'since then it was closed by somebody else');
    says = 'on';
    assert.equal(await turn(), 'succeeded');
    says = 'on';
    assert.equal(await turn({ action: 'on' }), 'succeeded', 'somebody else has opened it');
    says = 'off';
    assert.equal(await turn(), 'failed', 'which is known as well');
  });

  test('S26: a driver that throws leaves it unknown, a device that is not there is a failure', async () => {
    const broken = bench({ provider: { device: () => Promise.reject(new Error('bug')) } });
    await broken.tasks.ensure(node, attempt(broken.tasks));
    await broken.answer(status('on'));
    assert.deepEqual(broken.tasks.current('node-1'), { key: 'k', outcome: 'unknown', message: 'pdu-off: bug' });
    const missing = bench({ provider: { device: async () => ({ ok: false, problem: 'no such agent' }) } });
    await missing.tasks.ensure(node, attempt(missing.tasks));
    await missing.answer(status('on'));
    assert.deepEqual(missing.tasks.current('node-1'), {
      key: 'k',
      outcome: 'failed',
      message: 'pdu-off: no such agent',
    });
  });

  test('S17: what writes to the Node is awaited', async () => {
    const { tasks } = bench();
    const run = async (): Promise<TryOutcome> => {
      await new Promise(setImmediate);
      return { outcome: 'succeeded', message: 'cordon' };
    };
    await tasks.ensure(node, { key: 'k', run, isAwaited: true });
    assert.deepEqual(tasks.current('node-1'), { key: 'k', outcome: 'succeeded', message: 'cordon' });
  });

  test('S4: not off: whoever says on, then whoever does not say; nobody to ask is not off', async () => {
    assert.deepEqual(await bench().tasks.notOff(node, { what: 'power', methods: [] }), {
      message: 'no device is known to have switched it off',
      isOn: false,
      isDisbelieved: false,
    });
    const says = async (...answers: DeviceAnswer[]): Promise<unknown> => {
      const { tasks, answer } = bench();
      const found = tasks.notOff(node, { what: 'power', methods: answers.map(() => off) });
      for (const one of answers) await answer(one);
      return found;
    };
    assert.equal(await says(status('off'), status('off')), undefined);
    assert.deepEqual(await says({ kind: 'unknown', message: 'silence' }, status('on')), {
      message: 'pdu-off: puppet: it says on',
      isOn: true,
      isDisbelieved: false,
    });
    assert.deepEqual(await says({ kind: 'unknown', message: 'silence' }), {
      message: 'pdu-off: puppet: silence',
      isOn: false,
      isDisbelieved: false,
    });
    assert.deepEqual(await says({ kind: 'status', power: 'off', identity: { kind: 'name', value: 'node-2' } }), {
      message: 'pdu-off: puppet answers for node-2, and the node is node-1',
      isOn: false,
      isDisbelieved: true,
    });
    const disputed = { ...node, disputed: { providerId: 'node-2' } };
    const { tasks, answer } = bench();
    const found = tasks.notOff(disputed, { what: 'power', methods: [off] });
    await answer({ kind: 'unknown', message: 'silence' });
    assert.equal((await found)?.isDisbelieved, true, 'two nodes say that it is theirs');
  });

  test('[EVD-4] a door at which nobody answers is not knocked at again within the second, and one at which somebody does is', async () => {
    let says: Knocked = 'silent';
    let knocks = 0;
    const heard: (boolean | undefined)[] = [];
    const { tasks, answer, clock } = bench({
      knock: async () => {
        knocks += 1;
        return says;
      },
      doubt: (...asked) => {
        heard.push(asked[2].isMissed);
        return doubtByReady(...asked);
      },
    });
    const asksAt = async (port: number): Promise<void> => {
      const found = tasks.notOff(node, { what: 'power', methods: [off], door: { address: '10.0.0.1', port } });
      await answer(status('off'));
      await found;
    };
    for (const afterMs of [0, 1000]) {
      clock.advance(afterMs);
      await asksAt(10250);
    }
    assert.equal(knocks, 1);
    await asksAt(10251);
    assert.equal(knocks, 2, 'another door');
    says = 'open';
    clock.advance(1);
    await asksAt(10250);
    await asksAt(10250);
    assert.equal(knocks, 4, 'whoever lives is asked each time');
    assert.deepEqual(heard, [true, true, true, false, false]);
  });

  test('[EVD-4] who answers that nobody listens is not missed, nor one of whom nothing is known', async () => {
    for (const says of ['open', 'refused', 'unknown', 'silent'] as const) {
      const heard: (boolean | undefined)[] = [];
      const { tasks, answer } = bench({
        knock: async () => says,
        doubt: (...asked) => {
          heard.push(asked[2].isMissed);
          return undefined;
        },
      });
      const door = { address: '10.0.0.1', port: 10250 };
      const found = tasks.notOff(node, { what: 'power', methods: [off], door });
      await answer(status('off'));
      await found;
      assert.deepEqual(heard, [says === 'silent'], says);
    }
  });

  test('[SAF-1] what a release rests on is weighed as such, and by how long it is off', async () => {
    const heard: unknown[] = [];
    const { tasks, answer } = bench({
      doubt: (_node, _answer, about) => {
        heard.push(about);
        return undefined;
      },
    });
    const found = tasks.notOff(node, { what: 'storage', methods: [off], offForMs: 7000 });
    await answer(status('off'));
    await found;
    assert.deepEqual(heard, [{ what: 'storage', offForMs: 7000, isMissed: false, isBasis: true }]);
  });

  test('clouds let a guest shut down for minutes before they cut it; others are not waited for so long', async () => {
    const within = async (driver: string): Promise<string | undefined> => {
      const { tasks, answer, clock } = bench();
      const method = { ...off, driver };
      await tasks.ensure(node, {
        key: 'k',
        run: () => tasks.operate(node, { what: 'power', method }, async () => undefined),
      });
      await answer(status('on'));
      await answer({ kind: 'accepted' });
      await answer(status('on'));
      clock.advance(120_000);
      await answer(status('off'));
      return tasks.current('node-1')?.outcome;
    };
    assert.equal(await within('driver:aws'), 'succeeded');
    assert.equal(await within('built-in'), 'succeeded');
    assert.equal(await within('agent:fence_ipmilan'), 'failed');
  });

  test('[SAF-2] a node is known by what it says, but for what firmware writes that was never told; or by what a person says', () => {
    const known = { ...node, systemUuid: '4c4c4544-0042-3510-8052-b4c04f4b3932', providerId: 'aws:///z/i-1' };
    const kinds = (of: LiveNode, identity?: string): string[] =>
      identitiesOf(of, { ...off, ...(identity === undefined ? {} : { identity }) }).map(
        ({ kind, value }) => `${kind} ${value}`,
      );
    assert.deepEqual(kinds(known), [
      'name node-1',
      'systemUUID 4c4c4544-0042-3510-8052-b4c04f4b3932',
      'providerID aws:///z/i-1',
    ]);
    for (const systemUuid of ['Not Settable', '00000000-0000-0000-0000-000000000000', '']) {
      assert.deepEqual(kinds({ ...known, systemUuid, providerId: '' }), ['name node-1'], systemUuid);
    }
    assert.deepEqual(kinds(known, 'unchecked'), []);
    assert.deepEqual(new Set(kinds(known, 'abc').map((one) => one.split(' ')[1])), new Set(['abc']));
  });
});
