/**
 * S38: nothing that runs is cut before everybody else's silence could be seen. When a device is told to cut a machine that is
 * on, or to part it from its storage, every other node has renewed its Lease since this one came under suspicion, or is silent
 * itself. Only what a person asks for today waits for nobody, once, and that is told by name.
 */
import type { Invariant } from './checker.ts';
import { isLying } from './devices.ts';
import { Requests } from './requests.ts';
import { Troubles } from './trouble.ts';

export const s38: Invariant = {
  id: 'S38',
  check: (context) => {
    const { state, machineOf, pulseOf, nowMs, violated, exempt } = context;
    const troubles = new Troubles(context);
    const requests = new Requests(context, troubles);
    /** When its silence, or its condition, began to mean something. */
    const suspectedMs = (node: string): number | undefined => {
      const pulse = pulseOf(node);
      const times = troubles.conditionsOf(node).map(({ sinceMs, forMs }) => sinceMs + forMs);
      if (pulse !== undefined && pulse.silentForMs >= pulse.silentAfterMs)
        times.push(nowMs() - pulse.silentForMs + pulse.silentAfterMs);
      return times.length === 0 ? undefined : Math.min(...times);
    };
    const unheardBy = (node: string, sinceMs: number): string[] =>
      [...state.nodes.keys()].filter((other) => {
        const pulse = pulseOf(other);
        if (other === node || pulse === undefined || pulse.silentForMs >= pulse.silentAfterMs) return false;
        return nowMs() - pulse.silentForMs < sinceMs;
      });
    return {
      onStored(change) {
        troubles.take(change);
        requests.take(change);
      },
      onWrite: (write) => requests.written(write),
      onMachine({ type }, machine) {
        if (type === 'booting') requests.booted(machine);
      },
      onWire(event) {
        if ((event.type !== 'device' && event.type !== 'port') || event.action !== 'off') return;
        const { node } = event;
        const sinceMs = suspectedMs(node);
        const asked = requests.of(node);
        requests.cut(node);
        if (machineOf(node)?.power !== 'on' || sinceMs === undefined) return;
        const unheard = unheardBy(node, sinceMs);
        if (unheard.length === 0) return;
        const told = `${node} is cut before ${unheard.join(', ')} could be heard of`;
        if (asked === 'current') exempt('PersonsAct', told);
        else if (isLying(context, node)) exempt('LyingDevice', told);
        else violated(asked === undefined ? told : `${told}, and the request on record ${asked}`);
      },
    };
  },
};
