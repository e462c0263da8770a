/**
 * S43: no attachment goes, and no volume leaves `volumesInUse`, that a pod which stays on the node uses: also where its
 * PersistentVolume is of the old kind and was attached by the driver that it was migrated to, and where it has none at all.
 * A pod stays that the API still shows, that is not over, and that no record lets go.
 */
import type { Pod } from '../../world/objects/pods.ts';
import { isFinished } from '../../world/objects/pods.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { Invariant } from './checker.ts';
import type { Release } from './release.ts';
import { deletedUnderway, letsGo, releaseOf, toldOf, volumesOf } from './release.ts';

export const s43: Invariant = {
  id: 'S43',
  check: ({ state, recordsOf, violated, exempt }) => ({
    onWrite(write) {
      const release = releaseOf(write);
      if (release?.what !== 'deleted' && release?.what !== 'freed') return;
      const records = recordsOf(write.user, release.node);
      const users = [...state.pods.values()].filter(
        (pod) =>
          pod.spec.nodeName === release.node &&
          !isFinished(pod) &&
          diskNames(state, pod).some((disk) => isAbout(release, disk)),
      );
      const told = ({ metadata }: Pod): string => `${toldOf(release)} although pod ${metadata.name} uses it and stays`;
      const user = users.find(({ metadata }) => letsGo(records, metadata.uid) === undefined);
      const lost = users.find(({ metadata }) => letsGo(records, metadata.uid) === 'deleted');
      if (user !== undefined) violated(told(user));
      else if (lost !== undefined) exempt('PersonsAct', `${told(lost)}: ${deletedUnderway}`);
    },
  }),
};

/** By which a disk of the old kind is known: the last part of its name stands in the handle of the driver it was migrated to. */
const inTree: Record<string, string> = {
  awsElasticBlockStore: 'volumeID',
  azureDisk: 'diskURI',
  cinder: 'volumeID',
  gcePersistentDisk: 'pdName',
  vsphereVolume: 'volumePath',
};

function diskNames(state: ClusterState, pod: Pod): string[] {
  const behindClaims = volumesOf(state, pod).map((name) => state.volumes.get(name)?.spec);
  const handles = behindClaims.flatMap((spec) => (spec?.csi === undefined ? [] : [`^${spec.csi.volumeHandle}`]));
  const disks = [...behindClaims, ...(pod.spec.volumes ?? [])].flatMap((source) =>
    Object.entries(inTree).flatMap(([kind, field]) => {
      const id = (source as Record<string, Record<string, string>> | undefined)?.[kind]?.[field];
      return id === undefined ? [] : [id.slice(id.lastIndexOf('/') + 1)];
    }),
  );
  return [...handles, ...disks];
}

function isAbout(release: Extract<Release, { what: 'deleted' | 'freed' }>, disk: string): boolean {
  if (release.what === 'freed') return release.entries.some((entry) => entry.endsWith(disk));
  const { inlineVolumeSpec } = release.attachment.spec.source;
  return inlineVolumeSpec?.csi?.volumeHandle?.endsWith(disk) ?? false;
}
