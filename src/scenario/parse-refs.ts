/** How files name nodes, pods and operators, checked against the cluster of the file. */
import type { ClusterSpec, NodeRef, PodRef } from './format.ts';
import type { Read } from './reader.ts';
import { nearest } from '../api/nearest.ts';
import { problem, record, scalar, text, whereOf, whole } from './reader.ts';

/** Without a cluster it was wrong itself, and nothing can be checked against it. */
export interface Known {
  cluster?: ClusterSpec;
}

export function nodeRef({ cluster }: Known): Read<NodeRef> {
  return (place) => {
    if (scalar(place) === undefined) {
      const { nodeOf } = record<{ nodeOf: PodRef }>({ nodeOf: podRef }, ['nodeOf'])(place);
      return { podOf: nodeOf, where: whereOf(place) };
    }
    const node = text(place);
    const names = cluster?.nodes.map(({ name }) => name) ?? [node];
    if (!names.includes(node)) {
      const hint = names.length === 0 ? '' : `; did you mean "${nearest(node, names)}"?`;
      problem(place, `there is no node "${node}"${hint}`);
    }
    return { node };
  };
}

const podRef: Read<PodRef> = (place) => {
  if (scalar(place) === undefined) {
    return record<{ label: string; namespace?: string }>({ label, namespace: text }, ['label'])(place);
  }
  const [namespace, name, ...more] = text(place).split('/');
  if (namespace === undefined || name === undefined || name === '' || more.length > 0) {
    return problem(place, 'write namespace/pod, or {label: app=x}');
  }
  return { namespace, name };
};

export const label: Read<string> = (place) => {
  const value = text(place);
  return /^[^=!,\s]+=[^=!,\s]*$/.test(value) ? value : problem(place, `write key=value, not ${JSON.stringify(value)}`);
};

export function operatorNumber({ cluster }: Known): Read<number> {
  return (place) => {
    const number = whole(1)(place);
    const count = cluster?.operators.count ?? number;
    return number <= count
      ? number
      : problem(place, `there ${count === 1 ? 'is 1 operator' : `are ${count} operators`}`);
  };
}

export function zoneName({ cluster }: Known): Read<string> {
  return (place) => {
    const zone = text(place);
    const zones = [...new Set(cluster?.nodes.map((node) => node.zone))];
    if (cluster === undefined || zones.includes(zone)) return zone;
    return problem(place, `there is no zone "${zone}"; there are ${zones.join(', ')}`);
  };
}
