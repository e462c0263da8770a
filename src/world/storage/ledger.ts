/**
 * The truth about the data: which process writes to which volume, how many machines could at once, and what the volume
 * holds because of it. Checkers and expectations ask here, never the API.
 *
 * Writing is modelled as a log. Who opens a volume reads its end; from then on each record is put behind the one that
 * the writer last knew. If somebody else has written meanwhile, a record is lost: the data is no longer intact.
 */
import type { Clock } from '../../clock.ts';
import type { Process } from '../machines/machine.ts';

export interface LedgerOptions {
  clock: Clock;
  /** Whether several machines may write at once, as with ReadWriteMany; asked when a volume is first opened. */
  isShared: (persistentVolume: string) => boolean;
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
  /** All that have written, the latest last. */
  machines: readonly string[];
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

/** One process with one volume open, from its start to its end. */
export interface Session extends Writer {
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
  machines: string[];
  overlaps: Overlap[];
  damagedAtMs: number | undefined;
}

export class Ledger {
  readonly #options: LedgerOptions;
  readonly #volumes = new Map<string, Volume>();

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  open(writer: Writer): Session {
    const session: Session = { ...writer, known: undefined, writing: false };
    this.#volume(writer.volume).sessions.add(session);
    return session;
  }

  close(session: Session): void {
    if (session.writing) this.end(session);
    this.#volume(session.volume).sessions.delete(session);
  }

  /** From now on its writes reach the volume. */
  begin(session: Session): void {
    const volume = this.#volume(session.volume);
    this.#writeAll(volume);
    // A process that lost its access for a while goes on with what it knew; only a new one reads.
    session.known ??= volume.end;
    session.writing = true;
    this.#write(volume, session);
    this.#count(volume);
    this.#tell('began', volume, session);
  }

  end(session: Session): void {
    const volume = this.#volume(session.volume);
    this.#writeAll(volume);
    session.writing = false;
    this.#count(volume);
    this.#tell('ended', volume, session);
  }

  writersOf(volume: string): Writer[] {
    return [...(this.#volumes.get(volume)?.sessions ?? [])].filter(({ writing }) => writing);
  }

  report(volume: string): VolumeReport | undefined {
    const known = this.#volumes.get(volume);
    if (known === undefined) return undefined;
    this.#writeAll(known);
    const { name, mostWriters, machines, overlaps, damagedAtMs, end } = known;
    return {
      volume: name,
      mostWriters,
      machines,
      overlaps,
      dataIntact: damagedAtMs === undefined,
      ...(damagedAtMs === undefined ? {} : { damagedAtMs }),
      records: end.records,
    };
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
    if (volume.machines.at(-1) !== session.machine) volume.machines.push(session.machine);
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
        machines: [],
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
