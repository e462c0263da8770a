/**
 * S22: the control plane, and etcd where its nodes are labelled, never lose their quorum through us: no machine of either that is on is
 * told to go off while fewer than a majority of its nodes would be left that respond, by the renewals that reached the API server. And nobody has the machine cut that it runs on
 * itself.
 */
import { atCuts } from './at-cuts.ts';
import { quorumsOf } from './trouble.ts';

export const s22 = atCuts('S22', ({ state, machineOf, homeOf, violated, exempt }, { troubles }) => {
  /** Whose power operators have cut, or were told is lost. */
  const known = new Set<string>();
  return {
    onWire(event) {
      const isCut = event.type === 'device' && event.action === 'off';
      if (isCut || (event.type === 'answered' && event.power === 'off')) known.add(event.node);
    },
    onMachine({ type }, machine) {
      if (type === 'booting') known.delete(machine);
    },
    onCut({ node, isOn, operator }) {
      if (isOn && homeOf(operator) === node) violated(`operator-${operator} cut ${node}, on which it runs itself`);
      const cut = state.nodes.get(node);
      if (!isOn || cut === undefined) return;
      for (const { of, names } of quorumsOf(cut, state.nodes)) {
        const heard = names.filter((name) => name !== node && !troubles.isSilent(name));
        const left = heard.filter((name) => machineOf(name)?.power === 'on');
        const quorum = Math.floor(names.length / 2) + 1;
        if (left.length >= quorum) continue;
        const told = `${node} was cut, and ${left.length} of ${names.length} nodes of ${of} are left of the ${quorum} that it needs`;
        const seemed = heard.filter((name) => machineOf(name)?.power === 'on' || !known.has(name));
        if (seemed.length >= quorum) exempt('JustLost', told);
        else violated(told);
      }
    },
  };
});
