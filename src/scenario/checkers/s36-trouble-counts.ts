/**
 * S36: the brake counts trouble, not only silence, for every act that cannot be taken back. When an operator begins the fence of
 * a node that is not silent, makes a Job for a node in trouble, evicts the first pod of one or deletes its machine, no more nodes
 * are in the same trouble than its policy allows, in the cluster and in each zone of three or more: those that are silent, and
 * those that have reported the very condition for as long as its threshold says. (Fences of silent nodes are S21.)
 */
import type { KubeObject } from '../../kube/client.ts';
import type { StoredFence } from '../cluster-state.ts';
import type { Invariant, Write } from './checker.ts';
import { succeeded } from './checker.ts';
import { beginsFence, isStatus, Troubles } from './trouble.ts';

/** Between a decision and what comes of it. */
const underwayMs = 3000;
/** Who evicts again after such a pause has begun another drain. */
const drainPauseMs = 60_000;

export const s36: Invariant = {
  id: 'S36',
  check: (context) => {
    const { state, machineOf, nowMs, violated } = context;
    const troubles = new Troubles(context);
    const evictedMs = new Map<string, number>();
    const judge = (node: string, what: string): void => {
      const limit = troubles.policyOf(node)?.spec?.storm?.maxUnresponsive ?? '40%';
      const own = troubles.conditionsOf(node);
      const isSilent = troubles.isSilent(node);
      // Neither silent nor in a condition: it is the way back, or somebody has asked for it.
      if (own.length === 0 && !isSilent) return;
      const has = (name: string, { type, status, forMs }: (typeof own)[number]): boolean =>
        troubles
          .statusOf(name, type)
          .some((seen) => isStatus(seen.status, status) && nowMs() - seen.sinceMs >= forMs + underwayMs);
      const counts = isSilent ? [undefined] : own;
      const beyond = counts.map((condition) =>
        troubles.beyond(
          limit,
          (name) => name === node || troubles.isSilent(name) || (condition !== undefined && has(name, condition)),
        ),
      );
      const [where] = beyond;
      if (where === undefined || beyond.includes(undefined)) return;
      violated(`${node} ${what} while ${where} are in the same trouble`);
    };
    const drained = (write: Write): void => {
      const node = state.pods.get(`${write.namespace}/${write.name}`)?.spec.nodeName ?? '';
      if (nowMs() - (evictedMs.get(node) ?? -Infinity) > drainPauseMs) judge(node, 'is drained');
      evictedMs.set(node, nowMs());
    };
    return {
      onStored(change) {
        troubles.take(change);
        const node = (change.object as StoredFence).spec?.node ?? '';
        if (!beginsFence(change) || machineOf(node)?.power !== 'on' || troubles.isSilent(node)) return;
        judge(node, 'is fenced');
      },
      onWrite(write) {
        if (!succeeded(write)) return;
        if (write.resource === 'jobs' && write.verb === 'create') judge(nodeOfJob(write, state.nodes), 'gets a Job');
        if (write.resource === 'pods' && write.subresource === 'eviction') drained(write);
        if (write.resource === 'machines' && write.verb === 'delete') judge(nodeOfMachine(write), 'loses its machine');
      },
    };
  },
};

function nodeOfJob({ after }: Write, nodes: ReadonlyMap<string, KubeObject>): string {
  const labels = Object.values(after?.metadata.labels ?? {});
  return [...nodes.values()].find(({ metadata }) => labels.includes(metadata.uid ?? ''))?.metadata.name ?? '';
}

function nodeOfMachine({ before }: Write): string {
  const { status } = (before ?? {}) as { status?: { nodeRef?: { name?: string } } };
  return status?.nodeRef?.name ?? '';
}
