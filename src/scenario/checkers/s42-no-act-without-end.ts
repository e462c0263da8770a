/**
 * S42: nothing is done for ever. Of the pods that came to a node after its quarantine at most one of each controller is released,
 * and none that tolerates it or is bound to the node; and what is done to a node until it is back in service is bounded. Who
 * was there is what the API server held when the taint was put on. Where a person put it there, or deleted the record, nobody
 * can know who came later: what was there when the next record was written is exempt. A drain drives out who was there when it
 * began, and of those that came later one of each controller, for as long as the trouble goes on that it is for; an operator that has
 * just started does not know what the one before it has done.
 */
import type { Node } from '../../world/objects/nodes.ts';
import type { StoredChange, StoredFence } from '../cluster-state.ts';
import type { CheckContext, Checker, Invariant, WireEvent, Write } from './checker.ts';
import { succeeded } from './checker.ts';
import { isQuarantined, whyItWouldComeAgain } from './late.ts';
import { longActOf } from './long-act.ts';
import { nameOf, releaseOf } from './release.ts';
import { Troubles } from './trouble.ts';

export const s42: Invariant = { id: 'S42', check: (context) => new Bounded(context) };

/** More than any honest incident needs. */
const actsBeside = 220;
const actsPerPod = 12;

interface Spell {
  /** UIDs of the pods that were there when the taint appeared. */
  present: Set<string>;
  /** A person put it there, or deleted the record, so that the operator has to begin anew. */
  isUnknown: boolean;
  /** Those that were there when it did. */
  excused: Set<string>;
  /** Controllers of which a latecomer was released. */
  late: Set<string>;
  released: Set<string>;
  acts: number;
  mostPods: number;
}

interface Emptied {
  /** UIDs of the pods that were there when the first of them was driven out. */
  present: Set<string>;
  /** Controllers of which a latecomer was driven out, by whom. */
  late: Map<string, string>;
}

class Bounded implements Checker {
  readonly #context: CheckContext;
  readonly #spells = new Map<string, Spell>();
  readonly #emptied = new Map<string, Emptied>();
  readonly #troubles: Troubles;

  constructor(context: CheckContext) {
    this.#context = context;
    this.#troubles = new Troubles(context);
  }

  onStored(change: StoredChange): void {
    const { type, object, previous } = change;
    const { kind, metadata } = object;
    this.#troubles.take(change);
    if (kind === 'NodeFence' && type === 'DELETED') this.#spellOf(nodeOf(object)).isUnknown = true;
    if (kind !== 'Node') return;
    if (this.#isCalm(metadata.name)) this.#emptied.delete(metadata.name);
    // Back in service: what comes next is another story.
    if (isReady(object) && !isQuarantined(object)) this.#spells.delete(metadata.name);
    if (!isQuarantined(object) || isQuarantined(previous)) return;
    Object.assign(this.#spellOf(metadata.name), { present: this.#podsOn(metadata.name), isUnknown: true });
  }

  onWrite(write: Write): void {
    if (!succeeded(write)) return;
    const { resource, name = '', before, after } = write;
    if (resource === 'nodefences') return this.#recorded(nodeOf(after ?? before));
    const node =
      resource === 'nodes' ? name : ((releaseOf(write) ?? longActOf(write, this.#context.state))?.node ?? '');
    if (node === '') return;
    const spell = this.#spellOf(node);
    if (resource === 'nodes' && isQuarantined(after) && !isQuarantined(before)) spell.isUnknown = false;
    this.#count(node, spell);
    this.#released(node, spell, write);
    if (resource === 'pods' && write.subresource === 'eviction') this.#drivenOut(node, write);
  }

  onWire(event: WireEvent): void {
    if (event.type === 'started') for (const { late } of this.#emptied.values()) late.clear();
    // What was switched off is switched on for as long as it takes.
    if ((event.type !== 'device' && event.type !== 'port') || event.action !== 'off') return;
    this.#count(event.node, this.#spellOf(event.node));
  }

  #recorded(node: string): void {
    const spell = this.#spellOf(node);
    if (!spell.isUnknown || !isQuarantined(this.#context.state.nodes.get(node))) return;
    Object.assign(spell, { isUnknown: false, excused: this.#podsOn(node) });
  }

  #count(node: string, spell: Spell): void {
    spell.acts += 1;
    spell.mostPods = Math.max(spell.mostPods, this.#podsOn(node).size);
    if (spell.acts !== actsBeside + actsPerPod * spell.mostPods + 1) return;
    this.#context.violated(`${spell.acts} acts on ${node}, and it goes on`);
  }

  #released(node: string, { present, excused, late, released }: Spell, write: Write): void {
    const { state, violated, exempt } = this.#context;
    const release = releaseOf(write);
    if (release === undefined || !('pod' in release) || released.has(release.uid)) return;
    released.add(release.uid);
    if (present.has(release.uid) || !isQuarantined(state.nodes.get(node))) return;
    const { pod, uid } = release;
    const controller = pod.metadata.ownerReferences?.find((owner) => owner.controller)?.uid ?? '';
    const isNext = late.has(controller) ? 'as not the first one of its controller' : undefined;
    const why = whyItWouldComeAgain(pod) ?? isNext;
    late.add(controller);
    if (why === undefined) return;
    const told = `${nameOf(release)}, which came after the quarantine of ${node}, was released ${why}`;
    if (excused.has(uid)) exempt('PersonsAct', told);
    else violated(told);
  }

  #drivenOut(node: string, { namespace = '', name = '', user }: Write): void {
    const { state, violated } = this.#context;
    const pod = state.pods.get(`${namespace}/${name}`);
    const { uid = '', ownerReferences = [] } = pod?.metadata ?? {};
    const { present, late } = this.#emptiedOf(node);
    if (present.has(uid)) return;
    const controller = `${ownerReferences.find((owner) => owner.controller)?.uid ?? uid} ${user}`;
    const before = late.get(controller) ?? uid;
    late.set(controller, before);
    if (before === uid) return;
    violated(
      `pod ${namespace}/${name}, which came to ${node} while it was drained, is not the first one of its controller`,
    );
  }

  #emptiedOf(node: string): Emptied {
    const known = this.#emptied.get(node) ?? { present: this.#podsOn(node), late: new Map() };
    this.#emptied.set(node, known);
    return known;
  }

  /** What a drain was for is over: the next one is another. */
  #isCalm(node: string): boolean {
    return this.#troubles.conditionsOf(node).length === 0 && !this.#troubles.isSilent(node);
  }

  #podsOn(node: string): Set<string> {
    const here = [...this.#context.state.pods.values()].filter(({ spec }) => spec.nodeName === node);
    return new Set(here.map(({ metadata }) => metadata.uid ?? ''));
  }

  #spellOf(node: string): Spell {
    const known = this.#spells.get(node) ?? {
      present: new Set(),
      isUnknown: false,
      excused: new Set(),
      late: new Set(),
      released: new Set(),
      acts: 0,
      mostPods: 0,
    };
    this.#spells.set(node, known);
    return known;
  }
}

function nodeOf(fence: object | undefined): string {
  return (fence as StoredFence | undefined)?.spec?.node ?? '';
}

function isReady(node: object): boolean {
  return (node as Node).status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
