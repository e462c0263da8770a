/**
 * S41: what has ended, is held or can do no more occupies no slot. A node that waits for its turn, as its record says, does not
 * wait while nobody works on any other: within two minutes some other device is told or asked, something is let go elsewhere, or a
 * pod is evicted. By what operators do, not by what they say of the others.
 */
import type { StoredFence } from '../cluster-state.ts';
import type { Invariant } from './checker.ts';
import { succeeded } from './checker.ts';
import { releaseOf } from './release.ts';

const patienceMs = 120_000;

export const s41: Invariant = {
  id: 'S41',
  check: ({ state, nowMs, violated }) => {
    /** Since when each node waits for its turn. */
    const waiting = new Map<string, number>();
    /** When something was last done about each node. */
    const workedMs = new Map<string, number>();
    const look = (): void => {
      for (const [node, sinceMs] of waiting) {
        const others = [...workedMs].filter(([other]) => other !== node).map(([, atMs]) => atMs);
        if (nowMs() - Math.max(sinceMs, ...others) <= patienceMs) continue;
        violated(`${node} waits for its turn while nobody works on another node`);
        waiting.set(node, Infinity);
      }
    };
    return {
      onStored({ type, object }) {
        if (object.kind === 'NodeFence') {
          const { spec, status } = object as StoredFence;
          const node = spec?.node ?? '';
          const waits = type !== 'DELETED' && status?.hold?.reason === 'ConcurrencyLimit' && state.nodes.has(node);
          if (!waits) waiting.delete(node);
          else if (!waiting.has(node)) waiting.set(node, nowMs());
        }
        look();
      },
      onWrite(write) {
        if (!succeeded(write)) return;
        const evicted =
          write.subresource === 'eviction' ? state.pods.get(`${write.namespace}/${write.name}`) : undefined;
        const node = releaseOf(write)?.node ?? evicted?.spec.nodeName;
        if (node !== undefined) workedMs.set(node, nowMs());
        // A Job works for as long as it runs; how long that is, is not known here.
        if (write.resource === 'jobs') workedMs.set(`job ${write.name}`, nowMs());
      },
      onWire(event) {
        if (event.type === 'started') waiting.clear();
        if (event.type === 'device') workedMs.set(event.node, nowMs());
        look();
      },
    };
  },
};
