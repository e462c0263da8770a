/**
 * S2: for each StatefulSet identity and each volume for one machine, writers on two machines never overlap, except
 * under AcceptedRisk. The truth is the ledger's. It is the operator's doing when it had let go of what the earlier
 * writer holds: its pod, its attachment, or its entry among the volumes in use.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { MachineEvent, Process } from '../../world/machines/machine.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { VolumeAttachment } from '../../world/objects/volumes.ts';
import type { WriterChange } from '../../world/storage/ledger.ts';
import type { CheckContext, Checker, Invariant, Write } from './checker.ts';
import { succeeded } from './checker.ts';

export const s2: Invariant = { id: 'S2', check: (context) => new OneWriter(context) };

interface Running {
  machine: string;
  process: Process;
}

class OneWriter implements Checker {
  readonly #context: CheckContext;
  readonly #releasedPods = new Map<string, { accepted: boolean }>();
  /** `node volume` */
  readonly #releasedVolumes = new Set<string>();
  /** Pods of StatefulSets that run, by `namespace/name`. */
  readonly #identities = new Map<string, Set<Running>>();

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onWrite(write: Write): void {
    if (!succeeded(write) || write.before === undefined) return;
    if (write.resource === 'pods') this.#podWritten(write);
    else if (write.resource === 'nodes') this.#nodeWritten(write);
    else if (write.resource === 'volumeattachments' && write.verb === 'delete') {
      const { nodeName, source } = (write.before as VolumeAttachment).spec;
      this.#releasedVolumes.add(`${nodeName} ${source.persistentVolumeName}`);
    }
  }

  onWriter({ type, writer, writers }: WriterChange): void {
    if (type === 'ended') return;
    const earlier = writers.find(({ machine }) => machine !== writer.machine);
    if (earlier !== undefined && !this.#isShared(writer.volume)) {
      this.#judge(earlier, writer, { what: `volume ${writer.volume}`, volume: writer.volume });
    }
    for (const running of this.#identities.get(identityOf(writer.process)) ?? []) {
      if (running.process === writer.process) this.#compare(running);
    }
  }

  onMachine(event: MachineEvent, machine: string): void {
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
      this.#judge(earlier, later, { what: `identity ${identityOf(later.process)}` });
    }
  }

  #judge(earlier: Running, later: Running, { what, volume }: { what: string; volume?: string }): void {
    const machines = `${earlier.machine} and ${later.machine}`;
    const released = this.#releasedPods.get(earlier.process.podUid);
    const letGo = released !== undefined || this.#releasedVolumes.has(`${earlier.machine} ${volume}`);
    const { note, violated } = this.#context;
    if (!letGo) note('two writers, not the operator’s doing', `${what} on ${machines}`);
    else if (released?.accepted) note('two writers, a risk that the policy accepts', `${what} on ${machines}`);
    else violated(`${what} is written from ${machines} at the same time`);
  }

  #podWritten(write: Write): void {
    const before = write.before as Pod;
    const { uid = '' } = before.metadata;
    const failed = (write.after as Pod | undefined)?.status?.phase === 'Failed' && before.status?.phase !== 'Failed';
    if (write.verb !== 'delete' && !failed) return;
    const releases = this.#context.state.fences.get(nodeFenceName(before.spec.nodeName ?? ''))?.status?.releases ?? [];
    const accepted = releases.some(
      ({ basis, pods = [] }) => basis === 'AcceptedRisk' && pods.some((pod) => pod.uid === uid),
    );
    this.#releasedPods.set(uid, { accepted });
  }

  #nodeWritten(write: Write): void {
    const before: Node | undefined = write.before;
    const after: Node | undefined = write.after;
    const kept = new Set(after?.status?.volumesInUse);
    for (const name of before?.status?.volumesInUse ?? []) {
      if (kept.has(name)) continue;
      const handle = name.slice(name.lastIndexOf('^') + 1);
      for (const [volume, { spec }] of this.#context.state.volumes) {
        if (spec?.csi?.volumeHandle === handle) this.#releasedVolumes.add(`${before?.metadata.name} ${volume}`);
      }
    }
  }

  #isShared(volume: string): boolean {
    return this.#context.state.volumes.get(volume)?.spec?.accessModes?.includes('ReadWriteMany') ?? false;
  }
}

function identityOf({ namespace, podName }: Process): string {
  return `${namespace}/${podName}`;
}
