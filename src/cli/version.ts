/** `fenceline version`: what `--version` says, for those who type it as in kubectl. */
import { Command } from 'commander';
import { version } from '../version.ts';

export function versionCommand(): Command {
  return new Command('version').description('say which version this is').action(() => {
    process.stdout.write(`${version}\n`);
  });
}
