import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeFence } from '../api/node-fence.ts';
import { DemoNews } from './demo-news.ts';

type Fence = NonNullable<NodeFence['status']['fence']>;

const at = '2026-01-01T00:00:00Z';
const power = { step: 'power-management' as const, method: 'pdu-off', storage: [] };

function fence(phase: Fence['phase'], switched: Fence['switched'] = []): Fence {
  return { phase, switched } as unknown as Fence;
}

test('each phase of a fence that a reader would miss is told once', () => {
  const news = new DemoNews();
  const off = [{ ...power, commandSentAt: at, confirmedAt: at }];
  const phases = [
    fence('waiting'),
    fence('poweringOff'),
    fence('off', off),
    fence('off', off),
    fence('poweringOn', off),
  ];
  assert.deepEqual(
    phases.flatMap((one) => news.ofFence('node-1', one)),
    ['node-1: switched off, as its device confirms', 'node-1: being switched on again'],
  );
});

test('what a fence waits for is told once, and again when it waits for it another time', () => {
  const news = new DemoNews();
  const waits = { ...fence('off', [{ ...power, confirmedAt: at }]), waitsFor: 'others have the node cordoned' };
  const found = 'node-1: found off, as its device says';
  const said = 'node-1: others have the node cordoned';
  assert.deepEqual(news.ofFence('node-1', waits), [found, said]);
  assert.deepEqual(news.ofFence('node-1', waits), []);
  assert.deepEqual(news.ofFence('node-1', undefined), []);
  assert.deepEqual(news.ofFence('node-1', waits), [found, said], 'another fence');
});

test('a verdict is told when it changes; that a node on its way back is suspect for a moment is nothing to read', () => {
  const news = new DemoNews();
  const told = (
    [
      ['suspect', 'LeaseStale'],
      ['down', 'ReadyUnknown'],
      ['down', 'NotReady'],
      ['suspect', 'LeaseStale'],
      ['healthy', 'ReadyAndRenewing'],
      ['suspect', 'LeaseStale'],
    ] as const
  ).flatMap(([verdict, reason]) => news.ofVerdict('node-1', { verdict, reason }));
  assert.deepEqual(told, [
    'node-1: healthy → suspect (LeaseStale)',
    'node-1: suspect → down (ReadyUnknown)',
    'node-1: down → healthy (ReadyAndRenewing)',
    'node-1: healthy → suspect (LeaseStale)',
  ]);
});

test('a machine that was found off was not switched off by anybody here', () => {
  const found = new DemoNews().ofFence('node-1', fence('off', [{ ...power, confirmedAt: at }]));
  assert.deepEqual(found, ['node-1: found off, as its device says']);
});

test('a pod is told when it runs, once, and not if it ran from the beginning', () => {
  const news = new DemoNews();
  const pod = (uid: string, node: string, isReady = true): Parameters<DemoNews['ofPods']>[0][number] => ({
    uid,
    name: 'default/db-0',
    node,
    isReady,
  });
  assert.deepEqual(news.ofPods([pod('a', 'node-1')]), []);
  assert.deepEqual(news.ofPods([pod('a', 'node-1', false), pod('b', 'node-2', false)]), []);
  assert.deepEqual(news.ofPods([pod('b', 'node-2')]), ['pod default/db-0 runs on node-2']);
  assert.deepEqual(news.ofPods([pod('b', 'node-2')]), []);
});
