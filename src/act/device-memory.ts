/**
 * Remembers devices: what they say is learnt from, by the rule that is handed in, and kept in their FenceDevices. Written a
 * moment after something has changed, beside everything else: whoever asks a device does not wait for it. What is lost
 * with the process is found out again; until then the word of a device is worth less, not more.
 */
import { isDeepStrictEqual } from 'node:util';
import { timeOf } from '../api/facts.ts';
import type { Method } from '../api/fence-config.ts';
import type { FenceDeviceSpec, FenceDeviceStatus } from '../api/fence-device.ts';
import { hash } from '../api/hash.ts';
import { isSilent, RENEWAL_UNDERWAY_MS, silentAfterMs } from '../api/life.ts';
import type { Heard, PowerAnswer, Said } from '../api/power.ts';
import { deviceHash } from '../api/power.ts';
import type { LeaseSign, LiveNode } from '../api/release-view.ts';
import type { Clock } from '../clock.ts';
import type { Asked } from './device-tasks.ts';
import type { CallOptions, KubeClient, KubeObject } from '../kube/client.ts';
import type { KubeError, Result } from '../kube/errors.ts';
import { compareVersions } from '../kube/resource-version.ts';
import type { ObjectRef } from '../kube/resources.ts';
import { fenceDevices } from '../kube/resources.ts';

export interface StoredDevice extends KubeObject {
  spec: FenceDeviceSpec;
  status?: FenceDeviceStatus;
}

export interface DeviceMemoryOptions {
  client: KubeClient;
  clock: Clock;
  namespace: string;
  /** Asked at the wire before every write. */
  isLeading: () => boolean;
  /** What is known of whether a node lives. */
  lifeOf: (node: string) => { lease?: LeaseSign | undefined; bootId: string };
  learn: (before: FenceDeviceStatus, heard: Heard) => FenceDeviceStatus;
  learnCut: (before: FenceDeviceStatus, cut: Cut) => FenceDeviceStatus;
  learnSwapped: (before: FenceDeviceStatus, told: { at: string; message: string }) => FenceDeviceStatus;
  /** What a device said, as it is weighed. */
  recall: (said: Said, status: FenceDeviceStatus) => PowerAnswer;
  onProblem: (source: string, error: KubeError) => void;
}

type Cut = Pick<Heard, 'at' | 'configuration' | 'bootId' | 'isAlive'>;

interface Entry {
  name: string;
  spec: FenceDeviceSpec;
  status: FenceDeviceStatus;
  /** As it is stored; absent: it is not, as far as we know. */
  object?: StoredDevice | undefined;
  /** When it last said off, by our own clock, and in which boot of the machine; how to weigh that again. */
  saidOff?: { atMs: number; bootId: string; again: () => void } | undefined;
  /** Which outlet it is, as far as that is told apart. */
  plug?: string | undefined;
  /** It said on when nothing was known yet of whether its node lives: the next renewal will tell. */
  saidOn?: { atMs: number; renew: () => void } | undefined;
  isSaving: boolean;
  /** As it was seen while it was being saved. */
  missed?: StoredDevice;
}

/** What is learnt in one go is written in one go. */
const settleMs = 200;
/** A machine that was booted renews its Lease, and says in which boot it is, at about the same time. */
const bootToldMs = 3000;
const callTimeoutMs = 10_000;
const maxTries = 3;
const longestName = 253;
const maxMessage = 1024;

export class DeviceMemory {
  readonly #options: DeviceMemoryOptions;
  /** By the name of the object. */
  readonly #entries = new Map<string, Entry>();
  #shared: ReadonlyMap<string, string> = new Map();
  #configured: ReadonlyMap<string, readonly string[]> = new Map();
  /** Devices that wait for a renewal, by node. */
  readonly #waiting = new Map<string, Set<Entry>>();

  constructor(options: DeviceMemoryOptions) {
    this.#options = options;
  }

  /** Learns from what a device of a node said, and answers with what is known of it. */
  hear(node: LiveNode, asked: Asked, heard: { said: Said; by: Heard['by'] }): PowerAnswer {
    const { clock, learn, recall } = this.#options;
    const { said } = heard;
    const { method, what } = asked;
    const entry = this.#entryFor(node.name, method);
    const { lease, isAlive, bootId } = this.#lifeOf(node.name);
    if (said.power === 'on' && !isAlive && lease !== undefined && lease.renewed !== true) {
      this.#await(node.name, entry, () => void this.hear(node, asked, heard));
    }
    const saidOff = entry.saidOff?.bootId === bootId ? entry.saidOff : undefined;
    const nowMs = clock.monotonic();
    const renewedAtMs = lease?.renewed === true ? nowMs - lease.unchangedForMs : -Infinity;
    const configuration = deviceHash(method);
    entry.status = learn(entry.status, {
      ...heard,
      device: method.driver,
      configuration,
      at: timeOf(clock.now()),
      isAlive,
      bootId,
      isContradicted: what === 'power' && saidOff !== undefined && renewedAtMs > saidOff.atMs + RENEWAL_UNDERWAY_MS,
      cleared: entry.spec.cleared,
      sharedWith: this.#shared.get(`${node.name} ${configuration}`) ?? this.#sharedBy(entry, said.plug),
    });
    if (said.power === 'on') entry.saidOff = undefined;
    else if (said.power === 'off') {
      entry.saidOff = saidOff ?? { atMs: nowMs, bootId, again: () => void this.hear(node, asked, heard) };
      if (what === 'power' && entry.status.wrong === undefined) this.#wait(node.name, entry);
    }
    this.#save(entry);
    return recall(said, entry.status);
  }

  /** Another node that is there has the same outlet, wherever that is written: what is in Secrets shows here alone. */
  #sharedBy(entry: Entry, plug: string | undefined): string | undefined {
    entry.plug = plug ?? entry.plug;
    if (entry.plug === undefined) return undefined;
    const other = [...this.#entries.values()].find(
      ({ plug: its, spec: { node = '' } }) =>
        its === entry.plug && node !== entry.spec.node && this.#options.lifeOf(node).lease !== undefined,
    );
    return other?.spec.node;
  }

  /** The kubelet of a node has renewed its Lease. This is nearly all traffic. */
  renewed(node: string): void {
    const waiting = this.#waiting.get(node);
    if (waiting === undefined) return;
    this.#waiting.delete(node);
    const { lease, isAlive } = this.#lifeOf(node);
    for (const entry of waiting) {
      const { saidOn, saidOff } = entry;
      // Whoever leads next has not heard it say so: that it is wrong has to be on record before anybody asks it again.
      if (saidOff !== undefined) this.#options.clock.after(bootToldMs, () => this.#weigh(node, entry, saidOff));
      // One that has come long after it was asked does not say how it was then.
      const isInTime = saidOn !== undefined && this.#options.clock.monotonic() - saidOn.atMs <= silentAfterMs(lease);
      if (isInTime && isAlive) saidOn.renew();
    }
  }

  /** Unless it has said otherwise, or the machine was booted since. */
  #weigh(node: string, entry: Entry, saidOff: NonNullable<Entry['saidOff']>): void {
    if (entry.saidOff === saidOff && saidOff.bootId === this.#lifeOf(node).bootId) saidOff.again();
  }

  #await(node: string, entry: Entry, renew: () => void): void {
    entry.saidOn = { atMs: this.#options.clock.monotonic(), renew };
    this.#wait(node, entry);
  }

  #wait(node: string, entry: Entry): void {
    const waiting = this.#waiting.get(node) ?? new Set();
    this.#waiting.set(node, waiting.add(entry));
  }

  /** Whether a node could be fenced by this device. */
  checked(node: LiveNode, method: Method, problem: { reason: string; message: string } | undefined): void {
    const entry = this.#entryFor(node.name, method);
    const { reason: _, message: __, ...rest } = entry.status;
    const why = problem === undefined ? {} : { reason: problem.reason, message: problem.message };
    entry.status = { configuration: deviceHash(method), ...rest, fenceable: problem === undefined, ...why };
    this.#save(entry);
  }

  /** What was found out about a FenceDevice that somebody has written. */
  report(name: string, { nodes, problem }: { nodes: number; problem?: string | undefined }): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const { nodes: _, ...known } = entry.status;
    const before = known.reason === 'ConfigurationInvalid' ? without(known) : known;
    const invalid =
      problem === undefined
        ? {}
        : { fenceable: false, reason: 'ConfigurationInvalid', message: problem.slice(0, maxMessage) };
    entry.status = { ...before, ...(entry.spec.selector === undefined ? {} : { nodes }), ...invalid };
    this.#save(entry);
  }

  /** Which devices two existing nodes are configured with: by `node hash`, the other one. */
  share(shared: ReadonlyMap<string, string>): void {
    this.#shared = shared;
  }

  /** What nodes are switched off by as they are configured now, by the hash of the device. */
  configure(configured: ReadonlyMap<string, readonly string[]>): void {
    this.#configured = configured;
  }

  /** A node is about to lose its power by this device. */
  cut(node: LiveNode, method: Method): void {
    const entry = this.#entryFor(node.name, method);
    const { isAlive, bootId } = this.#lifeOf(node.name);
    const at = timeOf(this.#options.clock.now());
    entry.status = this.#options.learnCut(entry.status, { at, configuration: deviceHash(method), bootId, isAlive });
    this.#save(entry);
  }

  /** Others fell silent when a node was cut: none of their devices is used any more that cannot say whose power it is. */
  suspect(node: string, others: readonly string[]): void {
    const at = timeOf(this.#options.clock.now());
    const message = `when ${node} was cut, ${others.join(', ')} fell silent`;
    for (const entry of this.#entries.values()) {
      if (![node, ...others].includes(entry.spec.node ?? '') || !isBlind(entry)) continue;
      entry.status = this.#options.learnSwapped(entry.status, { at, message });
      this.#save(entry);
    }
  }

  /** Whether nobody can know whose power a device is: it cannot say, and no drill has shown it. */
  isUnproven(node: string, method: Method): boolean {
    const { identity, drilled } = this.#find(node, method)?.status ?? {};
    return identity === undefined && drilled === undefined;
  }

  /** Nodes of which a device is remembered; `isOff`: whatever of theirs cannot say whose power it is said off last. */
  get outlets(): Map<string, { isOff: boolean }> {
    const known = Map.groupBy(this.#entries.values(), ({ spec }) => spec.node ?? '');
    return new Map([...known].map(([node, entries]) => [node, { isOff: this.#isOff(node, entries) }]));
  }

  /** What is left of an earlier configuration says nothing any more; of what was never asked, nobody knows. */
  #isOff(node: string, entries: readonly Entry[]): boolean {
    const statuses = entries.map(({ status }) => status).filter((one) => one.configuration !== undefined);
    const present = this.#configured
      .get(node)
      ?.map((configuration) => statuses.find((one) => one.configuration === configuration));
    const blind = (present ?? statuses).filter((one) => one?.identity === undefined);
    return blind.length > 0 && blind.every((one) => one?.power === 'off' && one.wrong === undefined);
  }

  /** As it is stored now, by whomever. */
  notice(object: StoredDevice, type: 'added' | 'updated' | 'deleted'): void {
    const { name } = object.metadata;
    const known = this.#entries.get(name);
    if (type === 'deleted') {
      this.#entries.delete(name);
      return;
    }
    const { spec, status = {} } = object;
    if (known === undefined) {
      this.#entries.set(name, { name, spec, status, object, isSaving: false });
      return;
    }
    // What we write ourselves is known already; whoever writes meanwhile makes our own write fail.
    if (known.isSaving) known.missed = object;
    else this.#take(known, object);
  }

  #take(known: Entry, object: StoredDevice): void {
    const { spec, status = {} } = object;
    const knownVersion = known.object?.metadata.resourceVersion;
    const { resourceVersion = '' } = object.metadata;
    if (knownVersion !== undefined && compareVersions(resourceVersion, knownVersion) <= 0) return;
    Object.assign(known, { spec, status, object });
  }

  /** As they are stored. */
  async list(signal: AbortSignal): Promise<Result<{ items: StoredDevice[] }>> {
    const { client, namespace } = this.#options;
    return client.list<StoredDevice>(fenceDevices, { namespace }, { signal, timeoutMs: callTimeoutMs });
  }

  /** Nobody needs it any more; not one that was written to, or made anew, since it was read. */
  async forget({ metadata: { name, uid = '', resourceVersion = '' } }: StoredDevice): Promise<Result<KubeObject>> {
    return this.#options.client.delete(this.#refOf({ name }), { uid, resourceVersion }, this.#calls());
  }

  /** Since when its node is gone; undefined: it is there. */
  async noteGone(device: StoredDevice, goneSince: string | undefined): Promise<Result<StoredDevice>> {
    const { goneSince: _, ...known } = device.status ?? {};
    return this.#replace(device, goneSince === undefined ? known : { ...known, goneSince });
  }

  #lifeOf(node: string): { lease: LeaseSign | undefined; isAlive: boolean; bootId: string } {
    const { lease, bootId } = this.#options.lifeOf(node);
    return { lease, bootId, isAlive: lease?.renewed === true && !isSilent(lease) };
  }

  #find(node: string, method: Method): Entry | undefined {
    const configuration = deviceHash(method);
    return [...this.#entries.values()].find(
      ({ spec, status }) => spec.node === node && status.configuration === configuration,
    );
  }

  #entryFor(node: string, method: Method): Entry {
    const mine = this.#find(node, method);
    if (mine !== undefined) return mine;
    const name = this.#nameFor(node, method);
    const known = this.#entries.get(name);
    const { spec = { node }, object } = known ?? {};
    const entry: Entry = { name, spec, status: {}, isSaving: false, ...(object && { object }) };
    this.#entries.set(name, entry);
    return entry;
  }

  /** What somebody has written about one node keeps what is known of it; what is written elsewhere gets an object of its own. */
  #nameFor(node: string, method: Method): string {
    if (method.object !== undefined && this.#entries.has(method.object)) return method.object;
    const name = deviceName(node, method);
    const { agent, driver } = this.#entries.get(name)?.spec ?? {};
    return agent === undefined && driver === undefined ? name : `${name}-${hash(`${node} ${method.name}`)}`;
  }

  #save(entry: Entry): void {
    if (entry.isSaving || isStored(entry)) return;
    entry.isSaving = true;
    this.#options.clock.after(settleMs, () => void this.#write(entry));
  }

  async #write(entry: Entry): Promise<void> {
    const { isLeading, onProblem } = this.#options;
    for (let tries = 0; tries < maxTries && isLeading() && !isStored(entry); tries += 1) {
      const written = await this.#store(entry);
      if (written.ok) {
        entry.object = written.value;
        continue;
      }
      const { kind } = written.error;
      if (kind !== 'conflict' && kind !== 'notFound') {
        onProblem('fence devices', written.error);
        break;
      }
      // Somebody else wrote to it, or has deleted it: what we know now is written over that.
      const read = await this.#options.client.get<StoredDevice>(this.#refOf(entry), { timeoutMs: callTimeoutMs });
      entry.object = read.ok ? read.value : undefined;
      if (read.ok) entry.spec = read.value.spec;
    }
    entry.isSaving = false;
    const { missed } = entry;
    delete entry.missed;
    // Written by somebody else while our own answer was under way, and not written over by us.
    if (missed !== undefined) this.#take(entry, missed);
  }

  async #store({ name, spec, status, object }: Entry): Promise<Result<StoredDevice>> {
    const { client, namespace } = this.#options;
    const made = { metadata: { name, namespace }, spec };
    if (object === undefined) return client.create(fenceDevices, made, this.#calls());
    return this.#replace(object, status);
  }

  async #replace(object: StoredDevice, status: FenceDeviceStatus): Promise<Result<StoredDevice>> {
    const ref = this.#refOf(object.metadata);
    return this.#options.client.replace(ref, { ...object, status }, 'status', this.#calls());
  }

  #calls(): CallOptions {
    return { guard: this.#options.isLeading, timeoutMs: callTimeoutMs };
  }

  #refOf({ name }: { name: string }): ObjectRef {
    return { resource: fenceDevices, namespace: this.#options.namespace, name };
  }
}

/** It is not known any more whether it would do. */
function without(status: FenceDeviceStatus): FenceDeviceStatus {
  const { fenceable: _, reason: __, message: ___, ...rest } = status;
  return rest;
}

/** What has never told whose machine it is. */
function isBlind({ status }: Entry): boolean {
  return status.configuration !== undefined && status.identity === undefined;
}

function isStored({ object, status }: Entry): boolean {
  return object !== undefined && isDeepStrictEqual(object.status ?? {}, status);
}

/** The method may be written in letters that the name of an object must not have. */
function deviceName(node: string, { name }: Method): string {
  const plain = `${node}.${name}`;
  const fit = plain.toLowerCase().replaceAll(/[^-a-z0-9.]/g, '-');
  if (fit === plain && fit.length <= longestName && /[a-z0-9]$/.test(fit)) return fit;
  const suffix = `-${hash(plain)}`;
  return fit.slice(0, longestName - suffix.length) + suffix;
}
