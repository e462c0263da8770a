/** Who else acts on nodes, as it shows on them, and who has paused everything. */
import type { Chance } from '../twins/chance.ts';
import type { Happening, Manifest } from './document.ts';
import { seconds } from './document.ts';

/** Taints by which others say that a node is theirs; the last one says nothing yet. */
const marks = [
  { key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' },
  { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
  { key: 'karpenter.sh/disruption', effect: 'NoSchedule' },
  { key: 'medik8s.io/remediation', effect: 'NoExecute' },
  { key: 'remediation.medik8s.io/fence-agents-remediation', effect: 'NoExecute' },
  { key: 'aws-node-termination-handler/spot-itn', effect: 'NoSchedule' },
  { key: 'aws-node-termination-handler/scheduled-maintenance', effect: 'NoSchedule' },
  { key: 'cloud.google.com/impending-node-termination', effect: 'NoSchedule' },
  { key: 'DeletionCandidateOfClusterAutoscaler', effect: 'PreferNoSchedule' },
] as const;

/** One that `until` tells when it is taken away; absent: never. */
export function marked(chance: Chance, node: string, at: number, until?: number): Happening[] {
  const { key, effect } = chance.one(marks);
  return [
    { at: seconds(at), taint: { node, key, effect } },
    ...(until === undefined ? [] : [{ at: seconds(until), untaint: { node, key } }]),
  ];
}

export interface Reboot {
  node: string;
  at: number;
  begun: number;
  back: number;
}

/** Says so, drains, reboots, and takes back what it said. */
export function byKured({ node, at, begun, back }: Reboot): Happening[] {
  const annotations = { 'weave.works/kured-reboot-in-progress': 'true' };
  const noted = (metadata: object): Manifest => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: node, ...metadata },
  });
  return [
    { at: seconds(at), apply: noted({ annotations }) },
    { at: seconds(at), drain: node },
    { at: seconds(begun), reboot: node },
    { at: seconds(back), uncordon: node },
    { at: seconds(back), apply: noted({}) },
  ];
}

const pauseName = { name: 'fenceline-pause', namespace: 'fenceline' };

/** Until then, by what it says itself, or because somebody ends it: one who wrote no time, or none that can be read. */
export function pausedForAll(chance: Chance, at: number, until: number, clock: (at: number) => string): Happening[] {
  const data = chance.one<object>([
    { until: clock(until) },
    { until: clock(until) },
    { by: 'somebody' },
    { until: 'soon' },
  ]);
  const ended = { at: seconds(until), delete: { kind: 'ConfigMap', ...pauseName } };
  return [{ at: seconds(at), apply: { apiVersion: 'v1', kind: 'ConfigMap', metadata: pauseName, data } }, ended];
}
