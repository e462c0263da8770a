/**
 * S8: only our own taints, cordons, annotations, labels and finalizers are removed; other entries of a list survive
 * every patch. Ours is what carries our prefix, whoever set it, and what an operator put there in this run.
 */
import type { KubeObject } from '../../kube/client.ts';
import type { Node } from '../../world/objects/nodes.ts';
import { isOperator } from '../operator-user.ts';
import type { Invariant } from './checker.ts';
import { objectOf, succeeded } from './checker.ts';

const prefix = 'fenceline.dev/';
const group = 'fenceline.dev';

export const s8: Invariant = {
  id: 'S8',
  check: ({ violated }) => {
    const ours = new Set<string>();
    return {
      /** What somebody else has taken away, and put there again, is not ours any more. */
      onStored({ object, previous, type }, user) {
        if (isOperator(user) || type === 'DELETED') return;
        const has = entriesOf(object);
        for (const entry of entriesOf(previous))
          if (!has.has(entry)) ours.delete(`${object.metadata.uid ?? ''} ${entry}`);
      },
      onWrite(write) {
        const { before, after, verb } = write;
        if (!succeeded(write) || after === undefined || verb === 'delete') return;
        if (after.apiVersion?.startsWith(`${group}/`)) return;
        const uid = after.metadata.uid ?? '';
        const had = entriesOf(before);
        const has = entriesOf(after);
        for (const entry of has) if (!had.has(entry)) ours.add(`${uid} ${entry}`);
        for (const entry of had) {
          if (has.has(entry) || ours.has(`${uid} ${entry}`) || isMarkedOurs(entry)) continue;
          violated(`${objectOf(write)} lost its ${entry}, which is not ours`);
        }
      },
    };
  },
};

/** What several parties put on an object, as `kind name`. */
function entriesOf(object: KubeObject | undefined): Set<string> {
  if (object === undefined) return new Set();
  const { annotations = {}, labels = {}, finalizers = [] } = object.metadata;
  const { taints = [], unschedulable } = object.kind === 'Node' ? ((object as Node).spec ?? {}) : {};
  return new Set([
    ...Object.keys(annotations).map((key) => `annotation ${key}`),
    ...Object.keys(labels).map((key) => `label ${key}`),
    ...finalizers.map((name) => `finalizer ${name}`),
    ...taints.map(({ key, effect }) => `taint ${key}:${effect}`),
    ...(unschedulable === true ? ['cordon'] : []),
  ]);
}

function isMarkedOurs(entry: string): boolean {
  return entry.slice(entry.indexOf(' ') + 1).startsWith(prefix);
}
