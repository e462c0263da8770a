/** What a run came to, for each node and each pod that was touched: by what the cluster holds, not by what anybody says. */
import { conditionOf, controllerOf, isReady, keyOf } from '../../world/objects/meta.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import type { CheckContext, Checker, Invariant } from '../checkers/checker.ts';
import type { ClusterState, StoredChange, StoredFence, StoredSwitch } from '../cluster-state.ts';
import { hasSent } from '../cluster-state.ts';
import type { Exempted, Report, Violation } from '../report.ts';

/** Times in milliseconds since the failure. Absent: it did not happen. */
export interface NodeOutcome {
  node: string;
  /** Whether the failure is about it: whoever else is fenced is so by mistake, or in a storm. */
  struck: boolean;
  suspectedAt?: number;
  /** When the first command to its device was recorded. */
  fencedAt?: number;
  /** When a device that had been told to switch it off said off. */
  confirmedAt?: number;
  /** When a device said off that had been told nothing. */
  foundOffAt?: number;
  /** When a device had cut it off from its storage. */
  isolatedAt?: number;
  releases: { basis: string; at: number; pods: number }[];
  /** What kept it from being fenced or freed, each from its first moment on. */
  holds: { reason: string; message: string; at: number; until?: number }[];
  /** When it could take pods again. */
  backAt?: number;
  /** How its fence stands at the end, where it has not ended well. */
  fence?: { phase: string; waitsFor?: string; message?: string };
}

export interface PodOutcome {
  pod: string;
  node: string;
  becomes: 'stays' | 'runs elsewhere' | 'runs again' | 'stuck' | 'waits for a node';
  goneAt?: number;
  runningAt?: number;
  /** Where it runs in the end. */
  on?: string;
  why?: string;
}

export interface Outcome {
  nodes: NodeOutcome[];
  pods: PodOutcome[];
  violations: Violation[];
  exemptions: Exempted[];
  virtualMs: number;
  wallMs: number;
}

interface LostPod extends PodOutcome {
  uid: string;
  /** Who makes it again, and by what name, if names stay. */
  owner: string | undefined;
  keepsName: boolean;
}

/** Its controller is none that the simulation has. */
export const unmade = 'nobody makes it again';

const quarantine = 'fenceline.dev/quarantine';

/** Watches a run; it judges nothing. */
export class OutcomeWatch {
  readonly #struck: ReadonlySet<string>;
  readonly #nodes = new Map<string, NodeOutcome>();
  /** By UID. */
  readonly #pods = new Map<string, LostPod>();
  /** Those that a pod may take the place of: by its name, or by the set that it belongs to. */
  readonly #places = new Map<string, LostPod[]>();
  /** Pods that came later and are ready, not yet taken for the successor of another one. */
  readonly #late = new Map<string, Pod>();
  readonly #successors = new Set<string>();
  #context: CheckContext | undefined;
  #zeroMs: number | undefined;

  constructor(struck: ReadonlySet<string>) {
    this.#struck = struck;
  }

  /** To be run beside the checkers. */
  get invariant(): Invariant {
    return { id: 'outcome', check: (context) => this.#watch(context) };
  }

  /** Time 0. */
  begin(): void {
    this.#zeroMs = this.#context?.nowMs() ?? 0;
    for (const [key, pod] of this.#state.pods) {
      const { uid = '' } = pod.metadata;
      const owner = controllerOf(pod);
      const keepsName = owner?.kind !== 'ReplicaSet';
      const node = pod.spec.nodeName ?? '';
      const known: LostPod = { pod: key, node, becomes: 'stays', uid, owner: owner?.uid, keepsName };
      this.#pods.set(uid, known);
      const place = keepsName ? key : (owner?.uid ?? '');
      this.#places.set(place, [...(this.#places.get(place) ?? []), known]);
    }
    for (const node of this.#struck) this.#nodeOf(node);
  }

  /** `told`: what is said in it, as it is to be read. */
  outcome({ timeline, violations, exemptions, virtualMs, wallMs }: Report, told: (text: string) => string): Outcome {
    for (const { at, actor, what, object } of timeline) {
      const node = this.#nodes.get(object.replace(/^node\//, ''));
      if (node !== undefined && actor.startsWith('operator-') && what.startsWith('suspect:')) node.suspectedAt ??= at;
    }
    return {
      nodes: [...this.#nodes.values()].map((node) => nodeTold(node, told)).toSorted(byName(({ node }) => node)),
      pods: [...this.#pods.values()].filter((pod) => this.#isTold(pod)).map((pod) => podTold(this.#ended(pod), told)),
      violations,
      exemptions,
      virtualMs,
      wallMs,
    };
  }

  get #state(): ClusterState {
    if (this.#context === undefined) throw new Error('before the run');
    return this.#context.state;
  }

  get #now(): number {
    return Math.floor((this.#context?.nowMs() ?? 0) - (this.#zeroMs ?? 0));
  }

  #watch(context: CheckContext): Checker {
    this.#context = context;
    return {
      onStored: (change) => {
        if (this.#zeroMs === undefined) return;
        const { kind } = change.object;
        if (kind === 'Pod') this.#onPod(change);
        if (kind === 'NodeFence' && change.type !== 'DELETED') this.#onFence(change.object, change.previous);
        if (kind === 'Node') this.#onNode(change);
      },
    };
  }

  #nodeOf(name: string): NodeOutcome {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const made: NodeOutcome = { node: name, struck: this.#struck.has(name), releases: [], holds: [] };
    this.#nodes.set(name, made);
    return made;
  }

  #onFence(object: StoredFence, previous: StoredFence | undefined): void {
    const { spec, status } = object;
    const node = this.#nodeOf(spec?.node ?? '');
    const at = this.#now;
    if (hasSent(object)) node.fencedAt ??= at;
    for (const one of status?.fence?.switched ?? []) {
      const moment = momentOf(one);
      if (moment !== undefined) node[moment] ??= at;
    }
    const before = previous?.status?.releases ?? [];
    for (const { basis, pods = [], recordedAt } of status?.releases ?? []) {
      const known = before.find((one) => one.basis === basis && one.recordedAt === recordedAt);
      const told = known === undefined ? undefined : node.releases.findLast((one) => one.basis === basis);
      if (told === undefined) node.releases.push({ basis, at, pods: pods.length });
      else told.pods = Math.max(told.pods, pods.length);
    }
    this.#onHold(node, status?.hold, at);
    const { phase = '', waitsFor, message } = status?.fence ?? {};
    if (status?.fence !== undefined) {
      node.fence = {
        phase,
        ...(waitsFor === undefined ? {} : { waitsFor }),
        ...(message === undefined ? {} : { message }),
      };
    } else delete node.fence;
  }

  #onHold(node: NodeOutcome, hold: { reason?: string; message?: string } | undefined, at: number): void {
    const { reason = '', message = '' } = hold ?? {};
    const last = node.holds.at(-1);
    if (last?.until === undefined && last?.reason === reason) {
      last.message = message;
      return;
    }
    if (last !== undefined) last.until ??= at;
    if (hold !== undefined) node.holds.push({ reason, message, at });
  }

  #onNode({ object, previous, type }: StoredChange): void {
    const node = this.#nodes.get(object.metadata.name);
    if (node === undefined || type === 'DELETED') return;
    const isBack = (one: Node | undefined): boolean => one !== undefined && isReady(one) && isOpen(one);
    if (isBack(object) && !isBack(previous)) node.backAt = this.#now;
    if (!isBack(object)) delete node.backAt;
  }

  #onPod({ type, object }: StoredChange): void {
    const pod = object as Pod;
    const { uid = '' } = pod.metadata;
    const lost = this.#pods.get(uid);
    if (lost !== undefined) {
      if (type === 'DELETED') lost.goneAt = this.#now;
      return;
    }
    if (this.#successors.has(uid)) return;
    if (type === 'DELETED') this.#late.delete(uid);
    else if (pod.status?.phase === 'Running' && isReady(pod)) this.#succeed(pod, uid);
    else this.#late.set(uid, pod);
  }

  /** It takes the place of one that was there: of the same name, or of the same set. */
  #succeed(pod: Pod, uid: string): void {
    const places = [keyOf(pod), controllerOf(pod)?.uid ?? ''].flatMap((place) => this.#places.get(place) ?? []);
    const lost =
      places.find((one) => one.runningAt === undefined && this.#isLost(one)) ?? places.find((one) => one.keepsName);
    if (lost === undefined) return;
    this.#successors.add(uid);
    this.#late.delete(uid);
    lost.runningAt ??= this.#now;
    lost.on = pod.spec.nodeName ?? '';
  }

  #isLost({ pod, node, goneAt, uid }: LostPod): boolean {
    if (goneAt !== undefined || this.#struck.has(node)) return true;
    const now = this.#state.pods.get(pod)?.metadata;
    return now?.uid === uid && now.deletionTimestamp !== undefined;
  }

  #isTold(pod: LostPod): boolean {
    return this.#nodes.has(pod.node) || pod.goneAt !== undefined;
  }

  #ended({ uid: _uid, owner, keepsName, ...pod }: LostPod): PodOutcome {
    const now = this.#state.pods.get(pod.pod);
    if (pod.runningAt !== undefined) return { ...pod, becomes: pod.on === pod.node ? 'runs again' : 'runs elsewhere' };
    if (pod.goneAt === undefined) {
      const isStuck = now?.metadata.deletionTimestamp !== undefined || !isReady(now);
      return isStuck ? { ...pod, becomes: 'stuck', ...this.#whyStuck(pod) } : pod;
    }
    const next = [...this.#late.values()].find((one) =>
      keepsName ? keyOf(one) === pod.pod : controllerOf(one)?.uid === owner,
    );
    const why = next === undefined ? unmade : conditionOf(next, 'PodScheduled')?.message;
    return { ...pod, becomes: 'waits for a node', ...(why === undefined ? {} : { why }) };
  }

  #whyStuck({ pod, node }: PodOutcome): { why?: string } {
    const fence = [...this.#state.fences.values()].find(({ spec }) => spec?.node === node);
    const [namespace, name] = pod.split('/');
    const found = fence?.status?.stuck?.find((one) => one.namespace === namespace && one.name === name);
    if (found !== undefined) return { why: found.message };
    const { hold } = fence?.status ?? {};
    return { why: hold?.message ?? (fence === undefined ? 'no policy does anything about its node' : 'it waits') };
  }
}

function nodeTold({ holds, fence, ...node }: NodeOutcome, told: (text: string) => string): NodeOutcome {
  const { waitsFor, message } = fence ?? {};
  return {
    ...node,
    holds: holds.map((hold) => ({ ...hold, message: told(hold.message) })),
    ...(fence === undefined
      ? {}
      : {
          fence: {
            ...fence,
            ...(waitsFor === undefined ? {} : { waitsFor: told(waitsFor) }),
            ...(message === undefined ? {} : { message: told(message) }),
          },
        }),
  };
}

function podTold(pod: PodOutcome, told: (text: string) => string): PodOutcome {
  return pod.why === undefined ? pod : { ...pod, why: told(pod.why) };
}

/** What a device has said of it. Undefined: nothing yet, or there is none, as for a cordon. */
function momentOf({
  step,
  device,
  commandSentAt,
  confirmedAt,
}: StoredSwitch): 'isolatedAt' | 'foundOffAt' | 'confirmedAt' | undefined {
  if (confirmedAt === undefined || device === undefined) return undefined;
  if (step === 'isolation') return 'isolatedAt';
  return commandSentAt === undefined ? 'foundOffAt' : 'confirmedAt';
}

function isOpen(node: Node): boolean {
  return (node.spec?.taints ?? []).every(({ key }) => key !== quarantine) && node.spec?.unschedulable !== true;
}

function byName<T>(name: (one: T) => string): (one: T, other: T) => number {
  return (one, other) => name(one).localeCompare(name(other), 'en', { numeric: true });
}
