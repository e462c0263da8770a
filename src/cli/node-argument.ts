/** The names of nodes as they are typed, also as kubectl prints them: `node/worker-1`. */
import type { Command } from 'commander';

export function nodeArgument(command: Command, name: '<node>', description: string): Command {
  return command.argument(name, description, plainName);
}

export function nodesArgument(command: Command, name: '[node...]' | '<node...>', description: string): Command {
  return command.argument(name, description, (word: string, before: string[] | undefined) => [
    ...(before ?? []),
    plainName(word),
  ]);
}

function plainName(word: string): string {
  return word.replace(/^nodes?\//, '');
}
