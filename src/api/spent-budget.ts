import type { Selector } from './node-choice.ts';

/** A PodDisruptionBudget that allows no disruption just now. */
export interface SpentBudget {
  namespace: string;
  name: string;
  selector: Selector;
}
