import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { shareOf } from '../api/share.ts';
import type { Brake, CountedNode, StormLimits } from './storm.ts';
import { brakeFor, countTrouble, skipFor } from './storm.ts';

function cluster(
  total: number,
  silent: readonly number[],
  zoneOf: (index: number) => string = () => '',
): CountedNode[] {
  return Array.from({ length: total }, (_, index) => ({
    name: `node-${index}`,
    zone: zoneOf(index),
    isUnresponsive: silent.includes(index),
  }));
}

const limits = { maxUnresponsive: '40%', maxConcurrent: 1 };

interface Others {
  nodes: readonly CountedNode[];
  fencing: ReadonlySet<string>;
}

function brakeOn(node: string, asked: StormLimits, { nodes, fencing }: Others): Brake | undefined {
  return brakeFor(asked, countTrouble(node, nodes, fencing));
}

describe('storm brake', () => {
  test('[STM-1] nothing is fenced while more than the set share does not respond; fenced nodes count', () => {
    const none = new Set<string>();
    assert.equal(brakeOn('node-0', limits, { nodes: cluster(3, [0]), fencing: none }), undefined);
    assert.equal(brakeOn('node-0', limits, { nodes: cluster(3, [0, 1]), fencing: none })?.reason, 'StormLimit');
    const recovering = { nodes: cluster(3, [0]), fencing: new Set(['node-1']) };
    const brake = brakeOn('node-0', { ...limits, maxConcurrent: 2 }, recovering);
    assert.deepEqual(brake, { reason: 'StormLimit', message: '2 of 3 nodes do not respond, and 40% may' });
    assert.equal(
      brakeOn('node-0', { ...limits, maxUnresponsive: 0 }, { nodes: cluster(9, [0]), fencing: none })?.reason,
      'StormLimit',
    );
  });

  test('[STM-1] a zone of three or more nodes has the same limit of its own', () => {
    const zoneOf = (index: number): string => (index < 3 ? 'a' : 'b');
    const zone = brakeOn('node-0', limits, { nodes: cluster(12, [0, 1], zoneOf), fencing: new Set() });
    assert.deepEqual(zone, { reason: 'ZoneStormLimit', message: '2 of 3 nodes of zone a do not respond, and 40% may' });
    const pairs = (index: number): string => `z${Math.floor(index / 2)}`;
    assert.equal(brakeOn('node-0', limits, { nodes: cluster(12, [0, 1], pairs), fencing: new Set() }), undefined);
  });

  test('[STM-3] a node with a condition of skipWhen is left alone, one that does not report it is not', () => {
    const unreachable = { type: 'StorageUnreachable', status: 'True' };
    const notReachable = { type: 'StorageReachable', status: 'NotTrue' };
    const skips = (type: string, status: string): boolean =>
      skipFor(
        'node-0',
        [unreachable, notReachable],
        [
          { type: 'Ready', status: 'Unknown' },
          { type, status },
        ],
      ) !== undefined;
    assert.equal(skips('StorageUnreachable', 'True'), true);
    assert.equal(skips('StorageUnreachable', 'Unknown'), false);
    assert.equal(skips('StorageReachable', 'False'), true);
    assert.equal(skips('StorageReachable', 'Unknown'), true);
    assert.equal(skips('StorageReachable', 'True'), false);
    assert.equal(skips('Other', 'True'), false);
    assert.match(
      skipFor('node-0', [unreachable], [unreachable])?.message ?? '',
      /StorageUnreachable of node-0 is True/,
    );
  });

  test('[STM-4] at most so many at a time; the node itself does not stand in its own way', () => {
    const nodes = cluster(10, [0, 1]);
    assert.equal(brakeOn('node-0', limits, { nodes, fencing: new Set(['node-1']) })?.reason, 'ConcurrencyLimit');
    assert.equal(brakeOn('node-1', limits, { nodes, fencing: new Set(['node-1']) }), undefined);
  });

  test('S21: whatever is asked, what is let through is within all limits', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.integer({ min: 0, max: 11 })),
        fc.array(fc.integer({ min: 0, max: 11 })),
        fc.integer({ min: 0, max: 100 }),
        (total, silent, fenced, percent) => {
          const nodes = cluster(total, silent);
          const fencing = new Set(fenced.filter((index) => index < total).map((index) => `node-${index}`));
          const asked = { maxUnresponsive: `${percent}%`, maxConcurrent: 2 };
          if (brakeOn('node-0', asked, { nodes, fencing }) !== undefined) return;
          const down = new Set([
            ...fencing,
            'node-0',
            ...nodes.filter((one) => one.isUnresponsive).map(({ name }) => name),
          ]);
          assert.ok(down.size <= shareOf(asked.maxUnresponsive, total));
          assert.ok(new Set([...fencing, 'node-0']).size <= 2);
        },
      ),
    );
  });
});
