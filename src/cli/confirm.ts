/** What cannot be taken back is confirmed by typing the name of the node: a mistyped command names another one. */
import { createInterface } from 'node:readline/promises';
import { UserError } from './user-error.ts';

export async function confirm(node: string, warning: string): Promise<void> {
  if (!process.stdin.isTTY) throw new UserError(`${warning} Say --yes if that is what you want.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const typed = await terminal.question(`${warning}\nType the name of the node to go on: `);
    if (typed.trim() !== node) throw new UserError('that is not its name; nothing was done');
  } finally {
    terminal.close();
  }
}
