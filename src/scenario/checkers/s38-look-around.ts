/**
 * S38: nothing that runs is cut before everybody else's silence could be seen. When the fence of a machine that is on is begun,
 * every other node has renewed its Lease since this one came under suspicion, or is silent itself. A fence that a person has
 * asked for waits for nobody, and is asked for once: the next one looks around.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { StoredFence } from '../cluster-state.ts';
import type { Invariant } from './checker.ts';
import { isLying } from './devices.ts';
import { beginsFence, Troubles } from './trouble.ts';

export const s38: Invariant = {
  id: 'S38',
  check: (context) => {
    const { state, machineOf, pulseOf, nowMs, violated, exempt } = context;
    const troubles = new Troubles(context);
    const spent = new Set<string>();
    /** When its silence, or its condition, began to mean something. */
    const suspectedMs = (node: string): number | undefined => {
      const pulse = pulseOf(node);
      const times = troubles.conditionsOf(node).map(({ sinceMs, forMs }) => sinceMs + forMs);
      if (pulse !== undefined && pulse.silentForMs >= pulse.silentAfterMs)
        times.push(nowMs() - pulse.silentForMs + pulse.silentAfterMs);
      return times.length === 0 ? undefined : Math.min(...times);
    };
    return {
      onStored(change) {
        troubles.take(change);
        const node = (change.object as StoredFence).spec?.node ?? '';
        if (!beginsFence(change) || machineOf(node)?.power !== 'on') return;
        const sinceMs = suspectedMs(node);
        const { requested } = state.fences.get(nodeFenceName(node))?.spec ?? {};
        const request = `${node} ${requested?.by} ${requested?.at}`;
        const isAsked = requested !== undefined && !spent.has(request);
        if (isAsked) spent.add(request);
        if (sinceMs === undefined || isAsked) return;
        const unheard = [...state.nodes.keys()].filter((other) => {
          const pulse = pulseOf(other);
          if (other === node || pulse === undefined || pulse.silentForMs >= pulse.silentAfterMs) return false;
          return nowMs() - pulse.silentForMs < sinceMs;
        });
        if (unheard.length === 0) return;
        const told = `the fence of ${node} is begun before ${unheard.join(', ')} could be heard of`;
        if (isLying(context, node)) exempt('LyingDevice', told);
        else violated(told);
      },
    };
  },
};
