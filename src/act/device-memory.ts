/**
 * Remembers devices: what they say is learnt from, by the rule that is handed in, and kept in their FenceDevices. Whoever asks a
 * device does not wait for that. What is lost with the process is found out again; until then the word of a device is worth less,
 * not more.
 */
import { timeOf } from '../api/facts.ts';
import type { Method } from '../api/fence-config.ts';
import type { FenceDeviceStatus } from '../api/fence-device.ts';
import { hash } from '../api/hash.ts';
import { isShown, learntWith } from '../api/learnt.ts';
import { ofAnother } from '../api/named-machine.ts';
import { outletsOf, secretPlace } from '../api/plug.ts';
import { isRenewing, RENEWAL_UNDERWAY_MS, silentAfterMs } from '../api/life.ts';
import type { Heard, Outlets, PowerAnswer, Said, Together } from '../api/power.ts';
import { deviceHash, levelKey } from '../api/power.ts';
import type { LeaseSign, LiveNode } from '../api/release-view.ts';
import type { DeviceRecord, DeviceRecordsOptions, Recollection } from './device-records.ts';
import { DeviceRecords, isWritten } from './device-records.ts';
import type { Asked } from './device-tasks.ts';
import { PlugBook } from './plug-book.ts';

interface Life {
  lease?: LeaseSign | undefined;
  /** How long ago its last renewal was made, at most; absent: it was made when it was seen. */
  provenForMs?: number | undefined;
  bootId: string;
  machine?: string | undefined;
}

export interface DeviceMemoryOptions extends DeviceRecordsOptions {
  /** What is known of whether a node lives. */
  lifeOf: (node: string) => Life;
  /** Another node that says that it is this machine. */
  rivalOf: (node: string, key: string) => string | undefined;
  learn: (before: FenceDeviceStatus, heard: Heard) => FenceDeviceStatus;
  learnCut: (before: FenceDeviceStatus, cut: Cut) => FenceDeviceStatus;
  learnSwapped: (before: FenceDeviceStatus, told: { at: string; message: string }) => FenceDeviceStatus;
  learnNeverOff: (before: FenceDeviceStatus, told: { at: string; message: string }) => FenceDeviceStatus;
  /** What a device said, as it is weighed. */
  recall: (said: Said, status: FenceDeviceStatus, beside: { together?: Together; isShown?: boolean }) => PowerAnswer;
  /** Whether a drill has shown whose power it is, with these others. */
  isDrilled: (status: FenceDeviceStatus, level: string | undefined) => boolean;
}

type Cut = Pick<Heard, 'at' | 'configuration' | 'bootId' | 'isAlive' | 'machine'> & { level?: string | undefined };
type Levels = readonly (readonly Outlets[])[];

/** A machine that was booted renews its Lease, and says in which boot it is, at about the same time. */
const bootToldMs = 3000;
const longestName = 253;
const maxMessage = 1024;

export class DeviceMemory {
  readonly #options: DeviceMemoryOptions;
  readonly records: DeviceRecords;
  #shared: ReadonlyMap<string, string> = new Map();
  readonly #configured = new Map<string, Levels>();
  /** Devices that wait for a renewal, by node. */
  readonly #waiting = new Map<string, Set<DeviceRecord>>();
  /** The last word of each device of a node, by how it is reached. */
  readonly #lastWords = new Map<string, PowerAnswer>();
  readonly #plugs: PlugBook;
  /** Told of each node of which a device has said off. */
  onOff: (node: string) => void = () => {};

  constructor(options: DeviceMemoryOptions) {
    this.#options = options;
    this.records = new DeviceRecords(options);
    this.#plugs = new PlugBook((record) => this.records.named(record.name) === record);
  }

  /** This instance does not lead any more. */
  clear(): void {
    this.records.clear();
    this.#plugs.clear();
    this.#waiting.clear();
    this.#lastWords.clear();
  }

  /** Learns from what a device of a node said, and answers with what is known of it. */
  hear(node: LiveNode, asked: Asked, heard: { said: Said; by: Heard['by'] }): PowerAnswer {
    const answer = this.#weighed(node, asked, heard);
    const { own } = this.#recordOf(node.name, asked.method);
    const isOff = heard.said.power === 'off';
    own.offAtMs = isOff ? this.#options.clock.monotonic() : undefined;
    if (isOff) this.onOff(node.name);
    if (answer.power !== 'unknown') this.#lastWords.set(wordOf(node.name, asked.method), answer);
    return answer;
  }

  /** What it said, if on was the last; undefined: off was, or it has said nothing. */
  saysOn(node: string, method: Method): string | undefined {
    const last = this.#lastWords.get(wordOf(node, method));
    return last?.power === 'on' ? last.message : undefined;
  }

  /** What was said once may be weighed again, and is as old as it was. */
  #weighed(node: LiveNode, asked: Asked, heard: { said: Said; by: Heard['by'] }): PowerAnswer {
    const { clock, learn, recall, rivalOf } = this.#options;
    const { method, what } = asked;
    const said = ofAnother(node, method, { said: heard.said, rival: (key) => rivalOf(node.name, key) });
    const record = this.#recordOf(node.name, method);
    const { own } = record;
    const { lease, provenForMs, isAlive, bootId, machine } = this.#lifeOf(node.name);
    const again = (): void => void this.#weighed(node, asked, heard);
    if (said.power === 'on' && !isAlive && lease !== undefined && lease.renewed !== true) {
      own.saidOn = { atMs: clock.monotonic(), renew: again };
      this.#wait(node.name, record);
    }
    const saidOff = own.saidOff?.bootId === bootId ? own.saidOff : undefined;
    const nowMs = clock.monotonic();
    const renewedAtMs = lease?.renewed === true ? nowMs - (provenForMs ?? lease.unchangedForMs) : -Infinity;
    const configuration = deviceHash(method);
    const allOffMs = saidOff && this.#allOffMs(node.name, configuration, saidOff);
    const news: Heard = {
      by: heard.by,
      said,
      device: method.driver,
      configuration,
      place: secretPlace(method, said.plug),
      what,
      at: timeOf(clock.now()),
      isAlive,
      bootId,
      machine,
      isPart: this.#isPart(node.name, configuration, bootId),
      isContradicted: what === 'power' && allOffMs !== undefined && renewedAtMs > allOffMs + RENEWAL_UNDERWAY_MS,
      cleared: record.spec.cleared,
      sharedWith: this.#shared.get(`${node.name} ${configuration}`) ?? this.#sharedBy(record, said.plug),
    };
    this.records.learn(record, (before) => learn(before, news));
    if (said.power === 'on') own.saidOff = undefined;
    else if (said.power === 'off') {
      own.saidOff = saidOff ?? { atMs: nowMs, bootId, again };
      if (what === 'power' && record.status.wrong === undefined) this.#wait(node.name, record);
    }
    const together = what === 'power' ? { together: this.#together(node.name, configuration, bootId) } : {};
    return recall(said, record.status, { ...together, isShown: isShown(record.spec.shown, record.status) });
  }

  #levelOf(node: string, configuration: string): readonly Outlets[] {
    const level = this.#configured.get(node)?.find((devices) => devices.some(({ device }) => device === configuration));
    return level ?? [{ device: configuration, outlets: 1 }];
  }

  /** Where its outlets are in a Secret, it has told how many there are. */
  #together(node: string, configuration: string, bootId: string): Together {
    const level = this.#levelOf(node, configuration);
    const records = level.map(({ device, outlets }) => ({ outlets, record: this.#find(node, device) }));
    const count = records.map(({ outlets, record }) => Math.max(outlets, outletsOf(record?.own.plug ?? '').length));
    const known = level.map(({ device }) => this.#knownOf(node, device));
    return { node, level: levelKey(level), outlets: count.reduce((sum, one) => sum + one, 0), known, bootId };
  }

  /** The machine may have power by another device of the level. */
  #isPart(node: string, configuration: string, bootId: string): boolean {
    const others = this.#levelOf(node, configuration).filter(({ device }) => device !== configuration);
    return others.some(({ device }) => this.#find(node, device)?.own.saidOff?.bootId !== bootId);
  }

  /** Since when all devices of its level have said off, in this boot: that it lives contradicts them together, and not one of them. */
  #allOffMs(node: string, configuration: string, { atMs, bootId }: NonNullable<Recollection['saidOff']>): number {
    const times = this.#levelOf(node, configuration).map(({ device }) => {
      const { saidOff } = this.#find(node, device)?.own ?? {};
      return device === configuration ? atMs : saidOff?.bootId === bootId ? saidOff.atMs : Infinity;
    });
    return Math.max(atMs, ...times);
  }

  /** Another node that is there has the same outlet, wherever that is written: what is in Secrets shows here alone. */
  #sharedBy(record: DeviceRecord, plug: string | undefined): string | undefined {
    const known = plug ?? record.own.plug;
    if (known === undefined) return undefined;
    this.#plugs.note(record, known);
    for (const { spec } of this.#plugs.sharing(known)) {
      const { node = '' } = spec;
      if (node !== record.spec.node && this.#options.lifeOf(node).lease !== undefined) return spec.node;
    }
    return undefined;
  }

  /** The kubelet of a node has renewed its Lease. This is nearly all traffic. */
  renewed(node: string): void {
    const waiting = this.#waiting.get(node);
    if (waiting === undefined) return;
    this.#waiting.delete(node);
    const { lease, isAlive } = this.#lifeOf(node);
    for (const { own } of waiting) {
      const { saidOn, saidOff } = own;
      // Whoever leads next has not heard it say so: that it is wrong has to be on record before anybody asks it again.
      if (saidOff !== undefined) this.#options.clock.after(bootToldMs, () => this.#weigh(node, own, saidOff));
      // One that has come long after it was asked does not say how it was then.
      const isInTime = saidOn !== undefined && this.#options.clock.monotonic() - saidOn.atMs <= silentAfterMs(lease);
      if (isInTime && isAlive) saidOn.renew();
    }
  }

  /** Unless it has said otherwise, or the machine was booted since. */
  #weigh(node: string, own: Recollection, saidOff: NonNullable<Recollection['saidOff']>): void {
    if (own.saidOff === saidOff && saidOff.bootId === this.#lifeOf(node).bootId) saidOff.again();
  }

  #wait(node: string, record: DeviceRecord): void {
    const waiting = this.#waiting.get(node) ?? new Set();
    this.#waiting.set(node, waiting.add(record));
  }

  /** Whether a node could be fenced by this device. */
  checked(node: LiveNode, method: Method, problem: { reason: string; message: string } | undefined): void {
    const why = problem === undefined ? {} : { reason: problem.reason, message: problem.message };
    const configuration = deviceHash(method);
    this.records.learn(this.#recordOf(node.name, method), (before) => {
      const { reason: _, message: __, ...rest } = before;
      return { configuration, ...rest, fenceable: problem === undefined, ...why };
    });
  }

  /** Whether it is asked all the time, where somebody wants that. */
  watched(node: LiveNode, method: Method, watch: FenceDeviceStatus['watch']): void {
    const configuration = deviceHash(method);
    this.records.learn(this.#recordOf(node.name, method), (before) => {
      const { watch: _, ...known } = before;
      return { configuration, ...known, ...(watch === undefined ? {} : { watch }) };
    });
  }

  /** What was found out about a FenceDevice that somebody has written. */
  report(name: string, { nodes, problem }: { nodes: number; problem?: string | undefined }): void {
    const record = this.records.named(name);
    if (record === undefined) return;
    const counted = record.spec.selector === undefined ? {} : { nodes };
    const invalid =
      problem === undefined
        ? {}
        : { fenceable: false, reason: 'ConfigurationInvalid', message: problem.slice(0, maxMessage) };
    this.records.learn(record, (before) => {
      const { nodes: _, ...known } = before.reason === 'ConfigurationInvalid' ? without(before) : before;
      return { ...known, ...counted, ...invalid };
    });
  }

  /** Which devices two existing nodes are configured with: by `node hash`, the other one. */
  share(shared: ReadonlyMap<string, string>): void {
    this.#shared = shared;
  }

  /** What nodes are switched off by as they are configured now, level by level; of those that are gone nothing is kept. */
  configure(configured: ReadonlyMap<string, Levels>): void {
    for (const node of this.#configured.keys()) {
      if (this.#options.lifeOf(node).lease === undefined) this.#configured.delete(node);
    }
    for (const [node, levels] of configured) this.configureNode(node, levels);
  }

  configureNode(node: string, levels: Levels): void {
    this.#configured.set(node, levels);
  }

  /** A node is about to lose its power by this device. */
  cut(node: LiveNode, method: Method): void {
    const { isAlive, bootId, machine } = this.#lifeOf(node.name);
    const configuration = deviceHash(method);
    const level = levelKey(this.#levelOf(node.name, configuration));
    const cut = { at: timeOf(this.#options.clock.now()), configuration, bootId, isAlive, level, machine };
    this.records.learn(this.#recordOf(node.name, method), (before) => this.#options.learnCut(before, cut));
  }

  /** Others fell silent when a node was cut: none of their devices is used any more that cannot say whose power it is. */
  suspect(node: string, others: readonly string[]): void {
    const at = timeOf(this.#options.clock.now());
    const message = `when ${node} was cut, ${others.join(', ')} fell silent`;
    for (const record of this.records.all) {
      if (![node, ...others].includes(record.spec.node ?? '') || !isBlind(record)) continue;
      this.records.learn(record, (before) => this.#options.learnSwapped(before, { at, message }));
    }
  }

  /** A node is back in the boot in which these had said off: they are not used any more, whoever they say that they are. */
  disprove(node: string, { methods, ...told }: { methods: readonly Method[]; at: string; message: string }): void {
    for (const method of methods) {
      const record = this.#recordOf(node, method);
      this.records.learn(record, (before) => this.#options.learnNeverOff(before, told));
    }
  }

  /** Whether nobody can know whose power a device is: it cannot say, and no drill has shown it. */
  isUnproven(node: string, method: Method): boolean {
    const configuration = deviceHash(method);
    const status = this.#knownOf(node, configuration);
    const level = levelKey(this.#levelOf(node, configuration));
    return status.identity === undefined && !this.#options.isDrilled(status, level);
  }

  /** Whether it is believed all the same, because it was seen on while its node was alive: of several outlets none is. */
  isOnTrust(node: string, method: Method): boolean {
    const configuration = deviceHash(method);
    const isSeenOn = this.#knownOf(node, configuration).seenOn !== undefined;
    return isSeenOn && this.isUnproven(node, method) && this.#together(node, configuration, '').outlets < 2;
  }

  /** Whether nobody can know whose port a device is: it cannot say, and nobody has shown it. */
  isUnshown(node: string, method: Method): boolean {
    const configuration = deviceHash(method);
    const status = this.#knownOf(node, configuration);
    return status.identity === undefined && !isShown(this.#find(node, configuration)?.spec.shown, status);
  }

  /** It has answered, and could not say. */
  isSeenUnshown(node: string, method: Method): boolean {
    return this.isUnshown(node, method) && this.#knownOf(node, deviceHash(method)).seenOn !== undefined;
  }

  /** Whether whatever of a node cannot say whose power it is has said off within this time. */
  isOutletOff(node: string, withinMs: number): boolean {
    const records = [...this.records.ofNode(node)];
    const sinceMs = this.#options.clock.monotonic() - withinMs;
    // Asked of everybody who is silent, of whom nearly nobody is off.
    return records.some((one) => hasSaidOff(one, sinceMs)) && this.#isOff(node, records, sinceMs);
  }

  /** What is left of an earlier configuration says nothing any more; of what was not asked since, nobody knows. */
  #isOff(node: string, records: readonly DeviceRecord[], sinceMs: number): boolean {
    const asked = records.filter(({ status }) => status.configuration !== undefined);
    const present = this.#configured
      .get(node)
      ?.flat()
      .map(({ device }) => asked.find(({ status }) => status.configuration === device));
    const blind = (present ?? asked).filter((one) => one?.status.identity === undefined);
    return blind.length > 0 && blind.every((one) => one !== undefined && hasSaidOff(one, sinceMs));
  }

  #lifeOf(node: string): Life & { isAlive: boolean } {
    const life = this.#options.lifeOf(node);
    return { ...life, isAlive: life.lease?.renewed === true && isRenewing(life.lease) };
  }

  /** With the machine that its node has now. */
  #knownOf(node: string, configuration: string): FenceDeviceStatus {
    return learntWith(this.#find(node, configuration)?.status ?? {}, this.#options.lifeOf(node).machine);
  }

  #find(node: string, configuration: string | undefined): DeviceRecord | undefined {
    for (const record of this.records.ofNode(node)) if (record.status.configuration === configuration) return record;
    return undefined;
  }

  #recordOf(node: string, method: Method): DeviceRecord {
    const configuration = deviceHash(method);
    const mine = this.#find(node, configuration);
    if (mine !== undefined) return mine;
    const name = this.#nameFor(node, method);
    const record = this.records.named(name) ?? this.records.begin(name, { node });
    // What was known of another configuration is about another device.
    record.own = {};
    this.records.learn(record, (before) => (before.configuration === configuration ? before : {}));
    return record;
  }

  /** What somebody has written about one node keeps what is known of it; what is written elsewhere gets an object of its own. */
  #nameFor(node: string, method: Method): string {
    if (method.object !== undefined && this.records.named(method.object) !== undefined) return method.object;
    const name = deviceName(node, method);
    return isWritten(this.records.named(name)?.spec ?? {}) ? `${name}-${hash(`${node} ${method.name}`)}` : name;
  }
}

function wordOf(node: string, method: Method): string {
  return `${node} ${deviceHash(method)}`;
}

/** It is not known any more whether it would do. */
function without(status: FenceDeviceStatus): FenceDeviceStatus {
  const { fenceable: _, reason: __, message: ___, ...rest } = status;
  return rest;
}

/** One that is known to be wrong says nothing. */
function hasSaidOff(
  { status: { power, wrong }, own: { offAtMs = -Infinity } }: DeviceRecord,
  sinceMs: number,
): boolean {
  return power === 'off' && wrong === undefined && offAtMs > sinceMs;
}

/** What has never told whose machine it is. */
function isBlind({ status }: DeviceRecord): boolean {
  return status.configuration !== undefined && status.identity === undefined;
}

/** The method may be written in letters that the name of an object must not have. */
function deviceName(node: string, { name }: Method): string {
  const plain = `${node}.${name}`;
  const fit = plain.toLowerCase().replaceAll(/[^-a-z0-9.]/g, '-');
  if (fit === plain && fit.length <= longestName && /[a-z0-9]$/.test(fit)) return fit;
  const suffix = `-${hash(plain)}`;
  return fit.slice(0, longestName - suffix.length) + suffix;
}
