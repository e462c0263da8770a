/** The command `fenceline`, also `kubectl fenceline`. */
import { Command } from 'commander';
import { CredentialError } from '../kube/credentials.ts';
import { version } from '../version.ts';
import { commands } from './commands.ts';
import { UserError } from './user-error.ts';

/** Their exit code 1 is an answer: something is not as expected. */
const twoIsWrong: ReadonlySet<string> = new Set(['simulate', 'replay']);

/** kubectl takes its flags anywhere; here they belong to a command. */
function atTheirPlace([, , first = '', ...rest]: readonly string[]): void {
  const command = rest.find((word) => commands[word] !== undefined);
  if (command === undefined || !/^--?[a-z]/.test(first) || /^(-h|--help|-V|--version)$/.test(first)) return;
  throw new UserError(`write ${first} after the command: fenceline ${command} ${first} …`);
}

async function main(argv: string[]): Promise<void> {
  const program = new Command('fenceline')
    .description('Fences dead nodes and frees their pods and volumes: never two writers, never a storm.')
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError('(see fenceline --help)')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 || !twoIsWrong.has(argv[2] ?? '') ? exitCode : 2));
  atTheirPlace(argv);
  const wanted = commands[argv[2] ?? ''];
  const loaders = wanted === undefined ? Object.values(commands) : [wanted];
  for (const command of await Promise.all(loaders.map((load) => load()))) {
    command.copyInheritedSettings(program).showHelpAfterError(`(see fenceline ${command.name()} --help)`);
    program.addCommand(command);
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
