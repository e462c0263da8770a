/** What the pods of each node ask for, kept up to date with every change, those just bound included. */
import { controllerOf, keyOf } from '../objects/meta.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import type { Informer } from './informer.ts';
import { quantity } from './quantities.ts';
import { zoneOf } from './zones.ts';

export interface Load {
  pods: number;
  cpu: number;
  memory: number;
  /** Number of pods by the UID of their controller. */
  byController: Map<string, number>;
}

export interface NodeFacts {
  zone: string;
  pods: number;
  cpu: number;
  memory: number;
}

const knownFacts = new WeakMap<Node, NodeFacts>();

/** What is read of every node for every pod, worked out once for each version of a node. */
export function factsOf(node: Node): NodeFacts {
  let facts = knownFacts.get(node);
  if (facts === undefined) {
    const { pods, cpu, memory } = node.status?.allocatable ?? {};
    facts = { zone: zoneOf(node), pods: quantity(pods), cpu: quantity(cpu), memory: quantity(memory) };
    knownFacts.set(node, facts);
  }
  return facts;
}

export function requestsOf({ spec }: Pod): { cpu: number; memory: number } {
  let cpu = 0;
  let memory = 0;
  for (const { resources } of spec.containers) {
    cpu += quantity(resources?.requests?.['cpu']);
    memory += quantity(resources?.requests?.['memory']);
  }
  return { cpu, memory };
}

export class NodeLoads {
  readonly #loads = new Map<string, Load>();
  /** Bound by us, and not yet seen to be. */
  readonly #assumed = new Map<string, { pod: Pod; nodeName: string }>();

  constructor(pods: Informer<Pod>) {
    pods.on(({ key, object, previous }) => {
      const before = this.#assumed.get(key);
      const seen = object?.spec.nodeName !== undefined || object === undefined;
      if (before !== undefined && (seen || object.metadata.uid !== before.pod.metadata.uid)) this.forget(before.pod);
      if (previous?.spec.nodeName !== undefined && counts(previous)) this.#add(previous.spec.nodeName, previous, -1);
      if (object?.spec.nodeName !== undefined && counts(object)) this.#add(object.spec.nodeName, object, 1);
    });
  }

  of(nodeName: string): Load {
    return this.#loads.get(nodeName) ?? { pods: 0, cpu: 0, memory: 0, byController: new Map() };
  }

  /** Where the pod is or will be. */
  nodeOf(pod: Pod): string | undefined {
    return pod.spec.nodeName ?? this.#assumed.get(keyOf(pod))?.nodeName;
  }

  assume(pod: Pod, nodeName: string): void {
    this.#assumed.set(keyOf(pod), { pod, nodeName });
    this.#add(nodeName, pod, 1);
  }

  forget(pod: Pod): void {
    const assumed = this.#assumed.get(keyOf(pod));
    if (assumed === undefined) return;
    this.#assumed.delete(keyOf(pod));
    this.#add(assumed.nodeName, assumed.pod, -1);
  }

  #add(nodeName: string, pod: Pod, sign: 1 | -1): void {
    const load = this.of(nodeName);
    this.#loads.set(nodeName, load);
    const { cpu, memory } = requestsOf(pod);
    load.pods += sign;
    load.cpu += sign * cpu;
    load.memory += sign * memory;
    const uid = controllerOf(pod)?.uid;
    if (uid === undefined) return;
    const count = (load.byController.get(uid) ?? 0) + sign;
    if (count === 0) load.byController.delete(uid);
    else load.byController.set(uid, count);
  }
}

/** A finished pod takes nothing up; one that is being deleted still does. */
function counts(pod: Pod): boolean {
  return !isFinished(pod);
}
