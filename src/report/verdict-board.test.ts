import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Judgement } from '../api/view.ts';
import type { VerdictChange } from './verdict-board.ts';
import { VerdictBoard } from './verdict-board.ts';

function judgement(verdict: Judgement['verdict'], reason: Judgement['reason'], detail: string): Judgement {
  return { verdict, reason, evidence: [{ source: 'Lease', says: 'Unknown', detail }], recheckInMs: 1 };
}

test('a verdict is news when it or its reason changes, not when only its evidence does', () => {
  const news: VerdictChange[] = [];
  const board = new VerdictBoard((change) => news.push(change));
  board.publish('a', judgement('suspect', 'LeaseStale', '12 s'));
  board.publish('a', judgement('suspect', 'LeaseStale', '13 s'));
  assert.equal(board.verdicts.get('a')?.evidence[0]?.detail, '13 s', 'but the evidence is the latest');
  board.publish('a', judgement('down', 'ReadyUnknown', '40 s'));
  board.publish('a', judgement('down', 'NotReady', '41 s'));
  assert.deepEqual(
    news.map(({ judgement, previous }) => [previous?.reason, judgement.reason]),
    [
      [undefined, 'LeaseStale'],
      ['LeaseStale', 'ReadyUnknown'],
      ['ReadyUnknown', 'NotReady'],
    ],
  );
});

test('counts follow, and what is forgotten no longer counts', () => {
  const board = new VerdictBoard(() => {});
  board.publish('a', judgement('healthy', 'ReadyAndRenewing', ''));
  board.publish('b', judgement('unknown', 'ApiSilent', ''));
  assert.deepEqual(board.counts, { healthy: 1, suspect: 0, down: 0, unknown: 1 });
  board.forget('b');
  assert.equal(board.counts.unknown, 0);
  board.clear();
  assert.equal(board.counts.healthy, 0);
});
