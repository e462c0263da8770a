/** The page about fencing has each reason for which a pod would not fail over, and says of it what the command does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FAILOVER_REASONS } from '../../src/api/failover.ts';

test('[EXP-4] docs/fencing.md lists the reasons of check --workloads as they are', () => {
  const page = readFileSync('docs/fencing.md', 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (never|limited) +\| (.*?) +\|$/gm)].map(([, ...cells]) => cells);
  const reasons = Object.entries(FAILOVER_REASONS).map(([reason, { limits, means }]) => [reason, limits, means]);
  assert.deepEqual(rows, reasons);
});
