/** What a page shows as the answer of `plan-drain` is what it answers. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { planText } from '../../src/cli/plan-drain.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { VirtualClock } from '../../src/world/time/virtual-clock.ts';
import type { World } from '../../src/world/world.ts';
import { run, scenarioOf } from '../simulation/run-file.ts';

const page = readFileSync(new URL('../../docs/drain.md', import.meta.url), 'utf8');
const defaultRebuildMiBps = 100;

/** The command, the scenario on whose cluster it is given, and the lines that are set off below that. */
const shown =
  /^bin\/fenceline plan-drain (.*)\n```\n\n[^`]*`scenarios\/(\S+)\.yaml`[^\n]*\n(?:\S.*\n)*\n((?: {4}.*\n|\n)+)/m;

/** At time 0 of a scenario, before anybody drains anything. */
async function planOf(scenario: string, names: readonly string[]): ReturnType<typeof planText> {
  let stage: { world: World; clock: VirtualClock } | undefined;
  let plan: ReturnType<typeof planText> | undefined;
  const quiet = { ...scenarioOf(scenario), events: [], expectations: [], runForMs: 1000 };
  await run(quiet, {
    onWorld: (world, clock) => (stage = { world, clock }),
    onZero: () => {
      assert.ok(stage);
      const { world, clock } = stage;
      const transport = world.server.transport('kubernetes-admin', { shares: true });
      const client = new KubeClient({ transport, clock, userAgent: 'test', fieldManager: 'test' });
      plan = planText(client, names, defaultRebuildMiBps, undefined);
    },
  });
  assert.ok(plan);
  return plan;
}

/** Replicas are called after chance. */
function lines(text: string): string[] {
  const named = text.replaceAll(/-r-[0-9a-f]{8}\b/g, '-r-xxxxxxxx');
  return named.trimEnd().split('\n');
}

test('[DRN-13] docs/drain.md shows what plan-drain prints', async () => {
  const [, names = '', scenario = '', block = ''] = shown.exec(page) ?? [];
  assert.notEqual(block, '', 'the page shows no plan of a scenario');
  const { text, isSafe } = await planOf(scenario, names.split(' '));
  assert.deepEqual(lines(block.replaceAll(/^ {4}/gm, '')), lines(text));
  assert.equal(isSafe, false, 'the page says of it that it exits with 1');
});
