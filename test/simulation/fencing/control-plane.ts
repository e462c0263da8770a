/** A cluster with a control plane of so many nodes, and pods on each of them that could run anywhere. */
import type { Scenario } from '../../../src/scenario/format.ts';
import { everywhere, fenced } from './fenced.ts';

export function controlled(name: string, events: object[], size = 3, role = 'control-plane'): Scenario {
  const labels = { [`node-role.kubernetes.io/${role}`]: 'true' };
  const own = Array.from({ length: size }, (_, index) => ({ name: `cp-${index + 1}`, labels }));
  const workers = Array.from({ length: 4 }, (_, index) => ({ name: `node-${index + 1}` }));
  return fenced(name, {
    cluster: { nodes: [...own, ...workers] },
    objects: [everywhere(size + workers.length)],
    policy: { storm: { maxUnresponsive: '100%', maxConcurrent: 3 } },
    events,
    runFor: '4m',
  });
}

export const beyondQuorum = controlled('beyond-quorum', [
  { at: '0s', partition: 'cp-1' },
  { at: '0s', partition: 'cp-2' },
]);
