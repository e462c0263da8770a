import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Route } from './page/route.ts';
import { hashOf, pageOf, routeOf } from './page/route.ts';
import { linesFor, scaleOf } from './page/scale.ts';
import { duration, relative, withTimes } from './page/time.ts';

describe('[USE-4] times as people say them', () => {
  test('durations', () => {
    const said = [0, 800, 12_000, 59_900, 60_000, 252_000, 3_600_000, 7_800_000, 200_000_000].map(duration);
    assert.deepEqual(said, ['0 s', '0.8 s', '12 s', '59.9 s', '1 min', '4 min 12 s', '1 h', '2 h 10 min', '2 d 7 h']);
  });

  test('how long ago, and how soon', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    const said = [-1000, -12_000, -250_000, 12_000, 7_300_000].map((away) => relative(now + away, now));
    assert.deepEqual(said, ['now', '12 s ago', '4 min ago', 'in 12 s', 'in 2 h']);
  });

  test('times in a sentence are found, and nothing else', () => {
    assert.deepEqual(withTimes('until 2026-01-01T00:00:45Z, <b>then</b>'), [
      'until ',
      { atMs: Date.parse('2026-01-01T00:00:45Z') },
      ', <b>then</b>',
    ]);
  });
});

describe('[USE-4] what is in the address', () => {
  test('every page comes back as it was, whatever its names', () => {
    const routes: Route[] = [
      { page: 'now' },
      { page: 'node', node: 'node-1' },
      { page: 'node', node: 'a/b?c', incident: 'a-1', lane: 'asked' },
      { page: 'devices' },
      { page: 'rehearse' },
      { page: 'rehearse', ask: { what: 'zone', which: 'z 1', text: 'a: {b: "&c"}\n# ä\n' } },
    ];
    for (const route of routes) assert.deepEqual(routeOf(hashOf(route)), route);
    assert.deepEqual(routeOf('#/nonsense/%zz'), { page: 'now' });
    assert.equal(pageOf({ page: 'node', node: 'a/b' }), 'node/a%2Fb');
  });
});

describe('[USE-4] the axis', () => {
  test('seconds are drawn as they are, a long while is drawn shorter, and order is kept', () => {
    const { x, breaks } = scaleOf([0, 10_000, 20_000, 620_000], 1000);
    assert.ok(Math.abs(x(10_000) - (x(20_000) - x(10_000))) < 0.001, 'ten seconds are ten seconds');
    assert.ok(x(620_000) - x(20_000) < 5 * x(10_000), 'ten minutes are not sixty times as wide');
    assert.deepEqual([x(-5), x(620_000), breaks.length], [0, 1000, 1]);
    assert.ok(x(300_000) > x(20_000) && x(300_000) < 1000);
  });

  test('ticks have room, at round times', () => {
    const { ticks } = scaleOf([1000, 61_000], 800);
    assert.ok(ticks.length >= 5);
    for (const [at, { px, atMs }] of ticks.entries()) {
      assert.equal(atMs % 1000, 0);
      assert.ok(px - (ticks[at - 1]?.px ?? -100) >= 76);
    }
  });

  test('what overlaps stands below, what belongs together on one line', () => {
    const items = [{ row: 'lease', at: 0 }, { at: 0 }, { at: 10 }, { row: 'lease', at: 30 }, { at: 200 }];
    const { placed, lines } = linesFor(items, ({ at }) => ({ fromPx: at, toPx: at + 50 }));
    assert.deepEqual([placed.map(({ line }) => line), lines], [[0, 1, 2, 0, 1], 3]);
  });
});
