/** A small run in which a mutant can give itself away. With the product, everything in it is as expected. */
import type { Scenario } from '../../src/scenario/format.ts';
import type { Report } from '../../src/scenario/report.ts';
import type { RunOptions } from '../../src/scenario/runner.ts';

export interface StoryOptions extends RunOptions {
  /** Asked when the run is over: what else was not as it should be. */
  wrong?: (report: Report) => string[];
}

export interface Story {
  /** A file of `scenarios/`, or a name of its own. */
  name: string;
  scenario: () => Scenario;
  /** What else happens, which a scenario cannot say, and what else is looked at. */
  options?: () => StoryOptions;
}
