/**
 * One pod on one kubelet, from being bound to being gone. Level-based: each step looks at the pod as the API last showed
 * it and at what really runs, does the next thing, and is called again when either changes. So it does not matter
 * whether a pod is new, was running before the kubelet started, or was deleted while the node was cut off.
 */
import type { CallOptions, KubeClient } from '../../kube/client.ts';
import type { KubeError } from '../../kube/errors.ts';
import { compareVersions } from '../../kube/resource-version.ts';
import type { ObjectRef } from '../../kube/resources.ts';
import { pods } from '../../kube/resources.ts';
import type { Machine, MountedVolume } from '../machines/machine.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import type { WantedStatus } from '../objects/status-patch.ts';
import { statusPatch } from '../objects/status-patch.ts';
import { LevelLoop } from '../time/level-loop.ts';
import type { Refusal } from './admission.ts';
import { BackOff } from './back-off.ts';
import type { PodAddresses, Waiting } from './pod-status.ts';
import { endedStatus, refusedStatus, runningStatus, unseenExitCode, waitingStatus } from './pod-status.ts';
import { attachmentsConfirmed, volumesOf } from './pod-volumes.ts';

/** How the containers of a pod behave. */
export interface PodBehaviour {
  /** From mounted volumes to running containers: pulling images, starting. */
  startupMs: number;
  /** What the processes need to end after they were asked to. */
  stopMs: number;
  /** They end by themselves. */
  exit?: { afterMs: number; code: number };
}

/** What a worker needs of its kubelet. */
export interface PodHost {
  readonly nodeName: string;
  readonly machine: Machine;
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly retryMs: number;
  /** Its machine goes down in good order. */
  readonly isShuttingDown: boolean;
  random(): number;
  node(): Node | undefined;
  behaviourOf(pod: Pod): PodBehaviour;
  /** Undefined: the pod may run here. */
  refusalOf(pod: Pod, node: Node): Refusal | undefined;
  addressesOf(podUid: string): PodAddresses;
  /** Puts the volumes into the Node's volumesInUse, from where they go with an empty list. */
  claim(podUid: string, volumes: readonly MountedVolume[]): void;
  /** Whether the API says of each of these what the kubelet wants it to say. */
  claimsReported(volumes: readonly MountedVolume[]): boolean;
  finished(podUid: string): void;
  onProblem(error: KubeError): void;
}

/** The least that a kubelet grants, also to pods that were deleted by force. */
const leastGraceMs = 1000;
const shutDown: Refusal = {
  reason: 'Terminated',
  message: 'Pod was terminated in response to imminent node shutdown.',
};
const rejected: Refusal = { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' };
const turnedAwayAfterMs = 1000;
const overdue: Refusal = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};

export class PodWorker {
  readonly #host: PodHost;
  readonly #uid: string;
  readonly #loop: LevelLoop;
  #pod: Pod | undefined;
  #gone = false;
  #admitted = false;
  #deleted = false;
  /** Its containers were asked to end. They are asked once: what has begun takes the grace that it began with. */
  #ending = false;
  /** What is said of a pod that has ended, whatever others make of it. */
  #final: WantedStatus | undefined;
  readonly #backOff = new BackOff();
  #volumes: readonly MountedVolume[] | undefined;
  #startAt: number | undefined;

  /** Without a pod: something runs here of which the API knows nothing any more. */
  constructor(host: PodHost, uid: string, pod: Pod | undefined) {
    this.#host = host;
    this.#uid = uid;
    this.#pod = pod;
    this.#gone = pod === undefined;
    this.#volumes = host.machine.mounts.get(uid);
    this.#loop = new LevelLoop(host.machine.clock, () => this.#step());
  }

  update(pod: Pod): void {
    const known = this.#pod?.metadata.resourceVersion;
    if (known !== undefined && compareVersions(pod.metadata.resourceVersion ?? '', known) <= 0) return;
    this.#pod = pod;
    this.#loop.kick();
  }

  /** How the deletion showed the pod: with no grace left if it was by force. Acted upon when it has vanished. */
  notice(last: Pod): void {
    this.#pod = last;
  }

  /** The pod is no longer in the API. */
  vanish(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#loop.kick();
  }

  kick(): void {
    this.#loop.kick();
  }

  stop(): void {
    this.#loop.stop();
  }

  /** The pod as it is known here, if it takes its share of the node. */
  get active(): Pod | undefined {
    const pod = this.#pod;
    if (!this.#admitted || this.#final !== undefined || this.#gone) return undefined;
    // A deleted pod of which nothing runs any more takes no place, though its object may still be there.
    const over = pod?.metadata.deletionTimestamp !== undefined && this.#host.machine.processOf(this.#uid) === undefined;
    return over ? undefined : pod;
  }

  #step(): Promise<number | undefined> {
    const pod = this.#pod;
    if (this.#gone || pod === undefined) return this.#cleanUp();
    if (pod.metadata.deletionTimestamp !== undefined) return this.#terminate(pod);
    if (this.#final !== undefined) return this.#conclude(pod, this.#final);
    // Only of a pod that is new to this kubelet does it believe what others say of its end.
    if (isFinished(pod) && !this.#admitted) return this.#windDown(pod);
    return this.#run(pod);
  }

  async #run(pod: Pod): Promise<number | undefined> {
    const node = this.#host.node();
    if (!this.#admitted) {
      if (this.#host.isShuttingDown) return this.#turnAway(pod);
      if (node === undefined) return this.#retry();
      const refusal = this.#host.refusalOf(pod, node);
      if (refusal !== undefined) return this.#conclude(pod, refusedStatus(refusal));
      this.#admitted = true;
    }
    if (this.#host.isShuttingDown) return this.#endBy(pod, shutDown);
    const leftMs = this.#leftMs(pod);
    if (leftMs !== undefined && leftMs <= 0) return this.#endBy(pod, overdue);
    const nextMs = await this.#keepRunning(pod, node);
    return leftMs === undefined || nextMs === undefined ? (nextMs ?? leftMs) : Math.min(leftMs, nextMs);
  }

  async #keepRunning(pod: Pod, node: Node | undefined): Promise<number | undefined> {
    const { machine } = this.#host;
    const addresses = this.#host.addressesOf(this.#uid);
    const process = machine.processOf(this.#uid);
    if (process !== undefined) return this.#publish(pod, runningStatus(pod, process, addresses));
    const now = machine.clock.now();
    const exit = machine.exitOf(this.#uid);
    const hasRun = machine.hasRun(this.#uid);
    // Started and not seen to end: the machine died under it.
    const code = exit?.code ?? (hasRun ? unseenExitCode : undefined);
    if (code !== undefined && !restarts(pod, code)) return this.#conclude(pod, endedStatus(pod, exit, now));
    const waitMs = exit === undefined ? 0 : this.#backOff.waitMs(exit.at, now);
    const waiting = waitMs > 0 ? this.#backingOff(pod) : { reason: 'ContainerCreating' };
    const wanted = waitingStatus(pod, addresses, now, { waiting, hasRun, ...(exit === undefined ? {} : { exit }) });
    // Back from a back-off: what was said before it still holds, until the container runs.
    const again = exit !== undefined && waitMs === 0 && !isReady(pod);
    if (!again && statusPatch(pod, wanted) !== undefined) return this.#publish(pod, wanted);
    if (waitMs > 0) return waitMs;
    return node === undefined ? this.#retry() : this.#start(pod, node);
  }

  #backingOff({ metadata, spec }: Pod): Waiting {
    const names = spec.containers.map(({ name }) => name).join();
    const who = `container=${names} pod=${metadata.name}_${metadata.namespace}(${this.#uid})`;
    return { reason: 'CrashLoopBackOff', message: `back-off ${this.#backOff.text} restarting failed ${who}` };
  }

  /** Until the pod's own deadline; undefined where it has none, or has not started yet. */
  #leftMs({ spec, status }: Pod): number | undefined {
    if (spec.activeDeadlineSeconds === undefined || status?.startTime === undefined) return undefined;
    return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000 - this.#host.machine.clock.now();
  }

  /** Whoever tolerates everything is bound here again at once: it takes its time, or there would be no end to it. */
  #turnAway(pod: Pod): Promise<number | undefined> {
    const now = this.#host.machine.clock.monotonic();
    this.#startAt ??= now + turnedAwayAfterMs;
    const inMs = this.#startAt - now;
    return inMs > 0 ? Promise.resolve(inMs) : this.#conclude(pod, refusedStatus(rejected));
  }

  async #endBy(pod: Pod, why: Refusal): Promise<number | undefined> {
    const { machine } = this.#host;
    if (!this.#halted(pod)) return undefined;
    return this.#conclude(pod, endedStatus(pod, machine.exitOf(this.#uid), machine.clock.now(), why));
  }

  /** The pod has ended by itself: say so, then let go of everything. */
  async #conclude(pod: Pod, final: WantedStatus): Promise<number | undefined> {
    this.#final ??= final;
    if (statusPatch(pod, this.#final) !== undefined) return this.#publish(pod, this.#final);
    return this.#windDown(pod);
  }

  async #start(pod: Pod, node: Node): Promise<number | undefined> {
    const host = this.#host;
    const volumes = this.#volumes ?? (await this.#resolve(pod));
    if (volumes === undefined) return this.#retry();
    host.claim(this.#uid, volumes);
    // Mounting what the API does not yet call in use would let the controller detach it underneath.
    if (!host.claimsReported(volumes)) return undefined;
    const attached = new Set((node.status?.volumesAttached ?? []).map(({ name }) => name));
    if (!volumes.every(({ attachName }) => attachName === undefined || attached.has(attachName))) return undefined;
    if (!(await attachmentsConfirmed(host.client, volumes, host.nodeName, this.#call()))) return this.#retry();
    const behaviour = host.behaviourOf(pod);
    const now = host.machine.clock.monotonic();
    this.#startAt ??= now + behaviour.startupMs;
    if (now < this.#startAt) return this.#startAt - now;
    // Time has passed since the pod was looked at: it may be another one now, or none.
    if (host.signal.aborted || this.#gone || this.#pod !== pod) return 0;
    host.machine.mount(this.#uid, volumes);
    const exit = host.machine.exitOf(this.#uid);
    if (exit !== undefined) this.#backOff.started(exit.at, host.machine.clock.now());
    const { namespace = '', name } = pod.metadata;
    host.machine.startProcess({ uid: this.#uid, namespace, name }, behaviour.exit);
    this.#startAt = undefined;
    return 0;
  }

  async #resolve(pod: Pod): Promise<readonly MountedVolume[] | undefined> {
    const volumes = await volumesOf(this.#host.client, pod, this.#call());
    if (!volumes.ok) return this.#problem(volumes.error);
    this.#volumes = volumes.value;
    return volumes.value;
  }

  /** Deleted with grace: end the processes, say how they ended, give the volumes back, then let the object go. */
  async #terminate(pod: Pod): Promise<number | undefined> {
    if (!this.#halted(pod)) return undefined;
    const host = this.#host;
    if (!isFinished(pod)) {
      const exit = host.machine.exitOf(this.#uid);
      return this.#publish(pod, endedStatus(pod, exit, host.machine.clock.now()));
    }
    if (!this.#released()) return undefined;
    if (this.#deleted) return undefined;
    const options = { ...this.#call(), gracePeriodSeconds: 0 };
    const deleted = await host.client.delete(this.#ref(pod), { uid: this.#uid }, options);
    if (deleted.ok || deleted.error.kind === 'notFound' || deleted.error.kind === 'conflict') {
      this.#deleted = true;
      return undefined;
    }
    this.#problem(deleted.error);
    return this.#retry();
  }

  /** Finished or refused, but still in the API: nothing of it may run or stay mounted. */
  #windDown(pod: Pod): Promise<undefined> {
    if (this.#halted(pod)) this.#released();
    return Promise.resolve(undefined);
  }

  #cleanUp(): Promise<undefined> {
    if (this.#halted(this.#pod) && this.#released()) {
      this.#host.machine.forget(this.#uid);
      this.#host.finished(this.#uid);
    }
    return Promise.resolve(undefined);
  }

  /** True once nothing of the pod runs; asks what does to end. */
  #halted(pod: Pod | undefined): boolean {
    const { machine } = this.#host;
    if (machine.processOf(this.#uid) === undefined) return true;
    if (this.#ending) return false;
    this.#ending = true;
    const grace = pod?.metadata.deletionGracePeriodSeconds ?? pod?.spec.terminationGracePeriodSeconds ?? 0;
    const needsMs = pod === undefined ? leastGraceMs : this.#host.behaviourOf(pod).stopMs;
    machine.stopProcess(this.#uid, needsMs, Math.max(leastGraceMs, grace * 1000));
    return false;
  }

  /** True once the volumes are unmounted and the API no longer calls them in use. */
  #released(): boolean {
    this.#host.machine.unmount(this.#uid);
    this.#host.claim(this.#uid, []);
    return this.#host.claimsReported(this.#volumes ?? []);
  }

  /** Writes what the API does not say yet; the watch, or the answer, then leads to the next step. */
  async #publish(pod: Pod, wanted: WantedStatus): Promise<number | undefined> {
    const patch = statusPatch(pod, wanted);
    if (patch === undefined) return undefined;
    const { client } = this.#host;
    const options = { ...this.#call(), subresource: 'status' };
    const written = await client.patch<Pod>(this.#ref(pod), patch.only, patch.operations, options);
    if (written.ok) {
      this.update(written.value);
      return undefined;
    }
    if (written.error.kind === 'notFound') return undefined;
    if (written.error.kind !== 'conflict') this.#problem(written.error);
    const fresh = await client.get<Pod>(this.#ref(pod), this.#call());
    if (fresh.ok && fresh.value.metadata.uid === this.#uid) this.update(fresh.value);
    return this.#retry();
  }

  #ref(pod: Pod): ObjectRef {
    return { resource: pods, namespace: pod.metadata.namespace ?? '', name: pod.metadata.name };
  }

  #call(): CallOptions {
    return { signal: this.#host.signal, timeoutMs: 10_000 };
  }

  /** Without a link every attempt is in vain; the kubelet kicks when it is back. */
  #retry(): number | undefined {
    if (!this.#host.machine.connected) return undefined;
    return this.#host.retryMs * (0.5 + this.#host.random());
  }

  #problem(error: KubeError): undefined {
    if (!this.#host.signal.aborted) this.#host.onProblem(error);
  }
}

function restarts(pod: Pod, exitCode: number): boolean {
  const policy = pod.spec.restartPolicy ?? 'Always';
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
