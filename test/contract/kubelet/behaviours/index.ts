/** All that is demanded of a kubelet. */
import type { Behaviour } from '../scene.ts';
import { deletingBehaviours } from './deleting.ts';
import { endingBehaviours } from './ending.ts';
import { nodeBehaviours } from './node.ts';
import { outageBehaviours } from './outages.ts';
import { raceBehaviours } from './races.ts';
import { refusingBehaviours } from './refusing.ts';
import { runningBehaviours } from './running.ts';
import { staticBehaviours } from './statics.ts';
import { volumeBehaviours } from './volumes.ts';

export const behaviours: readonly Behaviour[] = [
  ...nodeBehaviours,
  ...runningBehaviours,
  ...endingBehaviours,
  ...deletingBehaviours,
  ...refusingBehaviours,
  ...staticBehaviours,
  ...outageBehaviours,
  ...volumeBehaviours,
  ...raceBehaviours,
];
