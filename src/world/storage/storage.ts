/**
 * The storage system: which machine reaches which volume at this moment. It is taken from the machines and from what
 * was really attached, detached, fenced and cut off, never from the API: a node that is cut off from the API goes on
 * writing, one that has lost its power does not. What follows for the data is in the ledger.
 */
import type { Bmc } from '../machines/bmc.ts';
import type { Machine, MachineEvent, Process } from '../machines/machine.ts';
import type { VolumeAttachment } from '../objects/volumes.ts';
import type { LedgerOptions, Session } from './ledger.ts';
import { Ledger } from './ledger.ts';
import { Ports } from './ports.ts';

export interface StorageOptions extends LedgerOptions {
  /** Whether detaching takes the access away; otherwise whoever has it mounted can go on. Asked at the detach. */
  isSafeDetach: (driver: string) => boolean;
  /** The ports that cannot say whose they are, by the machines that they are written for. */
  blindPorts?: readonly string[];
  /** By machine: its ways to the storage, where it has several. */
  ways?: ReadonlyMap<string, readonly string[]>;
}

export class Storage {
  readonly ledger: Ledger;
  readonly #options: StorageOptions;
  readonly #machines = new Map<string, Machine>();
  readonly #sessions = new Map<string, Set<Session>>();
  /** The cable, and the port of the switch: somebody who mends the one has not opened the other. */
  readonly #cutOff = new Set<string>();
  readonly ports: Ports;
  /** By the port that is written for a machine, the machine whose cable is in it, where that is another one. */
  readonly #cables = new Map<string, string>();
  readonly #fenced = new Map<string, Set<string>>();
  /** `machine/volume`: detached so that the machine has no access left. */
  readonly #revoked = new Set<string>();
  /** By volume: the machines that it was attached to and not detached from. */
  readonly #attachedTo = new Map<string, Set<string>>();

  constructor(options: StorageOptions) {
    this.#options = options;
    this.ports = new Ports({
      clock: options.clock,
      ways: options.ways,
      blind: options.blindPorts,
      next: (machine) => this.#after(machine),
      onChange: (machine) => this.#review(this.#pluggedInto(machine)),
    });
    this.ledger = new Ledger(options);
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

  /** Between a machine and all storage. */
  partition(machine: string): void {
    this.#cutOff.add(machine);
    this.#review(machine);
  }

  heal(machine: string): void {
    this.#cutOff.delete(machine);
    this.#review(machine);
  }

  /** Whether the port that the machine is plugged into lets nothing through, whosever port it is said to be. */
  isPortClosed(machine: string): boolean {
    return this.ports.isClosed(this.#portOf(machine));
  }

  /** The device of a port as events name it; undefined: there is none. */
  portCalled(machine: string, way = ''): Bmc | undefined {
    return this.ports.isWay(machine, way) ? this.ports.device(machine, way) : undefined;
  }

  /** The cables of two machines change places. */
  swapPorts(one: string, other: string): void {
    const [first, second] = [this.#pluggedInto(one), this.#pluggedInto(other)];
    this.#cables.set(one, second).set(other, first);
    for (const machine of [first, second]) this.#review(machine);
  }

  #after(machine: string): string {
    const names = [...this.#machines.keys()];
    return names[(names.indexOf(machine) + 1) % names.length] ?? machine;
  }

  #pluggedInto(port: string): string {
    return this.#cables.get(port) ?? port;
  }

  #portOf(machine: string): string {
    return [...this.#cables].find(([, plugged]) => plugged === machine)?.[0] ?? machine;
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

  /** Whether this process can write to any of its volumes. */
  canWrite(machine: string, process: Process): boolean {
    for (const session of this.#sessions.get(machine) ?? []) {
      if (session.process === process && session.writing) return true;
    }
    return false;
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
      const session = this.ledger.open({ machine: machine.name, process, volume: persistentVolume, driver });
      this.#sessions.get(machine.name)?.add(session);
      this.#consider(session);
    }
  }

  #close(machine: Machine, process: Process): void {
    const sessions = this.#sessions.get(machine.name) ?? new Set();
    for (const session of sessions) {
      if (session.process !== process) continue;
      sessions.delete(session);
      this.ledger.close(session);
    }
  }

  /** Something changed about what this machine can reach. */
  #review(machineName: string): void {
    for (const session of this.#sessions.get(machineName) ?? []) this.#consider(session);
  }

  #consider(session: Session): void {
    const can = this.#canReach(session);
    if (can === session.writing) return;
    if (can) this.ledger.begin(session);
    else this.ledger.end(session);
  }

  #canReach({ machine, volume, driver }: Session): boolean {
    if (this.#machines.get(machine)?.alive !== true) return false;
    if (this.#cutOff.has(machine) || this.isPortClosed(machine)) return false;
    if (driver !== undefined && this.#fenced.get(machine)?.has(driver)) return false;
    return !this.#revoked.has(`${machine}/${volume}`);
  }
}
