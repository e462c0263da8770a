/** Runs a scenario and keeps what its format cannot ask for: what the operator wrote in which order, and what it said. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { NodeFenceStatus, StuckPod } from '../../../src/api/node-fence.ts';
import type { Scenario } from '../../../src/scenario/format.ts';
import { isOperator } from '../../../src/scenario/operator-user.ts';
import type { Report } from '../../../src/scenario/report.ts';
import type { RunOptions } from '../../../src/scenario/runner.ts';
import type { World } from '../../../src/world/world.ts';
import { failuresOf, run, scenarioDirectory, scenarioOf, seedsOf } from '../run-file.ts';

export interface OperatorWrite {
  atMs: number;
  /** Such as `patch nodes/node-1/status`. */
  what: string;
  body: string;
  ok: boolean;
  before: unknown;
}

export interface Reported {
  atMs: number;
  reason: string;
  note: string;
}

export interface Observed {
  report: Report;
  world: World;
  /** Leases, events and refused writes left out. */
  writes: OperatorWrite[];
  /** Every state that a NodeFence was in, with when. */
  statuses: { atMs: number; status: NodeFenceStatus }[];
  events: Reported[];
}

export async function observe(scenario: Scenario, options: RunOptions = {}): Promise<Observed> {
  const writes: OperatorWrite[] = [];
  const statuses: Observed['statuses'] = [];
  const events: Reported[] = [];
  let world: World | undefined;
  let now = (): number => 0;
  let zeroMs = 0;
  const report = await run(scenario, {
    ...options,
    onWorld: (built, clock) => {
      world = built;
      now = () => clock.monotonic() - zeroMs;
      built.server.onAudit(({ user, verb, resource, subresource, namespace, name, code, body, before }) => {
        if (!isOperator(user) || resource === 'leases' || resource === 'events') return;
        const path = [resource, namespace, name, subresource].filter((part) => part !== undefined).join('/');
        writes.push({ atMs: now(), what: `${verb} ${path}`, body, ok: code < 300, before });
      });
      built.server.onChange(({ type, version: { object } }) => {
        const { kind, status } = object as unknown as { kind?: string; status?: NodeFenceStatus };
        if (kind === 'NodeFence' && type !== 'DELETED' && status !== undefined) statuses.push({ atMs: now(), status });
        const { reason, note, message } = object as { reason?: string; note?: string; message?: string };
        if (kind === 'Event' && type === 'ADDED' && reason !== undefined) {
          events.push({ atMs: now(), reason, note: note ?? message ?? '' });
        }
      });
      options.onWorld?.(built, clock);
    },
    onZero: () => {
      zeroMs = now();
      options.onZero?.();
    },
  });
  assert.ok(world);
  return { report, world, writes: writes.filter(({ ok }) => ok), statuses, events };
}

/** Its first minutes only, where what comes later is more of the same. */
export function first(minutes: number, name: string): Scenario {
  const scenario = scenarioOf(name);
  const runForMs = minutes * 60_000;
  return { ...scenario, runForMs, expectations: [], events: scenario.events.filter(({ atMs }) => atMs < runForMs) };
}

/** As it was at a moment, or in the end. */
export function statusAt({ statuses }: Observed, atMs = Infinity): NodeFenceStatus {
  const found = statuses.findLast((one) => one.atMs <= atMs)?.status;
  assert.ok(found, 'there is no NodeFence');
  return found;
}

export function stuckAt(observed: Observed, pod: string, atMs?: number): StuckPod {
  const { stuck } = statusAt(observed, atMs);
  const found = stuck.find(({ name }) => name === pod);
  assert.ok(found, `${pod} is not stuck, but ${stuck.map(({ name }) => name).join(', ') || 'nothing'} is`);
  return found;
}

export function eventsOf({ events }: Observed, reason: string): string[] {
  return events.filter((event) => event.reason === reason).map(({ note }) => note);
}

/** The first write that fits. */
export function firstWrite({ writes }: Observed, pattern: RegExp, body = /(?:)/): number {
  const at = writes.findIndex((write) => pattern.test(write.what) && body.test(write.body));
  assert.notEqual(at, -1, `no ${pattern} among ${writes.map(({ what }) => what).join(', ')}`);
  return at;
}

/** A test for each file of a folder; none may be forgotten. */
export function runFolder(folder: string, rows: Record<string, string>): void {
  describe(`scenarios/release/${folder}`, () => {
    for (const [name, title] of Object.entries(rows)) {
      test(title, async () => {
        const scenario = scenarioOf(`release/${folder}/${name}`);
        for (const seed of seedsOf(scenario)) {
          assert.deepEqual(failuresOf(await run({ ...scenario, seed })), [], `${name} with seed ${seed}`);
        }
      });
    }

    test('every file of the folder is one of these, and is named like its scenario', () => {
      const files = readdirSync(join(scenarioDirectory, 'release', folder)).map((file) => file.replace('.yaml', ''));
      assert.deepEqual(files.sort(), Object.keys(rows).sort());
      for (const name of files) assert.equal(scenarioOf(`release/${folder}/${name}`).name, name);
    });
  });
}
