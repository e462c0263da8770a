/** What others install who act on nodes and machines too, as far as the operator looks at it. */
import type { Resource } from '../../src/kube/resources.ts';

const farGroup = 'fence-agents-remediation.medik8s.io';

const kinds: readonly (readonly [group: string, kind: string, isForAll?: boolean])[] = [
  ['cluster.x-k8s.io', 'Machine'],
  ['cluster.x-k8s.io', 'MachineHealthCheck'],
  ['machine.openshift.io', 'MachineHealthCheck'],
  ['infrastructure.cluster.x-k8s.io', 'Metal3Remediation'],
  ['metal3.io', 'BareMetalHost'],
  [farGroup, 'FenceAgentsRemediation'],
  ['self-node-remediation.medik8s.io', 'SelfNodeRemediation'],
  ['machine-deletion-remediation.medik8s.io', 'MachineDeletionRemediation'],
  ['remediation.medik8s.io', 'NodeHealthCheck', true],
  ['nodemaintenance.medik8s.io', 'NodeMaintenance', true],
  ['longhorn.io', 'Setting'],
];

export const remediations: Resource = {
  group: farGroup,
  version: 'v1beta1',
  plural: 'fenceagentsremediations',
  kind: 'FenceAgentsRemediation',
  namespaced: true,
};

export const definitionsOfOthers = kinds.map(([group, kind, isForAll = false]) => {
  const singular = kind.toLowerCase();
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${singular}s.${group}`,
      // A group of Kubernetes is protected: whoever defines something in it says where it was approved, or that it was not.
      annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
    },
    spec: {
      group,
      scope: isForAll ? 'Cluster' : 'Namespaced',
      names: { plural: `${singular}s`, singular, kind },
      versions: [
        {
          name: 'v1beta1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
});
