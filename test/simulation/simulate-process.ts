/** The command in a process of its own. */
import { simulateCommand } from '../../src/cli/simulate.ts';

await simulateCommand().parseAsync(process.argv);
