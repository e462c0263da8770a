/** Labels of Machines as labels of the nodes on them, as far as somebody sees to it that they agree. */
import type { NodeSelector } from '../../api/common.ts';
import type { Place } from '../../scenario/reader.ts';
import { problem } from '../../scenario/reader.ts';
import type { Nodes, Notes, Settings } from './result.ts';
import { isEmpty } from './result.ts';

type Requirement = NonNullable<NodeSelector['matchExpressions']>[number];

const roleOfMachine = /^machine\.openshift\.io\/cluster-api-machine-(?:role|type)$/;
/** Every machine of the cluster has it, and the policy is in that cluster. */
const cluster = /^(?:machine\.openshift\.io\/cluster-api-cluster|cluster\.x-k8s\.io\/cluster-name)$/;
const controlPlane = 'cluster.x-k8s.io/control-plane';
/** What Cluster API copies from a Machine to its node. */
const copied =
  /^(?:node-role\.kubernetes\.io|(?:[\w.-]+\.)?node-restriction\.kubernetes\.io|(?:[\w.-]+\.)?node\.cluster\.x-k8s\.io)\//;

interface Machines {
  group: string;
  selector: NodeSelector;
  place: Place;
}

export function nodesOfMachines({ selector, place }: Machines, { nodes }: Settings, notes: Notes): Nodes {
  if (nodes !== undefined) return nodes;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const requirements = [
    ...Object.entries(matchLabels).map(([key, value]): Requirement => ({ key, operator: 'In', values: [value] })),
    ...matchExpressions,
  ];
  const own = selectorOf(requirements.flatMap((one) => requirementOf(one, place)));
  if (isEmpty(own)) {
    notes.add(place, 'all machines became allNodes: true, which is every node, also one without a machine');
    return { allNodes: true };
  }
  notes.add(place, 'labels of machines became labels of nodes: check that kubectl get nodes -l selects the right ones');
  return { selector: own };
}

function requirementOf(requirement: Requirement, place: Place): Requirement[] {
  const { key, operator, values = [] } = requirement;
  if (cluster.test(key)) return [];
  if (copied.test(key)) return [requirement];
  if (key === controlPlane) {
    const isNot = operator === 'DoesNotExist' || operator === 'NotIn';
    return [{ key: 'node-role.kubernetes.io/control-plane', operator: isNot ? 'DoesNotExist' : 'Exists' }];
  }
  if (roleOfMachine.test(key) && operator === 'In' && values.length === 1) {
    return [{ key: `node-role.kubernetes.io/${values[0]}`, operator: 'Exists' }];
  }
  return problem(
    place,
    `nodes do not have the label ${key} of their machines: say which ones with --selector or --all-nodes`,
  );
}

function selectorOf(requirements: readonly Requirement[]): NodeSelector {
  const labels = requirements.filter(({ operator, values }) => operator === 'In' && values?.length === 1);
  const rest = requirements.filter((one) => !labels.includes(one));
  return {
    ...(labels.length === 0
      ? {}
      : { matchLabels: Object.fromEntries(labels.map(({ key, values }) => [key, values?.[0] ?? ''])) }),
    ...(rest.length === 0 ? {} : { matchExpressions: rest }),
  };
}
