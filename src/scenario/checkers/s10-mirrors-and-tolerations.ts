/**
 * S10: mirror pods are untouched, but for the word that they are not ready, on a machine that is really off; pods that tolerate a taint are untouched by a release that rests on it, for as
 * long as they tolerate it.
 */
import { isDeepStrictEqual } from 'node:util';
import { conditionOf, isReady } from '../../world/objects/meta.ts';
import type { Node, Taint } from '../../world/objects/nodes.ts';
import type { Pod, Toleration } from '../../world/objects/pods.ts';
import { mirrorAnnotation } from '../../world/objects/pods.ts';
import { tolerates } from '../../world/objects/tolerations.ts';
import type { Invariant, Write } from './checker.ts';
import { objectOf, succeeded } from './checker.ts';
import { Offs } from './devices.ts';
import { recordsFor, releaseOf, toldOf } from './release.ts';
import { assertingKeys } from './s5-not-while-restarting.ts';

const keys = [...assertingKeys, 'node.cloudprovider.kubernetes.io/shutdown'];

export const s10: Invariant = {
  id: 'S10',
  check: (context) => {
    const { state, nowMs, violated } = context;
    const offs = new Offs(context);
    /** Since when each taint has been seen on a node by whoever watches this run: `node key:effect`. */
    const since = new Map<string, number>();
    return {
      onWire: (event) => offs.take(event),
      onMachine({ type }, machine) {
        if (type === 'off') offs.fell(machine);
      },
      onStored({ object }) {
        if (object.kind !== 'Node') return;
        const { name } = object.metadata;
        const has = new Set(taintsOf(object as Node).map(({ key, effect }) => `${name} ${key}:${effect}`));
        for (const taint of has) if (!since.has(taint)) since.set(taint, nowMs());
        for (const taint of since.keys()) if (taint.startsWith(`${name} `) && !has.has(taint)) since.delete(taint);
      },
      onWrite(write) {
        const mirror = mirrorOf(write);
        if (mirror !== undefined) {
          const what = `${objectOf(write)}, which its kubelet runs from a file,`;
          if (isSaidUnready(write))
            offs.judge(mirror.spec.nodeName ?? '', `${what} was said not to be ready on a machine that is on`);
          else violated(`${what} was touched`);
        }
        const release = releaseOf(write);
        if (release === undefined || !('pod' in release)) return;
        const records = recordsFor(context, release);
        if (records.length === 0 || records.some(({ basis }) => basis !== 'Asserted')) return;
        const taints = taintsOf(state.nodes.get(release.node));
        const isTolerated = (taint: Taint): boolean => {
          const heldMs = nowMs() - (since.get(`${release.node} ${taint.key}:${taint.effect}`) ?? 0);
          return heldMs < toleratedMs(release.pod.spec.tolerations ?? [], taint);
        };
        if (taints.length > 0 && taints.every(isTolerated)) {
          violated(`${toldOf(release)} although it tolerates ${taints.map(({ key }) => key).join(', ')}`);
        }
      },
    };
  },
};

/** Undefined: it touches none. */
function mirrorOf(write: Write): Pod | undefined {
  if (write.resource !== 'pods' || !succeeded(write)) return undefined;
  const before = write.before as Pod | undefined;
  return before?.metadata.annotations?.[mirrorAnnotation] === undefined ? undefined : before;
}

/** And nothing else: it is what Kubernetes says of the pods of a dead node, mirrors included (EVD-5). */
function isSaidUnready({ before, after }: Write): boolean {
  const [was, is] = [before as Pod | undefined, after as Pod | undefined];
  return isReady(was) && conditionOf(is, 'Ready')?.status === 'False' && isDeepStrictEqual(but(was), but(is));
}

/** All but whether it is ready. */
function but(pod: Pod | undefined): unknown {
  const { resourceVersion: _, managedFields: __, ...metadata } = (pod?.metadata ?? {}) as Record<string, unknown>;
  const conditions = (pod?.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  return { ...pod, metadata, status: { ...pod?.status, conditions } };
}

function taintsOf(node: Node | undefined): Taint[] {
  return (node?.spec?.taints ?? []).filter(({ key }) => keys.includes(key));
}

/** The shortest of those that match; one without a time has none. 0: not at all. */
function toleratedMs(tolerations: readonly (Toleration & { tolerationSeconds?: number })[], taint: Taint): number {
  const matching = tolerations.filter((toleration) => tolerates(toleration, taint));
  if (matching.length === 0) return 0;
  const seconds = matching.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
  return seconds.length === 0 ? Infinity : Math.min(...seconds) * 1000;
}
