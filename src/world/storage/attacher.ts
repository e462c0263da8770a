/**
 * A CSI attacher: carries out VolumeAttachments for its drivers and says so in their status.
 *
 * What the storage does and what the API says are two steps, in this order; the listener hears of the first, so that a
 * ledger of who can reach a volume does not depend on the API being up.
 */
import type { Clock } from '../../clock.ts';
import type { CallOptions, JsonPatchOperation, KubeClient, KubeObject } from '../../kube/client.ts';
import type { KubeError } from '../../kube/errors.ts';
import type { ListWatchTimings } from '../../kube/list-watch.ts';
import { ListWatch } from '../../kube/list-watch.ts';
import { compareVersions } from '../../kube/resource-version.ts';
import { volumeAttachments } from '../../kube/resources.ts';
import type { Change } from '../../kube/view.ts';
import { apiTime } from '../objects/times.ts';
import type { VolumeAttachment } from '../objects/volumes.ts';
import { LevelLoop } from '../time/level-loop.ts';

export type DetachFault = 'none' | 'errors' | 'hangs';

export interface AttacherTimings {
  attachMs: number;
  detachMs: number;
  /** After a failed call or a failed detach. */
  retryMs: number;
}

export const defaultAttacherTimings: AttacherTimings = { attachMs: 200, detachMs: 200, retryMs: 1000 };

export interface AttacherOptions {
  client: KubeClient;
  clock: Clock;
  random: () => number;
  drivers: readonly string[];
  timings?: Partial<AttacherTimings>;
  watch?: Partial<ListWatchTimings>;
  onProblem: (error: KubeError) => void;
  /** Why the storage does not attach it now, if it does not: asked again until it does. */
  refuses?: (attachment: VolumeAttachment) => string | undefined;
  /** Why the storage does not take it from its node now, if it does not: asked again until it does. */
  refusesDetach?: (attachment: VolumeAttachment) => string | undefined;
  /** The storage has done it. */
  onStorage?: (change: { type: 'attached' | 'detached'; attachment: VolumeAttachment }) => void;
}

/** As the stock attacher writes the names of drivers. */
export function attacherFinalizer(driver: string): string {
  return `external-attacher/${driver.replaceAll(/[^a-zA-Z0-9-]/g, '-')}`;
}

export class Attacher {
  readonly #options: AttacherOptions;
  readonly #timings: AttacherTimings;
  readonly #drivers: Set<string>;
  readonly #faults = new Map<string, DetachFault>();
  readonly #workers = new Map<string, AttachmentWorker>();
  readonly #watch: ListWatch<VolumeAttachment>;

  constructor(options: AttacherOptions) {
    this.#options = options;
    this.#timings = { ...defaultAttacherTimings, ...options.timings };
    this.#drivers = new Set(options.drivers);
    this.#watch = new ListWatch<VolumeAttachment>({
      client: options.client,
      clock: options.clock,
      random: options.random,
      onProblem: options.onProblem,
      timings: options.watch ?? {},
      resource: volumeAttachments,
      project: (object: KubeObject) => object as VolumeAttachment,
      onChange: (change) => this.#onChange(change),
    });
  }

  /** A fault holds until it is set to `none`; detaches under way go on from there. */
  setDetachFault(driver: string, fault: DetachFault): void {
    this.#faults.set(driver, fault);
    for (const worker of this.#workers.values()) worker.kick();
  }

  install(driver: string): void {
    this.#drivers.add(driver);
    for (const { uid, value } of this.#watch.entries.values()) this.#take(uid, value);
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#watch.run(signal);
    for (const worker of this.#workers.values()) worker.stop();
    this.#workers.clear();
  }

  #onChange({ type, entry }: Change<VolumeAttachment>): void {
    if (type !== 'deleted') {
      this.#take(entry.uid, entry.value);
      return;
    }
    this.#workers.get(entry.uid)?.stop();
    this.#workers.delete(entry.uid);
  }

  #take(uid: string, attachment: VolumeAttachment): void {
    const driver = attachment.spec.attacher;
    if (!this.#drivers.has(driver)) return;
    const known = this.#workers.get(uid);
    if (known !== undefined) {
      known.update(attachment);
      return;
    }
    const fault = (): DetachFault => this.#faults.get(driver) ?? 'none';
    const worker = new AttachmentWorker({ ...this.#options, timings: this.#timings, uid, fault }, attachment);
    this.#workers.set(uid, worker);
    worker.kick();
  }
}

interface WorkerOptions extends AttacherOptions {
  timings: AttacherTimings;
  uid: string;
  fault: () => DetachFault;
}

class AttachmentWorker {
  readonly #options: WorkerOptions;
  readonly #loop: LevelLoop;
  readonly #ended = new AbortController();
  readonly #finalizer: string;
  #attachment: VolumeAttachment;
  #dueAt: number | undefined;
  #detached = false;

  constructor(options: WorkerOptions, attachment: VolumeAttachment) {
    this.#options = options;
    this.#attachment = attachment;
    this.#finalizer = attacherFinalizer(attachment.spec.attacher);
    this.#loop = new LevelLoop(options.clock, () => this.#step());
  }

  update(attachment: VolumeAttachment): void {
    const known = this.#attachment.metadata.resourceVersion ?? '';
    if (compareVersions(attachment.metadata.resourceVersion ?? '', known) <= 0) return;
    this.#attachment = attachment;
    this.#loop.kick();
  }

  kick(): void {
    this.#loop.kick();
  }

  stop(): void {
    this.#ended.abort();
    this.#loop.stop();
  }

  #step(): Promise<number | undefined> {
    const attachment = this.#attachment;
    const { deletionTimestamp, finalizers = [] } = attachment.metadata;
    const ours = finalizers.includes(this.#finalizer);
    if (deletionTimestamp !== undefined) return ours ? this.#detach(attachment) : Promise.resolve(undefined);
    // Before anything is attached: without the finalizer the object could go while the volume stays.
    if (!ours) return this.#patch(finalizerAdded(attachment, this.#finalizer));
    return attachment.status?.attached === true ? Promise.resolve(undefined) : this.#attach(attachment);
  }

  async #attach(attachment: VolumeAttachment): Promise<number | undefined> {
    const waitMs = this.#untilDue(this.#options.timings.attachMs);
    if (waitMs > 0) return waitMs;
    const refusal = this.#options.refuses?.(attachment);
    if (refusal !== undefined) return this.#refused(attachment, refusal);
    this.#options.onStorage?.({ type: 'attached', attachment });
    return this.#patch([{ op: 'add', path: '/status', value: { attached: true } }], 'status');
  }

  async #refused(attachment: VolumeAttachment, message: string): Promise<number> {
    const { clock, timings } = this.#options;
    const value = { attached: false, attachError: { time: apiTime(clock.now()), message } };
    const known = attachment.status?.attachError?.message === message;
    if (!known) await this.#patch([{ op: 'add', path: '/status', value }], 'status');
    return timings.retryMs;
  }

  async #detach(attachment: VolumeAttachment): Promise<number | undefined> {
    const { timings, fault, onStorage, refusesDetach } = this.#options;
    if (!this.#detached) {
      const current = fault();
      if (current === 'hangs') return undefined;
      const waitMs = this.#untilDue(timings.detachMs);
      if (waitMs > 0) return waitMs;
      const refusal = current === 'errors' ? 'detach failed, as the simulation wants it' : refusesDetach?.(attachment);
      if (refusal !== undefined) return this.#refusedDetach(attachment, refusal);
      this.#detached = true;
      onStorage?.({ type: 'detached', attachment });
    }
    if (attachment.status?.attached === true) {
      return this.#patch([{ op: 'add', path: '/status', value: { attached: false } }], 'status');
    }
    return this.#patch(finalizerRemoved(attachment, this.#finalizer));
  }

  async #refusedDetach(attachment: VolumeAttachment, message: string): Promise<number> {
    const { clock, timings } = this.#options;
    const detachError = { time: apiTime(clock.now()), message };
    const known = attachment.status?.detachError?.message === message;
    if (!known) await this.#patch([{ op: 'add', path: '/status/detachError', value: detachError }], 'status');
    return timings.retryMs;
  }

  /** Zero once the work that takes `durationMs` is done; the next piece of work starts its own time. */
  #untilDue(durationMs: number): number {
    const now = this.#options.clock.monotonic();
    this.#dueAt ??= now + durationMs;
    const waitMs = this.#dueAt - now;
    if (waitMs <= 0) this.#dueAt = undefined;
    return Math.max(0, waitMs);
  }

  async #patch(operations: JsonPatchOperation[], subresource?: string): Promise<number | undefined> {
    const { client, uid, timings, random, onProblem } = this.#options;
    const { name, resourceVersion = '' } = this.#attachment.metadata;
    const ref = { resource: volumeAttachments, name };
    const call: CallOptions = { signal: this.#ended.signal, timeoutMs: 10_000 };
    const options = subresource === undefined ? call : { ...call, subresource };
    const patched = await client.patch<VolumeAttachment>(ref, { uid, resourceVersion }, operations, options);
    if (patched.ok) {
      this.update(patched.value);
      return undefined;
    }
    if (this.#ended.signal.aborted || patched.error.kind === 'notFound') return undefined;
    onProblem(patched.error);
    const fresh = await client.get<VolumeAttachment>(ref, call);
    if (fresh.ok && fresh.value.metadata.uid === uid) this.update(fresh.value);
    return timings.retryMs * (0.5 + random());
  }
}

function finalizerAdded({ metadata }: VolumeAttachment, finalizer: string): JsonPatchOperation[] {
  return metadata.finalizers === undefined
    ? [{ op: 'add', path: '/metadata/finalizers', value: [finalizer] }]
    : [{ op: 'add', path: '/metadata/finalizers/-', value: finalizer }];
}

function finalizerRemoved({ metadata }: VolumeAttachment, finalizer: string): JsonPatchOperation[] {
  const rest = (metadata.finalizers ?? []).filter((name) => name !== finalizer);
  return [{ op: 'replace', path: '/metadata/finalizers', value: rest }];
}
