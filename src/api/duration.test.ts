import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { duration, positiveDuration } from './duration-schema.ts';
import { durationMs, formatDuration, parseDuration } from './duration.ts';

test('durations are read as they are written', () => {
  const table = {
    '0s': 0,
    '500ms': 500,
    '5s': 5_000,
    '90s': 90_000,
    '5m': 300_000,
    '3m': 180_000,
    '1h30m': 5_400_000,
    '24h': 86_400_000,
    '1h1m1s1ms': 3_661_001,
    '1h5ms': 3_600_005,
    '007s': 7_000,
  };
  for (const [text, ms] of Object.entries(table)) assert.equal(parseDuration(text), ms, text);
});

test('what could be meant in two ways is no duration', () => {
  for (const text of [
    '',
    '5',
    '5 m',
    '-5s',
    '+5s',
    '1.5h',
    '1d',
    '1w',
    '5M',
    '30s10m',
    '5m5m',
    'PT5M',
    '5s ',
    ' 5s',
    's',
    '5s\n',
    '1234567s',
  ]) {
    assert.equal(parseDuration(text), undefined, JSON.stringify(text));
  }
});

test('every whole number of milliseconds below a million hours survives being written and read', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999_999 * 3_600_000 }), (ms) => {
      const text = formatDuration(ms);
      assert.equal(durationMs(text), ms);
      assert.equal(formatDuration(durationMs(text)), text);
    }),
  );
});

test('durations are written in the shortest way', () => {
  assert.deepEqual([0, 90_000, 3_600_000, 1_500].map(formatDuration), ['0s', '1m30s', '1h', '1s500ms']);
});

test('a number that is no duration is a mistake of the caller', () => {
  for (const ms of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) assert.throws(() => formatDuration(ms), RangeError);
  assert.throws(() => durationMs('soon' as never), /soon/);
});

test('zero is a duration, but not where something has to pass', () => {
  assert.ok(duration().safeParse('0s').success);
  for (const zero of ['0s', '0h', '0h0m0s', '0ms']) assert.ok(!positiveDuration().safeParse(zero).success, zero);
  assert.ok(positiveDuration().safeParse('1ms').success);
});
