/** Every behaviour of the contract. */
import type { Behaviour } from '../scene.ts';
import { attachBehaviours } from './attach.ts';
import { budgetBehaviours } from './budgets.ts';
import { evictionBehaviours } from './eviction.ts';
import { nodeBehaviours } from './nodes.ts';
import { ownershipBehaviours } from './ownership.ts';
import { schedulingBehaviours } from './scheduling.ts';
import { statefulBehaviours } from './stateful.ts';
import { statelessBehaviours } from './stateless.ts';
import { volumeBehaviours } from './volumes.ts';

export const behaviours: readonly Behaviour[] = [
  ...nodeBehaviours,
  ...evictionBehaviours,
  ...statefulBehaviours,
  ...statelessBehaviours,
  ...attachBehaviours,
  ...volumeBehaviours,
  ...schedulingBehaviours,
  ...ownershipBehaviours,
  ...budgetBehaviours,
];
