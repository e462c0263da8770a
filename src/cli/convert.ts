/** `fenceline convert`: what people have for other operators, or from before, as manifests of ours. */
import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { MODES } from '../api/policy-defaults.ts';
import { ScenarioError } from '../scenario/reader.ts';
import type { Converted } from './convert/all.ts';
import { convertAll } from './convert/all.ts';
import type { Settings } from './convert/result.ts';
import { parseSelector } from './convert/selector.ts';
import { UserError } from './user-error.ts';
import { toYamlStream } from './yaml.ts';

interface Flags {
  name?: string;
  namespace: string;
  selector?: string;
  allNodes?: true;
  mode?: string;
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

const about = `print what you have as policies and fence configurations of Fenceline (kubectl apply -f -)

What is read: NodeHealthCheck with FenceAgentsRemediationTemplate, MachineHealthCheck of OpenShift and of Cluster API,
the Configuration of the node remedy proposal, and older RemedyPolicies and DrainPolicies.`;

export function convertCommand(streams: Streams = standard): Command {
  return new Command('convert')
    .summary('print what you have for another operator as policies of Fenceline')
    .description(about)
    .argument('<files...>', 'documents that belong together; - is the standard input')
    .option('--name <name>', 'name of a policy whose document has none; default: after the node selector')
    .option('-n, --namespace <name>', 'namespace of the operator, for its fence configurations', 'fenceline')
    .option('-l, --selector <labels>', 'which nodes, where the document selects machines or says nothing')
    .addOption(new Option('--all-nodes', 'the same for every node').conflicts('selector'))
    .addOption(
      new Option(
        '--mode <mode>',
        'mode of the policies; default: as the document says, or DryRun where it was written for another operator',
      ).choices(MODES),
    )
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['yaml', 'json']).default('yaml'))
    .action((files: string[], flags: Flags) => {
      const { manifests, notes } = read(files, settingsOf(flags));
      for (const note of notes) streams.notes(`${note}\n`);
      streams.out(render(manifests, flags.output));
    });
}

function settingsOf({ name, namespace, selector, allNodes, mode }: Flags): Settings {
  const parsed = selector === undefined ? undefined : parseSelector(selector);
  if (parsed?.ok === false) throw new UserError(`--selector: ${parsed.problem}`);
  const nodes = allNodes === true ? { allNodes } : parsed && { selector: parsed.selector };
  return {
    namespace,
    ...(name === undefined ? {} : { name }),
    ...(nodes === undefined ? {} : { nodes }),
    ...(mode === undefined ? {} : { mode }),
  };
}

function read(files: readonly string[], settings: Settings): Converted {
  try {
    const sources = files.map((file) => ({
      name: file === '-' ? 'stdin' : file,
      text: readFileSync(file === '-' ? 0 : file, 'utf8'),
    }));
    return convertAll(sources, settings);
  } catch (error) {
    if (error instanceof ScenarioError) throw new UserError(error.problems.join('\n'));
    throw error;
  }
}

function render(manifests: readonly object[], output: Flags['output']): string {
  if (output === 'yaml') return toYamlStream(manifests);
  const [only] = manifests;
  const value = manifests.length === 1 ? only : { apiVersion: 'v1', kind: 'List', items: manifests };
  return `${JSON.stringify(value, null, 2)}\n`;
}
