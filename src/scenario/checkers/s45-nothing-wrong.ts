/**
 * S45: what is on is never cut while nothing is wrong with it: in a reboot or a shutdown that somebody wants, while its kubelet is
 * being replaced, before a pause has passed that somebody asked for, nor where nothing would be freed. Judged by what people did
 * to the node and the machine, by what is bound and attached there, and by how long it has been away: a boot, as its policy has
 * it, and five minutes for a kubelet whose machine answers. What a person has asked for is theirs.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import { mirrorAnnotation } from '../../world/objects/pods.ts';
import type { StoredChange, StoredFence } from '../cluster-state.ts';
import { isOperator } from '../operator-user.ts';
import type { CheckContext, Invariant } from './checker.ts';
import { longActOf } from './long-act.ts';
import { msOf, Troubles } from './trouble.ts';

/** What happens in the moment of the command could not be read before it. */
const tooLateMs = 1000;
const kubeletAwayMs = 300_000;
const nothingThere = 'nothing there would be freed';
const pausePrefix = 'fenceline.dev/pause.';

export const s45: Invariant = {
  id: 'S45',
  check: (context) => {
    const { state, machineOf, nowMs, violated, exempt } = context;
    const troubles = new Troubles(context);
    const facts = new Facts(context, troubles);
    /** Fences in which something was cut already: they are brought to their end. */
    const begun = new Set<string>();
    const cut = (node: string, told: string): void => {
      const why = facts.whyNot(node);
      if (why === undefined) return;
      const isAsked = state.fences.get(nodeFenceName(node))?.spec?.requested !== undefined;
      // Who deletes the record of a node in quarantine takes from us what we knew of it.
      if (why === nothingThere && facts.isEmptied(node)) exempt('OwnRemedy', `${told} although ${why}`);
      else if (isAsked || facts.forgotten.has(node)) exempt('PersonsAct', `${told} although ${why}`);
      else violated(`${told} although ${why}`);
    };
    return {
      onStored(change, user) {
        troubles.take(change);
        facts.take(change, user);
        const { kind, metadata } = change.object;
        if (kind === 'NodeFence' && change.type === 'DELETED' && !isOperator(user)) {
          facts.forgotten.add((change.object as StoredFence).spec?.node ?? metadata.name);
        }
      },
      onAct(act, node) {
        if (node === undefined) return;
        if (act.do === 'kubeletStop') facts.kubeletAwaySince.set(node, nowMs());
        if (act.do === 'kubeletStart') facts.kubeletAwaySince.delete(node);
        if (act.do === 'gracefulReboot' || act.do === 'gracefulShutdown') facts.goingDown.set(node, nowMs());
      },
      onMachine({ type }, machine) {
        if (type !== 'booted') return;
        facts.goingDown.delete(machine);
        facts.forgotten.delete(machine);
        facts.emptied.delete(machine);
      },
      onWire(event) {
        if ((event.type !== 'device' && event.type !== 'port') || event.action !== 'off') return;
        const { node, operator } = event;
        const fence = state.fences.get(nodeFenceName(node));
        const key = `${fence?.metadata.uid} ${fence?.status?.fence?.startedAt}`;
        const isFirst = !begun.has(key);
        begun.add(key);
        if (isFirst && machineOf(node)?.power === 'on') cut(node, `operator-${operator} cut ${node}`);
      },
      onWrite(write) {
        const seen = longActOf(write, state);
        if (seen !== undefined && write.resource !== 'machines') facts.emptied.add(seen.node);
        else if (seen !== undefined && machineOf(seen.node)?.power === 'on') cut(seen.node, seen.told);
      },
    };
  },
};

class Facts {
  /** When a person stopped it. */
  readonly kubeletAwaySince = new Map<string, number>();
  readonly goingDown = new Map<string, number>();
  /** Their records were deleted by a person. */
  readonly forgotten = new Set<string>();
  /** An operator has evicted a pod there, or run a Job for it. */
  readonly emptied = new Set<string>();
  readonly #context: CheckContext;
  readonly #troubles: Troubles;
  /** Since when others have a node cordoned. */
  readonly #cordonedSince = new Map<string, number>();

  constructor(context: CheckContext, troubles: Troubles) {
    this.#context = context;
    this.#troubles = troubles;
  }

  take({ object, previous, type }: StoredChange, user: string): void {
    if (object.kind !== 'Node') return;
    const { metadata, spec } = object as Node;
    const isCordoned = spec?.unschedulable === true;
    const before: Node | undefined = previous;
    const wasCordoned = before?.spec?.unschedulable === true;
    if (type === 'DELETED' || !isCordoned) this.#cordonedSince.delete(metadata.name);
    else if (!wasCordoned && !isOperator(user)) this.#cordonedSince.set(metadata.name, this.#context.nowMs());
  }

  /** By an operator, and its kubelet lives. */
  isEmptied(node: string): boolean {
    const pulse = this.#context.pulseOf(node);
    return this.emptied.has(node) && pulse !== undefined && pulse.silentForMs < pulse.silentAfterMs;
  }

  /** Why what is on must not be cut now; undefined: it may. */
  whyNot(node: string): string | undefined {
    const until = this.#pausedUntil(node);
    if (until !== undefined) return `somebody has paused it until ${until}`;
    const awayMs = this.#awayMs(node);
    if (this.#isKubeletAway(node) && awayMs < kubeletAwayMs)
      return 'its machine answers, and only its kubelet is stopped';
    const { fence = {} } = (this.#troubles.policyOf(node)?.spec ?? {}) as { fence?: { bootTimeout?: string } };
    if (awayMs >= msOf(fence.bootTimeout ?? '10m')) return undefined;
    if (this.#hasLasted(this.#cordonedSince.get(node))) return 'somebody has cordoned it';
    if (this.#hasLasted(this.goingDown.get(node))) return 'somebody has shut it down';
    return this.#hasWork(node) ? undefined : nothingThere;
  }

  #hasLasted(sinceMs: number | undefined): boolean {
    return sinceMs !== undefined && this.#context.nowMs() - sinceMs >= tooLateMs;
  }

  /** How long it has been silent, or what is wrong with it has lasted. */
  #awayMs(node: string): number {
    const { pulseOf, nowMs } = this.#context;
    const since = [
      ...this.#troubles.statusOf(node, 'Ready').filter(({ status }) => status !== 'True'),
      ...this.#troubles.conditionsOf(node),
    ];
    return Math.max(pulseOf(node)?.silentForMs ?? 0, ...since.map(({ sinceMs }) => nowMs() - sinceMs));
  }

  #isKubeletAway(node: string): boolean {
    const machine = this.#context.machineOf(node);
    return this.#hasLasted(this.kubeletAwaySince.get(node)) && machine?.alive === true && machine.linked;
  }

  #pausedUntil(node: string): string | undefined {
    const { state, wallMs } = this.#context;
    const annotations = Object.entries(state.nodes.get(node)?.metadata.annotations ?? {});
    return annotations
      .filter(([key]) => key.startsWith(pausePrefix))
      .map(([, until]) => until)
      .find((until) => !(Date.parse(until) <= wallMs() + tooLateMs));
  }

  /** Something is bound or attached there that could be elsewhere. */
  #hasWork(node: string): boolean {
    const { state } = this.#context;
    const isBound = [...state.pods.values()].some((pod) => pod.spec.nodeName === node && isMovable(pod));
    return isBound || [...state.attachments.values()].some(({ spec }) => spec.nodeName === node);
  }
}

function isMovable({ metadata, status }: Pod): boolean {
  const belongs = metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet' || kind === 'Node') ?? false;
  const isOver = status?.phase === 'Failed' || status?.phase === 'Succeeded';
  return !belongs && !isOver && metadata.annotations?.[mirrorAnnotation] === undefined;
}
