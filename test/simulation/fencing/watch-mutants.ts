/** As in ../mutants.ts, for what a device says under a Lease that is not overdue (EVD-4), and of a machine that lives on. */
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
  {
    invariant: 'S34',
    mistake: 'believes a device again whose machine lived on in the boot in which it had said off',
    sabotage: {
      file: 'src/fence/memory.ts',
      line: 'if (forAPerson.has(known?.reason) || isCleared) return before;',
      instead: 'if (forAPerson.has(known?.reason) || isCleared || true) return before;',
    },
    scenario: scenarioOf('holes/never-off'),
    says: /by the word of a device that had said off of a machine that lived on$/,
  },
];
