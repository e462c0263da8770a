/** `fenceline crds`: prints the CustomResourceDefinitions, to be piped into `kubectl apply -f -`. */
import { Command, Option } from 'commander';
import { customResourceDefinitions, type CustomResourceDefinition } from '../api/crds.ts';
import { renderReference } from '../api/reference.ts';
import { toYamlStream } from './yaml.ts';

const FORMATS = ['yaml', 'json', 'markdown'] as const;
type Format = (typeof FORMATS)[number];

export function crdsCommand(write: (text: string) => void = (text) => process.stdout.write(text)): Command {
  return new Command('crds')
    .description('print the CustomResourceDefinitions (kubectl apply --server-side -f -)')
    .addOption(
      new Option('-o, --output <format>', 'markdown prints the reference page of the same schemas')
        .choices(FORMATS)
        .default('yaml'),
    )
    .action((options: { output: Format }) => write(RENDER[options.output](customResourceDefinitions())));
}

const RENDER: Record<Format, (crds: CustomResourceDefinition[]) => string> = {
  yaml: (crds) => toYamlStream(crds),
  // A List, so that kubectl takes all of them from one document.
  json: (crds) => `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: crds }, null, 2)}\n`,
  markdown: () => renderReference(),
};
