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
    '1h30m0s': 5_400_000,
    '0h0m30s': 30_000,
    '1.5h': 5_400_000,
    '1.1h': 3_960_000,
    '.5s': 500,
    '2.s': 2000,
    '30s10m': 630_000,
    '5m5m': 600_000,
    '+5s': 5000,
    '1m0.25s': 60_250,
    '1500us': 2,
    '500µs': 1,
    '500μs': 1,
    '1ns': 1,
    '.000000001ns': 1,
    '999999h59m59.999s': 3_599_999_999_999,
  };
  for (const [text, ms] of Object.entries(table)) assert.equal(parseDuration(text), ms, text);
});

test('what could be meant in two ways is no duration', () => {
  for (const text of [
    '',
    '5',
    '5 m',
    '-5s',
    '1d',
    '1w',
    '5M',
    'PT5M',
    '5s ',
    ' 5s',
    's',
    '5s\n',
    '1234567h',
    '1234567890s',
    '0',
    '1.5',
    '1h30',
    '.s',
    '1..5s',
    '1,5h',
    '--5s',
    '1e3s',
    'Infs',
    '０s',
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
  for (const zero of ['0s', '0h', '0h0m0s', '0ms', '.0s', '0.000000000ns'])
    assert.ok(!positiveDuration().safeParse(zero).success, zero);
  for (const some of ['1ms', '1ns', '0.1s', '0h0m0s1ms']) assert.ok(positiveDuration().safeParse(some).success, some);
});
