/**
 * Attach-detach: makes VolumeAttachments for what pods want where, and takes away what they no longer want.
 *
 * It trusts its own memory, not the VolumeAttachments: one that somebody deletes is missed only when the two are compared,
 * once a minute, and is made again if a pod still wants it, be it a dead one. It never takes a volume that the node
 * calls in use, until it has waited six minutes for an unhealthy node or the node is declared out of service.
 *
 * A detach that fails makes it forget what it knew: the volume may then be attached to another node although it was
 * never detached from the first.
 */
import { isTerminating, keyOf } from '../objects/meta.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import type { PersistentVolume, VolumeAttachment } from '../objects/volumes.ts';
import { attachmentNameOf, attachNameOf } from '../objects/volumes.ts';
import type { Api } from './api.ts';
import type { Attachment, Operation } from './attach-state.ts';
import { needsNoVolumes, VolumeLookup, VolumeState } from './attach-state.ts';
import type { ControllerHost } from './host.ts';
import type { Informer } from './informer.ts';
import { NodeVolumes } from './node-volumes.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { nodes, persistentVolumes, pods, volumeAttachments } from './resources.ts';
import type { WorkQueue } from './work-queue.ts';

const who = 'attachdetach-controller';
const managedAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';

export class AttachDetach {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #nodes: Informer<Node>;
  readonly #attachments: Informer<VolumeAttachment>;
  readonly #lookup: VolumeLookup;
  readonly #nodeVolumes: NodeVolumes;
  readonly #volumes = new Map<string, VolumeState>();
  readonly #volumesByNode = new Map<string, Set<VolumeState>>();
  /** By name of the VolumeAttachment that an operation is about. */
  readonly #concerned = new Map<string, string>();
  /** What each pod was found to want; stays when its claim goes, as long as the pod does. */
  readonly #wants = new Map<string, { uid: string; nodeName: string; names: Set<string> }>();
  readonly #queue: WorkQueue;

  constructor(host: ControllerHost, { podsByNode, podsByClaim }: PodIndexes) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#nodes = host.informers.of(nodes);
    this.#attachments = host.informers.of(volumeAttachments);
    this.#lookup = new VolumeLookup(host.informers);
    this.#queue = host.queue(who, (name) => this.#reconcile(name), { workers: 10 });
    const sources = { nodes: this.#nodes, volumesOf: (name: string) => this.#volumesByNode.get(name) ?? [] };
    this.#nodeVolumes = new NodeVolumes(host, this.#api, sources, ({ name }) => this.#queue.add(name));
    this.#nodes.on(({ key, object, previous }) => {
      if (object === undefined || previous !== undefined) return;
      for (const pod of podsByNode.of(key).values()) this.#podChanged(pod);
    });
    host.informers.of<Pod>(pods).on(({ key, object }) => {
      if (object === undefined) this.#unwant(key);
      else this.#podChanged(object);
    });
    this.#lookup.onChange(
      (claim) => podsByClaim.of(claim).values(),
      (pod) => this.#podChanged(pod),
    );
    this.#attachments.on(({ key }) => {
      const volume = this.#concerned.get(key);
      if (volume !== undefined) this.#queue.add(volume);
    });
    host.atStart(() => this.#populate());
    host.every(who, host.timings.attachSyncPeriodMs, () => this.#compare(), 'later');
  }

  /** What was attached before this controller began. */
  #populate(): void {
    const remember = (name: string, nodeName: string, confirmed: boolean): void => {
      const state = this.#state(name);
      if (state.attachments.has(nodeName)) return;
      this.#attached(state, nodeName, { confirmed, reported: confirmed, detachRequestedAt: undefined });
    };
    for (const { metadata, status } of this.#nodes.values()) {
      for (const { name } of status?.volumesAttached ?? []) remember(name, metadata.name, true);
    }
    const volumes = this.#host.informers.of<PersistentVolume>(persistentVolumes);
    for (const { spec } of this.#attachments.values()) {
      const csi = volumes.get(spec.source.persistentVolumeName ?? '')?.spec.csi;
      if (csi !== undefined) remember(attachNameOf(csi.driver, csi.volumeHandle), spec.nodeName, false);
    }
    for (const pod of this.#host.informers.of<Pod>(pods).values()) this.#podChanged(pod);
    for (const name of this.#volumes.keys()) this.#queue.add(name);
  }

  #podChanged(pod: Pod): void {
    const key = keyOf(pod);
    const { uid = '' } = pod.metadata;
    const { nodeName } = pod.spec;
    if (this.#wants.has(key) && (needsNoVolumes(pod) || this.#wants.get(key)?.uid !== uid)) this.#unwant(key);
    if (nodeName === undefined || pod.spec.volumes === undefined || needsNoVolumes(pod)) return;
    const known = this.#wants.get(key);
    if (known === undefined && !this.#isManaged(nodeName)) return;
    for (const name of this.#lookup.volumesOf(pod)) {
      if (known?.names.has(name)) continue;
      const wants = this.#wants.get(key) ?? { uid, nodeName, names: new Set<string>() };
      this.#wants.set(key, wants);
      wants.names.add(name);
      const { wanted } = this.#state(name);
      wanted.set(nodeName, (wanted.get(nodeName) ?? new Set()).add(uid));
      this.#queue.add(name);
    }
  }

  #unwant(podKey: string): void {
    const wants = this.#wants.get(podKey);
    this.#wants.delete(podKey);
    for (const name of wants?.names ?? []) {
      const { wanted } = this.#state(name);
      const uids = wanted.get(wants?.nodeName ?? '');
      uids?.delete(wants?.uid ?? '');
      if (uids?.size === 0) wanted.delete(wants?.nodeName ?? '');
      this.#queue.add(name);
    }
  }

  #isManaged(nodeName: string): boolean {
    return this.#nodes.get(nodeName)?.metadata.annotations?.[managedAnnotation] === 'true';
  }

  #state(name: string): VolumeState {
    let state = this.#volumes.get(name);
    if (state === undefined) {
      state = new VolumeState(name);
      this.#volumes.set(name, state);
    }
    return state;
  }

  /** Notices attachments that went behind its back. */
  #compare(): Promise<void> {
    for (const state of this.#volumes.values()) {
      for (const [nodeName, { confirmed }] of state.attachments) {
        if (!confirmed || state.operations.has(nodeName)) continue;
        if (this.#attachmentOf(state, nodeName)?.status?.attached === true) continue;
        this.#detached(state, nodeName);
        this.#nodeVolumes.reportSoon(nodeName);
        this.#queue.add(state.name);
      }
    }
    return Promise.resolve();
  }

  async #reconcile(name: string): Promise<number | undefined> {
    const state = this.#state(name);
    for (const nodeName of state.operations.keys()) this.#conclude(state, nodeName);
    const waits: number[] = [];
    for (const [nodeName, attachment] of state.attachments) {
      if (!state.wanted.has(nodeName)) waits.push(await this.#detach(state, nodeName, attachment));
    }
    for (const nodeName of state.wanted.keys()) waits.push(await this.#attach(state, nodeName));
    waits.push(state.untilTimeoutMs(this.#host.clock.monotonic(), this.#host.timings.attachTimeoutMs));
    if (state.idle) this.#volumes.delete(name);
    const nextMs = Math.min(...waits, Infinity);
    return nextMs === Infinity ? undefined : nextMs;
  }

  /** How an operation ended, if it has. */
  #conclude(state: VolumeState, nodeName: string): void {
    const attachment = this.#attachmentOf(state, nodeName);
    const { clock, timings } = this.#host;
    const timedOut = state.hasTimedOut(nodeName, clock.monotonic(), timings.attachTimeoutMs);
    if (state.operations.get(nodeName)?.kind === 'detach') {
      if (attachment === undefined) {
        this.#detached(state, nodeName);
        state.succeed();
      } else if (timedOut || attachment.status?.detachError !== undefined) {
        this.#failed(state, nodeName, 'detach');
      } else {
        return;
      }
    } else if (attachment === undefined || isTerminating(attachment) || attachment.status?.attachError !== undefined) {
      this.#failed(state, nodeName, 'attach');
    } else if (attachment.status?.attached === true) {
      const known = state.attachments.has(nodeName);
      this.#attached(state, nodeName, { confirmed: true, reported: true, detachRequestedAt: undefined });
      if (!known) this.#nodeVolumes.assumeInUse(nodeName, state.name);
      this.#nodeVolumes.reportSoon(nodeName);
      state.succeed();
    } else if (timedOut) {
      this.#failed(state, nodeName, 'attach');
    } else {
      return;
    }
    state.operations.delete(nodeName);
    this.#concerned.delete(this.#attachmentName(state, nodeName));
  }

  #attached(state: VolumeState, nodeName: string, attachment: Attachment): void {
    state.attachments.set(nodeName, attachment);
    this.#volumesByNode.set(nodeName, (this.#volumesByNode.get(nodeName) ?? new Set()).add(state));
  }

  #detached(state: VolumeState, nodeName: string): void {
    state.attachments.delete(nodeName);
    this.#volumesByNode.get(nodeName)?.delete(state);
  }

  #failed(state: VolumeState, nodeName: string, kind: Operation['kind']): void {
    const { detachRequestedAt } = state.attachments.get(nodeName) ?? {};
    this.#attached(state, nodeName, { confirmed: false, reported: false, detachRequestedAt });
    state.fail(kind, this.#host.clock.monotonic());
  }

  /** Answers after how long to look again, Infinity for when something changes. */
  async #detach(state: VolumeState, nodeName: string, attachment: Attachment): Promise<number> {
    if (this.#isBusy(state, nodeName)) return Infinity;
    const { clock, timings } = this.#host;
    const now = clock.monotonic();
    attachment.detachRequestedAt ??= now;
    const untilForceMs = attachment.detachRequestedAt + timings.maxWaitForUnmountMs - now;
    const timedOut = timings.forceDetachOnTimeout && untilForceMs <= 0;
    const force = timedOut && !this.#nodeVolumes.isHealthy(nodeName);
    const outOfService = this.#nodeVolumes.isOutOfService(nodeName);
    if (this.#nodeVolumes.isInUse(nodeName, state.name) && !force && !outOfService) {
      return timings.forceDetachOnTimeout && untilForceMs > 0 ? untilForceMs : Infinity;
    }
    const pauseMs = state.pauseMs('detach', now);
    if (pauseMs > 0) return pauseMs;
    // Said before it is done: a kubelet that reads the old list would mount what is about to go.
    attachment.reported = false;
    if (!(await this.#host.attempt(who, () => this.#nodeVolumes.report(nodeName)))) {
      attachment.reported = attachment.confirmed;
      state.fail('detach', now);
      return state.pauseMs('detach', now);
    }
    if (!timedOut && !outOfService && (await this.#nodeVolumes.isInUseNow(nodeName, state.name))) {
      this.#failed(state, nodeName, 'detach');
      return state.pauseMs('detach', now);
    }
    this.#begin(state, nodeName, 'detach');
    const known = this.#attachmentOf(state, nodeName);
    const asked =
      known === undefined ||
      isTerminating(known) ||
      (await this.#host.attempt(who, () => this.#api.delete(volumeAttachments, known)));
    if (asked) {
      this.#conclude(state, nodeName);
      return state.operations.has(nodeName) ? Infinity : state.pauseMs('detach', now) || Infinity;
    }
    this.#failed(state, nodeName, 'detach');
    state.operations.delete(nodeName);
    return state.pauseMs('detach', now);
  }

  async #attach(state: VolumeState, nodeName: string): Promise<number> {
    if (this.#isBusy(state, nodeName)) return Infinity;
    const attachment = state.attachments.get(nodeName);
    if (attachment !== undefined) attachment.detachRequestedAt = undefined;
    if (attachment?.confirmed === true) return Infinity;
    const taken = [...state.attachments.values()].some(({ confirmed }) => confirmed);
    if (taken && this.#lookup.isExclusive(state.name)) return Infinity;
    const now = this.#host.clock.monotonic();
    const pauseMs = state.pauseMs('attach', now);
    if (pauseMs > 0) return pauseMs;
    const volume = this.#lookup.persistentVolumeOf(state.name);
    if (volume === undefined) return Infinity;
    this.#begin(state, nodeName, 'attach');
    if (this.#attachmentOf(state, nodeName) === undefined) {
      const name = this.#attachmentName(state, nodeName);
      const source = { persistentVolumeName: volume.metadata.name };
      const spec = { attacher: state.driver, nodeName, source };
      const created = await this.#api.create<VolumeAttachment>(volumeAttachments, { metadata: { name }, spec });
      if (created === undefined) await this.#api.get(volumeAttachments, name);
    }
    this.#conclude(state, nodeName);
    return state.operations.has(nodeName) ? Infinity : state.pauseMs('attach', now);
  }

  #isBusy(state: VolumeState, nodeName: string): boolean {
    return this.#lookup.isExclusive(state.name) ? state.operations.size > 0 : state.operations.has(nodeName);
  }

  #begin(state: VolumeState, nodeName: string, kind: Operation['kind']): void {
    state.operations.set(nodeName, { kind, since: this.#host.clock.monotonic() });
    this.#concerned.set(this.#attachmentName(state, nodeName), state.name);
  }

  #attachmentName({ driver, handle }: VolumeState, nodeName: string): string {
    return attachmentNameOf(driver, handle, nodeName);
  }

  #attachmentOf(state: VolumeState, nodeName: string): VolumeAttachment | undefined {
    return this.#attachments.get(this.#attachmentName(state, nodeName));
  }
}
