/**
 * S38: nothing that runs is cut before everybody else's silence could be seen. When a device is told to cut a machine that is
 * on, or to part it from its storage, every other node has renewed its Lease since this one came under suspicion, or counts as
 * silent itself: by its Lease, because it is not Ready, or because its device has said that it is off, and it is. Only what a person asks for today waits for nobody, once, and that is told by name.
 */
import { isReady } from '../../world/objects/meta.ts';
import { atCuts, besides } from './at-cuts.ts';
import { isLying, Offs } from './devices.ts';

export const s38 = atCuts('S38', (context, { troubles }) => {
  const { state, pulseOf, nowMs, violated, exempt } = context;
  const offs = new Offs(context);
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
      const known = state.nodes.get(other);
      if ((known !== undefined && !isReady(known)) || offs.isSeenOff(other)) return false;
      return nowMs() - pulse.silentForMs < sinceMs;
    });
  return {
    onWire: (event) => offs.take(event),
    onCut(cut) {
      const { node, isOn, request } = cut;
      const sinceMs = suspectedMs(node);
      if (!isOn || sinceMs === undefined) return;
      const unheard = unheardBy(node, sinceMs);
      if (unheard.length === 0) return;
      const told = `${node} is cut before ${unheard.join(', ')} could be heard of`;
      if (request === 'current') exempt('PersonsAct', told);
      else if (isLying(context, node)) exempt('LyingDevice', told);
      else violated(told + besides(cut));
    },
  };
});
