/** Runs a story, with the product or with a mutant in its place, and says what was not as it should be. */
import { runScenario } from '../../src/scenario/runner.ts';
import { failuresOf } from '../simulation/run-file.ts';
import { runnerWith } from './load.ts';
import type { Mutant } from './mutant.ts';
import type { Story } from './story.ts';

/** Of the processor's time, whatever else the machine does. A mutant may never come to an end; the product needs a second. */
const patienceMs = 20_000;

export function failuresIn(story: Story): Promise<string[]> {
  return run(story, runScenario);
}

/** What gives the mutant away; empty: it survives. */
export async function givenAway({ changes }: Pick<Mutant, 'changes'>, story: Story): Promise<string[]> {
  try {
    const { runScenario: mutated } = await runnerWith(changes);
    return await run(story, mutated);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

async function run(story: Story, runner: typeof runScenario): Promise<string[]> {
  const { wrong, ...options } = story.options?.() ?? {};
  const untilMs = usedMs() + patienceMs;
  const abandon = (): Error | undefined => (usedMs() > untilMs ? new Error('it does not come to an end') : undefined);
  const report = await runner(story.scenario(), usedMs, { ...options, abandon });
  const failed = report.timeline.filter(
    ({ actor, what }) => actor.startsWith('operator-') && what.startsWith('failed'),
  );
  return [...failuresOf(report), ...(wrong?.(report) ?? []), ...failed.map(({ actor, what }) => `${actor} ${what}`)];
}

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
