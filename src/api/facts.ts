/** What every room reads the same way out of the facts. */
import type { LiveNode, PodFacts } from './release-view.ts';

/** Its processes have ended, or the object says so: it uses nothing any more. */
export function isOver({ phase }: Pick<PodFacts, 'phase'>): boolean {
  return phase === 'Failed' || phase === 'Succeeded';
}

export function hasTaint(node: LiveNode | undefined, key: string, effect: string): boolean {
  return node?.taints.some((taint) => taint.key === key && taint.effect === effect) ?? false;
}

/** As kubelets and the attach-detach controller call a CSI volume in the status of a Node. */
export function nameInUse({ csi }: { csi?: { driver: string; handle: string } }): string | undefined {
  return csi === undefined ? undefined : `kubernetes.io/csi/${csi.driver}^${csi.handle}`;
}

/** `Time` of the API: whole seconds. */
export function clockTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
