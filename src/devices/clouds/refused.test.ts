import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '../../clock.ts';
import type { DeviceAnswer } from '../device.ts';
import { cloudDriver } from './cloud.ts';
import { Failure } from './turn.ts';

/** What a cloud that refuses a command with this failure, and then says this of the instance, comes to. */
async function told(refusal: Error, says: () => 'on' | 'off'): Promise<DeviceAnswer> {
  const driver = cloudDriver({
    name: 'nimbus',
    rules: {},
    connect: () => ({
      status: async () => ({ power: says() }),
      switchTo: () => Promise.reject(refusal),
    }),
  });
  const device = driver.device({ plain: { instance: 'x' }, secret: {} }, realClock);
  return device.ask('off', new AbortController().signal);
}

test('[FEN-10] what a cloud refuses because of a state is done where it is that state, and where it says so', async () => {
  const aboutState = new Failure('refused', 'it is stopping', { isAboutState: true });
  const off = (): 'off' => 'off';
  assert.deepEqual(await told(aboutState, off), { kind: 'accepted' });
  assert.equal((await told(aboutState, () => 'on')).kind, 'refused');
  const silent = (): never => {
    throw new Failure('unknown', 'no answer');
  };
  assert.equal((await told(aboutState, silent)).kind, 'refused');
  assert.equal((await told(new Failure('refused', 'the credential does not allow this'), off)).kind, 'refused');
  assert.equal((await told(new Failure('unknown', 'it broke'), off)).kind, 'unknown');
  assert.equal((await told(new TypeError('a bug'), off)).kind, 'unknown');
});
