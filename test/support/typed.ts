/** What documents and explanations tell people to type: read as a shell reads it, and by the command's own parser. */
import type { Command } from 'commander';
import { commands } from '../../src/cli/commands.ts';

/** Words and single-quoted words; nothing else is ever printed. */
export function shellWords(line: string): string[] {
  const words = [...line.matchAll(/'([^']*)'|([^\s']+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const again = line.replaceAll(/'[^']*'|[^\s']+/g, '').trim();
  if (again !== '' || /[$`\\;|&<>*?]/.test(line.replaceAll(/'[^']*'/g, ''))) throw new Error(`not plain: ${line}`);
  return words;
}

/** Throws what `fenceline` would complain of. */
export async function parsedByFenceline(line: string): Promise<void> {
  const [program, name = '', ...args] = shellWords(line);
  const load = commands[name];
  if (program !== 'fenceline' || load === undefined) throw new Error(`no such command: ${line}`);
  const command: Command = await load();
  const quiet = { writeErr: () => {}, writeOut: () => {} };
  await command
    .exitOverride()
    .configureOutput(quiet)
    .action(() => {})
    .parseAsync(args, { from: 'user' });
}
