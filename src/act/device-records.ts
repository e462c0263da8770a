/**
 * The FenceDevices as they are stored, with what has been learnt since. What is learnt is a function of what was known: it is
 * written a moment later, beside everything else, and learnt again over whatever somebody else has written meanwhile. So nobody's
 * write is written over, a deletion included, and none of ours is lost.
 */
import { isDeepStrictEqual } from 'node:util';
import { timeOf } from '../api/facts.ts';
import type { FenceDeviceSpec, FenceDeviceStatus } from '../api/fence-device.ts';
import type { Clock } from '../clock.ts';
import type { CallOptions, KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import { compareVersions } from '../kube/resource-version.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { fenceDevices } from '../kube/resources.ts';

export interface StoredDevice extends KubeObject {
  spec: FenceDeviceSpec;
  status?: FenceDeviceStatus;
}

export interface DeviceRecordsOptions {
  client: KubeClient;
  clock: Clock;
  namespace: string;
  /** Asked at the wire before every write. */
  isLeading: () => boolean;
  onProblem: (source: string, error: KubeError) => void;
  /** What became of a write; undefined: it is stored. */
  onKept?: (error: KubeError | undefined) => void;
}

/** Learnt twice, it comes to the same. */
type Lesson = (before: FenceDeviceStatus) => FenceDeviceStatus;

export interface DeviceRecord {
  readonly name: string;
  spec: FenceDeviceSpec;
  /** What is known of it: as it is stored, and what was learnt since. */
  status: FenceDeviceStatus;
  /** As it is stored; absent: it is not, as far as we know. */
  object?: StoredDevice;
  /** What was learnt and is not stored, in this order. */
  lessons: readonly Lesson[];
  isSaving: boolean;
  /** What this process alone remembers. */
  own: Recollection;
}

export interface Recollection {
  /** When it last said off, by our own clock, and in which boot of the machine; how to weigh that again. */
  saidOff?: { atMs: number; bootId: string; again: () => void } | undefined;
  /** When it was last asked and said off, by our own clock; it may have said so before. */
  offAtMs?: number | undefined;
  /** Which outlet it is, as far as that is told apart. */
  plug?: string | undefined;
  /** It said on when nothing was known yet of whether its node lives: the next renewal will tell. */
  saidOn?: { atMs: number; renew: () => void };
}

/** What is learnt in one go is written in one go. */
const settleMs = 200;
const callTimeoutMs = 10_000;
const maxTries = 3;
/** Of these the live object tells what to do. */
const overtaken: ReadonlySet<string> = new Set(['conflict', 'notFound', 'alreadyExists']);

export class DeviceRecords {
  readonly #options: DeviceRecordsOptions;
  readonly #records = new Map<string, DeviceRecord>();
  /** Those of each node: thousands are asked about, each many times. */
  readonly #byNode = new Map<string, Set<DeviceRecord>>();

  constructor(options: DeviceRecordsOptions) {
    this.#options = options;
  }

  get all(): DeviceRecord[] {
    return [...this.#records.values()];
  }

  named(name: string): DeviceRecord | undefined {
    return this.#records.get(name);
  }

  ofNode(node: string): Iterable<DeviceRecord> {
    return this.#byNode.get(node) ?? [];
  }

  /** Of a device that nothing is stored of. */
  begin(name: string, spec: FenceDeviceSpec): DeviceRecord {
    const record: DeviceRecord = { name, spec, status: {}, lessons: [], isSaving: false, own: {} };
    this.#records.set(name, record);
    this.#file(record);
    return record;
  }

  learn(record: DeviceRecord, lesson: Lesson): void {
    const status = lesson(record.status);
    if (!isDeepStrictEqual(status, record.status))
      Object.assign(record, { status, lessons: [...record.lessons, lesson] });
    if (record.isSaving || isStored(record)) return;
    record.isSaving = true;
    this.#options.clock.after(settleMs, () => void this.#save(record));
  }

  /** All that nodes are fenced by, as they are configured now: what was made of others is left over from an earlier configuration. */
  noteNamed(named: ReadonlyMap<string, ReadonlySet<string>>): void {
    const at = timeOf(this.#options.clock.now());
    for (const record of this.#records.values()) {
      const { spec, status } = record;
      const present = named.get(spec.node ?? '');
      if (present === undefined || status.configuration === undefined || isWritten(spec)) continue;
      const isNamed = present.has(status.configuration);
      if (isNamed === (status.unnamedSince === undefined)) continue;
      // Nor does anybody want to know whether it would do.
      this.learn(record, (before) => {
        const { unnamedSince: _, fenceable: __, reason: ___, message: ____, ...known } = before;
        return isNamed ? known : { ...known, unnamedSince: at };
      });
    }
  }

  /** As it is stored now, by whomever. */
  notice(object: StoredDevice, type: 'added' | 'updated' | 'deleted'): void {
    const { name } = object.metadata;
    if (type === 'deleted') this.#drop(name);
    else this.#take(this.#records.get(name) ?? this.begin(name, object.spec), object);
  }

  /** What is not stored is forgotten: whoever leads next has learnt for itself, and an old lesson would be taken for news. */
  clear(): void {
    for (const record of this.#records.values()) {
      Object.assign(record, { lessons: [], own: {} });
      if (record.object === undefined) this.#drop(record.name);
      else this.#take(record, record.object);
    }
  }

  /** As they are stored. */
  async list(signal: AbortSignal): Promise<Result<{ items: StoredDevice[] }>> {
    const { client, namespace } = this.#options;
    return client.list<StoredDevice>(fenceDevices, { namespace }, { signal, timeoutMs: callTimeoutMs });
  }

  /** Nobody needs it any more; not one that was written to, or made anew, since it was read. */
  async forget({ metadata: { name, uid = '', resourceVersion = '' } }: StoredDevice): Promise<Result<KubeObject>> {
    return this.#options.client.delete(this.#refOf(name), { uid, resourceVersion }, this.#calls());
  }

  /** Since when its node is gone; undefined: it is there. */
  async noteGone(device: StoredDevice, goneSince: string | undefined): Promise<Result<StoredDevice>> {
    const { goneSince: _, ...known } = device.status ?? {};
    return this.#replace(device, goneSince === undefined ? known : { ...known, goneSince });
  }

  async #save(record: DeviceRecord): Promise<void> {
    const { isLeading } = this.#options;
    const isDue = (): boolean => isLeading() && !isStored(record) && this.#records.get(record.name) === record;
    for (let tries = 0; tries < maxTries && isDue(); tries += 1) {
      if (!(await this.#write(record))) break;
    }
    record.isSaving = false;
  }

  /** Whether there is any use in going on. */
  async #write(record: DeviceRecord): Promise<boolean> {
    const { client, namespace, onProblem } = this.#options;
    const { name, spec, status, object, lessons } = record;
    const made = { metadata: { name, namespace }, spec };
    const written =
      object === undefined
        ? await client.create(fenceDevices, made, this.#calls())
        : await this.#replace(object, status);
    // Made, it has no status yet: that is written next.
    if (!written.ok || object !== undefined) this.#options.onKept?.(written.ok ? undefined : written.error);
    if (written.ok) {
      // Made without its status. What was learnt while it was on its way is still to be written.
      if (object !== undefined) record.lessons = record.lessons.slice(lessons.length);
      this.#take(record, written.value);
      return true;
    }
    if (!overtaken.has(written.error.kind)) {
      onProblem('fence devices', written.error);
      return false;
    }
    const read = await client.get<StoredDevice>(this.#refOf(name), { timeoutMs: callTimeoutMs });
    if (read.ok) this.#take(record, read.value);
    // Somebody has deleted it, and is not contradicted: what is learnt from now on begins anew.
    else if (read.error.kind === 'notFound') this.#drop(name);
    return read.ok;
  }

  async #replace(object: StoredDevice, status: FenceDeviceStatus): Promise<Result<StoredDevice>> {
    const ref = this.#refOf(object.metadata.name);
    return this.#options.client.replace(ref, { ...object, status }, 'status', this.#calls());
  }

  /** What is stored goes first, if it is news; what was learnt and is not stored is learnt again from there. */
  #take(record: DeviceRecord, object: StoredDevice): void {
    const known = record.object?.metadata.resourceVersion;
    const { resourceVersion = '' } = object.metadata;
    const isNews = known === undefined || compareVersions(resourceVersion, known) > 0;
    if (isNews) {
      this.#unfile(record);
      Object.assign(record, { object, spec: object.spec });
      if (this.#records.get(record.name) === record) this.#file(record);
    }
    record.status = record.lessons.reduce((status, lesson) => lesson(status), record.object?.status ?? {});
  }

  #drop(name: string): void {
    const record = this.#records.get(name);
    this.#records.delete(name);
    if (record !== undefined) this.#unfile(record);
  }

  #file(record: DeviceRecord): void {
    const { node = '' } = record.spec;
    this.#byNode.set(node, (this.#byNode.get(node) ?? new Set()).add(record));
  }

  #unfile(record: DeviceRecord): void {
    const { node = '' } = record.spec;
    const others = this.#byNode.get(node);
    others?.delete(record);
    if (others?.size === 0) this.#byNode.delete(node);
  }

  #calls(): CallOptions {
    return { guard: this.#options.isLeading, timeoutMs: callTimeoutMs };
  }

  #refOf(name: string): ObjectRef {
    return { resource: fenceDevices, namespace: this.#options.namespace, name };
  }
}

/** By somebody, and not made here to remember a device by. */
export function isWritten({ agent, driver }: Pick<FenceDeviceSpec, 'agent' | 'driver'>): boolean {
  return agent !== undefined || driver !== undefined;
}

function isStored({ object, lessons }: DeviceRecord): boolean {
  return object !== undefined && lessons.length === 0;
}
