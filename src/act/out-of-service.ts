/** What is written where a machine is off and the cluster is told (EVD-5), each from the object as it was read. */
import type { PodFacts } from '../api/release-view.ts';
import type { JsonPatchOperation } from '../kube/client.ts';
import type { NodeLike } from '../kube/patches.ts';

export interface WireNode extends NodeLike {
  status?: { volumesInUse?: string[]; conditions?: { type: string; status: string }[] };
}

function offCondition(at: string): Record<'reason' | 'message' | 'lastTransitionTime', string> {
  const message = 'the machine of the node is off, as its power device says';
  return { reason: 'FencelinePoweredOff', message, lastTransitionTime: at };
}

export function isReadyNow({ status }: WireNode): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}

/**
 * Tests the condition as it was read: whoever has written it meanwhile is a kubelet that lives. The time of its heartbeat stays: it is
 * the kubelet's, and with another one Kubernetes would begin to wait anew.
 */
export function notReady({ status }: WireNode, at: string): JsonPatchOperation[] {
  const index = status?.conditions?.findIndex(({ type }) => type === 'Ready') ?? -1;
  const before = status?.conditions?.[index];
  if (before === undefined || before.status === 'Unknown') return [];
  const path = `/status/conditions/${index}`;
  return [
    { op: 'test', path, value: before },
    { op: 'replace', path, value: { ...before, status: 'Unknown', ...offCondition(at) } },
  ];
}

/** As the node controller does it: of the pod as it was seen. */
export function unready({ readyAt }: PodFacts, at: string): JsonPatchOperation[] {
  const path = `/status/conditions/${readyAt}`;
  const said = Object.entries({ ...offCondition(at), status: 'False' });
  return said.map(([key, value]) => ({ op: 'add', path: `${path}/${key}`, value }));
}

/** A taint without a value is known by key and effect. With one, whoever has written another says something else by it. */
export function isMeant(
  { spec }: NodeLike,
  { key, effect, value }: { key: string; effect: string; value?: string },
): boolean {
  const known = spec?.taints?.find((taint) => taint.key === key && taint.effect === effect);
  return value === undefined || known?.value === value;
}
