import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from './random.ts';

const draw = (stream: () => number, count: number): number[] => Array.from({ length: count }, stream);

describe('seeded chance', () => {
  test('the same seed and name give the same numbers, any other does not', () => {
    const numbers = draw(new Random(1).stream('fleet'), 50);
    assert.deepEqual(draw(new Random(1).stream('fleet'), 50), numbers);
    assert.notDeepEqual(draw(new Random(2).stream('fleet'), 50), numbers);
    assert.notDeepEqual(draw(new Random(1).stream('flees'), 50), numbers);
  });

  test('a stream does not depend on what others draw', () => {
    const alone = draw(new Random(7).stream('a'), 10);
    const random = new Random(7);
    const other = random.stream('b');
    const stream = random.stream('a');
    const mixed = Array.from({ length: 10 }, () => (other(), other(), stream()));
    assert.deepEqual(mixed, alone);
  });

  test('numbers are spread evenly over 0 to 1, also the first of neighbouring seeds', () => {
    const firsts = Array.from({ length: 10_000 }, (_, seed) => new Random(seed).stream('x')());
    for (const numbers of [draw(new Random(3).stream('y'), 10_000), firsts]) {
      const buckets = Array.from({ length: 10 }, (_, at) => numbers.filter((n) => Math.floor(n * 10) === at).length);
      assert.ok(
        buckets.every((size) => size > 850 && size < 1150),
        buckets.join(),
      );
      assert.ok(numbers.every((n) => n >= 0 && n < 1));
    }
  });

  test('a seed is a whole number', () => {
    assert.throws(() => new Random(1.5), RangeError);
  });
});
