/**
 * Why a taint that says out of service may go before all that it is about has gone (S7): what it rests on is no more, or may be no
 * more. Each is something that happened in the world to this very node since the taint was put there, or to what is configured for it.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import { isFinished, isOfTheNode } from '../../world/objects/pods.ts';
import type { MachineEvent } from '../../world/machines/machine.ts';
import type { StoredChange, StoredRelease } from '../cluster-state.ts';
import type { Act } from '../format.ts';
import type { CheckContext, Exemption, WireEvent } from './checker.ts';
import { Offs } from './devices.ts';
import { fencePath, Reads } from './reads.ts';
import { volumesOf } from './release.ts';
import { outOfService } from './s5-not-while-restarting.ts';

/** Whoever detaches has had a minute, in whole seconds: its driver refuses, or hangs, and the machine is not left off for that. */
const detachMs = 59_000;
/**
 * A taint that is under way when something happens was decided before that: its devices are asked in between, and where answers
 * are slow it is longer ago that the operator looked for the last time whether its record stands.
 */
const underwayMs = 1000;
/** What people write that a release by power rests on. */
const settings: ReadonlySet<string> = new Set(['RemedyPolicy', 'ConfigMap', 'FenceDevice', 'NodeFence', 'Node']);

export interface EarlyEnd {
  exemption: Exemption;
  why: string;
}

export class EarlyEnds {
  readonly #context: CheckContext;
  readonly #offs: Offs;
  readonly #reads = new Reads();
  /** What people have done since the taint was put there, by node, and when. */
  readonly #acts = new Map<string, EarlyEnd & { atMs: number }>();
  /** When the taint was put there, by node. */
  readonly #markedMs = new Map<string, number>();
  /** When the last pod that used a volume went from there, or was over: `node volume`. Who used none of them holds none of them up. */
  readonly #unusedMs = new Map<string, number>();

  constructor(context: CheckContext) {
    this.#context = context;
    this.#offs = new Offs(context);
  }

  acted(act: Act, node: string | undefined): void {
    const kind = kindOf(act);
    const atMs = this.#context.nowMs();
    if (kind !== undefined && settings.has(kind)) {
      const why = `somebody has changed a ${kind}`;
      for (const name of this.#context.state.nodes.keys()) this.#acts.set(name, { exemption: 'PersonsAct', why, atMs });
    } else if (node !== undefined) {
      const exemption = act.do === 'device' ? 'LyingDevice' : 'PersonsAct';
      this.#acts.set(node, { exemption, why: `since then it met ${act.do}`, atMs });
    }
  }

  heard(event: WireEvent): void {
    this.#offs.take(event);
    this.#reads.take(event);
  }

  happened(type: MachineEvent['type'], machine: string): void {
    if (type === 'off') this.#offs.fell(machine);
  }

  /** Before it is in the state. */
  stored({ type, object, previous }: StoredChange, user: string): void {
    if (object.kind === 'Node' && isMarked(object) && !isMarked(previous)) {
      const { name } = object.metadata;
      const { atMs = -Infinity } = this.#acts.get(name) ?? {};
      const { askedAtMs = Infinity } = this.#reads.of(user, fencePath + nodeFenceName(name)) ?? {};
      if (atMs < Math.min(askedAtMs, this.#context.nowMs() - underwayMs)) this.#acts.delete(name);
      this.#markedMs.set(name, this.#context.nowMs());
    }
    if (object.kind !== 'Pod') return;
    const pod = object as Pod;
    const wasOver = previous !== undefined && isFinished(previous as Pod);
    if (wasOver || (type !== 'DELETED' && !isFinished(pod))) return;
    for (const volume of volumesOf(this.#context.state, pod)) {
      this.#unusedMs.set(`${pod.spec.nodeName} ${volume}`, this.#context.nowMs());
    }
  }

  of(node: Node, records: readonly StoredRelease[]): EarlyEnd | undefined {
    const { machineOf, deviceOf, nowMs } = this.#context;
    const { name } = node.metadata;
    if (machineOf(name)?.power === 'on') return this.#ofOneThatIsOn(name);
    const kept = this.#kept(name, records);
    if (kept !== undefined) return { exemption: 'KubernetesAct', why: `${kept} terminates, and would have been taken` };
    if (nowMs() - this.#detachableMs(name, records) >= detachMs)
      return { exemption: 'KubernetesAct', why: 'what is left is not detached' };
    const act = this.#acts.get(name);
    if (act !== undefined) return act;
    return deviceOf(name)?.hasIdentity === false
      ? { exemption: 'BlindDevice', why: 'nobody knows whose power it is' }
      : undefined;
  }

  /** Since when all that was let go and is left there could have been detached. */
  #detachableMs(node: string, records: readonly StoredRelease[]): number {
    const { state, nowMs } = this.#context;
    const names = new Set(records.flatMap(({ attachments = [] }) => attachments));
    const left = [...state.attachments.values()].filter(
      ({ metadata, spec }) => spec.nodeName === node && names.has(metadata.name),
    );
    const times = left.map(({ spec }) => this.#unusedMs.get(`${node} ${spec.source.persistentVolumeName}`) ?? 0);
    return Math.max(this.#markedMs.get(node) ?? nowMs(), ...times);
  }

  /** There it must not stand a moment longer (S5). */
  #ofOneThatIsOn(name: string): EarlyEnd | undefined {
    if (this.#offs.isToldOn(name)) return undefined;
    const isLying = this.#context.deviceOf(name)?.liesSinceMs !== undefined;
    if (isLying) return { exemption: 'LyingDevice', why: 'its device says off, and it is on' };
    return { exemption: 'PersonsAct', why: 'somebody has switched it on' };
  }

  /** Under the taint Kubernetes takes whatever terminates, also what nobody has let go. */
  #kept(node: string, records: readonly StoredRelease[]): string | undefined {
    const released = new Set(records.flatMap(({ pods = [] }) => pods.map(({ uid }) => uid)));
    const pod = [...this.#context.state.pods.values()].find(
      (one) =>
        one.spec.nodeName === node &&
        !isFinished(one) &&
        !isOfTheNode(one) &&
        one.metadata.deletionTimestamp !== undefined &&
        !released.has(one.metadata.uid ?? ''),
    );
    return pod && `pod ${pod.metadata.namespace}/${pod.metadata.name}`;
  }
}

function kindOf(act: Act): string | undefined {
  if (act.do === 'apply') return act.manifest.object.kind;
  return act.do === 'delete' ? act.kind : undefined;
}

function isMarked(node: Node | undefined): boolean {
  return node?.spec?.taints?.some(({ key }) => key === outOfService) ?? false;
}
