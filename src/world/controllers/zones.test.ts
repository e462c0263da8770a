import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../objects/nodes.ts';
import { defaultControllerTimings } from './timings.ts';
import type { ZoneCount } from './zones.ts';
import { zoneOf, Zones } from './zones.ts';

const nodeIn = (zone: string): Node => ({ metadata: { name: 'n', labels: { 'topology.kubernetes.io/zone': zone } } });
const [a, b] = [nodeIn('a'), nodeIn('b')];

function zonesWith(counts: Record<string, ZoneCount>): {
  zones: Zones;
  update: (next: Record<string, ZoneCount>, at: number) => string | undefined;
} {
  const zones = new Zones(defaultControllerTimings);
  const update = (next: Record<string, ZoneCount>, at: number): string | undefined =>
    zones.update(new Map(Object.entries(next).map(([name, count]) => [zoneOf(nodeIn(name)), count])), at);
  for (const name of Object.keys(counts)) zones.of(nodeIn(name), 0);
  update(counts, 0);
  return { zones, update };
}

test('a healthy zone gives one node every ten seconds', () => {
  const { zones } = zonesWith({ a: { ready: 9, notReady: 1 } });
  const zone = zones.of(a, 0);
  assert.equal(zone.tryAccept(0), true);
  assert.equal(zone.tryAccept(0), false);
  assert.equal(Math.round(zone.waitMs(4000)), 6000);
  assert.equal(zone.tryAccept(9000), false);
  assert.equal(zone.tryAccept(10_000), true);
});

test('a small zone of which most is down stops, a large one slows down', () => {
  const small = zonesWith({ a: { ready: 2, notReady: 3 }, b: { ready: 1, notReady: 0 } });
  assert.equal(small.zones.of(a, 0).state, 'PartialDisruption');
  assert.equal(small.zones.of(a, 0).waitMs(1e9), Infinity);
  const large = zonesWith({ a: { ready: 20, notReady: 31 }, b: { ready: 1, notReady: 0 } });
  assert.equal(large.zones.of(a, 0).tryAccept(0), true, 'nobody had to wait before');
  assert.equal(Math.round(large.zones.of(a, 0).waitMs(0)), 100_000);
});

test('two nodes are never most of a zone', () => {
  const { zones } = zonesWith({ a: { ready: 1, notReady: 2 } });
  assert.equal(zones.of(a, 0).state, 'Normal');
});

test('54 percent are not most, 55 are', () => {
  assert.equal(zonesWith({ a: { ready: 46, notReady: 54 } }).zones.of(a, 0).state, 'Normal');
  assert.equal(zonesWith({ a: { ready: 45, notReady: 55 } }).zones.of(a, 0).state, 'PartialDisruption');
});

test('a zone that is down altogether goes at the full rate while another is up', () => {
  const { zones } = zonesWith({ a: { ready: 0, notReady: 3 }, b: { ready: 3, notReady: 0 } });
  assert.equal(zones.of(a, 0).state, 'FullDisruption');
  assert.equal(zones.of(a, 0).tryAccept(0), true);
});

test('when every zone is down nobody goes, and the first that returns sets all free again', () => {
  const { zones, update } = zonesWith({ a: { ready: 3, notReady: 0 }, b: { ready: 3, notReady: 0 } });
  const down = { a: { ready: 0, notReady: 3 }, b: { ready: 0, notReady: 3 } };
  assert.equal(update(down, 1000), 'allDown');
  assert.equal(update(down, 2000), undefined, 'told once');
  assert.deepEqual([zones.of(a, 0).waitMs(1e6), zones.of(b, 0).waitMs(1e6)], [Infinity, Infinity]);
  assert.equal(update({ ...down, b: { ready: 1, notReady: 2 } }, 1e6), 'allWereDown');
  assert.equal(zones.of(a, 0).tryAccept(1e6), false, 'whoever had to wait goes on waiting');
  assert.equal(zones.of(a, 0).tryAccept(1e6 + 10_000), true);
});
