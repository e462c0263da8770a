/**
 * Who has let go of which pod: taken its object away, said that it is over, or freed a volume that it holds. Known by the UIDs
 * of pods, because a successor on the same machine has nothing to do with it.
 */
import { administrator } from '../operator-user.ts';
import type { StoredChange, StoredRelease } from '../cluster-state.ts';
import { isReady } from '../../world/objects/meta.ts';
import type { MachineEvent, Process } from '../../world/machines/machine.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { CheckContext, Exemption, Write } from './checker.ts';
import { isLying } from './devices.ts';
import { succeeded } from './checker.ts';
import { releaseOf, volumesOf } from './release.ts';
import { drivingOut, Words } from './words.ts';

interface Ours {
  /** Undefined: nobody but the operator answers for it. */
  excuse: Exemption | undefined;
}

/** By whom, and from which node. */
interface Act {
  user: string;
  node: string;
}

export class LetGo {
  readonly #context: CheckContext;
  readonly #ours = new Map<string, Ours>();
  readonly #deletedBy = new Map<string, string>();
  /** Nodes from whose address a crash was reported while their machine ran, and that have not shown since that they live. */
  readonly #forged = new Set<string>();
  readonly #running = new Map<string, Set<Process>>();
  readonly #words: Words;

  constructor(context: CheckContext) {
    this.#context = context;
    this.#words = new Words(context);
  }

  /** Undefined: operators have not let go of it. */
  ours(podUid: string): Ours | undefined {
    return this.#ours.get(podUid);
  }

  /** Operators have let go of it, or its object was taken away by anybody. */
  isGone(podUid: string): boolean {
    return this.#ours.has(podUid) || this.#deletedBy.has(podUid);
  }

  /** Who has let go of one of these, if it was no operator. */
  whose(podUids: readonly string[]): Exemption {
    return podUids.some((uid) => this.#deletedBy.get(uid) === administrator) ? 'PersonsAct' : 'KubernetesAct';
  }

  onKdump(node: string, forged: boolean): void {
    if (forged) this.#forged.add(node);
    else this.#forged.delete(node);
  }

  onRenewed(node: string): void {
    this.#forged.delete(node);
  }

  onMachine(event: MachineEvent, machine: string): void {
    const here = this.#running.get(machine) ?? new Set<Process>();
    if (event.type === 'processStarted') this.#running.set(machine, here.add(event.process));
    else if (event.type === 'processStopped') here.delete(event.process);
  }

  byAnybody(change: StoredChange, user: string): void {
    const { type, object } = change;
    this.#words.take(change, user);
    if (object.kind === 'Pod' && type === 'DELETED') this.#deletedBy.set(object.metadata.uid ?? '', user);
  }

  byOperator(write: Write): void {
    const release = releaseOf(write);
    if (release === undefined) {
      this.#wholeNode(write);
    } else if ('uid' in release) {
      this.#add(release.uid, release);
    } else if (release.what === 'deleted') {
      this.#volume(release, release.attachment.spec.source.persistentVolumeName ?? '');
    } else {
      const handles = release.entries.map((entry) => entry.slice(entry.lastIndexOf('^') + 1));
      for (const [volume, { spec }] of this.#context.state.volumes) {
        if (handles.includes(spec?.csi?.volumeHandle ?? '')) this.#volume(release, volume);
      }
    }
  }

  /** Deleted, or marked so that Kubernetes takes its pods away. */
  #wholeNode(write: Write): void {
    if (write.resource !== 'nodes' || !succeeded(write) || write.before === undefined) return;
    const before: Node = write.before;
    const after: Node | undefined = write.after;
    const { name } = before.metadata;
    const from = { user: write.user, node: name };
    const had = new Set(drivingOut(before));
    if (write.verb !== 'delete' && drivingOut(after).every((key) => had.has(key))) return;
    for (const pod of this.#context.state.pods.values()) {
      if (pod.spec.nodeName === name) this.#add(pod.metadata.uid ?? '', from);
    }
    for (const { podUid } of this.#running.get(name) ?? []) this.#add(podUid, from);
  }

  #volume(from: Act, volume: string): void {
    const { state } = this.#context;
    const { node } = from;
    for (const pod of state.pods.values()) {
      const { uid = '' } = pod.metadata;
      if (pod.spec.nodeName === node && volumesOf(state, pod).includes(volume)) this.#add(uid, from, volume);
    }
    for (const { podUid, volumes } of this.#running.get(node) ?? []) {
      if (volumes.some(({ persistentVolume }) => persistentVolume === volume)) this.#add(podUid, from, volume);
    }
  }

  #add(podUid: string, from: Act, volume?: string): void {
    // The first word counts: what came later cannot have been the reason.
    if (!this.#ours.has(podUid)) this.#ours.set(podUid, { excuse: this.#excuseOf(podUid, from, volume) });
  }

  /** By what is on record for just this pod, as far as it is so. */
  #excuseOf(podUid: string, { user, node }: Act, volume: string | undefined): Exemption | undefined {
    const { state, recordsOf } = this.#context;
    const records = recordsOf(user, node).filter(
      ({ pods = [], volumes = [] }) =>
        pods.some(({ uid }) => uid === podUid) || (volume !== undefined && volumes.includes(volume)),
    );
    const has = (basis: StoredRelease['basis']): boolean => records.some((record) => record.basis === basis);
    const pod = [...state.pods.values()].find(({ metadata }) => metadata.uid === podUid);
    const words = this.#words;
    if (records.some((record) => record.basis === 'AcceptedRisk' && words.isAccepted(record, pod)))
      return 'AcceptedRisk';
    if (has('KernelCrashed') && this.#forged.has(node)) return 'ForgedCrash';
    if (has('PowerOff') && isLying(this.#context, node)) return 'LyingDevice';
    const isSaidDead = has('Asserted') && !isReady(state.nodes.get(node)) && words.isSaidDead(node);
    // The remedy of a policy is a person's program, and says by its success what that person wants to be true.
    const isSaidByJob = records.some((record) => record.basis === 'Asserted' && words.isSaidByJob(record));
    return isSaidDead || isSaidByJob ? 'PersonsAct' : undefined;
  }
}
