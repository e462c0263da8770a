/** The command `fenceline`, also `kubectl fenceline`. */
import { Command } from 'commander';
import { CredentialError } from '../kube/credentials.ts';
import { version } from '../version.ts';
import { commands } from './commands.ts';
import { NO_ANSWER, UserError } from './user-error.ts';

async function main(argv: string[]): Promise<void> {
  const program = new Command('fenceline')
    .description('Fences dead nodes and frees their pods and volumes: never two writers, never a storm.')
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('(see fenceline --help)')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : NO_ANSWER));
  const [, , ...given] = argv;
  // Both are in the hands of people.
  const typed = given[0] === '-v' ? ['--version'] : given;
  const words = typed[0]?.startsWith('-') === true ? await behindTheirCommand(typed) : typed;
  const wanted = commands[words[0] ?? ''];
  const loaders = wanted === undefined ? Object.values(commands) : [wanted];
  for (const command of await Promise.all(loaders.map((load) => load()))) {
    command.copyInheritedSettings(program).showHelpAfterError(`(see fenceline ${command.name()} --help)`);
    program.addCommand(command);
  }
  await program.parseAsync(words, { from: 'user' });
}

async function behindTheirCommand(typed: readonly string[]): Promise<readonly string[]> {
  const { behindTheCommand } = await import('./global-flags.ts');
  return behindTheCommand(typed, (word) => commands[word] !== undefined) ?? typed;
}

// A reader that has seen enough, such as head, is no error, and does not change what the command has found.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    // What nobody could be told was not answered, whatever it was.
    process.exitCode = NO_ANSWER;
    if (stream === process.stdout) process.stderr.write(`fenceline: the answer cannot be written: ${error.message}\n`);
    process.exit();
  });
}

try {
  await main(process.argv);
} catch (error) {
  const known =
    error instanceof UserError ||
    error instanceof CredentialError ||
    isSystemError(error) ||
    error instanceof RangeError;
  console.error(known ? `fenceline: ${(error as Error).message}` : error);
  process.exitCode = error instanceof UserError ? error.exitCode : error instanceof CredentialError ? NO_ANSWER : 1;
}

/** An address that is taken, a file that may not be read. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
