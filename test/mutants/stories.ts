/** Every story there is: the scenarios that come along, those of the simulation tests, and those written for mutants. */
import { globSync } from 'node:fs';
import { scenarioDirectory, scenarioOf } from '../simulation/run-file.ts';
import { fenceMutantCases } from '../simulation/fencing/mutants.ts';
import { releaseMutantCases } from '../simulation/holes/release-mutants.ts';
import { mutantCases } from '../simulation/mutants.ts';
import { paths } from '../simulation/paths.ts';
import { trouble } from '../simulation/trouble.ts';
import type { Story } from './story.ts';
import { assertionStories } from './stories/assertions.ts';
import { besideStories } from './stories/beside.ts';
import { reappearedStories } from './stories/reappeared.ts';
import { toldStories } from './stories/told.ts';
import { betweenStories } from './stories/between.ts';
import { drainStories } from './stories/drains.ts';
import { stalledStories } from './stories/stalled.ts';
import { machineStories } from './stories/machines.ts';
import { overtakenStories } from './stories/overtaken.ts';
import { judgedStories } from './stories/judged.ts';
import { namesakeStories } from './stories/namesakes.ts';
import { returnedStories } from './stories/returned.ts';
import { stormStories } from './stories/storms.ts';
import { checkStories } from './stories/checks.ts';

export function allStories(): Story[] {
  const files = globSync('**/*.yaml', { cwd: scenarioDirectory }).sort();
  return [
    ...besideStories,
    ...checkStories,
    ...assertionStories,
    ...toldStories,
    ...betweenStories,
    ...overtakenStories,
    ...machineStories,
    ...stalledStories,
    ...drainStories,
    ...reappearedStories,
    ...judgedStories,
    ...stormStories,
    ...returnedStories,
    ...namesakeStories,
    ...paths.map(({ name, trouble: what }) => ({ name: `simulation: ${name}`, scenario: () => trouble(name, what) })),
    ...[...mutantCases, ...fenceMutantCases, ...releaseMutantCases].map(({ invariant, scenario, options }) => ({
      name: `simulation: ${invariant}, ${scenario.name}`,
      scenario: () => scenario,
      ...(options && { options }),
    })),
    ...files.map((file) => ({ name: `scenarios/${file}`, scenario: () => scenarioOf(file.replace('.yaml', '')) })),
  ];
}

export function storyNamed(name: string): Story {
  const found = allStories().filter((story) => story.name === name);
  if (found.length !== 1) throw new Error(`there are ${found.length} stories called ${name}`);
  return found[0]!;
}
