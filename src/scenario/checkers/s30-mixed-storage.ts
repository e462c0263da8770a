/**
 * S30: a pod with one volume that is protected and another that is not does not go on the strength of the first, unless
 * somebody accepts the risk or answers for the whole machine.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { Invariant } from './checker.ts';
import { recordsFor, releaseOf, toldOf, volumesOf } from './release.ts';

const byStorage = ['StorageSafeDetach', 'StorageFenced'];

export const s30: Invariant = {
  id: 'S30',
  check: ({ state, recordsOf, isPortClosed, violated, exempt }) => ({
    onWrite(write) {
      const release = releaseOf(write);
      if (release === undefined || !('pod' in release)) return;
      const records = recordsFor({ recordsOf }, release);
      const others = records.filter(({ basis }) => !byStorage.includes(basis));
      if (records.length === others.length || others.some(({ basis }) => basis !== 'AcceptedRisk')) return;
      const cutOff = isPortClosed(release.node) ? cutOffFrom(state, release.node) : [];
      const declared = records.flatMap(({ by = '' }) => declaredSafe(state, by));
      const volume = volumesOf(state, release.pod).find((name) => !isProtected(state, name, { cutOff, declared }));
      if (volume === undefined) return;
      const told = `${toldOf(release)} although nothing protects its volume ${volume}`;
      if (others.length > 0) exempt('AcceptedRisk', told);
      else violated(told);
    },
  }),
};

interface Safe {
  /** By a fence: whatever the volume may be, the node does not reach it. */
  cutOff: readonly string[];
  /** By the word of a policy. */
  declared: readonly string[];
}

/** The drivers whose storage the record says that the node was cut off from; whether it is cut off is seen. */
function cutOffFrom(state: ClusterState, node: string): readonly string[] {
  const { phase, switched = [] } = state.fences.get(nodeFenceName(node))?.status?.fence ?? {};
  if (phase !== 'isolated') return [];
  return switched.flatMap(({ storage = [], confirmedAt }) => (confirmedAt === undefined ? [] : storage));
}

/** The drivers of which the policy that answers for the release says that they detach safely. */
function declaredSafe({ policies }: ClusterState, by: string): readonly string[] {
  return policies.get(by.replace(/^policy /, ''))?.spec?.release?.safeDetach ?? [];
}

function isProtected({ volumes, drivers }: ClusterState, name: string, safe: Safe): boolean {
  const { csi, accessModes = [] } = volumes.get(name)?.spec ?? {};
  if (csi !== undefined && safe.cutOff.includes(csi.driver)) return true;
  if (csi === undefined || accessModes.includes('ReadWriteMany')) return false;
  const annotation = drivers.get(csi.driver)?.metadata.annotations?.['fenceline.dev/safe-detach'];
  return annotation === 'true' || (annotation === undefined && safe.declared.includes(csi.driver));
}
