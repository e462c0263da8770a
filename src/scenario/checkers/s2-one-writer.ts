/**
 * S2: for each StatefulSet identity and each volume for one machine, writers on two machines never overlap, except
 * under AcceptedRisk. The truth is the ledger's. It is the operator's doing when it had let go of what either of the two
 * holds, whichever came first: its pod, its attachment, its entry among the volumes in use, or the whole of its node; and when it
 * opened the way to the storage under one that anybody had let go.
 */
import type { MachineEvent, Process } from '../../world/machines/machine.ts';
import type { WriterChange } from '../../world/storage/ledger.ts';
import type { StoredChange } from '../cluster-state.ts';
import type { CheckContext, Checker, Invariant, WireEvent, Write } from './checker.ts';
import { LetGo } from './let-go.ts';

export const s2: Invariant = { id: 'S2', check: (context) => new OneWriter(context) };

interface Running {
  machine: string;
  process: Process;
}

class OneWriter implements Checker {
  readonly #context: CheckContext;
  readonly #letGo: LetGo;
  /** Pods of StatefulSets that run, by `namespace/name`. */
  readonly #identities = new Map<string, Set<Running>>();

  /** The UIDs of pods that were let go and still ran when an operator connected their machine. */
  readonly #connected = new Set<string>();

  constructor(context: CheckContext) {
    this.#context = context;
    this.#letGo = new LetGo(context);
  }

  onWrite(write: Write): void {
    this.#letGo.byOperator(write);
  }

  onStored(change: StoredChange, user: string): void {
    this.#letGo.byAnybody(change, user);
  }

  onWire(event: WireEvent): void {
    if (event.type !== 'port' || event.action !== 'on') return;
    for (const { podUid } of this.#context.machineOf(event.node)?.processes.values() ?? []) {
      if (this.#letGo.isGone(podUid)) this.#connected.add(podUid);
    }
  }

  onRenewed(node: string): void {
    this.#letGo.onRenewed(node);
  }

  onKdump(node: string, forged: boolean): void {
    this.#letGo.onKdump(node, forged);
  }

  onWriter({ type, writer, writers }: WriterChange): void {
    if (type === 'ended') return;
    const earlier = writers.find(({ machine }) => machine !== writer.machine);
    if (earlier !== undefined && !this.#isShared(writer.volume)) {
      this.#judge(earlier, writer, `volume ${writer.volume}`);
    }
    for (const running of this.#identities.get(identityOf(writer.process)) ?? []) {
      if (running.process === writer.process) this.#compare(running);
    }
  }

  onMachine(event: MachineEvent, machine: string): void {
    this.#letGo.onMachine(event, machine);
    if (event.type === 'processStarted') this.#started({ machine, process: event.process });
    else if (event.type === 'processStopped') this.#stopped(event.process);
    else if (event.type === 'resumed') {
      const here = [...this.#identities.values()].flatMap((group) =>
        [...group].filter((one) => one.machine === machine),
      );
      for (const running of here) this.#compare(running);
    }
  }

  #started(running: Running): void {
    const { process } = running;
    const pod = this.#context.state.pods.get(identityOf(process));
    const owners = pod?.metadata.uid === process.podUid ? (pod.metadata.ownerReferences ?? []) : [];
    if (owners.every(({ kind }) => kind !== 'StatefulSet')) return;
    const group = this.#identities.get(identityOf(process)) ?? new Set<Running>();
    this.#identities.set(identityOf(process), group.add(running));
    this.#compare(running);
  }

  #stopped(process: Process): void {
    const group = this.#identities.get(identityOf(process));
    for (const running of group ?? []) if (running.process === process) group?.delete(running);
  }

  /** One that has volumes is a writer when it can write; one without writes to places that nobody here knows. */
  #compare(later: Running): void {
    const { isActive } = this.#context;
    if (!isActive(later.machine, later.process)) return;
    for (const earlier of this.#identities.get(identityOf(later.process)) ?? []) {
      if (earlier.machine === later.machine || !isActive(earlier.machine, earlier.process)) continue;
      const volumes = new Set(earlier.process.volumes.map(({ persistentVolume }) => persistentVolume));
      // Where both write to one volume, that is said of the volume.
      if (later.process.volumes.some(({ persistentVolume }) => volumes.has(persistentVolume))) continue;
      this.#judge(earlier, later, `identity ${identityOf(later.process)}`);
    }
  }

  #judge(earlier: Running, later: Running, what: string): void {
    const { exempt, violated } = this.#context;
    const told = `${what} is written from ${earlier.machine} and ${later.machine} at the same time`;
    const ours = [earlier, later].flatMap(({ process }) => this.#letGo.ours(process.podUid) ?? []);
    const blamed = ours.find(({ excuse }) => excuse === undefined);
    const [excused] = ours;
    const isConnected = [earlier, later].some(({ process }) => this.#connected.has(process.podUid));
    if (blamed !== undefined || isConnected) violated(told);
    else if (excused?.excuse !== undefined) exempt(excused.excuse, told);
    else exempt(this.#letGo.whose([earlier.process.podUid, later.process.podUid]), told);
  }

  #isShared(volume: string): boolean {
    return this.#context.state.volumes.get(volume)?.spec?.accessModes?.includes('ReadWriteMany') ?? false;
  }
}

function identityOf({ namespace, podName }: Process): string {
  return `${namespace}/${podName}`;
}
