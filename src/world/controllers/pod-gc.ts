/**
 * Pod garbage collection, every 20 s: pods that nobody will ever end because their node is gone, is out of service, or
 * never was. It deletes by force and by what it last saw, like the stock one.
 */
import { isReady, isTerminating } from '../objects/meta.ts';
import type { Node } from '../objects/nodes.ts';
import type { Pod } from '../objects/pods.ts';
import { isFinished } from '../objects/pods.ts';
import { apiTime } from '../objects/times.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Informer } from './informer.ts';
import { hasTaint, outOfServiceTaint } from './node-taints.ts';
import { nodes, pods } from './resources.ts';

const who = 'pod-garbage-collector';

export class PodGarbageCollector {
  readonly #host: ControllerHost;
  readonly #api: Api;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  /** Names of nodes that pods speak of and nobody knows, to when their time is up. */
  readonly #quarantine = new Map<string, number>();

  constructor(host: ControllerHost) {
    this.#host = host;
    this.#api = host.apiFor(who);
    this.#pods = host.informers.of(pods);
    this.#nodes = host.informers.of(nodes);
    host.every(who, host.timings.podGcPeriodMs, () => this.#collect());
  }

  async #collect(): Promise<void> {
    const now = this.#host.clock.monotonic();
    const outOfService: Pod[] = [];
    const orphaned: Pod[] = [];
    const unscheduled: Pod[] = [];
    for (const pod of this.#pods.values()) {
      const { nodeName } = pod.spec;
      if (nodeName === undefined) {
        if (isTerminating(pod)) unscheduled.push(pod);
        continue;
      }
      const node = this.#nodes.get(nodeName);
      if (node === undefined) {
        orphaned.push(pod);
        if (!this.#quarantine.has(nodeName)) this.#quarantine.set(nodeName, now + this.#host.timings.podGcQuarantineMs);
      } else if (isTerminating(pod) && !isReady(node) && hasTaint(node, outOfServiceTaint)) {
        outOfService.push(pod);
      }
    }
    for (const pod of outOfService) await this.#end(pod);
    const gone = await this.#goneNodes(now);
    for (const pod of orphaned) if (gone.has(pod.spec.nodeName ?? '')) await this.#end(pod, true);
    for (const pod of unscheduled) await this.#end(pod);
  }

  async #goneNodes(now: number): Promise<Set<string>> {
    const gone = new Set<string>();
    for (const [name, until] of this.#quarantine) {
      if (until > now) continue;
      this.#quarantine.delete(name);
      if (this.#nodes.get(name) !== undefined) continue;
      await this.#host.attempt(who, async () => {
        if ((await this.#api.get<Node>(nodes, name)) === undefined) gone.add(name);
      });
    }
    return gone;
  }

  /** One pod that cannot be ended must not keep the others. */
  async #end(pod: Pod, orphan = false): Promise<void> {
    await this.#host.attempt(who, async () => {
      if (!isFinished(pod)) {
        const condition = {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'DeletionByPodGC',
          message: 'PodGC: node no longer exists',
          lastTransitionTime: apiTime(this.#host.clock.now()),
        };
        const wanted = { fields: { phase: 'Failed' }, conditions: orphan ? [condition] : [] };
        await this.#api.status(pods, pod, wanted);
      }
      await this.#api.delete(pods, pod, { gracePeriodSeconds: 0 });
    });
  }
}
