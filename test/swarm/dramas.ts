/**
 * What is known to be dangerous together, each time a little different: troubles, configurations and people that chance alone
 * brings together too seldom. Around a drama everything else goes on as in any other cluster of the swarm.
 */
import type { Chance } from '../twins/chance.ts';
import type { Drama, Setting } from './drama.ts';
import { acceptedRisk, asserted, crashed, safelyDetached, slowToEnd } from './dramas-of-bases.ts';
import { backInTime, cutOff, edited, lyingOutlet, safeDetach, staleCrash } from './dramas-of-devices.ts';
import { levels, written } from './dramas-of-levels.ts';
import { endless, everywhere, otherLeases, slots, staggered, takenOver } from './dramas-of-many.ts';
import { forgotten, leasesDeleted, othersAtIt, pausedInFence, unheardRequest, watched } from './dramas-of-others.ts';
import { changedMind, ladders, requests } from './dramas-of-people.ts';
import { apiAway, approved, leftAlone, planned, rehearsed, severalPolicies } from './dramas-of-plans.ts';

const dramas: readonly { weight: number; choice: (setting: Setting) => Drama }[] = [
  { weight: 4, choice: cutOff },
  { weight: 3, choice: lyingOutlet },
  { weight: 3, choice: staleCrash },
  { weight: 2, choice: safeDetach },
  { weight: 2, choice: everywhere },
  { weight: 3, choice: requests },
  { weight: 2, choice: staggered },
  { weight: 4, choice: backInTime },
  { weight: 3, choice: edited },
  { weight: 3, choice: slots },
  { weight: 3, choice: endless },
  { weight: 2, choice: otherLeases },
  { weight: 3, choice: takenOver },
  { weight: 3, choice: changedMind },
  { weight: 2, choice: ladders },
  { weight: 2, choice: asserted },
  { weight: 2, choice: acceptedRisk },
  { weight: 2, choice: crashed },
  { weight: 2, choice: safelyDetached },
  { weight: 3, choice: slowToEnd },
  { weight: 2, choice: levels },
  { weight: 2, choice: written },
  { weight: 3, choice: planned },
  { weight: 2, choice: apiAway },
  { weight: 2, choice: approved },
  { weight: 2, choice: leftAlone },
  { weight: 2, choice: rehearsed },
  { weight: 2, choice: severalPolicies },
  { weight: 3, choice: pausedInFence },
  { weight: 2, choice: othersAtIt },
  { weight: 3, choice: unheardRequest },
  { weight: 3, choice: forgotten },
  { weight: 2, choice: leasesDeleted },
  { weight: 3, choice: watched },
];

export function drama(chance: Chance, cluster: Pick<Setting, 'nodes' | 'operators' | 'quietAt'>): Drama {
  const { nodes } = cluster;
  const chosen = chance.weighted(dramas);
  if (chosen === undefined) throw new RangeError('no drama');
  const [first = '', ...others] = chance.some(nodes, nodes.length).map(({ name }) => name);
  return chosen({ ...cluster, chance, first, others });
}
