import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { ConditionTimes } from './condition-times.ts';

test('[STM-1] how long a condition has lasted that was there at the first look is unknown, and may be long', () => {
  const clock = manualClock();
  const times = new ConditionTimes(clock);
  const both = (status: 'True' | 'False'): (number | undefined)[] => {
    const seen = [{ type: 'Deadlock', status }] as const;
    return [times.note('a', seen)[0]?.forMs, times.atMost('a', seen)[0]?.forMs];
  };
  assert.deepEqual(both('True'), [0, Infinity]);
  clock.advance(1000);
  assert.deepEqual(both('True'), [1000, Infinity]);
  assert.deepEqual(both('False'), [0, 0], 'it was seen to change');
  clock.advance(1000);
  times.forget('a');
  assert.deepEqual(both('True'), [0, 0], 'nobody has attended to it meanwhile, and it was not so then');
  clock.advance(500);
  assert.deepEqual(both('True'), [500, 500]);
  times.look('c', ['Deadlock'], []);
  assert.equal(times.atMost('c', [{ type: 'Deadlock', status: 'True' }])[0]?.forMs, 0, 'it did not report it before');
  assert.equal(times.atMost('b', [{ type: 'Deadlock', status: 'True' }])[0]?.forMs, Infinity);
  times.gone('a');
  assert.deepEqual(both('True'), [0, Infinity], 'who has its name next is seen for the first time');
});
