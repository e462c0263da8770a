/** The taints by which the node lifecycle controller says what it thinks of a node. */
import { conditionOf } from '../objects/meta.ts';
import type { Node, Taint } from '../objects/nodes.ts';
import { apiTime } from '../objects/times.ts';
import type { Api } from './api.ts';
import { nodes } from './resources.ts';
import { StepFailed } from './work-queue.ts';

export const outOfServiceTaint = 'node.kubernetes.io/out-of-service';
export const notReadyTaint = 'node.kubernetes.io/not-ready';
export const unreachableTaint = 'node.kubernetes.io/unreachable';
export const unschedulableTaint = 'node.kubernetes.io/unschedulable';

/** Status of a condition, by its type, to the key of the taint that goes with it. */
const taintsOfConditions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: notReadyTaint, Unknown: unreachableTaint },
  MemoryPressure: { True: 'node.kubernetes.io/memory-pressure' },
  DiskPressure: { True: 'node.kubernetes.io/disk-pressure' },
  NetworkUnavailable: { True: 'node.kubernetes.io/network-unavailable' },
  PIDPressure: { True: 'node.kubernetes.io/pid-pressure' },
};

const ownNoScheduleKeys = new Set([
  unschedulableTaint,
  ...Object.values(taintsOfConditions).flatMap((keys) => Object.values(keys)),
]);

export function hasTaint(node: Node, key: string, effect?: string): boolean {
  return (node.spec?.taints ?? []).some(
    (taint) => taint.key === key && (effect === undefined || taint.effect === effect),
  );
}

/** The NoSchedule taints that a node should have by its conditions and its cordon. */
function wantedNoSchedule(node: Node): string[] {
  const keys = Object.entries(taintsOfConditions).flatMap(([type, byStatus]) => {
    const key = byStatus[conditionOf(node, type)?.status ?? ''];
    return key === undefined ? [] : [key];
  });
  if (node.spec?.unschedulable === true) keys.push(unschedulableTaint);
  return keys;
}

export interface TaintSwap {
  add: { key: string; effect: string }[];
  remove: { key: string; effect: string }[];
}

export function noScheduleSwap(node: Node): TaintSwap {
  const wanted = wantedNoSchedule(node);
  const present = (node.spec?.taints ?? []).filter(
    ({ key, effect }) => effect === 'NoSchedule' && ownNoScheduleKeys.has(key),
  );
  return {
    add: wanted
      .filter((key) => !present.some((taint) => taint.key === key))
      .map((key) => ({ key, effect: 'NoSchedule' })),
    remove: present.filter(({ key }) => !wanted.includes(key)),
  };
}

const tries = 5;

/**
 * One write for both; none when the node is so already. Tried again at once when somebody else wrote: a NoExecute taint
 * that waited for its turn would otherwise wait for another one.
 */
export async function swapTaints(api: Api, node: Node, swap: TaintSwap, nowMs: number): Promise<Node | undefined> {
  let current = node;
  for (let count = 1; ; count += 1) {
    try {
      return await writeSwap(api, current, swap, nowMs);
    } catch (error) {
      if (!(error instanceof StepFailed) || error.error.kind !== 'conflict' || count === tries) throw error;
      const fresh = await api.get<Node>(nodes, node.metadata.name);
      if (fresh === undefined || fresh.metadata.uid !== node.metadata.uid) return undefined;
      current = fresh;
    }
  }
}

async function writeSwap(api: Api, node: Node, swap: TaintSwap, nowMs: number): Promise<Node | undefined> {
  const before = node.spec?.taints ?? [];
  const isOneOf = (taint: Taint, list: TaintSwap['add']): boolean =>
    list.some(({ key, effect }) => key === taint.key && effect === taint.effect);
  const kept = before.filter((taint) => !isOneOf(taint, swap.remove));
  const added = swap.add
    .filter((taint) => !isOneOf({ ...taint }, before))
    .map((taint) => ({ ...taint, timeAdded: apiTime(nowMs) }));
  if (kept.length === before.length && added.length === 0) return node;
  const taints = [...kept, ...added];
  return api.patch(nodes, node, [{ op: 'add', path: '/spec/taints', value: taints }], { exact: true });
}
