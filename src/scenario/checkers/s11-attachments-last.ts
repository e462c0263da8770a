/**
 * S11: the VolumeAttachment of a volume goes only when its pods on that node are gone, or a record that names it covers
 * them. Its pods are those that the API still shows, and those that really run.
 */
import { isFinished } from '../../world/objects/pods.ts';
import type { Invariant } from './checker.ts';
import { deletedUnderway, letsGo, recordsFor, releaseOf, toldOf, volumesOf } from './release.ts';

export const s11: Invariant = {
  id: 'S11',
  check: ({ state, recordsOf, machineOf, violated, exempt }) => ({
    onWrite(write) {
      const release = releaseOf(write);
      if (release?.what !== 'deleted') return;
      const { node } = release;
      const volume = release.attachment.spec.source.persistentVolumeName ?? '';
      const records = recordsFor({ recordsOf }, release);
      const shown = [...state.pods.values()].filter(
        (pod) => pod.spec.nodeName === node && !isFinished(pod) && volumesOf(state, pod).includes(volume),
      );
      const running = [...(machineOf(node)?.processes.values() ?? [])].filter(({ volumes }) =>
        volumes.some(({ persistentVolume }) => persistentVolume === volume),
      );
      const users = [
        ...shown.map(({ metadata }) => ({ uid: metadata.uid ?? '', name: metadata.name })),
        ...running.map(({ podUid, podName }) => ({ uid: podUid, name: podName })),
      ];
      const told = (name: string): string => `${toldOf(release)} although pod ${name} there still uses it`;
      const user = users.find(({ uid }) => letsGo(records, uid) === undefined);
      const lost = users.find(({ uid }) => letsGo(records, uid) === 'deleted');
      if (user !== undefined) violated(told(user.name));
      else if (lost !== undefined) exempt('PersonsAct', `${told(lost.name)}: ${deletedUnderway}`);
    },
  }),
};
