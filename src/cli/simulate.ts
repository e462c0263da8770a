/** `fenceline simulate`: runs scenario files in virtual time and says whether what they expect came true. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { Command as Subcommand, InvalidArgumentError, Option } from 'commander';
import { parseScenarios } from '../scenario/parse.ts';
import { ScenarioError } from '../scenario/reader.ts';
import type { Report } from '../scenario/report.ts';
import { renderReport } from '../scenario/report.ts';
import type { RunOptions } from '../scenario/runner.ts';
import { runScenario } from '../scenario/runner.ts';
import { PassTrace } from './pass-trace.ts';
import { rehearseForConsole } from './rehearsal-process.ts';
import type { RehearsalFlags } from './rehearse.ts';
import { addRehearsalFlags, rehearse } from './rehearse.ts';

interface Flags extends RehearsalFlags {
  seed?: number;
  runs: number;
  output?: 'json';
  tracePasses?: string;
  forConsole?: boolean;
}

export function simulateCommand(): Command {
  const command = new Subcommand('simulate').description(
    'run scenarios, or a failure of a live cluster, in virtual time; exits 0 if all is as expected, 1 if not, 2 if a file is wrong',
  );
  return addRehearsalFlags(command)
    .argument('[file...]', 'scenario files; - is the standard input')
    .option('--seed <n>', 'instead of the seed in the file', whole(0))
    .option('--runs <n>', 'run each scenario so many times, each time with the next seed', whole(1), 1)
    .addOption(new Option('-o, --output <format>', 'instead of the story').choices(['json']))
    .addOption(new Option('--for-console', 'what the console asks for, on the standard input').hideHelp())
    .option('--trace-passes <dir>', 'keep every pass of the operator there, for fenceline replay')
    .action(simulate);
}

async function simulate(files: string[], flags: Flags): Promise<void> {
  try {
    if (flags.forConsole === true) await rehearseForConsole();
    else if (flags.fromCluster !== true) await runFiles(files, flags);
    else if (files.length > 0) throw new ScenarioError(['with --from-cluster there are no files to run']);
    else await rehearse(flags);
  } catch (error) {
    if (!(error instanceof ScenarioError)) throw error;
    process.stderr.write(`${error.problems.join('\n')}\n`);
    process.exitCode = 2;
  }
}

async function runFiles(files: string[], { seed, runs, output, tracePasses }: Flags): Promise<void> {
  if (files.length === 0) throw new ScenarioError(['name a scenario file, or a live cluster by --from-cluster']);
  const trace = tracePasses === undefined ? undefined : new PassTrace(tracePasses, raise);
  const options: RunOptions = trace === undefined ? {} : { onPass: (pass) => trace.keep(pass) };
  const reports: Report[] = [];
  for (const scenario of files.flatMap(readScenarios)) {
    for (let run = 0; run < runs; run += 1) {
      const seeded = { ...scenario, seed: (seed ?? scenario.seed) + run };
      const report = await runScenario(seeded, () => performance.now(), options);
      reports.push(report);
      if (output === undefined) process.stdout.write(`${renderReport(report)}\n`);
    }
  }
  if (output === 'json') process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
  process.exitCode = reports.every(({ ok }) => ok) ? 0 : 1;
}

function raise(error: Error): never {
  throw error;
}

function readScenarios(file: string): ReturnType<typeof parseScenarios> {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new ScenarioError([`${file}: ${(error as Error).message}`]);
  }
  return parseScenarios(file === '-' ? 'stdin' : file, text);
}

function whole(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least) return value;
    throw new InvalidArgumentError(`write a whole number of at least ${least}.`);
  };
}
