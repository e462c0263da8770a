/** DaemonSets: one pod on every node that it fits; it stays there while the node is not ready or cut off. */
import { isReady, isTerminating } from '../objects/meta.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod, PodSpec, Toleration } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import { untolerated } from '../objects/tolerations.ts';
import type { DaemonSet } from '../objects/workloads.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informer } from './informer.ts';
import { generatedName, podFrom, templateHash } from './pod-factory.ts';
import type { PodIndexes } from './pod-indexes.ts';
import { queueOwnersOfPods } from './pod-indexes.ts';
import { scaled } from './quantities.ts';
import { daemonSets, nodes, pods } from './resources.ts';
import { matchesAffinity, namedNodes } from './scheduler-fit.ts';

const who = 'daemon-set-controller';
const hashLabel = 'controller-revision-hash';
/** A kubelet that keeps refusing a pod must not be asked without end. */
const failedBackoff = { firstMs: 1000, maxMs: 900_000 };

const exists = (key: string, effect: string): Toleration => ({ key, operator: 'Exists', effect });
const ownTolerations = [
  exists('node.kubernetes.io/not-ready', 'NoExecute'),
  exists('node.kubernetes.io/unreachable', 'NoExecute'),
  exists('node.kubernetes.io/disk-pressure', 'NoSchedule'),
  exists('node.kubernetes.io/memory-pressure', 'NoSchedule'),
  exists('node.kubernetes.io/pid-pressure', 'NoSchedule'),
  exists('node.kubernetes.io/unschedulable', 'NoSchedule'),
];

export class DaemonSetController {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #sets: Informer<DaemonSet>;
  readonly #nodes: Informer<Node>;
  readonly #podsByController: Index<Pod>;
  readonly #failures = new Map<string, { count: number; at: number }>();

  constructor(host: ControllerHost, { podsByController }: PodIndexes) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#sets = host.informers.of(daemonSets);
    this.#nodes = host.informers.of(nodes);
    this.#podsByController = podsByController;
    const queue = host.queue(who, (key) => this.#sync(key));
    this.#sets.on(({ key }) => queue.add(key));
    queueOwnersOfPods(host, 'DaemonSet', queue);
    this.#nodes.on(({ object, previous }) => {
      if (this.#sets.size === 0) return;
      if (object !== undefined && previous !== undefined && facts(object) === facts(previous)) return;
      for (const { metadata } of this.#sets.values()) queue.add(`${metadata.namespace ?? ''}/${metadata.name}`);
    });
  }

  async #sync(key: string): Promise<number | undefined> {
    const set = this.#sets.get(key);
    if (set === undefined || isTerminating(set)) return undefined;
    const hash = templateHash(set.spec.template);
    let nextMs = Infinity;
    const byNode = this.#byNode(set);
    for (const node of this.#nodes.values()) {
      nextMs = Math.min(nextMs, await this.#settle(set, node, byNode.get(node.metadata.name) ?? []));
    }
    await this.#update(set, hash);
    const fresh = this.#sets.get(key);
    if (fresh !== undefined) await this.#report(fresh, hash);
    return nextMs === Infinity ? undefined : nextMs;
  }

  #byNode(set: DaemonSet): Map<string, Pod[]> {
    const byNode = new Map<string, Pod[]>();
    for (const pod of this.#podsByController.of(set.metadata.uid ?? '').values()) {
      const nodeName = pod.spec.nodeName ?? namedNodes(pod)?.[0] ?? '';
      byNode.set(nodeName, [...(byNode.get(nodeName) ?? []), pod]);
    }
    return byNode;
  }

  /** Answers after how long to look again. */
  async #settle(set: DaemonSet, node: Node, own: readonly Pod[]): Promise<number> {
    const { shouldRun, mayStay } = verdictOf(set, node);
    if (!mayStay) {
      for (const pod of own) if (!isTerminating(pod)) await this.#api.delete(pods, pod);
      return Infinity;
    }
    if (own.length === 0) {
      if (shouldRun) await this.#create(set, node.metadata.name);
      return Infinity;
    }
    const living = own.filter((pod) => !isTerminating(pod));
    let nextMs = Infinity;
    for (const pod of living.filter(isFinished)) {
      const waitMs =
        pod.status?.phase === 'Failed' ? this.#waitMs(`${set.metadata.uid ?? ''}/${node.metadata.name}`) : 0;
      if (waitMs > 0) nextMs = Math.min(nextMs, waitMs);
      else await this.#api.delete(pods, pod);
    }
    const [, ...surplus] = living.filter((pod) => !isFinished(pod));
    for (const pod of surplus) await this.#api.delete(pods, pod);
    return nextMs;
  }

  #waitMs(key: string): number {
    const now = this.#host.clock.monotonic();
    const known = this.#failures.get(key);
    const pauseMs =
      known === undefined ? 0 : Math.min(failedBackoff.maxMs, failedBackoff.firstMs * 2 ** (known.count - 1));
    const waitMs = known === undefined ? 0 : known.at + pauseMs - now;
    if (waitMs > 0) return waitMs;
    const forgotten = known !== undefined && now - known.at > 2 * failedBackoff.maxMs;
    this.#failures.set(key, { count: forgotten || known === undefined ? 1 : known.count + 1, at: now });
    return 0;
  }

  async #create(set: DaemonSet, nodeName: string): Promise<void> {
    const name = generatedName(set.metadata.name, this.#host.random);
    const labels = { [hashLabel]: templateHash(set.spec.template), 'pod-template-generation': '1' };
    const pod = podFrom(set.spec.template, set, daemonSets, { name, labels });
    await this.#api.create<Pod>(pods, { ...pod, spec: placed(pod.spec, nodeName) });
  }

  /** As many at a time as may be missing; what is not ready anyway goes first. */
  async #update(set: DaemonSet, hash: string): Promise<void> {
    if (set.spec.updateStrategy?.type === 'OnDelete') return;
    const own = [...this.#podsByController.of(set.metadata.uid ?? '').values()];
    const outdated = own.filter((pod) => !isTerminating(pod) && pod.metadata.labels?.[hashLabel] !== hash);
    if (outdated.length === 0) return;
    const wanted = [...this.#nodes.values()].filter((node) => verdictOf(set, node).shouldRun).length;
    const allowed = scaled(set.spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, wanted, 'up');
    let room = allowed - own.filter((pod) => isTerminating(pod) || !isReady(pod)).length;
    for (const pod of outdated) {
      if (isReady(pod)) {
        if (room <= 0) continue;
        room -= 1;
      }
      await this.#api.delete(pods, pod);
    }
  }

  async #report(set: DaemonSet, hash: string): Promise<void> {
    const byNode = this.#byNode(set);
    const count = { desired: 0, current: 0, ready: 0, misscheduled: 0, updated: 0 };
    for (const node of this.#nodes.values()) {
      const pod = byNode.get(node.metadata.name)?.find((one) => !isFinished(one));
      if (!verdictOf(set, node).shouldRun) {
        if (pod !== undefined) count.misscheduled += 1;
        continue;
      }
      count.desired += 1;
      if (pod === undefined) continue;
      count.current += 1;
      if (isReady(pod)) count.ready += 1;
      if (pod.metadata.labels?.[hashLabel] === hash) count.updated += 1;
    }
    await this.#api.counters(daemonSets, set, {
      observedGeneration: set.metadata.generation,
      desiredNumberScheduled: count.desired,
      currentNumberScheduled: count.current,
      numberMisscheduled: count.misscheduled,
      numberReady: count.ready,
      numberAvailable: count.ready,
      numberUnavailable: count.desired - count.ready,
      updatedNumberScheduled: count.updated,
    });
  }
}

/** A taint that only forbids scheduling keeps new pods away and leaves those that are there. */
function verdictOf({ spec }: DaemonSet, node: Node): { shouldRun: boolean; mayStay: boolean } {
  const tolerations = tolerationsOf(spec.template.spec);
  const { nodeName } = spec.template.spec;
  const fits =
    (nodeName === undefined || nodeName === node.metadata.name) &&
    matchesAffinity({ metadata: { name: '' }, spec: spec.template.spec }, node);
  if (!fits) return { shouldRun: false, mayStay: false };
  const taints = node.spec?.taints;
  return {
    shouldRun: untolerated(taints, tolerations, ['NoSchedule', 'NoExecute']) === undefined,
    mayStay: untolerated(taints, tolerations, ['NoExecute']) === undefined,
  };
}

function tolerationsOf(spec: PodSpec): Toleration[] {
  const network = spec.hostNetwork === true ? [exists('node.kubernetes.io/network-unavailable', 'NoSchedule')] : [];
  return [...(spec.tolerations ?? []), ...ownTolerations, ...network];
}

/** Bound by an affinity to the node's name, so that the scheduler still has its say. */
function placed(spec: PodSpec, nodeName: string): PodSpec {
  const named = { key: 'metadata.name', operator: 'In', values: [nodeName] };
  const { nodeAffinity, ...others } = spec.affinity ?? {};
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [{}];
  // The rest of the affinity was looked at when the node was chosen.
  const nodeSelectorTerms = required.map(() => ({ matchFields: [named] }));
  return {
    ...spec,
    tolerations: tolerationsOf(spec),
    affinity: { ...others, nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  };
}

function facts({ metadata, spec }: Node): string {
  return JSON.stringify([metadata.labels, spec?.taints?.map(({ key, value, effect }) => [key, value, effect])]);
}
