/** kubectl takes its flags anywhere; those that are typed before a command are moved behind it, where they are read. */
import { Command } from 'commander';
import { addKubeFlags } from './kube-flags.ts';

/** `words`: what was typed. Undefined: it begins with something else than flags that every command knows. */
export function behindTheCommand(words: readonly string[], isCommand: (word: string) => boolean): string[] | undefined {
  const { options } = addKubeFlags(new Command());
  let at = 0;
  for (let word = words[at] ?? ''; word.startsWith('-'); word = words[at] ?? '') {
    const [name = '', value] = word.split('=', 2);
    const option = options.find(({ long, short }) => name === long || name === short);
    if (option === undefined) return undefined;
    at += option.required && value === undefined ? 2 : 1;
  }
  const command = words[at];
  if (command === undefined || !isCommand(command)) return undefined;
  return [command, ...words.slice(0, at), ...words.slice(at + 1)];
}
