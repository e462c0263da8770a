/**
 * One pod on one kubelet, from being bound to being gone. Level-based: each step looks at the pod as the API last showed
 * it and at what really runs, does the next thing, and is called again when either changes. So it does not matter
 * whether a pod is new, was running before the kubelet started, or was deleted while the node was cut off.
 */
import type { CallOptions, KubeClient } from '../kube/client.ts';
import type { KubeError } from '../kube/errors.ts';
import { compareVersions } from '../kube/resource-version.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { pods } from '../kube/resources.ts';
import { refusalOf } from './admission.ts';
import { LevelLoop } from './level-loop.ts';
import type { Machine, MountedVolume } from './machine.ts';
import type { Node, Pod } from './objects.ts';
import { isTerminal } from './objects.ts';
import type { PodAddresses } from './pod-status.ts';
import { endedStatus, refusedStatus, runningStatus, waitingStatus } from './pod-status.ts';
import { attachmentsConfirmed, volumesOf } from './pod-volumes.ts';
import type { WantedStatus } from './status-patch.ts';
import { statusPatch } from './status-patch.ts';

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
  random(): number;
  node(): Node | undefined;
  behaviourOf(pod: Pod): PodBehaviour;
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

export class PodWorker {
  readonly #host: PodHost;
  readonly #uid: string;
  readonly #loop: LevelLoop;
  #pod: Pod | undefined;
  #gone = false;
  #admitted = false;
  #deleted = false;
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

  #step(): Promise<number | undefined> {
    const pod = this.#pod;
    if (this.#gone || pod === undefined) return this.#cleanUp();
    if (pod.metadata.deletionTimestamp !== undefined) return this.#terminate(pod);
    if (isTerminal(pod)) return this.#windDown(pod);
    return this.#run(pod);
  }

  async #run(pod: Pod): Promise<number | undefined> {
    const node = this.#host.node();
    if (!this.#admitted) {
      if (node === undefined) return this.#retry();
      const refusal = refusalOf(pod, node);
      if (refusal !== undefined) return this.#publish(pod, refusedStatus(refusal));
      this.#admitted = true;
    }
    const { machine } = this.#host;
    const process = machine.processOf(this.#uid);
    if (process !== undefined) {
      return this.#publish(pod, runningStatus(pod, process, this.#host.addressesOf(this.#uid)));
    }
    const exitCode = machine.exitCodeOf(this.#uid);
    if (exitCode !== undefined && !restarts(pod, exitCode)) {
      return this.#publish(pod, endedStatus(pod, exitCode, machine.clock.now()));
    }
    if (isReady(pod)) return this.#publish(pod, waitingStatus(pod, machine.clock.now()));
    return node === undefined ? this.#retry() : this.#start(pod, node);
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
    if (!isTerminal(pod)) {
      const exitCode = host.machine.exitCodeOf(this.#uid);
      return this.#publish(pod, endedStatus(pod, exitCode, host.machine.clock.now()));
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
