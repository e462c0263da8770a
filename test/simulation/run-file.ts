/** Scenarios for tests: by file, with another program in the operator's place, or with other events. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Scenario } from '../../src/scenario/format.ts';
import { parseScenarios } from '../../src/scenario/parse.ts';
import type { Report } from '../../src/scenario/report.ts';
import type { RunOptions } from '../../src/scenario/runner.ts';
import { runScenario } from '../../src/scenario/runner.ts';

export const scenarioDirectory = join(import.meta.dirname, '..', '..', 'scenarios');

export function scenarioOf(name: string): Scenario {
  return only(scenariosOf(name));
}

/** One of several documents of a file. */
export function namedScenario(file: string, name: string): Scenario {
  return only(scenariosOf(file).filter((scenario) => scenario.name === name));
}

/** One per document of the file. */
export function scenariosOf(name: string): Scenario[] {
  const file = join(scenarioDirectory, `${name}.yaml`);
  return parseScenarios(file, readFileSync(file, 'utf8'));
}

/** The cluster and objects of a file, with other events and expectations, given as in a file. */
export function variation(
  name: string,
  spec: { cluster?: object; events?: object[]; expect?: object[]; runFor?: string; seed?: number; objects?: object[] },
): Scenario {
  const base = scenarioOf(name);
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', spec });
  const other = only(parseScenarios(`${name}-variation`, text));
  return {
    ...other,
    name,
    cluster: spec.cluster === undefined ? base.cluster : other.cluster,
    objects: [...base.objects, ...other.objects],
  };
}

/** Given as in a file. */
export function parsed(name: string, spec: object): Scenario {
  const text = JSON.stringify({ apiVersion: 'fenceline.dev/v1alpha1', kind: 'Scenario', metadata: { name }, spec });
  return only(parseScenarios(name, text));
}

export function run(scenario: Scenario, options?: RunOptions): Promise<Report> {
  return runScenario(scenario, () => performance.now(), options);
}

/** One run of each; with `FENCELINE_EXHAUSTIVE=1` (`make soak`) another one in another order of what happens at once. */
export function seedsOf({ seed }: Scenario): number[] {
  return process.env['FENCELINE_EXHAUSTIVE'] === '1' ? [seed, 1234] : [seed];
}

/** Scenarios that hold only because a checker lets something pass, as docs/simulator.md lists them. */
export function listedExemptions(): Map<string, string[]> {
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'simulator.md'), 'utf8');
  const [, table = ''] = text.split('| scenario | holds by |\n|---|---|\n');
  const [rows = ''] = table.split('\n\n');
  return new Map(
    rows.split('\n').map((row) => {
      const [, name = '', by = ''] = row.split('|').map((cell) => cell.trim());
      return [name.replaceAll('`', ''), by.split(', ')];
    }),
  );
}

export function scenarioFiles(): string[] {
  return globSync('**/*.yaml', { cwd: scenarioDirectory }).map((file) => file.replace(/\.yaml$/, ''));
}

const ofFiles = new Set(scenarioFiles().map((file) => basename(file)));
const listed = listedExemptions();

function unlisted({ scenario, exemptions }: Report): string[] {
  if (!ofFiles.has(scenario)) return [];
  const names = new Set(exemptions.map(({ invariant, exemption }) => `${invariant} ${exemption}`));
  return [...names]
    .filter((name) => !listed.get(scenario)?.includes(name))
    .map((name) => `${scenario} holds only by ${name}, and docs/simulator.md does not say so`);
}

/** What was not as expected, in words; empty if all was. */
export function failuresOf(report: Report): string[] {
  const { expectations, violations } = report;
  return [
    ...unlisted(report),
    ...expectations
      .filter(({ ok }) => !ok)
      .map(({ expectation, detail }) => `${JSON.stringify(expectation)}: ${detail}`),
    ...violations.map(({ invariant, at, detail }) => `${invariant} at ${at}: ${detail}`),
  ];
}

function only<T>(values: T[]): T {
  const [value] = values;
  if (value === undefined || values.length > 1) throw new Error(`expected one, found ${values.length}`);
  return value;
}
