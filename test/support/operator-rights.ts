/** The rights that the operator has today, and nothing beyond: what a test grants is what the documents promise. */
import type { ControlPlane } from './control-plane.ts';

export async function grantOperatorRights(controlPlane: ControlPlane, user: string): Promise<void> {
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
  const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }];
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
  const read = ['get', 'list', 'watch'];
  const bind = (kind: 'Role' | 'ClusterRole', name: string, namespace?: string): object => ({
    ...rbac,
    kind: `${kind}Binding`,
    metadata: { name: `${name}-${user}`, ...(namespace !== undefined && { namespace }) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
    subjects,
  });
  const items = [
    {
      ...rbac,
      kind: 'ClusterRole',
      metadata: { name: 'fenceline' },
      rules: [{ apiGroups: [''], resources: ['nodes'], verbs: read }],
    },
    bind('ClusterRole', 'fenceline'),
    {
      ...rbac,
      kind: 'Role',
      metadata: { name: 'fenceline-heartbeats', namespace: 'kube-node-lease' },
      rules: [{ ...leases, verbs: read }],
    },
    bind('Role', 'fenceline-heartbeats', 'kube-node-lease'),
    {
      ...rbac,
      kind: 'Role',
      metadata: { name: 'fenceline-election', namespace: 'default' },
      rules: [{ ...leases, verbs: ['get', 'create', 'update'] }],
    },
    bind('Role', 'fenceline-election', 'default'),
  ];
  const applied = await controlPlane.kubectl(['apply', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
  if (applied.code !== 0) throw new Error(applied.stderr);
}
