/**
 * What every device does, whatever it is: one suite for all drivers, each against an endpoint that speaks its protocol.
 * The faults are those that devices have in life; what is asked of a driver is that its answers stay true through them.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { DeviceAnswer } from '../../src/devices/device.ts';
import { isSameSystem } from '../../src/api/machine.ts';
import { waitFor } from '../support/wait.ts';
import type { Endpoint, EndpointFault, Machine, Subject, Variant } from './endpoint.ts';
import { watchForCanary } from './canary.ts';

const never = new AbortController().signal;

export function deviceContract(subject: Subject): void {
  describe(subject.name, () => {
    let endpoint: Endpoint;
    before(async () => {
      endpoint = await subject.start();
    });
    after(() => endpoint?.stop());
    afterEach(async () => {
      for (const machine of ['a', 'b'] as const) {
        await endpoint.fault(machine, 'none');
        await endpoint.setPower(machine, 'on');
      }
    });

    const ask = (machine: Machine, action: 'status' | 'off' | 'on', variant?: Variant): Promise<DeviceAnswer> =>
      endpoint.device(machine, variant).ask(action, never);
    const powerOf = async (machine: Machine, variant?: Variant): Promise<string> => {
      const answer = await ask(machine, 'status', variant);
      return answer.kind === 'status' ? answer.power : JSON.stringify(answer);
    };

    test('[FEN-8, FEN-10] off, off again, on: each accepted, and the status tells it', async () => {
      assert.equal(await powerOf('a'), 'on');
      assert.deepEqual(await ask('a', 'off'), { kind: 'accepted' });
      await waitFor('the machine to be off', async () => (await powerOf('a')) === 'off');
      assert.equal(await endpoint.power('a'), 'off');
      assert.deepEqual(await ask('a', 'off'), { kind: 'accepted' }, 'already off is success');
      assert.equal(await endpoint.power('b'), 'on', 'the other machine runs on');
      assert.deepEqual(await ask('a', 'on'), { kind: 'accepted' });
      await waitFor('the machine to be on', async () => (await powerOf('a')) === 'on');
      assert.equal(await endpoint.power('a'), 'on');
    });

    test('[FEN-8] two machines at the same time do not mix', async () => {
      await endpoint.setPower('b', 'off');
      const answers = await Promise.all([ask('a', 'off'), ask('b', 'on')]);
      assert.deepEqual(answers, [{ kind: 'accepted' }, { kind: 'accepted' }]);
      await waitFor('both to have followed', async () => {
        const seen = await Promise.all([powerOf('a'), powerOf('b')]);
        assert.deepEqual(seen, ['off', 'on']);
        return true;
      });
      assert.equal(await endpoint.power('a'), 'off');
      assert.equal(await endpoint.power('b'), 'on');
    });

    test('[FEN-8] the device says whose power it is, also when it is wired to another machine', async () => {
      for (const wiredTo of ['a', 'b'] as const) {
        const answer = await ask('a', 'status', { wiredTo });
        assert.ok(answer.kind === 'status', JSON.stringify(answer));
        const expected = subject.identity?.[wiredTo];
        if (expected === undefined) assert.equal(answer.identity, undefined);
        else {
          const { value = '' } = answer.identity ?? {};
          assert.ok(value === expected || isSameSystem(value, expected), JSON.stringify(answer));
        }
      }
    });

    test('[FEN-10] a wrong credential does nothing, and is no status', async () => {
      for (const action of ['status', 'off'] as const) {
        const answer = await ask('a', action, { credential: 'wrong' });
        assert.equal(
          answer.kind,
          action === 'status' ? subject.wrongCredential : notDone(answer),
          JSON.stringify(answer),
        );
      }
      assert.equal(await endpoint.actions('a'), 0);
      assert.equal(await endpoint.power('a'), 'on');
    });

    if (subject.checksTrust) {
      test('[FEN-10] a device that cannot prove who it is is refused, and nothing is done', async () => {
        for (const action of ['status', 'off'] as const) {
          const answer = await ask('a', action, { trust: 'missing' });
          assert.equal(answer.kind, 'refused', JSON.stringify(answer));
        }
        assert.equal(await endpoint.actions('a'), 0);
        assert.equal(await endpoint.power('a'), 'on');
      });
    }

    faultCases(subject, { endpoint: () => endpoint, ask, powerOf });

    test('[FEN-8] the credential is in no argument, environment, answer or name', async () => {
      const { result, exposures } = await watchForCanary(subject.canary, async () => [
        await ask('a', 'status'),
        await ask('a', 'off'),
        await ask('a', 'status', { credential: 'wrong' }),
      ]);
      const said = [...result, endpoint.device('a').name, endpoint.device('a', { credential: 'wrong' }).name];
      assert.ok(!JSON.stringify(said).includes(subject.canary), JSON.stringify(said));
      const unexpected = exposures.filter(({ program }) => !(subject.handedOnTo ?? []).includes(program));
      assert.deepEqual(unexpected, []);
    });
  });
}

/** What may be answered when nothing was done, as far as the driver can know. */
function notDone(answer: DeviceAnswer): 'refused' | 'unknown' {
  return answer.kind === 'refused' ? 'refused' : 'unknown';
}

interface Hands {
  endpoint: () => Endpoint;
  ask: (machine: Machine, action: 'status' | 'off' | 'on', variant?: Variant) => Promise<DeviceAnswer>;
  powerOf: (machine: Machine, variant?: Variant) => Promise<string>;
}

function faultCases({ faults, hangsAsAWhole = false }: Subject, { endpoint, ask, powerOf }: Hands): void {
  const faultTest = (fault: EndpointFault, name: string, body: () => Promise<void>): void => {
    if (faults.includes(fault)) test(`[FEN-10] ${name}`, body);
  };

  faultTest('refuses', 'one that refuses is not taken for off', async () => {
    await endpoint().fault('a', 'refuses');
    const answer = await ask('a', 'off');
    assert.equal(answer.kind, notDone(answer), JSON.stringify(answer));
    assert.equal(await powerOf('a'), 'on');
    assert.equal(await endpoint().power('a'), 'on');
  });

  faultTest('ignores', 'one that says yes and does nothing is seen to be on', async () => {
    await endpoint().fault('a', 'ignores');
    const answer = await ask('a', 'off');
    assert.ok(answer.kind === 'accepted' || answer.kind === 'unknown', JSON.stringify(answer));
    assert.equal(await powerOf('a'), 'on');
    assert.ok((await endpoint().actions('a')) > 0, 'it was told');
  });

  faultTest('late', 'one that acts late is on until then', async () => {
    await endpoint().fault('a', 'late');
    const answer = await ask('a', 'off');
    assert.ok(answer.kind === 'accepted' || answer.kind === 'unknown', JSON.stringify(answer));
    assert.equal(await powerOf('a'), 'on');
    await endpoint().catchUp('a');
    await waitFor('the machine to be seen off', async () => (await powerOf('a')) === 'off');
  });

  faultTest('reportsFailure', 'one that acts and reports failure is not said to have done nothing', async () => {
    await endpoint().fault('a', 'reportsFailure');
    const answer = await ask('a', 'off');
    assert.ok(answer.kind === 'accepted' || answer.kind === 'unknown', JSON.stringify(answer));
    await waitFor('the machine to be seen off', async () => (await powerOf('a')) === 'off');
  });

  faultTest('hangs', 'one that hangs is unknown in time, and does not hold up the other machine’s', async () => {
    await endpoint().fault('a', 'hangs');
    const startedAt = performance.now();
    const timeoutMs = 3_000;
    const [status, off, other] = await Promise.all([
      ask('a', 'status', { timeoutMs }),
      ask('a', 'off', { timeoutMs }),
      hangsAsAWhole ? 'on' : powerOf('b'),
    ]);
    assert.equal(other, 'on');
    assert.equal(status.kind, 'unknown', JSON.stringify(status));
    assert.equal(off.kind, 'unknown', JSON.stringify(off));
    assert.ok(performance.now() - startedAt < timeoutMs + 5_000);
  });
}
