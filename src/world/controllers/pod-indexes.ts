/** Pods by what several controllers look them up by, kept once for all. */
import { controllerOf } from '../objects/meta.ts';
import type { Pod } from '../objects/pods.ts';
import { claimsOf } from '../objects/pods.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informers } from './informer.ts';
import { pods } from './resources.ts';
import type { WorkQueue } from './work-queue.ts';

export interface PodIndexes {
  podsByNode: Index<Pod>;
  /** By the UID of their controller. */
  podsByController: Index<Pod>;
  /** By `namespace/name` of the claims they use. */
  podsByClaim: Index<Pod>;
  podsByNamespace: Index<Pod>;
}

export function indexPods(informers: Informers): PodIndexes {
  const informer = informers.of<Pod>(pods);
  return {
    podsByNode: informer.indexBy(({ spec }) => (spec.nodeName === undefined ? [] : [spec.nodeName])),
    podsByController: informer.indexBy((pod) => {
      const uid = controllerOf(pod)?.uid;
      return uid === undefined ? [] : [uid];
    }),
    podsByClaim: informer.indexBy((pod) => claimsOf(pod).map((name) => `${pod.metadata.namespace ?? ''}/${name}`)),
    podsByNamespace: informer.indexBy(({ metadata }) => [metadata.namespace ?? '']),
  };
}

/** Whatever happens to a pod is looked at by its owner, if that is of this kind. */
export function queueOwnersOfPods({ informers }: ControllerHost, kind: string, queue: WorkQueue): void {
  informers.of<Pod>(pods).on(({ object, previous }) => {
    const pod = object ?? previous;
    const owner = pod === undefined ? undefined : controllerOf(pod);
    if (owner?.kind === kind) queue.add(`${pod?.metadata.namespace ?? ''}/${owner.name}`);
  });
}
