/** As in ../mutants.ts, for power that is watched (EVD-4): what a device says under a Lease that is not overdue. */
import type { MutantCase } from '../mutants.ts';
import { scenarioOf } from '../run-file.ts';

export const watchMutantCases: readonly MutantCase[] = [
  {
    invariant: 'S4',
    mistake: 'does not care who answers at the port of a kubelet',
    sabotage: {
      file: 'src/act/long-acts.ts',
      line: 'const { knock } = doors;',
      instead: "const knock = async () => 'silent' as const;",
    },
    scenario: scenarioOf('holes/watched-lying-device'),
    beside: ['S6', 'S23'],
    says: /on the basis PowerOff although its machine is on$/,
  },
];
