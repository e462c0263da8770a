/** What a kubelet says of a pod, as the status that it wants the API to show. */
import type { Refusal } from './admission.ts';
import type { Process } from './machine.ts';
import type { Condition, ContainerStatus, Pod } from './objects.ts';
import { apiTime } from './objects.ts';
import type { WantedStatus } from './status-patch.ts';

export interface PodAddresses {
  host: string;
  pod: string;
}

export function runningStatus(pod: Pod, process: Process, addresses: PodAddresses): WantedStatus {
  const podIp = pod.spec.hostNetwork === true ? addresses.host : addresses.pod;
  return {
    fields: {
      phase: 'Running',
      startTime: pod.status?.startTime ?? apiTime(process.startedAt),
      hostIP: addresses.host,
      hostIPs: [{ ip: addresses.host }],
      podIP: podIp,
      podIPs: [{ ip: podIp }],
      containerStatuses: runningContainers(pod, process),
    },
    conditions: conditions('True', undefined, process.startedAt),
  };
}

/** Bound here but its containers do not run (yet, or since a reboot). */
export function waitingStatus(pod: Pod, nowMs: number): WantedStatus {
  const known = pod.status?.containerStatuses ?? [];
  const settled = known.every((status) => status.state.waiting !== undefined);
  const waiting = known.map((status) => ({
    ...status,
    ready: false,
    started: false,
    state: { waiting: { reason: 'ContainerCreating' } },
  }));
  return {
    fields: { containerStatuses: settled ? pod.status?.containerStatuses : waiting },
    conditions: conditions('False', 'ContainersNotReady', nowMs),
  };
}

/** Nothing of the pod runs or will run. Without an exit code nobody knows how it ended, which counts as failed. */
export function endedStatus(pod: Pod, exitCode: number | undefined, nowMs: number): WantedStatus {
  const code = exitCode ?? 137;
  const succeeded = code === 0;
  const known = new Map((pod.status?.containerStatuses ?? []).map((status) => [status.name, status]));
  const ended = pod.spec.containers.map(({ name, image = '' }): ContainerStatus => {
    const previous = known.get(name) ?? { name, image, imageID: '', restartCount: 0 };
    const started = known.get(name)?.state.running?.startedAt;
    const reason = succeeded ? 'Completed' : exitCode === undefined ? 'ContainerStatusUnknown' : 'Error';
    return {
      ...previous,
      ready: false,
      started: false,
      state: {
        terminated: {
          exitCode: code,
          reason,
          finishedAt: apiTime(nowMs),
          ...(started === undefined ? {} : { startedAt: started }),
        },
      },
    };
  });
  return {
    fields: { phase: succeeded ? 'Succeeded' : 'Failed', containerStatuses: ended },
    conditions: conditions('False', succeeded ? 'PodCompleted' : 'PodFailed', nowMs),
  };
}

export function refusedStatus(refusal: Refusal): WantedStatus {
  return { fields: { phase: 'Failed', reason: refusal.reason, message: refusal.message }, conditions: [] };
}

function conditions(ready: 'True' | 'False', reason: string | undefined, sinceMs: number): Condition[] {
  const lastTransitionTime = apiTime(sinceMs);
  const why = reason === undefined ? {} : { reason };
  return [
    { type: 'PodReadyToStartContainers', status: ready, lastTransitionTime },
    { type: 'Initialized', status: 'True', lastTransitionTime },
    { type: 'Ready', status: ready, ...why, lastTransitionTime },
    { type: 'ContainersReady', status: ready, ...why, lastTransitionTime },
    { type: 'PodScheduled', status: 'True', lastTransitionTime },
  ];
}

/** The same array where it says all of it already: the server adds fields of its own, which must not look like news. */
function runningContainers(pod: Pod, process: Process): ContainerStatus[] {
  const known = new Map((pod.status?.containerStatuses ?? []).map((status) => [status.name, status]));
  const idOf = (name: string): string => `simulated://${process.id}-${name}`;
  const settled = pod.spec.containers.every(({ name }) => {
    const status = known.get(name);
    return status?.containerID === idOf(name) && status.ready && status.state.running !== undefined;
  });
  if (settled) return pod.status?.containerStatuses ?? [];
  return pod.spec.containers.map(({ name, image = '' }) => {
    const previous = known.get(name);
    const restarted = previous?.containerID !== undefined && previous.containerID !== idOf(name);
    return {
      name,
      image,
      imageID: `simulated://${image}`,
      containerID: idOf(name),
      ready: true,
      started: true,
      restartCount: (previous?.restartCount ?? 0) + (restarted ? 1 : 0),
      state: { running: { startedAt: apiTime(process.startedAt) } },
    };
  });
}
