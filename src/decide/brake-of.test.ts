import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeCase } from '../api/release-view.ts';
import { spellOf } from './brake-of.ts';

test('[SAF-18] a node that was back meanwhile has the whole of bootTimeout again from its last renewal on', () => {
  const since = (unchangedForMs: number, renewed = true): number => {
    const lease = { unchangedForMs, durationMs: 40_000, renewed };
    const nodeCase = { lease, serverNowMs: 100_000, policy: { kind: 'none' } } as unknown as NodeCase;
    return spellOf(nodeCase, 10_000).sinceMs;
  };
  assert.equal(since(20_000), 80_000);
  assert.equal(since(95_000), 10_000, 'the cut was called for after that');
  assert.equal(since(20_000, false), 10_000, 'nobody has seen it live');
  assert.equal(since(1000), 10_000, 'it renews, and is in other trouble');
});
