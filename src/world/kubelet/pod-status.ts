/** What a kubelet says of a pod, as the status that it wants the API to show. */
import type { Exit, Process } from '../machines/machine.ts';
import type { Condition } from '../objects/meta.ts';
import type { ContainerState, ContainerStatus, Pod } from '../objects/pods.ts';
import type { WantedStatus } from '../objects/status-patch.ts';
import { apiTime } from '../objects/times.ts';
import type { Refusal } from './admission.ts';

export interface PodAddresses {
  host: string;
  pod: string;
}

/** Why the containers of a pod do not run at the moment. */
export interface Waiting {
  reason: string;
  message?: string;
}

/** The code under which the end of a container is known that nobody saw, because the machine died under it. */
export const unseenExitCode = 255;

export function runningStatus(pod: Pod, process: Process, addresses: PodAddresses): WantedStatus {
  const podIp = pod.spec.hostNetwork === true ? addresses.host : addresses.pod;
  return {
    fields: {
      phase: 'Running',
      reason: undefined,
      message: undefined,
      startTime: pod.status?.startTime ?? apiTime(process.startedAt),
      hostIP: addresses.host,
      hostIPs: [{ ip: addresses.host }],
      podIP: podIp,
      podIPs: [{ ip: podIp }],
      containerStatuses: runningContainers(pod, process),
    },
    conditions: conditions(
      pod,
      { ready: closedGates(pod), containersReady: undefined, sandbox: 'True' },
      process.startedAt,
    ),
  };
}

/** Let in, but its containers do not run: not yet, or since a reboot, or until their back-off has passed. */
export function waitingStatus(
  pod: Pod,
  { host }: PodAddresses,
  nowMs: number,
  { waiting, exit, hasRun }: { waiting: Waiting; exit?: Exit; hasRun: boolean },
): WantedStatus {
  const ended = exit === undefined ? undefined : terminatedState(exit);
  const names = pod.spec.containers.map(({ name }) => name).join(' ');
  const unready = { reason: 'ContainersNotReady', message: `containers with unready status: [${names}]` };
  return {
    fields: {
      phase: hasRun ? 'Running' : 'Pending',
      startTime: pod.status?.startTime ?? apiTime(nowMs),
      hostIP: host,
      hostIPs: [{ ip: host }],
      containerStatuses: waitingContainers(pod, waiting, ended),
    },
    conditions: conditions(
      pod,
      { ready: unready, containersReady: unready, sandbox: exit === undefined ? 'False' : 'True' },
      nowMs,
    ),
  };
}

/**
 * Nothing of the pod runs or will run. Without an exit nobody knows how it ended, which counts as failed. `failed`: it
 * has failed however it ended, and why.
 */
export function endedStatus(pod: Pod, exit: Exit | undefined, nowMs: number, failed?: Refusal): WantedStatus {
  const code = exit?.code ?? unseenExitCode;
  const succeeded = code === 0 && failed === undefined;
  const known = new Map((pod.status?.containerStatuses ?? []).map((status) => [status.name, status]));
  const ended = pod.spec.containers.map(({ name, image = '' }): ContainerStatus => {
    const previous = known.get(name) ?? { name, image, imageID: '', restartCount: 0 };
    const startedAt = known.get(name)?.state.running?.startedAt;
    const unseen = {
      exitCode: code,
      reason: 'ContainerStatusUnknown',
      finishedAt: apiTime(nowMs),
      ...(startedAt === undefined ? {} : { startedAt }),
    };
    const terminated = exit === undefined ? unseen : terminatedState(exit, name).terminated;
    return { ...previous, ready: false, started: false, state: terminated === undefined ? {} : { terminated } };
  });
  const why = { reason: succeeded ? 'PodCompleted' : 'PodFailed' };
  return {
    fields: {
      phase: succeeded ? 'Succeeded' : 'Failed',
      ...failed,
      containerStatuses: ended,
    },
    conditions: conditions(pod, { ready: why, containersReady: why, sandbox: 'False' }, nowMs),
  };
}

/** Nothing else is said of it any more, also where it had run before the machine was switched off: what was said then is over. */
export function refusedStatus({ reason, message }: Refusal): WantedStatus {
  const nothing = Object.fromEntries(saidOfRunning.map((field) => [field, undefined]));
  return { fields: { ...nothing, phase: 'Failed', reason, message }, conditions: [], without: ownConditions };
}

const saidOfRunning = ['containerStatuses', 'hostIP', 'hostIPs', 'podIP', 'podIPs'] as const;
const ownConditions = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'] as const;

interface Unready {
  reason: string;
  message?: string;
}

/** Absent means True. */
interface Readiness {
  ready: Unready | undefined;
  containersReady: Unready | undefined;
  sandbox: 'True' | 'False';
}

function conditions(pod: Pod, { ready, containersReady, sandbox }: Readiness, sinceMs: number): Condition[] {
  const { generation } = pod.metadata;
  const common = {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: apiTime(sinceMs),
  };
  const statusOf = (unready: Unready | undefined): string => (unready === undefined ? 'True' : 'False');
  return [
    { type: 'PodReadyToStartContainers', status: sandbox, ...common },
    { type: 'Initialized', status: 'True', ...common },
    { type: 'Ready', status: statusOf(ready), ...ready, ...common },
    { type: 'ContainersReady', status: statusOf(containersReady), ...containersReady, ...common },
    { type: 'PodScheduled', status: 'True', ...common },
  ];
}

/** Conditions of others that the pod waits for before it may be called ready. */
function closedGates(pod: Pod): Unready | undefined {
  const closed = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const found = pod.status?.conditions?.find(({ type }) => type === conditionType);
    if (found?.status === 'True') return [];
    return found === undefined
      ? [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`]
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${found.status}`];
  });
  return closed.length === 0 ? undefined : { reason: 'ReadinessGatesNotReady', message: closed.join(', ') };
}

function idOf(process: Process, container: string): string {
  return `simulated://${process.id}-${container}`;
}

function terminatedState({ code, at, process }: Exit, container?: string): ContainerState {
  return {
    terminated: {
      exitCode: code,
      reason: code === 0 ? 'Completed' : 'Error',
      startedAt: apiTime(process.startedAt),
      finishedAt: apiTime(at),
      ...(container === undefined ? {} : { containerID: idOf(process, container) }),
    },
  };
}

/** The same array where it says all of it already: the server adds fields of its own, which must not look like news. */
function runningContainers(pod: Pod, process: Process): ContainerStatus[] {
  const known = new Map((pod.status?.containerStatuses ?? []).map((status) => [status.name, status]));
  const settled = pod.spec.containers.every(({ name }) => {
    const status = known.get(name);
    return status?.containerID === idOf(process, name) && status.ready && status.state.running !== undefined;
  });
  if (settled) return pod.status?.containerStatuses ?? [];
  return pod.spec.containers.map(({ name, image = '' }) => {
    const previous = known.get(name);
    const restarted = previous?.containerID !== undefined && previous.containerID !== idOf(process, name);
    const terminated = previous?.state.terminated ?? previous?.lastState?.terminated;
    return {
      name,
      image,
      imageID: `simulated://${image}`,
      containerID: idOf(process, name),
      ready: true,
      started: true,
      restartCount: (previous?.restartCount ?? 0) + (restarted ? 1 : 0),
      state: { running: { startedAt: apiTime(process.startedAt) } },
      ...(restarted && terminated !== undefined ? { lastState: { terminated } } : {}),
    };
  });
}

/** The same array where nothing is new, as above. */
function waitingContainers(pod: Pod, waiting: Waiting, ended: ContainerState | undefined): ContainerStatus[] {
  const known = new Map((pod.status?.containerStatuses ?? []).map((status) => [status.name, status]));
  const settled = pod.spec.containers.every(({ name }) => {
    const status = known.get(name);
    const now = status?.state.waiting;
    return status?.ready === false && now?.reason === waiting.reason && now.message === waiting.message;
  });
  if (settled) return pod.status?.containerStatuses ?? [];
  return pod.spec.containers.map(({ name, image = '' }) => ({
    ...(known.get(name) ?? { name, image, imageID: '', restartCount: 0 }),
    ready: false,
    started: false,
    state: { waiting },
    ...(ended === undefined ? {} : { lastState: ended }),
  }));
}
