/** Pods by what several controllers look them up by, kept once for all. */
import type { KubeObject } from '../../kube/client.ts';
import type { Resource } from '../../kube/resources.ts';
import type { LabelSelector } from '../objects/meta.ts';
import { controlledBy, controllerOf, isTerminating, ownersOf } from '../objects/meta.ts';
import type { Pod } from '../objects/pods.ts';
import { claimsOf, isFinished } from '../objects/pods.ts';
import type { Api } from './api.ts';
import type { ControllerHost } from './host.ts';
import type { Index, Informers } from './informer.ts';
import { pods } from './resources.ts';
import { matchesLabels } from './selectors.ts';
import type { WorkQueue } from './work-queue.ts';

export interface PodIndexes {
  podsByNode: Index<Pod>;
  /** By the UID of their controller. */
  podsByController: Index<Pod>;
  /** By `namespace/name` of the claims they use. */
  podsByClaim: Index<Pod>;
  podsByNamespace: Index<Pod>;
  /** Those without a controller, by namespace. */
  orphansByNamespace: Index<Pod>;
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
    orphansByNamespace: informer.indexBy((pod) =>
      controllerOf(pod) === undefined ? [pod.metadata.namespace ?? ''] : [],
    ),
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

/** Pods that nobody controls and that a set selects become its own, as with the stock controllers. */
export async function adoptOrphans(
  { api, orphans, resource }: { api: Api; orphans: Index<Pod>; resource: Resource },
  set: KubeObject & { spec: { selector: LabelSelector } },
  isMine: (pod: Pod) => boolean = () => true,
): Promise<void> {
  if (isTerminating(set)) return;
  const selected = [...orphans.of(set.metadata.namespace ?? '').values()].filter(
    (pod) =>
      !isTerminating(pod) && !isFinished(pod) && isMine(pod) && matchesLabels(set.spec.selector, pod.metadata.labels),
  );
  for (const pod of selected) {
    const value = [...ownersOf(pod), controlledBy(set, resource)];
    await api.patch(pods, pod, [{ op: 'add', path: '/metadata/ownerReferences', value }], { exact: true });
  }
}
