/**
 * S44: only the machine that is meant is touched, whatever is written in which object. A Machine that an operator deletes is
 * that of one node, which no other node claims to be, and whose power really was off since its kubelet was last heard. And a
 * device is told to switch off for nobody but the node that has a record of a fence. And what a policy runs is not run where
 * it could act as the operator.
 *
 * That no other program is run than the configured one cannot be seen here, where no program runs: test/devices looks at that.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { KubeObject } from '../../kube/client.ts';
import type { Invariant } from './checker.ts';
import { objectOf, succeeded } from './checker.ts';
import { operatorNamespace } from '../namespaces.ts';

interface MachineObject extends KubeObject {
  spec?: { providerID?: string };
  status?: { nodeRef?: { name?: string } };
}

export const s44: Invariant = {
  id: 'S44',
  check: ({ state, machineOf, nowMs, pulseOf, violated }) => {
    const offAtMs = new Map<string, number>();
    /** Heard since it was off, or never off: then it is not the one that was fenced. */
    const isAlive = (node: string): boolean => {
      if (machineOf(node)?.power === 'off') return false;
      const heardAtMs = nowMs() - (pulseOf(node)?.silentForMs ?? 0);
      return (offAtMs.get(node) ?? -1) < heardAtMs;
    };
    const wrong = ({ spec, status }: MachineObject): string | undefined => {
      const node = status?.nodeRef?.name;
      if (node === undefined) return 'says of no node that it is its machine';
      const { providerID = '' } = spec ?? {};
      const others = [...state.nodes.values()].filter(
        (one) => one.metadata.name !== node && providerID !== '' && one.spec?.providerID === providerID,
      );
      if (others.length > 0) return `has the provider ID of ${others.map(({ metadata }) => metadata.name).join(', ')}`;
      return isAlive(node) ? `is that of ${node}, which was not switched off` : undefined;
    };
    return {
      onMachine({ type }, machine) {
        if (type === 'off') offAtMs.set(machine, nowMs());
      },
      onWire(event) {
        if ((event.type !== 'device' && event.type !== 'port') || event.action !== 'off') return;
        if (state.fences.get(nodeFenceName(event.node))?.status?.fence !== undefined) return;
        violated(`the ${event.type} of ${event.node} was told to switch off, and no fence of it is on record`);
      },
      onWrite(write) {
        if (write.resource === 'jobs' && write.verb === 'create' && write.namespace === operatorNamespace) {
          violated(`${objectOf(write)} was made where the operator and the Secrets of its devices are`);
        }
        if (write.resource !== 'machines' || !write.verb.startsWith('delete') || !succeeded(write)) return;
        const why = wrong((write.before ?? {}) as MachineObject);
        if (why !== undefined) violated(`${objectOf(write)} was deleted, and ${why}`);
      },
    };
  },
};
