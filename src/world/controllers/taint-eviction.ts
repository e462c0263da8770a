/**
 * Taint eviction: deletes pods from nodes with NoExecute taints that they do not tolerate, or no longer. A pod that was
 * promised its time keeps it when the taint is exchanged for another one that it tolerates too.
 */
import { conditionOf } from '../objects/meta.ts';
import type { Node, Taint } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { apiTime } from '../objects/times.ts';
import { tolerates } from '../objects/tolerations.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Informer } from './informer.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { nodes, pods } from './resources.ts';
import type { WorkQueue } from './work-queue.ts';

const who = 'taint-eviction-controller';

export class TaintEviction {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  /** Key of the pod to when it goes. */
  readonly #due = new Map<string, { at: number; uid: string }>();
  readonly #evictions: WorkQueue;

  constructor(host: ControllerHost, { podsByNode }: PodIndexes) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#nodes = host.informers.of(nodes);
    this.#pods = host.informers.of(pods);
    this.#evictions = host.queue(who, (key) => this.#evict(key), { workers: 8 });
    this.#nodes.on(({ object, previous }) => {
      // Of a node that is gone PodGC takes care.
      if (object === undefined || sameTaints(object, previous)) return;
      for (const [key, pod] of podsByNode.of(object.metadata.name)) this.#consider(key, pod, object);
    });
    this.#pods.on(({ key, object, previous }) => {
      if (object === undefined) {
        this.#due.delete(key);
        return;
      }
      const { nodeName, tolerations } = object.spec;
      if (nodeName === undefined) return;
      const known = previous?.spec.nodeName === nodeName && sameJson(previous.spec.tolerations, tolerations);
      const node = known ? undefined : this.#nodes.get(nodeName);
      if (node !== undefined) this.#consider(key, object, node);
    });
    // Lists arrive one resource after the other: pods may have come before their nodes.
    host.atStart(() => {
      for (const node of this.#nodes.values()) {
        for (const [key, pod] of podsByNode.of(node.metadata.name)) this.#consider(key, pod, node);
      }
    });
  }

  #consider(key: string, pod: Pod, node: Node): void {
    const afterMs = toleratedMs(pod, noExecuteTaints(node));
    const { uid = '' } = pod.metadata;
    if (afterMs === Infinity) {
      this.#due.delete(key);
      return;
    }
    const now = this.#host.clock.monotonic();
    const known = this.#due.get(key);
    if (known !== undefined && known.uid === uid && afterMs > 0) return;
    this.#due.set(key, { at: now + afterMs, uid });
    if (afterMs === 0) this.#evictions.add(key);
    else this.#evictions.addAfter(key, afterMs);
  }

  async #evict(key: string): Promise<number | undefined> {
    const due = this.#due.get(key);
    if (due === undefined) return undefined;
    const waitMs = due.at - this.#host.clock.monotonic();
    if (waitMs > 0) return waitMs;
    const pod = await this.#api.get<Pod>(pods, key);
    if (pod !== undefined && pod.metadata.uid === due.uid) {
      const marked = await this.#mark(pod);
      if (marked !== undefined) await this.#api.delete(pods, marked);
    }
    this.#due.delete(key);
    return undefined;
  }

  #mark(pod: Pod): Promise<Pod | undefined> {
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
      lastTransitionTime: apiTime(this.#host.clock.now()),
    };
    const known = conditionOf(pod, condition.type);
    if (known?.status === 'True' && known.reason === condition.reason) return Promise.resolve(pod);
    return this.#api.status(pods, pod, { fields: {}, conditions: [condition] });
  }
}

function noExecuteTaints(node: Node | undefined): Taint[] {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
}

function sameTaints(node: Node, previous: Node | undefined): boolean {
  return previous !== undefined && sameJson(noExecuteTaints(node), noExecuteTaints(previous));
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** How long the pod may stay: 0 when it has to go at once, Infinity when it may stay for good. */
function toleratedMs(pod: Pod, taints: readonly Taint[]): number {
  const tolerations = pod.spec.tolerations ?? [];
  const used = taints.map((taint) => tolerations.filter((toleration) => tolerates(toleration, taint)));
  if (used.some((some) => some.length === 0)) return 0;
  // The stock controller takes the first toleration of each taint that fits.
  const seconds = used.map(([first]) => first?.tolerationSeconds ?? Infinity);
  return Math.max(0, Math.min(Infinity, ...seconds)) * 1000;
}
