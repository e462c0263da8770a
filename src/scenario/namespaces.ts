import { REMEDY_NAMESPACE } from '../api/fence-names.ts';

/** Where operators are installed in a simulated cluster: their configurations, their Secrets, their Lease. */
export const operatorNamespace = 'fenceline';

/** As deploy/role.yaml makes them. */
export const ownNamespaces = [operatorNamespace, REMEDY_NAMESPACE].map((name) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name },
}));
