/**
 * S37: what a person asks for is done once, and only if it is about today. When a machine whose node is well is told to go
 * off, the request that stands in its record is a current one.
 */
import { atCuts } from './at-cuts.ts';

export const s37 = atCuts('S37', ({ pulseOf, violated }, { troubles }) => ({
  onCut({ node, isOn, request }) {
    const { silentForMs = 0, silentAfterMs = Infinity } = pulseOf(node) ?? {};
    const isSilent = silentForMs >= silentAfterMs || troubles.isSilent(node);
    const isWell = !isSilent && troubles.conditionsOf(node).length === 0;
    if (!isOn || !isWell || request === undefined || request === 'current') return;
    violated(`${node} is well, and switched off for a request that ${request}`);
  },
}));
