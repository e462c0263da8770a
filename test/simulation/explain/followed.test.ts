/** Whoever types what is printed is helped: what was waited for is over then, by what the next explanation says. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { explainedAgain } from './run.ts';
import { situations } from './situations.ts';
import { type } from './typist.ts';

/** In which situation which of the commands is typed, and what has to be so two minutes later. */
const followed: readonly { name: string; typed: RegExp; over: string; summary: RegExp }[] = [
  { name: 'awaiting-approval', typed: /^fenceline approve /, over: 'AwaitingApproval', summary: /was switched on/ },
  { name: 'stopped', typed: /^fenceline resume /, over: 'Stopped', summary: /was switched on/ },
  { name: 'paused', typed: /^kubectl patch /, over: 'Paused', summary: /was switched on/ },
  { name: 'dry-run', typed: /^kubectl patch /, over: 'DryRun', summary: /was switched on/ },
  {
    name: 'maintenance',
    typed: /^kubectl annotate .*-$/,
    over: 'Maintenance',
    summary: /is back, and takes no pods yet|was switched on/,
  },
  { name: 'down-before-the-threshold', typed: /^fenceline fence /, over: 'Threshold', summary: /was switched on/ },
  { name: 'suspect-by-lease', typed: /^fenceline fence /, over: 'WaitingToIsolate', summary: /was switched on/ },
  { name: 'planned-work', typed: /^fenceline fence /, over: 'PlannedWork', summary: /was switched on/ },
  { name: 'kubelet-down', typed: /^fenceline fence /, over: 'KubeletDown', summary: /was switched on/ },
  { name: 'named-pause', typed: /^fenceline fence /, over: 'NamedPause', summary: /was switched on/ },
  {
    name: 'storm',
    typed: /^fenceline pause /,
    over: 'StormLimit',
    summary: /held back by PausedForAll: everything is paused by .* until 2026-01-01T02:01:3/,
  },
  {
    name: 'request-held-back',
    typed: /^kubectl patch nodefence /,
    over: 'TakenUp',
    summary: /^node-4 is (healthy|well)/,
  },
  { name: 'nothing-to-free', typed: /^fenceline fence /, over: 'NothingToFree', summary: /was switched on/ },
];
/** Whoever prolongs a protection has it, when the time that was written before is over. */
const prolonged: readonly { name: string; laterMs: number }[] = [{ name: 'maintenance', laterMs: 180_000 }];
const laterMs = 45_000;

describe('what is printed, typed', () => {
  for (const { name, typed, over, summary } of followed) {
    test(`[EXP-1] ${name}`, async () => {
      const situation = situations.find((one) => one.name === name);
      assert.ok(situation);
      const [before, after] = await explainedAgain(situation, {
        times: [situation.atMs, situation.atMs + laterMs],
        afterwards: async (client, { commands }) => {
          const line = commands.find(({ command }) => typed.test(command))?.command;
          assert.ok(line, `no command ${typed.source}`);
          await type(client, line);
        },
      });
      assert.ok(before?.waits.some(({ reason }) => reason === over));
      assert.ok(!after?.waits.some(({ reason }) => reason === over), JSON.stringify(after?.waits));
      assert.match(after?.summary ?? '', summary);
    });
  }

  for (const { name, laterMs: overMs } of prolonged) {
    test(`[EXP-1] ${name}, prolonged`, async () => {
      const situation = situations.find((one) => one.name === name);
      assert.ok(situation);
      const [before, after] = await explainedAgain(situation, {
        times: [situation.atMs, situation.atMs + overMs],
        afterwards: async (client, { commands }) => {
          const line = commands.find(({ command }) => command.includes(' --overwrite '))?.command;
          assert.ok(line);
          await type(client, line);
        },
      });
      const [until] = before?.waits.map((one) => one.until) ?? [];
      assert.ok(until !== undefined && until < (after?.at ?? ''), 'what was written before is over');
      assert.match(after?.summary ?? '', /held back by Maintenance: under maintenance until/);
    });
  }
});
