/**
 * The command `fenceline`, also `kubectl fenceline`. Each command is a file of its own and is loaded only when it is
 * called: the operator must not pay for what the others need.
 */
import { Command } from 'commander';
import { CredentialError } from '../kube/credentials.ts';
import { version } from '../version.ts';
import { UserError } from './user-error.ts';

const commands: Record<string, () => Promise<Command>> = {
  demo: async () => (await import('./demo.ts')).demoCommand(),
  run: async () => (await import('./run.ts')).runCommand(),
  simulate: async () => (await import('./simulate.ts')).simulateCommand(),
  replay: async () => (await import('./replay.ts')).replayCommand(),
  status: async () => (await import('./status.ts')).statusCommand(),
  crds: async () => (await import('./crds.ts')).crdsCommand(),
  convert: async () => (await import('./convert.ts')).convertCommand(),
  'plan-drain': async () => (await import('./plan-drain.ts')).planDrainCommand(),
  check: async () => (await import('./check.ts')).checkCommand(),
  stop: async () => (await import('./stop.ts')).stopCommand(),
  resume: async () => (await import('./resume.ts')).resumeCommand(),
  approve: async () => (await import('./approve.ts')).approveCommand(),
  fence: async () => (await import('./fence.ts')).fenceCommand(),
  drill: async () => (await import('./drill.ts')).drillCommand(),
};

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
