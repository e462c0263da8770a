/**
 * What was done about a node, as it is kept for whoever asks later: one word for each kind of act, and what it was done to. What is
 * only noted or asked is no deed.
 */
import type { Deed, DeedName } from './deed-names.ts';
import type { Act } from './steps.ts';

/** Which incident a Job belongs to is not always known yet. */
type Planned = Exclude<Act, { do: 'runJob' }> | { do: 'runJob'; job: { name: string } };

const podName = ({ namespace, name }: { namespace: string; name: string }): string => `${namespace}/${name}`;

export function deedOf(act: Planned): Deed | undefined {
  switch (act.do) {
    case 'quarantine':
      return { deed: 'Quarantine', on: [] };
    case 'untaint':
      return { deed: 'Untaint', on: [`${act.key}:${act.effect}`] };
    case 'takeOutOfService':
      return { deed: 'MarkOutOfService', on: [] };
    case 'markUnready':
      return { deed: 'MarkUnready', on: [podName(act.pod)] };
    case 'forceDelete':
      return { deed: 'DeletePod', on: [podName(act.pod)] };
    case 'failPod':
      return { deed: 'FreePod', on: [podName(act.pod)] };
    case 'freeVolumes':
      return { deed: 'FreeVolumes', on: act.volumes };
    case 'requestFence':
      return { deed: 'FenceVolume', on: [act.attachment] };
    case 'deleteAttachment':
      return { deed: 'Detach', on: [act.attachment] };
    case 'deleteNode':
      return { deed: 'DeleteNode', on: [] };
    case 'switch':
      return act.isQuestion === true ? undefined : { deed: switched(act), on: [act.method.name] };
    case 'runJob':
      return { deed: 'RunJob', on: [act.job.name] };
    case 'cordon':
      return { deed: 'Cordon', on: [] };
    case 'uncordon':
      return { deed: 'Uncordon', on: [] };
    case 'drain':
      return { deed: 'Drain', on: [] };
    case 'deleteMachine':
      return { deed: 'DeleteMachine', on: [] };
    case 'forgetCordon':
    case 'noteDrain':
    case 'noteRemediation':
      return undefined;
  }
}

function switched({ what, method }: Extract<Act, { do: 'switch' }>): DeedName {
  if (what === 'power') return method.action === 'on' ? 'PowerOn' : 'PowerOff';
  return method.action === 'on' ? 'ConnectStorage' : 'CutStorage';
}
