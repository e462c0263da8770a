/**
 * S41: what has ended, is held or can do no more occupies no slot. A node that waits for its turn does not wait while nobody
 * works on any other: within two minutes some other device is told to cut something, something is let go elsewhere, or a pod is
 * evicted. To ask a device is work only for a fence that is really open: a device was told to cut, the node has not come back
 * since, nobody has stopped it, there is something left that could go, and the device has not said off for long: who does nothing
 * but ask then works at nothing. Time counts while an operator leads: whoever is cut off from the API server begins nothing. All of that is seen on the wire and in the world, and not in the records of the others.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { StoredFence } from '../cluster-state.ts';
import type { Invariant } from './checker.ts';
import { succeeded } from './checker.ts';
import { isMovable } from './movable.ts';
import { releaseOf } from './release.ts';
import { Troubles } from './trouble.ts';

const patienceMs = 120_000;
/** So long after a device has said off, what may go on the strength of that has gone, or asking it again does not help. */
const asksForMs = 300_000;
const silenced = ['DryRun', 'Paused'];
/** Whoever leads says so more often. */
const gapMs = 15_000;

export const s41: Invariant = {
  id: 'S41',
  check: (context) => {
    const { state, nowMs, violated } = context;
    const troubles = new Troubles(context);
    /** Since when each node waits for its turn. */
    const waiting = new Map<string, number>();
    /** When something was last done about each node. */
    const workedMs = new Map<string, number>();
    /** A device was told to cut it, and it has not come back. */
    const cut = new Set<string>();
    /** When its device first said off after that. */
    const saidOffMs = new Map<string, number>();
    const isOpen = (node: string): boolean => {
      const isStopped = state.fences.get(nodeFenceName(node))?.spec?.stop === true;
      if (!cut.has(node) || isStopped || silenced.includes(troubles.policyOf(node)?.spec?.mode ?? '')) return false;
      if (nowMs() - (saidOffMs.get(node) ?? Infinity) > asksForMs) return false;
      return [...state.pods.values()].some((pod) => pod.spec.nodeName === node && isMovable(pod));
    };
    /** When an operator last wrote its own Lease, and since when one has without a gap; undefined: there is no election. */
    let lead: { lastMs: number; sinceMs: number } | undefined;
    const look = (): void => {
      if (lead !== undefined && nowMs() - lead.lastMs > gapMs) return;
      for (const [node, sinceMs] of waiting) {
        const others = [...workedMs].filter(([other]) => other !== node).map(([, atMs]) => atMs);
        if (nowMs() - Math.max(sinceMs, lead?.sinceMs ?? 0, ...others) <= patienceMs) continue;
        violated(`${node} waits for its turn while nobody works on another node`);
        waiting.set(node, Infinity);
      }
    };
    return {
      onStored(change) {
        troubles.take(change);
        const { type, object } = change;
        if (object.kind === 'NodeFence') {
          const { spec, status } = object as StoredFence;
          const node = spec?.node ?? '';
          const waits = type !== 'DELETED' && status?.hold?.reason === 'ConcurrencyLimit' && state.nodes.has(node);
          if (!waits) waiting.delete(node);
          else if (!waiting.has(node)) waiting.set(node, nowMs());
        }
        look();
      },
      onMachine({ type }, machine) {
        if (type === 'booting') cut.delete(machine);
      },
      onRenewed: (node) => void cut.delete(node),
      onWrite(write) {
        if (!succeeded(write)) return;
        if (write.resource === 'leases') {
          const { lastMs = -Infinity, sinceMs = 0 } = lead ?? {};
          lead = { lastMs: nowMs(), sinceMs: nowMs() - lastMs <= gapMs ? sinceMs : nowMs() };
        }
        const evicted =
          write.subresource === 'eviction' ? state.pods.get(`${write.namespace}/${write.name}`) : undefined;
        const node = releaseOf(write)?.node ?? evicted?.spec.nodeName;
        if (node !== undefined) workedMs.set(node, nowMs());
        // A Job works for as long as it runs; how long that is, is not known here.
        if (write.resource === 'jobs') workedMs.set(`job ${write.name}`, nowMs());
      },
      onWire(event) {
        if (event.type === 'started') waiting.clear();
        if (event.type === 'answered' && event.power === 'off' && cut.has(event.node) && !saidOffMs.has(event.node)) {
          saidOffMs.set(event.node, nowMs());
        }
        if (event.type === 'device' || event.type === 'port') {
          const { node, action } = event;
          if (action === 'off') {
            cut.add(node);
            saidOffMs.delete(node);
          }
          if (action === 'off' || (action === 'status' && isOpen(node))) workedMs.set(node, nowMs());
        }
        look();
      },
    };
  },
};
