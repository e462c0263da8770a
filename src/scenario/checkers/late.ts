/** Pods that come to a node in quarantine: which of them another one would follow at once, were they taken away (SAF-9). */
import type { Node } from '../../world/objects/nodes.ts';
import type { Pod } from '../../world/objects/pods.ts';
import { tolerates } from '../../world/objects/tolerations.ts';

export const quarantine = { key: 'fenceline.dev/quarantine', effect: 'NoSchedule' };

export function whyItWouldComeAgain({ spec, status }: Pod): string | undefined {
  if ((spec.tolerations ?? []).some((toleration) => tolerates(toleration, quarantine)))
    return 'although it tolerates it';
  const isBound = status?.conditions?.some(({ type, status: says }) => type === 'PodScheduled' && says === 'True');
  const isNamed = spec.nodeSelector?.['kubernetes.io/hostname'] !== undefined;
  return isBound === true && !isNamed ? undefined : 'although it is bound to the node';
}

export function isQuarantined(node: object | undefined): boolean {
  const { taints = [] } = (node as Node | undefined)?.spec ?? {};
  return taints.some(({ key, effect }) => key === quarantine.key && effect === quarantine.effect);
}
