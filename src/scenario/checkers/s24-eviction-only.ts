/**
 * S24: live pods leave by the Eviction API only, which heeds budgets. A pod is live while nobody has asked it to go, however its
 * node is: whatever is deleted before that, by force or with a grace, needs a basis, on record, for exactly this pod.
 */
import type { Pod } from '../../world/objects/pods.ts';
import { isFinished, mirrorAnnotation } from '../../world/objects/pods.ts';
import type { Invariant } from './checker.ts';
import { succeeded } from './checker.ts';
import { deletedUnderway, letsGo } from './release.ts';

export const s24: Invariant = {
  id: 'S24',
  check: ({ recordsOf, violated, exempt }) => ({
    onWrite(write) {
      if (write.resource !== 'pods' || !write.verb.startsWith('delete') || !succeeded(write)) return;
      const pod = write.before as Pod | undefined;
      if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isFinished(pod) || isMirror(pod)) return;
      const { nodeName: node = '' } = pod.spec;
      const { uid, name, namespace } = pod.metadata;
      const basis = letsGo(recordsOf(write.user, node), uid);
      const told = `live pod ${namespace}/${name} on ${node} was deleted instead of evicted`;
      if (basis === undefined) violated(told);
      else if (basis === 'deleted') exempt('PersonsAct', `${told}: ${deletedUnderway}`);
    },
  }),
};

/** Its object is a copy: the pod lives on whatever happens to it (S10). */
function isMirror({ metadata }: Pod): boolean {
  return metadata.annotations?.[mirrorAnnotation] !== undefined;
}
