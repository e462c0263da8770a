/**
 * The truth about the data: which process can write to which volume at this moment, and what the volume holds because
 * of it. It is taken from the machines and from what the storage system really did, never from the API: a node that
 * is cut off from the API goes on writing, one that has lost its power does not.
 *
 * Writing is modelled as a log. Who opens a volume reads its end; from then on each record is put behind the one that
 * the writer last knew. If somebody else has written meanwhile, a record is lost: the data is no longer intact.
 */
import type { Clock } from '../../clock.ts';
import type { Machine, MachineEvent, Process } from '../machines/machine.ts';
import type { VolumeAttachment } from '../objects/volumes.ts';

export interface StorageOptions {
  clock: Clock;
  /** Whether several machines may write at once, as with ReadWriteMany; asked when a volume is first opened. */
  isShared: (persistentVolume: string) => boolean;
  /** Whether detaching takes the access away; otherwise whoever has it mounted can go on. Asked at the detach. */
  isSafeDetach: (driver: string) => boolean;
  onWriter?: (change: WriterChange) => void;
}

export interface Writer {
  machine: string;
  process: Process;
  volume: string;
  driver: string | undefined;
}

export interface WriterChange {
  type: 'began' | 'ended';
  writer: Writer;
  /** Those of this volume after the change. */
  writers: readonly Writer[];
}

/** For a while two machines could write to a volume that is for one. */
export interface Overlap {
  volume: string;
  sinceMs: number;
  untilMs?: number;
  machines: readonly string[];
}

export interface VolumeReport {
  volume: string;
  /** The most machines that could write at one moment. */
  mostWriters: number;
  overlaps: readonly Overlap[];
  dataIntact: boolean;
  /** When a record was first lost. */
  damagedAtMs?: number;
  records: number;
}

interface End {
  records: number;
  checksum: number;
}

interface Session extends Writer {
  /** The end of the log as this process knows it; undefined until it could first read. */
  known: End | undefined;
  writing: boolean;
}

interface Volume {
  name: string;
  shared: boolean;
  end: End;
  sessions: Set<Session>;
  mostWriters: number;
  overlaps: Overlap[];
  damagedAtMs: number | undefined;
}

export class Storage {
  readonly #options: StorageOptions;
  readonly #machines = new Map<string, Machine>();
  readonly #volumes = new Map<string, Volume>();
  readonly #sessions = new Map<string, Set<Session>>();
  readonly #cutOff = new Set<string>();
  readonly #fenced = new Map<string, Set<string>>();
  /** `machine/volume`: detached so that the machine has no access left. */
  readonly #revoked = new Set<string>();
  /** By volume: the machines that it was attached to and not detached from. */
  readonly #attachedTo = new Map<string, Set<string>>();

  constructor(options: StorageOptions) {
    this.#options = options;
  }

  watch(machine: Machine): void {
    this.#machines.set(machine.name, machine);
    this.#sessions.set(machine.name, new Set());
    machine.on((event) => this.#onMachine(machine, event));
  }

  /** What the attacher's storage system has done. */
  attachmentChanged(change: { type: 'attached' | 'detached'; attachment: VolumeAttachment }): void {
    const { nodeName, source, attacher } = change.attachment.spec;
    const volume = source.persistentVolumeName;
    if (volume === undefined) return;
    const key = `${nodeName}/${volume}`;
    const machines = this.#attachedTo.get(volume) ?? new Set();
    if (change.type === 'attached') {
      this.#attachedTo.set(volume, machines.add(nodeName));
      this.#revoked.delete(key);
    } else {
      machines.delete(nodeName);
      if (this.#options.isSafeDetach(attacher)) this.#revoked.add(key);
    }
    this.#review(nodeName);
  }

  /**
   * Why a volume is not attached to a machine: one for one machine that its driver has not detached from another. Only
   * drivers that detach safely know; the others attach to whatever they are asked to.
   */
  refusalOf({ spec: { nodeName, source, attacher } }: VolumeAttachment): string | undefined {
    const { isShared, isSafeDetach } = this.#options;
    const volume = source.persistentVolumeName ?? '';
    if (isShared(volume) || !isSafeDetach(attacher)) return undefined;
    const other = [...(this.#attachedTo.get(volume) ?? [])].find((machine) => machine !== nodeName);
    return other === undefined ? undefined : `volume ${volume} is attached to ${other}`;
  }

  isCutOff(machine: string): boolean {
    return this.#cutOff.has(machine);
  }

  /** Between a machine and all storage. */
  partition(machine: string): void {
    this.#cutOff.add(machine);
    this.#review(machine);
  }

  heal(machine: string): void {
    this.#cutOff.delete(machine);
    this.#review(machine);
  }

  /** The storage system refuses whatever comes from this machine to the volumes of this driver. */
  fence(machine: string, driver: string): void {
    const drivers = this.#fenced.get(machine) ?? new Set();
    this.#fenced.set(machine, drivers.add(driver));
    this.#review(machine);
  }

  unfence(machine: string, driver: string): void {
    this.#fenced.get(machine)?.delete(driver);
    this.#review(machine);
  }

  writersOf(volume: string): Writer[] {
    return [...(this.#volumes.get(volume)?.sessions ?? [])].filter(({ writing }) => writing);
  }

  /** Whether this process can write to any of its volumes. */
  canWrite(machine: string, process: Process): boolean {
    for (const session of this.#sessions.get(machine) ?? []) {
      if (session.process === process && session.writing) return true;
    }
    return false;
  }

  get volumes(): string[] {
    return [...this.#volumes.keys()].sort();
  }

  report(volume: string): VolumeReport | undefined {
    const known = this.#volumes.get(volume);
    if (known === undefined) return undefined;
    this.#writeAll(known);
    const { name, mostWriters, overlaps, damagedAtMs, end } = known;
    return {
      volume: name,
      mostWriters,
      overlaps,
      dataIntact: damagedAtMs === undefined,
      ...(damagedAtMs === undefined ? {} : { damagedAtMs }),
      records: end.records,
    };
  }

  #onMachine(machine: Machine, event: MachineEvent): void {
    switch (event.type) {
      case 'processStarted':
        this.#open(machine, event.process);
        break;
      case 'processStopped':
        this.#close(machine, event.process);
        break;
      case 'hung':
      case 'resumed':
      case 'off':
        this.#review(machine.name);
        break;
      default:
    }
  }

  #open(machine: Machine, process: Process): void {
    for (const { persistentVolume, driver } of process.volumes) {
      const volume = this.#volume(persistentVolume);
      const session: Session = {
        machine: machine.name,
        process,
        volume: persistentVolume,
        driver,
        known: undefined,
        writing: false,
      };
      volume.sessions.add(session);
      this.#sessions.get(machine.name)?.add(session);
      this.#consider(volume, session);
    }
  }

  #close(machine: Machine, process: Process): void {
    const sessions = this.#sessions.get(machine.name) ?? new Set();
    for (const session of sessions) {
      if (session.process !== process) continue;
      const volume = this.#volume(session.volume);
      sessions.delete(session);
      if (session.writing) this.#end(volume, session);
      volume.sessions.delete(session);
    }
  }

  /** Something changed about what this machine can reach. */
  #review(machineName: string): void {
    for (const session of this.#sessions.get(machineName) ?? []) this.#consider(this.#volume(session.volume), session);
  }

  #consider(volume: Volume, session: Session): void {
    const can = this.#canReach(session);
    if (can === session.writing) return;
    if (can) this.#begin(volume, session);
    else this.#end(volume, session);
  }

  #canReach({ machine, volume, driver }: Session): boolean {
    if (this.#machines.get(machine)?.alive !== true || this.#cutOff.has(machine)) return false;
    if (driver !== undefined && this.#fenced.get(machine)?.has(driver)) return false;
    return !this.#revoked.has(`${machine}/${volume}`);
  }

  #begin(volume: Volume, session: Session): void {
    this.#writeAll(volume);
    // A process that lost its access for a while goes on with what it knew; only a new one reads.
    session.known ??= volume.end;
    session.writing = true;
    this.#write(volume, session);
    this.#count(volume);
    this.#tell('began', volume, session);
  }

  #end(volume: Volume, session: Session): void {
    this.#writeAll(volume);
    session.writing = false;
    this.#count(volume);
    this.#tell('ended', volume, session);
  }

  #writeAll(volume: Volume): void {
    for (const session of volume.sessions) if (session.writing) this.#write(volume, session);
  }

  #write(volume: Volume, session: Session): void {
    const behind = session.known ?? volume.end;
    if (behind !== volume.end && !volume.shared) volume.damagedAtMs ??= this.#options.clock.monotonic();
    const records = behind.records + 1;
    volume.end = { records, checksum: mix(behind.checksum, `${session.process.id} ${records}`) };
    session.known = volume.end;
  }

  #count(volume: Volume): void {
    const machines = [...new Set(this.writersOf(volume.name).map(({ machine }) => machine))].sort();
    volume.mostWriters = Math.max(volume.mostWriters, machines.length);
    if (volume.shared) return;
    const current = volume.overlaps.at(-1);
    const open = current !== undefined && current.untilMs === undefined ? current : undefined;
    const nowMs = this.#options.clock.monotonic();
    if (machines.length < 2) {
      if (open !== undefined) open.untilMs = nowMs;
    } else if (open?.machines.join() !== machines.join()) {
      if (open !== undefined) open.untilMs = nowMs;
      volume.overlaps.push({ volume: volume.name, sinceMs: nowMs, machines });
    }
  }

  #tell(type: 'began' | 'ended', volume: Volume, writer: Writer): void {
    this.#options.onWriter?.({ type, writer, writers: this.writersOf(volume.name) });
  }

  #volume(name: string): Volume {
    let volume = this.#volumes.get(name);
    if (volume === undefined) {
      volume = {
        name,
        shared: this.#options.isShared(name),
        end: { records: 0, checksum: 0 },
        sessions: new Set(),
        mostWriters: 0,
        overlaps: [],
        damagedAtMs: undefined,
      };
      this.#volumes.set(name, volume);
    }
    return volume;
  }
}

function mix(checksum: number, text: string): number {
  let value = checksum;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
