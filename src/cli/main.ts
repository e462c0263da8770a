/** The command `fenceline`, also `kubectl fenceline`. */
import { Command } from 'commander';
import { CredentialError } from '../kube/credentials.ts';
import { version } from '../version.ts';
import { commands } from './commands.ts';
import { UserError } from './user-error.ts';

async function main(argv: string[]): Promise<void> {
  const program = new Command('fenceline')
    .description('Fences dead nodes and frees their pods and volumes: never two writers, never a storm.')
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('(see fenceline --help)');
  const wanted = commands[argv[2] ?? ''];
  const loaders = wanted === undefined ? Object.values(commands) : [wanted];
  for (const command of await Promise.all(loaders.map((load) => load()))) {
    program.addCommand(command.copyInheritedSettings(program));
  }
  await program.parseAsync(argv);
}

// A reader that has seen enough, such as head, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

try {
  await main(process.argv);
} catch (error) {
  const known =
    error instanceof UserError ||
    error instanceof CredentialError ||
    isSystemError(error) ||
    error instanceof RangeError;
  console.error(known ? `fenceline: ${(error as Error).message}` : error);
  process.exitCode = error instanceof UserError ? error.exitCode : 1;
}

/** An address that is taken, a file that may not be read. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
