/**
 * S22: the control plane never loses its quorum through us: no machine of it that is on is told to go off while fewer than a majority
 * of its nodes would be left that respond, by the renewals that reached the API server. And nobody has the machine cut that it runs on
 * itself.
 */
import { atCuts } from './at-cuts.ts';
import { isOfControlPlane } from './trouble.ts';

export const s22 = atCuts('S22', ({ state, machineOf, homeOf, violated }, { troubles }) => ({
  onCut({ node, isOn, operator }) {
    if (isOn && homeOf(operator) === node) violated(`operator-${operator} cut ${node}, on which it runs itself`);
    const cut = state.nodes.get(node);
    if (!isOn || cut === undefined || !isOfControlPlane(cut)) return;
    const all = [...state.nodes].filter(([, one]) => isOfControlPlane(one));
    const left = all.filter(([name]) => name !== node && machineOf(name)?.power === 'on' && !troubles.isSilent(name));
    const quorum = Math.floor(all.length / 2) + 1;
    if (left.length >= quorum) return;
    violated(
      `${node} was cut, and ${left.length} of ${all.length} nodes of the control plane are left of the ${quorum} that it needs`,
    );
  },
}));
