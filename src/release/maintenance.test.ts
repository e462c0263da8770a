import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCase, aFence, aNode, nowMs } from '../../test/support/release-case.ts';
import type { NodeFenceStatus } from '../api/node-fence.ts';
import type { NodeCase } from '../api/release-view.ts';
import { maintenanceOf } from './maintenance.ts';
import { releaseNode } from './release-node.ts';

const until = (maintenanceUntil: string, rest: Partial<NodeCase> = {}): NodeCase =>
  aCase({ node: aNode({ maintenanceUntil }), ...rest });

test('[ADM-7] a time that lies in the future holds until then, and not a moment longer', () => {
  assert.equal(maintenanceOf(aCase()), undefined);
  assert.deepEqual(maintenanceOf(until('2026-01-01T00:10:01Z')), {
    message: 'under maintenance until 2026-01-01T00:10:01Z',
    untilMs: nowMs + 1000,
  });
  assert.equal(maintenanceOf(until('2026-01-01T00:10:00Z')), undefined);
  assert.equal(maintenanceOf(until('2026-01-01T01:10:30+01:00'))?.untilMs, nowMs + 30_000);
});

test('[ADM-7] what is no time holds as well, and says what to write', () => {
  for (const written of ['', 'tomorrow', '2027', '2027-01-01', '2027-01-01T00:00:00', '2026-13-01T00:00:00Z']) {
    const found = maintenanceOf(until(written));
    assert.ok(found, written);
    assert.equal(found.untilMs, undefined);
    assert.match(found.message, /no time: write one such as 2026-01-01T02:10:00Z, or remove it/);
  }
});

test('[ADM-7] a fence that was begun before is brought to its end', () => {
  const begun = {
    step: 'power-management' as const,
    status: 'running' as const,
    phase: 'waiting' as const,
    level: 0,
    index: 0,
    cleanResources: true,
    switched: [],
    retries: 0,
    restarts: 0,
    startedAt: '2026-01-01T00:00:00Z',
    stepStartedAt: '2026-01-01T00:00:00Z',
  };
  const irrevocable = { ...begun, phase: 'off' as const };
  const held = (fence: NonNullable<NodeFenceStatus['fence']>): boolean =>
    maintenanceOf(until('2026-01-01T01:00:00Z', { fence: aFence({ fence }) })) !== undefined;
  assert.equal(held(irrevocable), false);
  assert.equal(held(begun), true, 'one that only waits is not begun');
  assert.equal(held({ ...irrevocable, phase: 'finished' }), true);
  assert.equal(held({ ...irrevocable, phase: 'failed' }), true);
});

test('[ADM-7] a pod that would go by policy stays, with the time', () => {
  const [free] = releaseNode(aCase());
  assert.equal(free?.goes, true);
  const [fate] = releaseNode(until('2026-01-01T01:00:00Z'));
  assert.equal(fate?.goes, false);
  const found = fate.goes ? [] : fate.objections.filter(({ way }) => way === 'policy');
  assert.deepEqual(
    found.map(({ objection }) => [objection.reason, objection.untilMs]),
    [['Maintenance', nowMs + 3_000_000]],
  );
});
