import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { VirtualClock } from '../../world/time/virtual-clock.ts';
import type { PowerStatus, ToldOfMany } from './interface.ts';
import { gatherMs, Together } from './together.ts';
import { Failure } from './turn.ts';

const never = new AbortController().signal;
const on = (): PowerStatus => ({ power: 'on' });

/** A cloud whose calls are answered when the test says so. */
function aCloud() {
  const clock = new VirtualClock();
  const calls: { instances: readonly string[]; answer: PromiseWithResolvers<ToldOfMany> }[] = [];
  const together = new Together(clock, (instances) => {
    const answer = Promise.withResolvers<ToldOfMany>();
    calls.push({ instances, answer });
    return answer.promise;
  });
  const ask = (instance: string, signal = never): Promise<string> =>
    together.ask(instance, signal).then(
      ({ power }) => power,
      (error: unknown) => (error instanceof Failure ? `${error.kind}: ${error.message}` : String(error)),
    );
  return { clock, calls, ask };
}

describe('many asked by one call', () => {
  test('[EVD-4] whoever asks at about the same time is asked for once, and is told its own', async () => {
    const { clock, calls, ask } = aCloud();
    const asked = ['i-1', 'i-2', 'i-1', 'i-3', 'i-4'].map((instance) => ask(instance));
    await clock.runFor(gatherMs);
    assert.deepEqual(
      calls.map(({ instances }) => instances),
      [['i-1', 'i-2', 'i-3', 'i-4']],
    );
    const stopping = (): PowerStatus => {
      throw new Failure('unknown', 'the state of i-3 is stopping');
    };
    const told = new Map([
      ['i-1', on],
      ['i-2', (): PowerStatus => ({ power: 'off' })],
      ['i-3', stopping],
    ]);
    calls[0]?.answer.resolve(told);
    assert.deepEqual(await Promise.all(asked), [
      'on',
      'off',
      'on',
      'unknown: the state of i-3 is stopping',
      'unknown: nothing was said of i-4 when many were asked for',
    ]);
  });

  test('[EVD-4] one call at a time, and nobody is told what was read before it asked', async () => {
    const { clock, calls, ask } = aCloud();
    const first = ask('i-1');
    await clock.runFor(gatherMs);
    const later = ask('i-1');
    await clock.runFor(10 * gatherMs);
    assert.equal(calls.length, 1);
    calls[0]?.answer.resolve(new Map([['i-1', on]]));
    assert.equal(await first, 'on');
    await clock.runFor(gatherMs);
    assert.equal(calls.length, 2);
    calls[1]?.answer.resolve(new Map([['i-1', (): PowerStatus => ({ power: 'off' })]]));
    assert.equal(await later, 'off');
  });

  test('[EVD-4] a call that fails is told to all who waited for it, and the next ones are asked for again', async () => {
    const { clock, calls, ask } = aCloud();
    const asked = [ask('i-1'), ask('i-2')];
    await clock.runFor(gatherMs);
    calls[0]?.answer.reject(new Failure('refused', 'the credential is not accepted'));
    const why = 'refused: the credential is not accepted';
    assert.deepEqual(await Promise.all(asked), [why, why]);
    const again = ask('i-1');
    await clock.runFor(gatherMs);
    calls[1]?.answer.resolve(new Map([['i-1', on]]));
    assert.equal(await again, 'on');
  });

  test('[EVD-4, FEN-10] whoever does not wait any more is answered at once, and the others are told all the same', async () => {
    const { clock, calls, ask } = aCloud();
    const limit = new AbortController();
    const [gone, stays] = [ask('i-1', limit.signal), ask('i-2')];
    await clock.runFor(gatherMs);
    limit.abort();
    assert.equal(await gone, 'unknown: it was called off');
    calls[0]?.answer.resolve(new Map([['i-2', on]]));
    assert.equal(await stays, 'on');
    assert.equal(await ask('i-1', AbortSignal.abort()), 'unknown: it was called off');
    await clock.runFor(10 * gatherMs);
    assert.equal(calls.length, 1, 'where nobody waits any more, nobody is asked');
  });
});
