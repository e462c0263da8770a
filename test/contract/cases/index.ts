import type { Case } from '../contract.ts';
import { applies } from './applies.ts';
import { customResources } from './custom-resources.ts';
import { deletion } from './deletion.ts';
import { evictions } from './evictions.ts';
import { kinds } from './kinds.ts';
import { lists } from './lists.ts';
import { nodes } from './nodes.ts';
import { objects } from './objects.ts';
import { patches } from './patches.ts';
import { pods } from './pods.ts';
import { rules } from './rules.ts';
import { watches } from './watches.ts';

export const suites: Record<string, Case[]> = {
  objects,
  lists,
  watches,
  patches,
  deletion,
  evictions,
  pods,
  nodes,
  kinds,
  'custom resources': customResources,
  rules,
  applies,
};
