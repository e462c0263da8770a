/** `fenceline convert`: the `Configuration` of the node remedy proposal as a RemedyPolicy. */
import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { ScenarioError } from '../scenario/reader.ts';
import type { Converted } from './convert/policy.ts';
import { convert } from './convert/policy.ts';
import { UserError } from './user-error.ts';
import { toYamlStream } from './yaml.ts';

interface Flags {
  name?: string;
  output: 'yaml' | 'json';
}

export interface Streams {
  out: (text: string) => void;
  notes: (text: string) => void;
}

const standard: Streams = {
  out: (text) => process.stdout.write(text),
  notes: (text) => process.stderr.write(text),
};

export function convertCommand(streams: Streams = standard): Command {
  return new Command('convert')
    .description('print a Configuration of the node remedy proposal as a RemedyPolicy (kubectl apply -f -)')
    .argument('<file>', 'the Configuration; - is the standard input')
    .option('--name <name>', 'name of the policy, where the document has none; default: after the node selector')
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['yaml', 'json']).default('yaml'))
    .action((file: string, { name, output }: Flags) => {
      const converted = read(file, name);
      for (const note of converted.flatMap(({ notes }) => notes)) streams.notes(`${note}\n`);
      streams.out(
        render(
          converted.map(({ policy }) => policy),
          output,
        ),
      );
    });
}

function read(file: string, name: string | undefined): Converted[] {
  try {
    return convert(file === '-' ? 'stdin' : file, readFileSync(file === '-' ? 0 : file, 'utf8'), name);
  } catch (error) {
    if (error instanceof ScenarioError) throw new UserError(error.problems.join('\n'));
    throw error;
  }
}

function render(policies: readonly object[], output: Flags['output']): string {
  if (output === 'yaml') return toYamlStream(policies);
  const [only] = policies;
  const value = policies.length === 1 ? only : { apiVersion: 'v1', kind: 'List', items: policies };
  return `${JSON.stringify(value, null, 2)}\n`;
}
